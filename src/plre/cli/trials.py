"""Progress of ``plre tune``: the trial that runs, the best so far, the time left."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from plre.cli.console import PlainProgress, make_progress, say, stage_bars
from plre.progress import Advance, Progress
from plre.reporting import numbers
from plre.tuning.journal import Trial
from plre.tuning.search import TrialWatcher
from plre.tuning.space import Proposal

if TYPE_CHECKING:
    from rich.progress import Progress as Bars
    from rich.progress import TaskID


def describe_trial(trial: Trial, best: Trial | None, left: float) -> str:
    """A line on how a trial ended."""
    name = f"trial {trial.number}, {trial.change}"
    if trial.perplexity is None:
        return f"{name}: {trial.outcome}, {trial.reason} ({numbers.seconds(trial.seconds)})"
    mark = "the best so far" if best is not None and best.number == trial.number else f"best {_of(best)}"
    spent = f"{numbers.seconds(trial.seconds)}, {numbers.size(trial.bytes)}"
    return f"{name}: {numbers.perplexity(trial.perplexity)}, {mark} ({spent}; {numbers.seconds(max(left, 0))} left)"


def _of(best: Trial | None) -> str:
    return numbers.perplexity(best.perplexity if best else None)


class PlainTrials(TrialWatcher):
    """A line for each trial, for logs and pipes."""

    def ended(self, trial: Trial, best: Trial | None, left: float) -> None:
        """Say how it went."""
        say(describe_trial(trial, best, left))


class QuietStages(PlainProgress):
    """Keeps the stages within trials to itself: there would be dozens of lines."""

    @contextlib.contextmanager
    def draw(self, name: str, total: float | None, unit: str) -> Iterator[Advance]:
        """Say nothing."""
        yield lambda amount: None


class BarTrials(TrialWatcher):
    """A bar of the budget with the best so far, and below it the trial that runs; finished ones stay as lines above."""

    def __init__(self, bars: Bars, seconds: float) -> None:
        self._bars = bars
        self._seconds = seconds
        self._all: TaskID = bars.add_task("budget", total=seconds, stage="")
        self._now: TaskID = bars.add_task("reading", total=None, stage="")

    def began(self, number: int, proposal: Proposal, seconds: float) -> None:
        """Change the lower line."""
        self._bars.reset(
            self._now, description=f"trial {number}", stage=f"{proposal.change} (about {numbers.seconds(seconds)})"
        )

    def ended(self, trial: Trial, best: Trial | None, left: float) -> None:
        """Let the line go up and the bar go on."""
        self._bars.console.print(describe_trial(trial, best, left), markup=False, highlight=False)
        shown = f"best {_of(best)}, {numbers.seconds(max(left, 0))} left"
        self._bars.update(self._all, completed=min(self._seconds, self._seconds - left), stage=shown)


class BarStages(QuietStages):
    """Notes go above the bars."""

    def __init__(self, bars: Bars) -> None:
        super().__init__()
        self._bars = bars

    def note(self, message: str) -> None:
        """Print one line."""
        self._bars.console.print(message, markup=False, highlight=False)


@contextlib.contextmanager
def watching(quiet: bool, seconds: float) -> Iterator[tuple[TrialWatcher, Progress]]:
    """Bars on a terminal, lines elsewhere, nothing if asked."""
    make_progress(quiet)  # says when kernels are compiled
    if quiet:
        yield TrialWatcher(), Progress()
    elif not sys.stderr.isatty():
        yield PlainTrials(), QuietStages()
    else:
        with stage_bars() as bars:
            yield BarTrials(bars, seconds), BarStages(bars)
