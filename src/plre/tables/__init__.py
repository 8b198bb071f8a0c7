"""Hash tables and packed numbers as plain arrays; they know nothing of models."""
