"""Jelinek-Mercer: relative frequencies of all orders, mixed by weights that depend on how well the context is known.

    P(w | h) = (1 - s) c(hw) / C(h)  +  s P(w | h')        s by the order, and by the bucket of C(h): 1, 2-3, 4-7, ...

The shares s are those under which held-out text is likeliest, found by EM. Without such text the training text serves,
each of its words taken out of the counts while it is predicted: (c - 1) / (C - 1) (deleted interpolation, one by one).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plre.counts.lookup import Events
from plre.scratch import slices
from plre.smoothing import _kernels as kernels
from plre.smoothing._kernels import BUCKETS
from plre.threads import parallel

#: EM stops when no share changes by more than this, or after so many steps.
_TOLERANCE = 1e-4
_STEPS = 200
_PIECE = 1 << 16


@dataclass(frozen=True)
class Shares:
    """Discounts that are a share of the count, by how often the context was seen.

    As a discount it is called with the counts of one context.

    >>> Shares((0.9, 0.5, 0.1))(np.array([0, 1, 2])).tolist()
    [0.0, 0.5, 1.0]
    """

    by_bucket: tuple[float, ...] = (0.5,) * BUCKETS

    def __call__(self, counts: NDArray[np.int64]) -> NDArray[np.float64]:
        """The discount of every count."""
        return self.by_bucket[kernels.bucket_of(int(counts.sum()))] * counts.astype(np.float64)

    def describe(self) -> list[float]:
        """The shares, as a model file keeps them; buckets at the end that are all alike count once."""
        used = len(self.by_bucket)
        while used > 1 and self.by_bucket[used - 1] == self.by_bucket[used - 2]:
            used -= 1
        return list(self.by_bucket[:used])


def fit_shares(events: Events, uniform: float, *, leave_one_out: bool, threads: int = 1) -> list[Shares]:
    """The shares of each order, lowest first; ``uniform`` is a word's probability below the lowest.

    Every bucket is given two events more, one that stayed and one that passed on, which keeps shares between 0 and 1. A
    bucket without any event gets the share of the next smaller one that has some.
    """
    shares = np.full((events.order, BUCKETS), 0.5)

    def run(part: slice) -> NDArray[np.float64]:
        sums = np.zeros((2, events.order, BUCKETS))
        kernels.expect_shares(events.found, part.start, part.stop, int(leave_one_out), uniform, shares, *sums)
        return sums

    for _ in range(_STEPS):
        reached, passed = np.sum(parallel(run, slices(len(events), _PIECE), threads), axis=0)
        before, shares = shares, (passed + 1) / (reached + 2)
        if np.abs(shares - before).max() < _TOLERANCE:
            break
    return [Shares(_filled(row, known > 0)) for row, known in zip(shares, reached, strict=True)]


def _filled(row: NDArray[np.float64], known: NDArray[np.bool_]) -> tuple[float, ...]:
    """Shares of which only some are known, the others taken from the nearest below, or from the first."""
    places = np.flatnonzero(known)
    if len(places):
        row = row[places[np.maximum(np.searchsorted(places, np.arange(len(row)), "right") - 1, 0)]]
    return tuple(row.tolist())
