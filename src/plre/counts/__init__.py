"""N-gram counting and adjusted counts."""
