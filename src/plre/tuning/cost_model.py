"""The cost model of a search, and the gain that it expects of a change: both learn from the trials that were made."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from plre.store import Ingredient
from plre.tuning.journal import Made, Trial
from plre.tuning.space import KINDS, Proposal

#: So many of the newest measurements count. Machines are faster or slower from one minute to the next, and a kernel
#: that is compiled on its first call says nothing of the next ones: so the middle one is taken, or the faster of two.
_NEWEST = 3
#: What was thought of a kind of change before it was tried counts as much as one trial; the newest so many count.
_RECENT = 4
#: What is known of the kind counts as much as so many trials of the very same change.
_KIND = 0.5


def seconds_for(work: Iterable[tuple[Ingredient, float]], made: Sequence[Made]) -> float:
    """The time that it will take to make things that are so much work, going by what others of their kind took."""
    measured: dict[str, list[float]] = {}
    for kind, amount, seconds in made:
        if amount > 0:
            measured.setdefault(kind, []).append(seconds / amount)
    total = 0.0
    for ingredient, amount in work:
        newest = sorted([ingredient.pace, *measured.get(ingredient.kind, ())][-_NEWEST:])
        total += newest[(len(newest) - 1) // 2] * amount
    return total


def gain_of(proposal: Proposal, trials: Sequence[Trial]) -> float:
    """The share of the perplexity that a change may save, going by what it and others of its kind saved of late."""
    of_kind, own = [], []
    best: float | None = None
    for trial in trials:
        saved = 0.0
        if trial.outcome == "done" and trial.perplexity is not None:
            if best is not None:
                saved = max(1 - trial.perplexity / best, 0.0)
            best = trial.perplexity if best is None else min(best, trial.perplexity)
        if trial.kind == proposal.kind:
            of_kind.append(saved)
            if trial.change == proposal.change:
                own.append(saved)
    recent = of_kind[-_RECENT:]
    expected = next(kind.gain for kind in KINDS if kind.name == proposal.kind)
    expected = (expected + sum(recent)) / (1 + len(recent))
    return (_KIND * expected + sum(own)) / (_KIND + len(own))
