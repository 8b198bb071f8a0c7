"""Classes of words that are used alike."""
