"""The files of a report, all from the same comparison."""

from __future__ import annotations

import json

from plre.comparison.latex import render_latex
from plre.comparison.markdown import render_markdown
from plre.comparison.results import Comparison
from plre.comparison.store import write_whole
from plre.comparison.webpage import render_page

REPORT = "report.html"


def write_outputs(comparison: Comparison) -> None:
    """Write them all into the comparison's folder."""
    files = {
        REPORT: render_page(comparison),
        "report.md": render_markdown(comparison),
        "tables.tex": render_latex(comparison),
        "results.json": json.dumps(comparison.as_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n",
    }
    for name, text in files.items():
        write_whole(comparison.folder / name, text)
