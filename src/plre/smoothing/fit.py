"""Discounts under which held-out text is likeliest, instead of Good-Turing's guess from the counts of counts.

For interpolated modified Kneser-Ney (method.md 3), three discounts of each order, unigrams included. Newton's method:
the gradient comes from one pass over the text, and so does a curvature that never has the wrong sign, so that the step
to the top of the parabola goes up; it is shortened until it does, and kept within the bounds that probabilities need.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from plre.counts.lookup import Events
from plre.scratch import slices
from plre.smoothing import _kernels as kernels
from plre.smoothing.discounts import Steps
from plre.threads import parallel

#: The least discount: without any, unseen words would be impossible.
_LEAST = 1e-6
#: It stops when a step improves the mean log-likelihood by less than this, or after so many steps.
_TOLERANCE = 1e-9
_STEPS = 100
_SHORTEST = 1e-3
#: A step is found in at most so many rounds over all discounts, or when none moves by more than this.
_SWEEPS = 500
_STILL = 1e-9
_PIECE = 1 << 14


def fit_steps(events: Events, start: Sequence[Steps], uniform: float, *, threads: int = 1) -> list[Steps]:
    """The discounts of each order, lowest first: at least as good on ``events`` as those to start from.

    ``uniform`` is a word's probability below the lowest order.
    """
    low = np.full(3 * events.order, _LEAST)
    high = np.tile([1.0, 2.0, 3.0], events.order)
    place = np.clip([value for steps in start for value in steps.describe()], low, high)
    value, gradient, curvature = _differentiate(events, place, uniform, threads)
    for _ in range(_STEPS):
        step = _newton(gradient, curvature, low - place, high - place)
        size = 1.0
        while size > _SHORTEST:
            tried = np.clip(place + size * step, low, high)  # against rounding
            found = _differentiate(events, tried, uniform, threads)
            if found[0] > value:
                break
            size /= 2
        else:
            break
        gain = found[0] - value
        place, (value, gradient, curvature) = tried, found
        if gain < _TOLERANCE:
            break
    return [Steps(*row) for row in place.reshape(-1, 3).tolist()]


def _differentiate(
    events: Events, place: NDArray[np.float64], uniform: float, threads: int
) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
    """The mean log-likelihood, its gradient, and its curvature with the sign turned."""
    discounts = place.reshape(-1, 3)

    def run(part: slice) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
        gradient, curvature = np.zeros(len(place)), np.zeros((len(place), len(place)))
        loglik = kernels.differentiate_steps(
            events.found, part.start, part.stop, uniform, discounts, gradient, curvature
        )
        return loglik, gradient, curvature

    loglik, gradient, curvature = (
        sum(parts) / len(events) for parts in zip(*parallel(run, slices(len(events), _PIECE), threads), strict=True)
    )
    return loglik, gradient, curvature + np.tril(curvature, -1).T


def _newton(
    gradient: NDArray[np.float64],
    curvature: NDArray[np.float64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
) -> NDArray[np.float64]:
    """The step between these bounds to where a parabola with this gradient and curvature is highest.

    One discount after the other is moved to its best place; there are too few of them for anything cleverer.
    """
    step = np.zeros(len(gradient))
    for _ in range(_SWEEPS):
        before = step.copy()
        for k in np.flatnonzero(curvature.diagonal()):
            step[k] += (gradient[k] - curvature[k] @ step) / curvature[k, k]
            step[k] = min(max(step[k], low[k]), high[k])
        if np.abs(step - before).max() < _STILL:
            break
    return step
