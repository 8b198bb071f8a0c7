"""The ladder: from counts and a recipe to a model."""
