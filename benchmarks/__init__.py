"""Measurements: quality, speed, and how far the theory holds; `make bench` runs all and writes docs/benchmarks.md."""
