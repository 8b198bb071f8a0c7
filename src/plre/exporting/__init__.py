"""Models for other programs: ARPA files, and n-grams that stand for a model that is more than n-grams."""
