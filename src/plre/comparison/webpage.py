"""The report as one web page: no scripts, nothing to load, readable in light and dark, wide and narrow."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from plre.comparison import numbers
from plre.comparison.chart import Chart, draw
from plre.comparison.markdown import TITLE
from plre.comparison.notes import headline, method_notes, problems, signatures
from plre.comparison.pictures import pictures
from plre.comparison.results import Comparison
from plre.comparison.style import STYLE
from plre.comparison.tables import Cell, Table, costs_table, order_table, summary_table, texts_table


def render_page(comparison: Comparison) -> str:
    """``report.html``."""
    settings = comparison.settings
    orders = settings.orders
    body = [_header(comparison), _problems(comparison)]
    if len(orders) > 1:
        body.append(html_section(summary_table(comparison)))
    body.append(html_pictures(pictures(comparison)))
    body += [html_section(order_table(comparison, order)) for order in orders]
    body.append(html_section(costs_table(comparison)))
    body.append(html_section(texts_table(comparison)))
    body.append(f'<section id="notes"><h2>How it was done</h2>{_list(method_notes(comparison))}</section>')
    body.append(_repeat(comparison))
    return whole_page(TITLE, body)


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
    told = "".join(f"<p class='lead'>{escape(sentence)}</p>" for sentence in story)
    return f"<header><h1>{escape(title)}</h1>{told}<dl>{shown}</dl></header>"


def html_pictures(charts: Iterable[Chart]) -> str:
    """Pictures with their titles, if there are any."""
    drawn = [f"<figure><figcaption>{escape(each.title)}</figcaption>{draw(each)}</figure>" for each in charts]
    return f'<section id="pictures">{"".join(drawn)}</section>' if drawn else ""


def _header(comparison: Comparison) -> str:
    """What was compared, and the outcome."""
    settings = comparison.settings
    known = comparison.facts()
    facts = {
        "words to train on": numbers.count(known["train"]["words"]),
        "words to test on": numbers.count(known["test"]["words"]),
        "vocabulary": numbers.count(known["vocabulary"]),
        "methods": str(len(settings.methods)),
        "orders": ", ".join(map(str, settings.orders)),
        "plre": comparison.version,
    }
    return html_header(TITLE, headline(comparison), facts)


def _problems(comparison: Comparison) -> str:
    found = problems(comparison)
    return f"<aside><h2>Take note</h2>{_list(found)}</aside>" if found else ""


def html_section(table: Table) -> str:
    """The table with its title and its notes."""
    notes = "".join(f"<p class='note'>{escape(note)}</p>" for note in table.notes)
    return f'<section id="{table.label}"><h2>{escape(table.title)}</h2>{html_table(table)}{notes}</section>'


def html_table(table: Table) -> str:
    """The table alone; the best of each kind is bold."""
    heads = "".join(
        f'<th scope="col"{_side(table, column)}>{escape(text)}</th>' for column, text in enumerate(table.headings)
    )
    rows = []
    for number, row in enumerate(table.rows):
        kind = ' class="group"' if number in table.groups else ""
        rows.append(f"<tr{kind}>{''.join(_cell(table, column, cell) for column, cell in enumerate(row))}</tr>")
    return f'<div class="wide"><table><thead><tr>{heads}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'


def _cell(table: Table, column: int, cell: Cell) -> str:
    text = f"<strong>{escape(cell.text)}</strong>" if cell.best else escape(cell.text)
    return f"<td{_side(table, column)}>{text}</td>"


def _side(table: Table, column: int) -> str:
    return "" if column < table.names else ' class="number"'


def _list(items: Iterable[str]) -> str:
    return "<ul>" + "".join(f"<li>{escape(item)}</li>" for item in items) + "</ul>"


def _repeat(comparison: Comparison) -> str:
    """The command, and the exact models behind the numbers."""
    rows = "".join(
        f"<dt>{escape(name)}</dt><dd><code>{escape(signature)}</code></dd>"
        for name, signature in signatures(comparison)
    )
    return (
        f'<section id="repeat"><h2>Repeat it</h2><p>With plre {escape(comparison.version)}:</p>'
        f"<pre><code>{escape(comparison.command)}</code></pre>"
        "<p>Beside this page: <code>report.md</code>, <code>tables.tex</code> (booktabs), <code>results.json</code> "
        "(every number) and the folders <code>results</code> and <code>models</code>.</p>"
        f"<details><summary>Signatures of the models</summary><dl class='signatures'>{rows}</dl></details></section>"
    )
