"""Putting one order together: layers and lower order to probabilities."""

from __future__ import annotations

import numpy as np

from plre._jit import kernel
from plre.model._kernels import dot


@kernel
def context_weights(first, last, children, counts, remains, totals, backoff):
    """For contexts ``first`` to ``last``: C(h), and G(h) / C(h). An unseen context passes on everything."""
    for h in range(first, last):
        total = 0.0
        rest = 0.0
        for e in range(children[h], children[h + 1]):
            total += counts[e]
            rest += remains[counts[e]]
        totals[h] = total
        backoff[h] = rest / total if total > 0 else 1.0


@kernel
def scale_contexts(first, last, right_start, totals, right):
    """Divide each context's factors by C(h), which turns counts into probabilities."""
    for h in range(first, last):
        if totals[h] > 0:
            for k in range(right_start[h], right_start[h + 1]):
                right[k] = right[k] / totals[h]


@kernel
def add_layers(first, last, children, counts, suffixes, kept, totals, backoff, lower, prob):
    """P(w | h) of the n-grams of contexts ``first`` to ``last``, without low rank layers."""
    for h in range(first, last):
        for e in range(children[h], children[h + 1]):
            prob[e] = kept[counts[e]] / totals[h] + np.float64(backoff[h]) * np.float64(lower[suffixes[e]])


@kernel
def add_low_rank(
    first, last, children, suffixes, slices, slice_start, rank, factors, left_start, right_base, right_start, prob
):  # fmt: skip
    """Add the low rank layers. ``factors`` is left and right end to end; the right ones start at ``right_base``."""
    for h in range(first, last):
        m = slices[h]
        right = right_base + right_start[h]
        for e in range(children[h], children[h + 1]):
            left = left_start[m] + np.int64(suffixes[e] - slice_start[m]) * rank[m]
            prob[e] += dot(factors, left, right, rank[m])
