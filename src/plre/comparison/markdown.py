"""The report as Markdown."""

from __future__ import annotations

from plre.comparison.notes import headline, method_notes, problems, signatures
from plre.comparison.results import Comparison
from plre.comparison.tables import Cell, Table, main_tables, texts_table

TITLE = "Language models compared"


def render_markdown(comparison: Comparison) -> str:
    """``report.md``."""
    parts = [f"# {TITLE}", *headline(comparison)]
    if found := problems(comparison):
        parts += ["**Take note**", _list(found)]
    parts += [_section(table) for table in (texts_table(comparison), *main_tables(comparison))]
    parts += ["## How it was done", _list(method_notes(comparison))]
    parts += ["## Repeat it", f"plre {comparison.version}:", f"```\n{comparison.command}\n```"]
    parts += ["Signatures:", _list([f"{name}: `{signature}`" for name, signature in signatures(comparison)], False)]
    return "\n\n".join(parts) + "\n"


def _section(table: Table) -> str:
    return "\n\n".join([f"## {table.title}", markdown_table(table), *map(_escape, table.notes)])


def markdown_table(table: Table) -> str:
    """The table alone; the best of each kind is bold."""
    sides = [":--" if column < table.names else "--:" for column in range(len(table.headings))]
    lines = [table.headings, sides, *([_cell(cell) for cell in row] for row in table.rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _cell(cell: Cell) -> str:
    text = _escape(cell.text).replace("|", "\\|")
    return f"**{text}**" if cell.best else text


def _list(items: list[str], escape: bool = True) -> str:
    return "\n".join(f"- {_escape(item) if escape else item}" for item in items)


def _escape(text: str) -> str:
    """Angle brackets would be taken for HTML."""
    return text.replace("<", "&lt;").replace(">", "&gt;")
