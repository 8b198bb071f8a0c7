"""The command line; it holds no logic."""
