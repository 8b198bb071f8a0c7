"""Messages and progress of the command line, on standard error; standard output is for results."""

from __future__ import annotations

import contextlib
import sys
import time
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from plre.machinecode.notice import announce_compilation, print_notice
from plre.progress import Advance, Progress

if TYPE_CHECKING:
    from rich.progress import Progress as Bars

#: Stages shorter than this are not worth a line where there is no bar; longer ones get a line now and then.
_WORTH_A_LINE = 0.5
_EVERY = 30.0
#: It takes long on the first run, and on every run where there is no place to keep the machine code.


def say(message: str) -> None:
    """Print one line on standard error."""
    print(message, file=sys.stderr, flush=True)


def show_warnings_plainly() -> None:
    """Warnings as one line, without the place in the code."""

    def show(message: Warning | str, *args: Any, **kwargs: Any) -> None:
        say(f"warning: {message}")

    warnings.showwarning = show


def rate(speed: float, unit: str) -> str:
    """A speed that can be read at a glance.

    >>> rate(12_345_678, "B"), rate(1234, "words"), rate(2.5, "steps")
    ('12.3 MB/s', '1.2 k words/s', '2.5 steps/s')
    """
    for factor, prefix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if speed >= factor:
            return f"{speed / factor:.1f} {prefix}{'B' if unit == 'B' else ' ' + unit}/s"
    return f"{speed:.1f} {unit}/s"


class PlainProgress(Progress):
    """A line for each finished stage, for logs and pipes."""

    @contextlib.contextmanager
    def draw(self, name: str, total: float | None, unit: str) -> Iterator[Advance]:
        """Say what was done, how fast, and how long it took."""
        start = last = time.perf_counter()
        done = 0.0

        def advance(amount: float) -> None:
            nonlocal done, last
            done += amount
            now = time.perf_counter()
            if total and now - last > _EVERY:
                last = now
                say(f"{name}: {done / total:.0%}, about {(now - start) * (total / done - 1):.0f} s left")

        yield advance
        seconds = time.perf_counter() - start
        if seconds >= _WORTH_A_LINE:
            say(f"{name}: {seconds:.1f} s" + (f", {rate(done / seconds, unit)}" if unit else ""))

    def note(self, message: str) -> None:
        """Print one line."""
        say(message)


class BarProgress(Progress):
    """A bar with rate and time left for the stage that runs, on a terminal."""

    @contextlib.contextmanager
    def draw(self, name: str, total: float | None, unit: str) -> Iterator[Advance]:
        """Draw until the stage ends, then leave nothing behind."""
        from rich import progress as rich
        from rich.console import Console

        columns: list[rich.ProgressColumn] = [
            rich.TextColumn("{task.description}"),
            rich.BarColumn(),
            rich.TaskProgressColumn(),
        ]
        if unit:
            columns.append(rich.TextColumn("{task.fields[rate]}"))
        columns += [rich.TimeElapsedColumn(), rich.TextColumn("left"), rich.TimeRemainingColumn()]
        with rich.Progress(*columns, console=Console(stderr=True), transient=True) as bars:
            task = bars.add_task(name, total=total, rate="")

            def advance(amount: float) -> None:
                bars.advance(task, amount)
                if speed := bars.tasks[0].speed:
                    bars.update(task, rate=rate(speed, unit))

            yield advance

    def note(self, message: str) -> None:
        """Print one line."""
        say(message)


def make_progress(quiet: bool = False) -> Progress:
    """Bars on a terminal, lines elsewhere, nothing if asked; and a word when kernels have to be compiled."""
    announce_compilation(None if quiet else print_notice)
    if quiet:
        return Progress()
    return BarProgress() if sys.stderr.isatty() else PlainProgress()


def stage_bars() -> Bars:
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
