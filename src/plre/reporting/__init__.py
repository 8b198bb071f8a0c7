"""Showing results: numbers, tables, charts, and their form in Markdown, LaTeX and web pages."""
