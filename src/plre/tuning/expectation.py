"""What a trial may be expected to cost and to gain, from those that were made."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from plre.tuning.journal import Made, Trial
from plre.tuning.space import KINDS

#: Seconds for a unit of work of each kind before any was done, on two slow cores.
_SECONDS = {"clustering": 3e-9, "factors": 6e-9, "class n-grams": 3e-7, "fitting": 3e-7, "building": 1e-6}
#: So many of the newest measurements count. Machines are faster or slower from one minute to the next, and a kernel that
#: is compiled on its first call says nothing of the next ones: so it is the middle one of these, or the faster of two.
_NEWEST = 3
#: What was thought of a kind of change before it was tried counts as much as so many trials.
_PRIOR = 1.0


def seconds_for(work: Iterable[tuple[str, float]], made: Sequence[Made]) -> float:
    """What this work of these kinds will take, going by what was made."""
    measured = {kind: [seconds] for kind, seconds in _SECONDS.items()}
    for kind, amount, seconds in made:
        if amount > 0:
            measured[kind].append(seconds / amount)
    newest = {kind: sorted(rates[-_NEWEST:]) for kind, rates in measured.items()}
    rates = {kind: values[(len(values) - 1) // 2] for kind, values in newest.items()}
    return sum(rates[kind] * amount for kind, amount in work)


def gain_of(kind: str, trials: Sequence[Trial]) -> float:
    """The share of the perplexity that one more change of a kind may save: the mean of what such changes saved."""
    expected = next(each.gain for each in KINDS if each.name == kind)
    total, number = expected * _PRIOR, _PRIOR
    best: float | None = None
    for trial in trials:
        saved = 0.0
        if trial.outcome == "done" and trial.perplexity is not None:
            if best is not None:
                saved = max(1 - trial.perplexity / best, 0.0)
            best = trial.perplexity if best is None else min(best, trial.perplexity)
        if trial.kind == kind:
            total += saved
            number += 1
    return total / number
