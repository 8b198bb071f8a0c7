"""Tables and lists in Markdown."""

from __future__ import annotations

from collections.abc import Iterable

from plre.reporting.table import Cell, ReportTable


def markdown_section(table: ReportTable) -> str:
    """The table with its title above and its notes below."""
    return "\n\n".join([f"## {table.title}", markdown_table(table), *map(markdown_escape, table.notes)])


def markdown_table(table: ReportTable) -> str:
    """The table alone; the best of each kind is bold."""
    sides = [":--" if column < table.names else "--:" for column in range(len(table.headings))]
    lines = [table.headings, sides, *([_cell(cell) for cell in row] for row in table.rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def markdown_list(items: Iterable[str]) -> str:
    """A bullet for each item, which is Markdown already."""
    return "\n".join(f"- {item}" for item in items)


def markdown_escape(text: str) -> str:
    """Escape angle brackets, which would be taken for HTML.

    >>> markdown_escape("<unk>")
    '&lt;unk&gt;'
    """
    return text.replace("<", "&lt;").replace(">", "&gt;")


def _cell(cell: Cell) -> str:
    text = markdown_escape(cell.text).replace("|", "\\|")
    return f"**{text}**" if cell.best else text
