"""What ``plre compare`` shows: a line for each job that runs, and at the end a table for each order."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

from plre.cli.console import say
from plre.comparison import numbers
from plre.comparison.plan import Job
from plre.comparison.run import Outcome, Watcher
from plre.comparison.tables import Table

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

#: Of tables that go to a file or a pipe.
_WIDTH = 120
#: Between two columns.
_GAP = 3


def told(job: Job, outcome: Outcome) -> str:
    """How a job ended, in a line."""
    if not outcome.result:
        return f"{job.name}: failed: {outcome.error}"
    result = outcome.result
    shown = f"test perplexity {numbers.perplexity(result['test']['perplexity'])}, {numbers.seconds(result['seconds'])}"
    return f"{job.name}: {shown}"


class PlainWatcher(Watcher):
    """A line for each finished job, for logs and pipes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._left = 0

    def plan(self, jobs: int, done: int) -> None:
        """Say how much there is to do."""
        self._left = jobs - done
        say(f"{jobs} jobs" + (f", {done} of them done before" if done else ""))

    def ended(self, job: Job, outcome: Outcome) -> None:
        """Say how it went, and how many are left."""
        with self._lock:
            self._left -= 1
            say(f"{told(job, outcome)} ({self._left} left)")


class BarWatcher(PlainWatcher):
    """A bar for all jobs and, below it, what each running one does now; finished ones stay as lines above."""

    def __init__(self, bars: Progress) -> None:
        super().__init__()
        self._bars = bars
        self._all: TaskID | None = None
        self._running: dict[Job, TaskID] = {}

    def plan(self, jobs: int, done: int) -> None:
        """Draw the bar."""
        self._left = jobs - done
        self._all = self._bars.add_task("all jobs", total=jobs, completed=done, stage=f"{self._left} left")

    def began(self, job: Job) -> None:
        """Add a line."""
        self._running[job] = self._bars.add_task(job.name, total=None, stage="starting")

    def stage(self, job: Job, name: str) -> None:
        """Change the line."""
        self._bars.update(self._running[job], stage=name)

    def ended(self, job: Job, outcome: Outcome) -> None:
        """Let the line go up and the bar go on."""
        if job in self._running:
            self._bars.remove_task(self._running.pop(job))
        self._bars.console.print(told(job, outcome), markup=False, highlight=False)
        with self._lock:
            self._left -= 1
        if self._all is not None:
            self._bars.update(self._all, advance=1, stage=f"{self._left} left")


@contextlib.contextmanager
def make_watcher(quiet: bool) -> Iterator[Watcher]:
    """Bars on a terminal, lines elsewhere, nothing if asked."""
    if quiet:
        yield Watcher()
    elif not sys.stderr.isatty():
        yield PlainWatcher()
    else:
        with stage_bars() as bars:
            yield BarWatcher(bars)


def stage_bars() -> Progress:
    """Bars that say what is done now, the field ``stage``; they leave nothing behind."""
    from rich import progress as rich
    from rich.console import Console

    columns = (
        rich.TextColumn("{task.description}", markup=False),
        rich.BarColumn(bar_width=20),
        rich.TimeElapsedColumn(),
        rich.TextColumn("{task.fields[stage]}", markup=False),
    )
    return rich.Progress(*columns, console=Console(stderr=True), transient=True)


def print_table(table: Table) -> None:
    """A table on standard output, without the last columns where these do not fit; the best of each kind is bold."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    console = Console(highlight=False, width=None if sys.stdout.isatty() else _WIDTH)
    shown = RichTable(title=table.title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    columns = fitting(table, console.width)
    for column, heading in enumerate(table.headings[:columns]):
        shown.add_column(heading, justify="left" if column < table.names else "right", no_wrap=True)
    for row in table.rows:
        shown.add_row(*(Text(cell.text, style="bold" if cell.best else "") for cell in row[:columns]))
    console.print(shown)
    for note in table.notes:
        console.print(note, markup=False)


def fitting(table: Table, width: int) -> int:
    """How many columns of a table fit into so many letters; two of numbers are shown in any case."""
    lines = [table.headings, *([cell.text for cell in row] for row in table.rows)]
    widths = [max(map(len, column)) + _GAP for column in zip(*lines, strict=True)]
    columns = len(widths)
    while columns > table.names + 2 and sum(widths[:columns]) > width:
        columns -= 1
    return columns
