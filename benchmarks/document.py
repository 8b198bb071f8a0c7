"""docs/benchmarks.md: sections that are replaced one by one, and the summary of all targets on top."""

from __future__ import annotations

import re
from itertools import takewhile
from pathlib import Path

from benchmarks.common import HEADINGS, QUICK, WORK, table

PATH = WORK / "benchmarks.md" if QUICK else Path(__file__).parents[1] / "docs" / "benchmarks.md"
INTRODUCTION = """# Benchmarks

Written by `make bench`; `python -m benchmarks NAME` measures one section again and leaves the others. Times are wall
times, medians of 3 runs taken in turns after a run to warm up, on the machine that each section names. A ratio is ours
divided by the peer's. Where a peer is not installed its place is empty."""
_MARKER = "<!-- section {} -->\n"


def read() -> dict[str, str]:
    """The sections of the document as it is."""
    text = PATH.read_text() if PATH.exists() else ""
    _, *parts = re.split(_MARKER.format(r"(\w+)"), text)
    return {name: part.strip() for name, part in zip(parts[::2], parts[1::2], strict=True)}


def targets(section: str) -> list[list[str]]:
    """The rows of a section's table of figures that have a target."""
    _, _, rest = section.partition(table(HEADINGS, []) + "\n")
    rows = [line.strip("| ").split(" | ") for line in takewhile(bool, rest.splitlines())]
    return [row for row in rows if row[HEADINGS.index("target")] != "-"]


def summary(sections: dict[str, str]) -> str:
    """All targets of all sections."""
    rows = [[f"[{name}](#{_anchor(text)})", *row] for name, text in sections.items() for row in targets(text)]
    met = sum(row[-1] == "yes" for row in rows)
    counted = f"## Targets\n\n{met} of {len(rows)} are met."
    return f"{counted}\n\n{table(['section', *HEADINGS], rows)}" if rows else ""


def _anchor(section: str) -> str:
    """Where GitHub's link to a section's heading leads."""
    return re.sub(r"[^\w-]", "", section.splitlines()[0].strip("# ").lower().replace(" ", "-"))


def replace(name: str, section: str, names: list[str]) -> None:
    """Put a section into the document, whose sections come in the order of ``names``."""
    sections = {**read(), name: section}
    sections = {name: sections[name] for name in names if name in sections}
    parts = [INTRODUCTION, summary(sections), *(_MARKER.format(name) + text for name, text in sections.items())]
    PATH.write_text("\n\n".join(part for part in parts if part) + "\n")
