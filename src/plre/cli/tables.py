"""Tables on the terminal."""

from __future__ import annotations

import sys

from plre.reporting.table import ReportTable

#: Letters in a line of a table that goes to a file or a pipe.
_WIDTH = 120
#: Letters between two columns.
_GAP = 3


def print_table(table: ReportTable) -> None:
    """Print a table, without its last columns where these do not fit; the best of each kind is bold."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False, width=None if sys.stdout.isatty() else _WIDTH)
    shown = Table(title=table.title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    columns = fitting(table, console.width)
    for column, heading in enumerate(table.headings[:columns]):
        shown.add_column(heading, justify="left" if column < table.names else "right", no_wrap=True)
    for row in table.rows:
        shown.add_row(*(Text(cell.text, style="bold" if cell.best else "") for cell in row[:columns]))
    console.print(shown)
    for note in table.notes:
        console.print(note, markup=False)


def fitting(table: ReportTable, width: int) -> int:
    """How many columns of a table fit into so many letters; two of numbers are shown in any case."""
    widths = [max(map(len, column)) + _GAP for column in zip(*table.lines(), strict=True)]
    columns = len(widths)
    while columns > table.names + 2 and sum(widths[:columns]) > width:
        columns -= 1
    return columns
