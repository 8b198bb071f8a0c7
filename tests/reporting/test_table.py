"""One small table in every form: the same texts, each form's own signs escaped."""

from __future__ import annotations

import pytest

from plre.reporting.latex import latex_table
from plre.reporting.markdown import markdown_list, markdown_section, markdown_table
from plre.reporting.table import Cell, ReportTable, plain_table
from plre.reporting.webpage import html_charts, html_list, html_section, html_table, whole_page


@pytest.fixture
def table() -> ReportTable:
    rows = [[Cell("a|b"), Cell("1.50", True)], [Cell("<unk>"), Cell("12 %")]]
    return ReportTable("small", "A table", ["method", "test & dev"], rows, 1, ["<s> is left out."], [1])


def test_plain(table: ReportTable) -> None:
    assert plain_table(table).splitlines() == ["method  test & dev", "a|b           1.50", "<unk>         12 %"]


def test_markdown(table: ReportTable) -> None:
    assert markdown_table(table).splitlines() == [
        "| method | test & dev |",
        "| :-- | --: |",
        "| a\\|b | **1.50** |",
        "| &lt;unk&gt; | 12 % |",
    ]
    section = markdown_section(table)
    assert section.startswith("## A table\n\n| method")
    assert section.endswith("\n\n&lt;s&gt; is left out.")
    assert markdown_list(["a", "`b`"]) == "- a\n- `b`"


def test_latex(table: ReportTable) -> None:
    text = latex_table(table)
    assert r"\caption{A table. \textless{}s\textgreater{} is left out.}" in text
    assert r"\label{tab:small}" in text
    assert r"\begin{tabular}{@{}lr@{}}" in text
    body = text[text.index(r"\toprule") :].splitlines()
    assert body[1:6] == [
        r"method & test \& dev \\",
        r"\midrule",
        r"a|b & \textbf{1.50} \\",
        r"\midrule",
        r"\textless{}unk\textgreater{} & 12 \% \\",
    ]


def test_html(table: ReportTable) -> None:
    text = html_table(table)
    assert '<th scope="col" class="number">test &amp; dev</th>' in text
    assert '<td class="number"><strong>1.50</strong></td>' in text
    assert '<tr class="group"><td>&lt;unk&gt;</td>' in text
    section = html_section(table)
    assert section.startswith('<section id="small"><h2>A table</h2>')
    assert "<p class='note'>&lt;s&gt; is left out.</p>" in section
    assert html_list(["<b>"]) == "<ul><li>&lt;b&gt;</li></ul>"


def test_a_page_leaves_out_what_is_empty() -> None:
    page = whole_page("A & B", ["<p>one</p>", html_charts([]), "<p>two</p>"])
    assert "<title>A &amp; B</title>" in page
    assert "<p>one</p>\n<p>two</p>" in page
