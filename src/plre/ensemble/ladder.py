"""The ladder: a count is split into layers, each to be approximated at a lower rank than the one before (method.md 5).

With powers 1 > rho_1 > ... > rho_eta > 0 and the discount D,

    f_0(c) = c  >=  f_1(c)  >= ... >=  f_eta(c)  >=  f_{eta+1}(c) = D(c),        f_j(c) = c^rho_j D(c)^(1 - rho_j)

Layer j is f_j - f_{j+1}. Layer 0 is kept exactly, layers 1 to eta are approximated, and what is left, D(c), goes to the
lower order. For one power of 1/2 (the paper's setting) f_1 is sqrt(D) sqrt(c), the paper's D* c^rho.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from plre.smoothing.discounts import Discount


def split(
    counts: NDArray[np.int64], discount: Discount, powers: Sequence[float]
) -> tuple[list[NDArray[np.float64]], NDArray[np.float64]]:
    """The layers of every count, from the one that is kept to the lowest, and what remains for the lower order.

    >>> from plre.smoothing.discounts import Steps
    >>> layers, rest = split(np.array([0, 1, 4]), Steps(0.25, 0.25, 0.25), [0.5])
    >>> [layer.tolist() for layer in layers], rest.tolist()
    ([[0.0, 0.5, 3.0], [0.0, 0.25, 0.75]], [0.0, 0.25, 0.25])
    """
    c = counts.astype(np.float64)
    d = discount(counts)
    bounds = [c, *(c**power * d ** (1 - power) for power in powers), d]
    layers = [np.maximum(upper - lower, 0.0) for upper, lower in pairwise(bounds)]
    return layers, d
