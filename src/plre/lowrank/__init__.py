"""Factorisation under generalised KL, block by block."""
