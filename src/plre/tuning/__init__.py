"""Searching for the recipe that is best on held-out text, within a given time."""
