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
    """Bars with rate and time left for the stages that run, on a terminal."""

    def __init__(self) -> None:
        super().__init__()
        self._bars: Bars | None = None

    @contextlib.contextmanager
    def draw(self, name: str, total: float | None, unit: str) -> Iterator[Advance]:
        """Draw until the stage ends, then leave nothing behind; the first stage begins drawing, the last ends it."""
        with self._lock:
            if self._bars is None:
                self._bars = rate_bars()
                self._bars.start()
            bars = self._bars
            task = bars.add_task(name, total=total, rate="")

        def advance(amount: float) -> None:
            bars.advance(task, amount)
            if unit and (speed := next((each.speed for each in bars.tasks if each.id == task), None)):
                bars.update(task, rate=rate(speed, unit))

        try:
            yield advance
        finally:
            with self._lock:
                bars.remove_task(task)
                if not bars.tasks:
                    bars.stop()
                    self._bars = None

    def note(self, message: str) -> None:
        """Print one line, above the bars if there are some."""
        with self._lock:
            if self._bars is None:
                say(message)
            else:
                self._bars.console.print(message, markup=False, highlight=False, soft_wrap=True)


def make_progress(quiet: bool = False) -> Progress:
    """Bars on a terminal, lines elsewhere, nothing if asked; and a word when kernels have to be compiled."""
    announce_compilation(None if quiet else print_notice)
    if quiet:
        return Progress()
    return BarProgress() if sys.stderr.isatty() else PlainProgress()


def rate_bars() -> Bars:
    """Bars with rate and time left; they leave nothing behind."""
    from rich import progress as rich
    from rich.console import Console

    columns = (
        rich.TextColumn("{task.description}", markup=False),
        rich.BarColumn(),
        rich.TaskProgressColumn(),
        rich.TextColumn("{task.fields[rate]}", markup=False),
        rich.TimeElapsedColumn(),
        rich.TextColumn("left"),
        rich.TimeRemainingColumn(),
    )
    return rich.Progress(*columns, console=Console(stderr=True), transient=True)


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
