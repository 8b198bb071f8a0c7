"""Smoothing one level of a tree of contexts, and leaving out what is too rare to be kept."""

from __future__ import annotations

import numpy as np

from plre._jit import kernel


@kernel
def smooth(first, last, starts, raw, counts, suffixes, cut, discounts, lower, backoff, probs):
    """Interpolated Kneser-Ney for the nodes ``first`` to ``last``, whose events begin with those at ``starts``.

    Events that occur fewer than ``cut`` times are passed on whole to the level below, as discounts are:

        backoff(h) = (sum of D(c) over kept events + sum of c over others) / C(h)
    """
    for h in range(first, last):
        total = 0.0
        rest = 0.0
        for e in range(starts[h], starts[h + 1]):
            total += counts[e]
            rest += discounts[min(counts[e], 3)] if raw[e] >= cut else counts[e]
        backoff[h] = rest / total
        for e in range(starts[h], starts[h + 1]):
            kept = counts[e] - discounts[min(counts[e], 3)] if raw[e] >= cut else 0.0
            probs[e] = kept / total + np.float64(backoff[h]) * np.float64(lower[suffixes[e]])


@kernel
def keep(starts, raw, cut, nodes, events):
    """Number what occurs at least ``cut`` times: write which nodes have such events, and which events those are.

    Returns how many of both there are.
    """
    kept_nodes, kept_events = 0, 0
    for h in range(len(starts) - 1):
        before = kept_events
        for e in range(starts[h], starts[h + 1]):
            if raw[e] >= cut:
                events[kept_events] = e
                kept_events += 1
        if kept_events > before:
            nodes[kept_nodes] = h
            kept_nodes += 1
    return kept_nodes, kept_events
