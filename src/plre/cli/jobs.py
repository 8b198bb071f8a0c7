"""Progress of ``plre compare``: the jobs that run, and a line for each that has ended."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

from plre.cli.console import say, stage_bars
from plre.comparison.plan import Job
from plre.comparison.run import JobOutcome, JobWatcher
from plre.reporting import numbers

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


def describe_outcome(job: Job, outcome: JobOutcome) -> str:
    """A line on how a job ended."""
    if not outcome.result:
        return f"{job.name}: failed: {outcome.error}"
    result = outcome.result
    shown = f"test perplexity {numbers.perplexity(result['test']['perplexity'])}, {numbers.seconds(result['seconds'])}"
    return f"{job.name}: {shown}"


class PlainWatcher(JobWatcher):
    """A line for each finished job, for logs and pipes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._left = 0

    def plan(self, jobs: int, done: int) -> None:
        """Say how much there is to do."""
        self._left = jobs - done
        say(f"{jobs} jobs" + (f", {done} of them done before" if done else ""))

    def ended(self, job: Job, outcome: JobOutcome) -> None:
        """Say how it went, and how many are left."""
        with self._lock:
            self._left -= 1
            say(f"{describe_outcome(job, outcome)} ({self._left} left)")


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

    def ended(self, job: Job, outcome: JobOutcome) -> None:
        """Let the line go up and the bar go on."""
        if job in self._running:
            self._bars.remove_task(self._running.pop(job))
        self._bars.console.print(describe_outcome(job, outcome), markup=False, highlight=False)
        with self._lock:
            self._left -= 1
        if self._all is not None:
            self._bars.update(self._all, advance=1, stage=f"{self._left} left")


@contextlib.contextmanager
def make_watcher(quiet: bool) -> Iterator[JobWatcher]:
    """Bars on a terminal, lines elsewhere, nothing if asked."""
    if quiet:
        yield JobWatcher()
    elif not sys.stderr.isatty():
        yield PlainWatcher()
    else:
        with stage_bars() as bars:
            yield BarWatcher(bars)
