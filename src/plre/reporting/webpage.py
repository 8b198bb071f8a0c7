"""Web pages of tables and charts: no scripts, nothing to load, readable in light and dark, wide and narrow."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from plre.reporting.chart import Chart, draw
from plre.reporting.style import STYLE
from plre.reporting.table import Cell, ReportTable


def whole_page(title: str, body: Iterable[str]) -> str:
    """A page of these parts, with all that it needs."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(part for part in body if part)
        + "\n</main>\n</body>\n</html>\n"
    )


def html_header(title: str, story: Iterable[str], facts: dict[str, str]) -> str:
    """The top of a page: what came out, in sentences and in numbers."""
    shown = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in facts.items())
    sentences = "".join(f"<p class='lead'>{escape(sentence)}</p>" for sentence in story)
    return f"<header><h1>{escape(title)}</h1>{sentences}<dl>{shown}</dl></header>"


def html_charts(charts: Iterable[Chart]) -> str:
    """Charts with their titles; nothing if there are none."""
    drawn = [f"<figure><figcaption>{escape(each.title)}</figcaption>{draw(each)}</figure>" for each in charts]
    return f'<section id="pictures">{"".join(drawn)}</section>' if drawn else ""


def html_section(table: ReportTable) -> str:
    """The table with its title and its notes."""
    notes = "".join(f"<p class='note'>{escape(note)}</p>" for note in table.notes)
    return f'<section id="{table.label}"><h2>{escape(table.title)}</h2>{html_table(table)}{notes}</section>'


def html_table(table: ReportTable) -> str:
    """The table alone; the best of each kind is bold."""
    heads = "".join(
        f'<th scope="col"{_side(table, column)}>{escape(text)}</th>' for column, text in enumerate(table.headings)
    )
    rows = []
    for number, row in enumerate(table.rows):
        kind = ' class="group"' if number in table.groups else ""
        rows.append(f"<tr{kind}>{''.join(_cell(table, column, cell) for column, cell in enumerate(row))}</tr>")
    return f'<div class="wide"><table><thead><tr>{heads}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'


def html_list(items: Iterable[str]) -> str:
    """A bullet for each item, which is plain text."""
    return "<ul>" + "".join(f"<li>{escape(item)}</li>" for item in items) + "</ul>"


def _cell(table: ReportTable, column: int, cell: Cell) -> str:
    text = f"<strong>{escape(cell.text)}</strong>" if cell.best else escape(cell.text)
    return f"<td{_side(table, column)}>{text}</td>"


def _side(table: ReportTable, column: int) -> str:
    return "" if column < table.names else ' class="number"'
