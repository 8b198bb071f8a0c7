"""The immutable model: its file, its states, its answers."""
