"""Smaller models: n-grams that hardly matter are left out."""
