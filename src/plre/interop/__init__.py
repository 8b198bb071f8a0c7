"""Other formats, and other programs."""
