"""Measurements: quality, speed, size, and how far the theory holds; `make bench` runs all of them.

A section of docs/benchmarks.md is a module here with a NOTE and a function `run` that returns Markdown.
"""
