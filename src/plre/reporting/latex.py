"""Tables in LaTeX, to be ``\\input`` into a paper; they need the package booktabs and nothing else."""

from __future__ import annotations

from plre.reporting.table import Cell, ReportTable

_ESCAPES = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "±": r"$\pm$",
    "−": "$-$",
    "≤": r"$\le$",
    "–": "--",
}

#: Letters and gaps, so that tables with few and with many columns fit on the narrow page of a plain article.
_SIZE = r"\footnotesize\setlength{\tabcolsep}{3pt}"
_SMALLER, _MANY = r"\scriptsize\setlength{\tabcolsep}{1.5pt}", 7


def latex_table(table: ReportTable) -> str:
    """One floating table with its caption and label; the best of each kind is bold."""
    columns = "@{}" + "l" * table.names + "r" * (len(table.headings) - table.names) + "@{}"
    body = []
    for number, row in enumerate(table.rows):
        if number in table.groups:
            body.append(r"\midrule")
        body.append(" & ".join(map(_cell, row)) + r" \\")
    caption = ". ".join(latex_escape(text.rstrip(".")) for text in (table.title, *table.notes))
    return "\n".join(
        [
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{caption}.}}",
            rf"\label{{tab:{table.label}}}",
            _SIZE if len(table.headings) < _MANY else _SMALLER,
            rf"\begin{{tabular}}{{{columns}}}",
            r"\toprule",
            " & ".join(map(latex_escape, table.headings)) + r" \\",
            r"\midrule",
            *body,
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
        ]
    )


def latex_escape(text: str) -> str:
    r"""Plain text as LaTeX.

    >>> latex_escape("−2.1 % & more")
    '$-$2.1 \\% \\& more'
    """
    return "".join(_ESCAPES.get(letter, letter) for letter in text)


def _cell(cell: Cell) -> str:
    text = latex_escape(cell.text)
    return rf"\textbf{{{text}}}" if cell.best else text
