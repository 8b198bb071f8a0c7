"""The report of a comparison as a web page, Markdown, LaTeX and JSON: four files, all from the same object."""

from __future__ import annotations

import json
from html import escape

from plre.comparison.notes import headline, method_notes, problems, signatures
from plre.comparison.pictures import comparison_charts
from plre.comparison.results import Comparison
from plre.comparison.tables import costs_table, main_tables, order_table, summary_table, texts_table
from plre.files import write_whole
from plre.reporting import numbers
from plre.reporting.latex import latex_table
from plre.reporting.markdown import markdown_escape, markdown_list, markdown_section
from plre.reporting.webpage import html_charts, html_header, html_list, html_section, whole_page

REPORT = "report.html"
HEADING = "Language models compared"


def write_outputs(comparison: Comparison) -> None:
    """Write all four files into the comparison's folder."""
    files = {
        REPORT: render_page(comparison),
        "report.md": render_markdown(comparison),
        "tables.tex": render_latex(comparison),
        "results.json": json.dumps(comparison.as_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n",
    }
    for name, text in files.items():
        write_whole(comparison.folder / name, text)


def render_markdown(comparison: Comparison) -> str:
    """The text of ``report.md``."""
    parts = [f"# {HEADING}", *headline(comparison)]
    if found := problems(comparison):
        parts += ["**Take note**", markdown_list(map(markdown_escape, found))]
    parts += [markdown_section(table) for table in (texts_table(comparison), *main_tables(comparison))]
    parts += ["## How it was done", markdown_list(map(markdown_escape, method_notes(comparison)))]
    parts += ["## Repeat it", f"plre {comparison.version}:", f"```\n{comparison.command}\n```"]
    parts += ["Signatures:", markdown_list(f"{name}: `{signature}`" for name, signature in signatures(comparison))]
    return "\n\n".join(parts) + "\n"


def render_latex(comparison: Comparison) -> str:
    """The text of ``tables.tex``."""
    head = [
        f"% Made by plre {comparison.version}:",
        *(f"% {line}" for line in comparison.command.splitlines()),
        r"% Needs \usepackage{booktabs}; \input this file where the tables should stand.",
    ]
    tables = [latex_table(table) for table in (texts_table(comparison), *main_tables(comparison))]
    return "\n".join(head) + "\n\n" + "\n\n".join(tables) + "\n"


def render_page(comparison: Comparison) -> str:
    """The text of ``report.html``."""
    orders = comparison.settings.orders
    found = problems(comparison)
    body = [_header(comparison), f"<aside><h2>Take note</h2>{html_list(found)}</aside>" if found else ""]
    if len(orders) > 1:
        body.append(html_section(summary_table(comparison)))
    body.append(html_charts(comparison_charts(comparison)))
    body += [html_section(order_table(comparison, order)) for order in orders]
    body.append(html_section(costs_table(comparison)))
    body.append(html_section(texts_table(comparison)))
    body.append(f'<section id="notes"><h2>How it was done</h2>{html_list(method_notes(comparison))}</section>')
    body.append(_repeat(comparison))
    return whole_page(HEADING, body)


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
    return html_header(HEADING, headline(comparison), facts)


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
