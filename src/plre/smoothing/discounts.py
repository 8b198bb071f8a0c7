"""How much is taken from each count and given to what was not seen (method.md 3).

A discount is a function of the count. Good-Turing's estimates come from the counts of counts; data too small or too odd
for them gets a fallback instead of an abort, and one warning.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from plre.errors import PlreWarning

DiscountKind = Literal["kn", "mkn", "jm"]


class Discount(Protocol):
    """D(c): what is taken from a count c; D(0) = 0 and 0 < D(c) <= c."""

    def __call__(self, counts: NDArray[np.int64]) -> NDArray[np.float64]:
        """The discount of every count."""
        ...

    def describe(self) -> list[float]:
        """The numbers of the discount, as a model file keeps them."""
        ...


@dataclass(frozen=True)
class Steps:
    """One discount for counts of 1, one for 2, one for 3 and more; Kneser-Ney's three are equal.

    >>> Steps(0.5, 1.0, 1.5)(np.array([0, 1, 2, 3, 9])).tolist()
    [0.0, 0.5, 1.0, 1.5, 1.5]
    """

    one: float
    two: float
    three: float

    def __call__(self, counts: NDArray[np.int64]) -> NDArray[np.float64]:
        """The discount of every count."""
        return np.array([0.0, self.one, self.two, self.three])[np.minimum(counts, 3)]

    def describe(self) -> list[float]:
        """The three discounts, as a model file keeps them."""
        return [self.one, self.two, self.three]


#: Used where Good-Turing has nothing to go by (KenLM's --discount_fallback has the same numbers for modified ones).
FALLBACK: dict[DiscountKind, Steps] = {"kn": Steps(0.5, 0.5, 0.5), "mkn": Steps(0.5, 1.0, 1.5)}


def counts_of_counts(counts: NDArray[np.int32]) -> list[int]:
    """How many n-grams were seen exactly 1, 2, 3 and 4 times."""
    return [int(n) for n in np.bincount(np.minimum(counts, 5), minlength=6)[1:5]]


def good_turing(n: Sequence[int], kind: DiscountKind) -> Steps | None:
    """The discounts that counts of counts ask for, or None where they make no sense.

    >>> good_turing([4, 2, 1, 1], "kn")
    Steps(one=0.5, two=0.5, three=0.5)
    """
    n1, n2, n3, n4 = n
    if not (n1 and n2):
        return None
    y = n1 / (n1 + 2 * n2)
    if kind == "kn":
        return Steps(y, y, y)
    if not n3:
        return None
    steps = Steps(1 - 2 * y * n2 / n1, 2 - 3 * y * n3 / n2, 3 - 4 * y * n4 / n3)
    sensible = 0 < steps.one <= 1 and 0 < steps.two <= 2 and 0 < steps.three <= 3
    return steps if sensible else None


def estimate(seen: Sequence[Sequence[int]], kinds: Sequence[DiscountKind], warn: bool = True) -> list[Steps]:
    """A discount for each order (lowest first) from its counts of counts; warns once if some had to fall back."""
    discounts = []
    fallen = []
    for order, (n, kind) in enumerate(zip(seen, kinds, strict=True), 1):
        steps = good_turing(n, kind)
        if steps is None:
            fallen.append(order)
            steps = FALLBACK[kind]
        discounts.append(steps)
    if fallen and warn:
        used = ", ".join(sorted({_show(FALLBACK[kinds[order - 1]]) for order in fallen}))
        warnings.warn(
            f"no discounts can be estimated for {_show_orders(fallen)} (too little or too regular text, or rare words "
            f"were made <unk>); "
            f"using the fixed values {used}",
            PlreWarning,
            stacklevel=2,
        )
    return discounts


def _show_orders(orders: list[int]) -> str:
    if len(orders) > 2 and orders == list(range(orders[0], orders[-1] + 1)):
        return f"orders {orders[0]} to {orders[-1]}"
    return f"order {', '.join(map(str, orders))}"


def _show(steps: Steps) -> str:
    values = steps.describe()
    return f"{values[0]:g}" if len(set(values)) == 1 else "/".join(f"{v:g}" for v in values)
