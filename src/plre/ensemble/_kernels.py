"""Putting one order together: layers and lower order to probabilities."""

from __future__ import annotations

import numpy as np

from plre._jit import kernel
from plre.lowrank._kernels import dot_rows
from plre.smoothing._kernels import bucket_of

#: A sum of probabilities that is nothing but the rounding of others.
_NOTHING = 1e-8


@kernel
def context_weights(children, counts, places, remains, totals, backoff):
    """C(h), and G(h) / C(h), of a piece of contexts and its n-grams. An unseen context passes on everything.

    ``remains`` has what is passed on of each count at its place. ``totals`` comes with what n-grams had that were left
    out: all of that is passed on.
    """
    for h in range(len(totals)):
        total = totals[h]
        rest = totals[h]
        for e in range(children[h] - children[0], children[h + 1] - children[0]):
            total += counts[e]
            rest += remains[places[e]]
        totals[h] = total
        backoff[h] = rest / total if total > 0 else 1.0


@kernel
def leak(totals, leaks, backoff, sums):
    """Let a share of each context's back-off weight go to other models; ``leaks`` has it by bucket of C(h).

    ``sums`` has what P(. | h') sums to beyond 1 (less than nothing: it leaks, too), and gets the same of P(. | h).
    Nothing leaks from a context after which nothing was seen: it is 0 there.
    """
    for h in range(len(totals)):
        if totals[h] > 0:
            passed = np.float64(backoff[h])
            backoff[h] = passed * (1 - leaks[bucket_of(totals[h])])
            sums[h] = np.float64(backoff[h]) * (1 + np.float64(sums[h])) - passed
        else:
            sums[h] = 0.0


@kernel
def scale_contexts(right_start, totals, right):
    """Divide each context's factors by C(h), which turns counts into probabilities."""
    for h in range(len(totals)):
        if totals[h] > 0:
            for k in range(right_start[h], right_start[h + 1]):
                right[k] = right[k] / totals[h]


@kernel
def add_layers(children, places, suffixes, kept, totals, backoff, lower, prob):
    """P(w | h) of a piece's n-grams, without low rank layers."""
    for h in range(len(totals)):
        for e in range(children[h] - children[0], children[h + 1] - children[0]):
            prob[e] = kept[places[e]] / totals[h] + np.float64(backoff[h]) * np.float64(lower[suffixes[e]])


@kernel
def share_out(children, counts, suffixes, shares, lower, totals, backoff, prob):
    """The same for discounts that are a share of the count, by the bucket of the context's total (Jelinek-Mercer)."""
    for h in range(len(totals)):
        total = np.int64(0)
        first, last = children[h] - children[0], children[h + 1] - children[0]
        for e in range(first, last):
            total += counts[e]
        totals[h] = total
        backoff[h] = shares[bucket_of(total)] if total > 0 else 1.0
        share = np.float64(backoff[h])
        for e in range(first, last):
            prob[e] = (1 - share) * counts[e] / totals[h] + share * lower[suffixes[e]]


@kernel
def back_off(children, counts, places, suffixes, kept, remains, lower, sums, totals, backoff, prob):
    """The back-off form of a piece: a seen n-gram keeps what is left of its count, the rest goes to unseen words only.

        P(w | h) = kept(c) / C(h)  if anything is kept,  else  alpha(h) P(w | h')
        alpha(h) = sum of D(c) / C(h)  /  sum of P(w | h') over all those other words

    ``lower`` has P(w | h') of seen n-grams; ``sums[h]`` what P(. | h') sums to beyond 1, which becomes the same of
    P(. | h). Stored numbers are rounded, and where few words are unseen 1 minus the seen ones would be mostly that.
    Where no other words are left (all were seen), the order below is mixed in instead.
    """
    for h in range(len(totals)):
        total = 0.0
        rest = 0.0
        others = 1.0 + np.float64(sums[h])
        unseen = others
        first, last = children[h] - children[0], children[h + 1] - children[0]
        for e in range(first, last):
            total += counts[e]
            rest += remains[places[e]]
            unseen -= lower[suffixes[e]]
            if kept[places[e]] > 0:
                others -= lower[suffixes[e]]
        totals[h] = total
        if total == 0:
            backoff[h] = 1.0
            continue
        mixed = others < _NOTHING
        backoff[h] = rest / total if mixed else rest / total / others
        weight = np.float64(backoff[h])
        beyond = weight * unseen - 1.0
        for e in range(first, last):
            own = kept[places[e]] / total
            prob[e] = own + weight * lower[suffixes[e]] if mixed or own == 0 else own
            beyond += prob[e]
        sums[h] = beyond


@kernel
def add_factor_products(children, suffixes, slices, slice_start, rank, left, left_start, right, right_start, prob):
    """Add the low rank layers to a piece's probabilities; ``slices`` says which slice each context belongs to."""
    for h in range(len(children) - 1):
        m = slices[h]
        for e in range(children[h] - children[0], children[h + 1] - children[0]):
            row = left_start[m] + np.int64(suffixes[e] - slice_start[m]) * rank[m]
            prob[e] += dot_rows(left, row, right, right_start[h], rank[m])
