"""What the command line shows: results on standard output, everything else on standard error."""

from __future__ import annotations

import contextlib
import sys
import time
import warnings
from collections.abc import Iterator
from typing import Any

from plre.progress import Advance, Progress

#: Stages shorter than this are not worth a line where there is no bar.
_WORTH_A_LINE = 0.5


def say(message: str) -> None:
    """One line on standard error."""
    print(message, file=sys.stderr, flush=True)


def show_warnings_plainly() -> None:
    """Warnings as one line, without the place in the code."""

    def show(message: Warning | str, *args: Any, **kwargs: Any) -> None:
        say(f"warning: {message}")

    warnings.showwarning = show


class PlainProgress(Progress):
    """A line for each finished stage, for logs and pipes."""

    @contextlib.contextmanager
    def draw(self, name: str, total: float | None, unit: str) -> Iterator[Advance]:
        """Say what was done, how fast, and how long it took."""
        start = time.perf_counter()
        done = 0.0

        def advance(amount: float) -> None:
            nonlocal done
            done += amount

        yield advance
        seconds = time.perf_counter() - start
        if seconds >= _WORTH_A_LINE:
            rate = f", {done / seconds / 1e6:.1f} MB/s" if unit == "B" else ""
            say(f"{name}: {seconds:.1f} s{rate}")

    def note(self, message: str) -> None:
        """One line."""
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
        if unit == "B":
            columns += [rich.DownloadColumn(), rich.TransferSpeedColumn()]
        columns += [rich.TimeElapsedColumn(), rich.TextColumn("left"), rich.TimeRemainingColumn()]
        with rich.Progress(*columns, console=Console(stderr=True), transient=True) as bars:
            task = bars.add_task(name, total=total)
            yield lambda amount: bars.advance(task, amount)

    def note(self, message: str) -> None:
        """One line."""
        say(message)


def make_progress(quiet: bool = False) -> Progress:
    """Bars on a terminal, lines elsewhere, nothing if asked; and a word when kernels have to be compiled."""
    from plre._jit import announce_compilation

    if quiet:
        return Progress()
    announce_compilation(lambda: say("compiling kernels: the first run on this machine takes up to a minute longer"))
    return BarProgress() if sys.stderr.isatty() else PlainProgress()
