"""Perplexity reports and descriptions."""
