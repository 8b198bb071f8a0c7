"""All outputs come from one object: they must show the same numbers, and each be well-formed."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import pytest

from plre.comparison.outputs import render_latex, render_markdown, render_page, write_outputs
from plre.comparison.results import Comparison
from plre.comparison.tables import main_tables, texts_table
from plre.reporting import numbers
from plre.reporting.latex import latex_escape
from tests.comparison.example import METHODS, example

VOID = {"meta", "line", "polyline", "path"}


class Reader(HTMLParser):
    """Checks that elements are balanced, and collects tables, references and scripts."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tables: list[list[list[str]]] = []
        self.references: list[str] = []
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.references += [value or "" for name, value in attrs if name in ("src", "href", "srcset", "data", "action")]
        if tag != "meta":
            self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in VOID

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if {"td", "th"} & set(self.open):
            self.tables[-1][-1][-1] += data


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    return example()


def grids(comparison: Comparison) -> list[list[list[str]]]:
    """Every table as plain text: what all outputs have to show."""
    tables = [texts_table(comparison), *main_tables(comparison)]
    return [table.lines() for table in tables]


def test_the_page_is_whole_and_needs_nothing(comparison: Comparison) -> None:
    page = render_page(comparison)
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert reader.open == []
    assert reader.references == []
    assert not reader.tags & {"script", "link", "iframe", "img", "object"}
    assert "@import" not in page
    assert "url(" not in page
    assert "http" not in page
    texts, *others = grids(comparison)
    assert reader.tables == [*others, texts]


def test_markdown_has_the_same_tables(comparison: Comparison) -> None:
    found: list[list[list[str]]] = []
    before = ""
    for line in render_markdown(comparison).splitlines():
        if line.startswith("|"):
            if not before.startswith("|"):
                found.append([])
            cells = [cell.strip().replace("*", "") for cell in line.strip("|").split(" | ")]
            if set("".join(cells)) - set(":- "):
                found[-1].append(cells)
        before = line
    assert found == grids(comparison)


def test_latex_has_the_same_tables(comparison: Comparison) -> None:
    text = render_latex(comparison)
    found = []
    for body in re.findall(r"\\toprule\n(.*?)\\bottomrule", text, re.DOTALL):
        lines = [line.removesuffix(r" \\") for line in body.splitlines() if line != r"\midrule"]
        found.append([[re.sub(r"^\\textbf\{(.*)\}$", r"\1", cell) for cell in line.split(" & ")] for line in lines])
    assert found == [[[latex_escape(cell) for cell in line] for line in grid] for grid in grids(comparison)]
    unescaped = re.sub(r"\\.", "", text)
    assert unescaped.count("{") == unescaped.count("}")
    assert text.isascii()


def test_the_numbers_in_the_tables_are_those_of_the_json(comparison: Comparison) -> None:
    data = json.loads(json.dumps(comparison.as_dict()))
    markdown = render_markdown(comparison).replace("*", "")
    for row in data["rows"]:
        if row["result"]:
            test, dev = (numbers.perplexity(row["result"][name]["perplexity"]) for name in ("test", "dev"))
            gain = numbers.percent(row["gain"]["value"] if row["gain"] else None)
            assert f"| {row['name']} | {dev} | {test} | {gain} |" in markdown
        else:
            assert row["error"] in markdown.replace("&lt;", "<").replace("&gt;", ">")
    assert len(data["rows"]) == 3 * len(METHODS)
    assert [row["rank"] for row in data["ranks"]] == [5, 10, 20, 50, 100]


def test_the_best_is_bold(comparison: Comparison) -> None:
    summary, *_ = main_tables(comparison)
    for column in range(1, 4):
        values = {row[0].text: row[column] for row in summary.rows}
        assert [name for name, cell in values.items() if cell.best] == ["int-MKN + class-based"]
    assert f"<strong>{summary.rows[-1][1].text}</strong>" in render_page(comparison)
    assert f"\\textbf{{{summary.rows[-1][1].text}}}" in render_latex(comparison)


def test_values_that_look_alike_are_marked_alike(comparison: Comparison) -> None:
    costs = main_tables(comparison)[-1]
    trained = {row[1].text: row[2] for row in costs.rows if row[0].text == "2"}
    assert {name for name, cell in trained.items() if not cell.best} == {"int-MKN + class-based"}
    assert not any(row[4].best for row in costs.rows)  # all models of an order have the same size


def test_failures_and_warnings_are_said_in_words(comparison: Comparison) -> None:
    page = render_page(comparison)
    assert "Jelinek-Mercer, order 4 failed: line 3: &lt;s&gt; &amp; 100 % of {braces}_ are wrong" in page
    assert "are &lt;guessed&gt; &amp; 50 % off" in page
    assert ">failed<" in page
    assert "independent of each other" in page


def test_a_narrow_terminal_gets_fewer_columns(comparison: Comparison) -> None:
    from plre.cli.tables import fitting

    table = main_tables(comparison)[1]
    assert fitting(table, 120) == len(table.headings)
    assert 3 < fitting(table, 80) < len(table.headings)
    assert fitting(table, 10) == 3


def test_a_single_order_needs_no_summary() -> None:
    assert [table.label for table in main_tables(example((3,)))] == ["order3", "costs"]


def test_files_are_written_together(comparison: Comparison, tmp_path) -> None:  # type: ignore[no-untyped-def]
    from dataclasses import replace

    write_outputs(replace(comparison, folder=tmp_path))
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "report.html",
        "report.md",
        "results.json",
        "tables.tex",
    ]
