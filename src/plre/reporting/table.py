"""A table as text in cells; how it looks is decided by those who print it."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Cell:
    """A text, and whether it is the best of its kind."""

    text: str
    best: bool = False


@dataclass(frozen=True)
class ReportTable:
    """Headings and rows; the first ``names`` columns are words, the others numbers. ``notes`` stand below it."""

    label: str
    title: str
    headings: list[str]
    rows: list[list[Cell]]
    names: int = 1
    notes: list[str] = field(default_factory=list)
    #: Numbers of rows before which a new group begins.
    groups: list[int] = field(default_factory=list)

    def lines(self) -> list[list[str]]:
        """The headings and then the rows, as plain text."""
        return [self.headings, *([cell.text for cell in row] for row in self.rows)]


def plain_table(table: ReportTable) -> str:
    """Lay the table out in columns of letters, without its title and its notes.

    >>> print(plain_table(ReportTable("t", "T", ["method", "test"], [[Cell("mkn"), Cell("99.5")]])))
    method  test
    mkn     99.5
    """
    lines = table.lines()
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            text.ljust(width) if column < table.names else text.rjust(width)
            for column, (text, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )
