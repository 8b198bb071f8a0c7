"""Reading, decompression, vocabulary, ids."""
