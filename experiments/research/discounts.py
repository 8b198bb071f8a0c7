"""What is taken from counts: Good-Turing's estimates, cutoffs, and families fitted to held-out text.

A family is a sum of shapes, D(c) = a_1 shape_1(c) + a_2 shape_2(c) + ... Then the probability of an event is a linear
function of the a, so the likelihood of held-out text has one maximum, and orders are fitted one after the other from
the coarsest context on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from experiments.research.counting import ContextLevel, DiscountOf, Evidence, Floats
from plre.smoothing.discounts import FALLBACK, counts_of_counts, good_turing

#: Nothing is quite kept, and nothing quite given away.
_LEAST, _MOST = 0.01, 0.99
#: Sweeps of Newton's method over the a.
_SWEEPS = 20
_POWERS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)

Discounting = Callable[[ContextLevel, Floats], DiscountOf]


@dataclass(frozen=True)
class Family:
    """Shapes, and what D may be at most in units of each."""

    shapes: tuple[DiscountOf, ...]
    limits: tuple[float, ...]

    def __call__(self, amounts: Sequence[float] | Floats) -> DiscountOf:
        """The member with these amounts."""
        return lambda counts: sum(
            (a * shape(counts) for a, shape in zip(amounts, self.shapes, strict=True)), 0 * counts
        )


def _hat(at: float) -> DiscountOf:
    return lambda counts: np.clip(1 - np.abs(counts - at), 0, 1)


#: Modified Kneser-Ney: one amount for counts of 1, one for 2, one for 3 and more; straight lines between them.
STEPS = Family((_hat(1), _hat(2), lambda counts: np.clip(counts - 2, 0, 1)), (1.0, 2.0, 3.0))
#: More steps than modified Kneser-Ney has.
MORE_STEPS = Family(
    (*(_hat(at) for at in (1, 2, 3, 4, 5)), lambda counts: np.clip(counts - 5, 0, 1)), (1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
)


def power(exponent: float) -> Family:
    """D(c) = a c^b."""
    return Family((lambda counts: np.where(counts > 0, counts, 0.0) ** exponent * (counts > 0),), (1.0,))


def estimated(counts: Floats) -> DiscountOf:
    """Good-Turing's three discounts, or the fallback; fractional counts are rounded to estimate them."""
    whole = np.maximum(np.rint(counts), 1).astype(np.int32)
    steps = good_turing(counts_of_counts(whole), "mkn") or FALLBACK["mkn"]
    return STEPS(steps.describe())


def cut(below: int, others: DiscountOf) -> DiscountOf:
    """Counts below a limit are given away whole, as if they had not been seen; totals stay what they are."""
    return lambda counts: np.where(counts < below, counts, others(counts))


def good_turing_of(level: ContextLevel, below: Floats) -> DiscountOf:
    """For models that are not fitted."""
    return estimated(level.counts.astype(np.float64))


def cutting(orders: Sequence[int], least: int = 2) -> Discounting:
    """Good-Turing's discounts, and n-grams of some orders only from a count on."""

    def choose(level: ContextLevel, below: Floats) -> DiscountOf:
        usual = good_turing_of(level, below)
        return cut(least, usual) if len(level.context) + 1 in orders else usual

    return choose


def scaled(factor: float) -> Discounting:
    """More or less than Good-Turing's discounts, at most all of a count."""

    def choose(level: ContextLevel, below: Floats) -> DiscountOf:
        usual = good_turing_of(level, below)
        return lambda counts: np.minimum(factor * usual(counts), _MOST * counts)

    return choose


def fitting(family: Family) -> Discounting:
    """The member of a family under which the valid text is most likely."""
    return lambda level, below: _fitted(family, level, below)[1]


def fitted_power(level: ContextLevel, below: Floats) -> DiscountOf:
    """The best of the families D(c) = a c^b."""
    return max((_fitted(power(b), level, below) for b in _POWERS), key=lambda found: found[0])[1]


def _fitted(family: Family, level: ContextLevel, below: Floats) -> tuple[float, DiscountOf]:
    """By Newton's method on one amount at a time."""
    counts, count = level.counts.astype(np.float64), level.count("valid")
    total = level.of_context(level.totals, "valid")
    seen = total > 0
    count, total, below = count[seen], total[seen], below[seen]
    slopes = []
    for shape in family.shapes:
        handed = level.of_context(level.sums(shape(counts)), "valid")[seen]
        slopes.append((handed * below - shape(count)) / total)
    limits = np.array(family.limits)
    amounts = 0.7 * limits**0.5
    probs = count / total + sum(a * slope for a, slope in zip(amounts, slopes, strict=True))
    for _ in range(_SWEEPS):
        before = amounts.copy()
        for j, slope in enumerate(slopes):
            ratio = slope / probs
            step = ratio.sum() / max((ratio * ratio).sum(), 1e-300)
            moved = float(np.clip(amounts[j] + step, _LEAST * limits[j], _MOST * limits[j]))
            probs = probs + (moved - amounts[j]) * slope
            amounts[j] = moved
        if np.abs(amounts - before).max() < 1e-5:
            break
    return float(np.log(probs).sum()), family(amounts)


def interpolate(
    levels: Sequence[ContextLevel], base: dict[str, Floats], how: Discounting
) -> tuple[list[dict[str, Evidence]], dict[str, Floats]]:
    """What each level says of events, the finest first, and the probabilities that all of them give together."""
    found, probs = [], base
    for level in reversed(levels):
        evidence = level.evidence(how(level, probs["valid"]))
        probs = {text: e.kept + e.rest * probs[text] for text, e in evidence.items()}
        found.append(evidence)
    return found[::-1], probs
