"""Smoothing one level of a tree of contexts."""

from __future__ import annotations

import numpy as np

from plre._jit import kernel


@kernel
def smooth(starts, raw, counts, suffixes, cut, discounts, lower, backoff, probs):
    """Interpolated Kneser-Ney for some contexts, whose events begin with those at ``starts``.

    Events that occur fewer than ``cut`` times are passed on whole to the level below, as discounts are:

        backoff(h) = (sum of D(c) over kept events + sum of c over others) / C(h)
    """
    for h in range(len(starts) - 1):
        total = 0.0
        rest = 0.0
        for e in range(starts[h], starts[h + 1]):
            total += counts[e]
            rest += discounts[min(counts[e], 3)] if raw[e] >= cut else counts[e]
        backoff[h] = rest / total
        for e in range(starts[h], starts[h + 1]):
            kept = counts[e] - discounts[min(counts[e], 3)] if raw[e] >= cut else 0.0
            probs[e] = kept / total + np.float64(backoff[h]) * np.float64(lower[suffixes[e]])
