"""The machine code of kernels: what it was made from, where it is kept, and how it is found again."""
