"""Relative entropy pruning, order by order: what each n-gram is worth, and what becomes of the others without it.

Kernels with ``first`` and ``last`` look at the n-grams after these contexts only, so that threads may share an order.
``low`` has the low rank layers' share of each n-gram, and is empty where an order has none.
"""

from __future__ import annotations

import math

import numpy as np

from plre._jit import kernel
from plre.lowrank._kernels import dot_rows

#: Less than this of the order below is left for unseen words: nothing but rounding.
_NOTHING = 1e-12


# --- low rank layers -------------------------------------------------------------------------------------------------


@kernel
def products(first, last, children, suffixes, slices, row_start, rank, left, left_start, right, right_start, low):
    """The low rank layers' share of each n-gram."""
    for h in range(first, last):
        m = slices[h]
        for e in range(children[h], children[h + 1]):
            row = left_start[m] + np.int64(suffixes[e] - row_start[m]) * rank[m]
            low[e] = dot_rows(left, row, right, right_start[h], rank[m])


@kernel
def layer_sums(kept, slices, row_start, rank, left, left_start, right, right_start, sums):
    """What the low rank layers say after each context, all words of rows that are ``kept`` together."""
    starts = np.zeros(len(rank) + 1, np.int64)
    starts[1:] = np.cumsum(rank)
    rows = np.zeros(starts[-1])
    for m in range(len(rank)):
        for row in range(row_start[m], row_start[m + 1]):
            if kept[row]:
                at = left_start[m] + np.int64(row - row_start[m]) * rank[m]
                for k in range(rank[m]):
                    rows[starts[m] + k] += left[at + k]
    for h in range(len(sums)):
        sums[h] = dot_rows(rows, starts[slices[h]], right, right_start[h], rank[slices[h]])


@kernel
def row_sums(slices, row_start, rank, left, left_start, right, right_start, usage, sums):
    """Add what the low rank layers say of each row after all contexts together, each as often as it is asked."""
    starts = np.zeros(len(rank) + 1, np.int64)
    starts[1:] = np.cumsum(rank)
    columns = np.zeros(starts[-1])
    for h in range(len(usage)):
        m = slices[h]
        for k in range(rank[m]):
            columns[starts[m] + k] += usage[h] * right[right_start[h] + k]
    for m in range(len(rank)):
        for row in range(row_start[m], row_start[m + 1]):
            sums[row] += dot_rows(
                left, left_start[m] + np.int64(row - row_start[m]) * rank[m], columns, starts[m], rank[m]
            )


# --- the model's own text --------------------------------------------------------------------------------------------


@kernel
def follow(children, suffixes, prob, low, backoff, lower, usage, arrived, mass, below):
    """How often each n-gram is said, and what of it the order below does not say by itself.

    ``usage`` is how often each context is asked, ``arrived`` what longer n-grams add. ``mass`` becomes the total
    (unless it is empty); ``below`` gets what is said over and above the back-off and the low rank layers.
    """
    for h in range(len(usage)):
        for e in range(children[h], children[h + 1]):
            said = usage[h] * prob[e]
            if len(mass) > 0:
                mass[e] = arrived[e] + said
            shared = backoff[h] * np.float64(lower[suffixes[e]])
            if len(low) > 0:
                shared += low[e]
            below[suffixes[e]] += arrived[e] + said - usage[h] * shared


# --- pruning ---------------------------------------------------------------------------------------------------------


@kernel
def measure(first, last, children, suffixes, slices, prob, low, backoff, lower, below, layers, unseen, others, sums):
    """Of each context: how much of the order below is for unseen words, what these get, and what everything sums to.

    ``below`` is what the order below sums to, slice by slice; ``layers`` the sum of the low rank layers (or empty).
    """
    for h in range(first, last):
        free = below[slices[h]]
        total = 0.0
        rest = layers[h] if len(layers) > 0 else 0.0
        for e in range(children[h], children[h + 1]):
            free -= lower[suffixes[e]]
            total += prob[e]
            if len(low) > 0:
                rest -= low[e]
        unseen[h] = max(free, 0.0)
        others[h] = max(rest, 0.0) + backoff[h] * unseen[h]
        sums[h] = total + others[h]


@kernel
def receive(first, last, children, received, prob, low, backoff, others, usage, scale):
    """Mix what longer n-grams left behind into the probabilities after each context, which is asked more often now.

    ``scale`` becomes what its old probabilities were multiplied by.
    """
    for h in range(first, last):
        total = usage[h]
        for e in range(children[h], children[h + 1]):
            total += received[e]
        if total == usage[h] or total <= 0:
            continue
        old = usage[h] / total
        for e in range(children[h], children[h + 1]):
            mixed = old * prob[e] + received[e] / total
            if mixed > 0:  # less than nothing can only be rounding
                prob[e] = mixed
            if len(low) > 0:
                low[e] *= old
        backoff[h] *= old
        others[h] *= old
        usage[h] = total
        scale[h] = old


@kernel
def judge(first, last, children, suffixes, prob, low, backoff, lower, unseen, others, mass, threshold, keep):
    """Keep the n-grams without which the relative entropy would be more than ``threshold``; what is kept stays so.

    Without hw the word gets p', and the other words without an n-gram of their own what p' is less than p:

        mass(h) ( p ln(p / p') + U ln(U / (U + p - p')) )      with U what those others have now
    """
    for h in range(first, last):
        for e in range(children[h], children[h + 1]):
            if keep[e]:
                continue
            p = np.float64(prob[e])
            own = low[e] if len(low) > 0 else 0.0
            share = np.float64(lower[suffixes[e]])
            room = unseen[h] + share
            after = own
            if room > _NOTHING:
                after += (backoff[h] * unseen[h] + max(p - own, 0.0)) * share / room
            change = after - p
            if change == 0.0:
                continue
            if after <= 0.0 or (others[h] <= change):
                keep[e] = True
                continue
            cost = -p * math.log1p(change / p) if p > 0 else 0.0
            if others[h] > 0:
                cost -= others[h] * math.log1p(-change / others[h])
            keep[e] = mass[h] * cost > threshold


@kernel
def hand_down(children, suffixes, prob, low, backoff, lower, usage, keep, received, wanted):
    """What n-grams that go leave behind for the order below; and which of that order those that stay need.

    An n-gram that goes leaves what it says over and above the back-off: the order below then has to say it. That is
    less than nothing for a word that the back-off would say more often, in models that do not interpolate.
    """
    for h in range(len(usage)):
        for e in range(children[h], children[h + 1]):
            if keep[e]:
                wanted[h] = True
                wanted[suffixes[e]] = True
                continue
            share = backoff[h] * np.float64(lower[suffixes[e]])
            if len(low) > 0:
                share += low[e]
            received[suffixes[e]] += usage[h] * (prob[e] - share)


@kernel
def share_rest(first, last, children, suffixes, slices, prob, low, keep, lower, below, before, after, old, unseen,
               backoff, sums):  # fmt: skip
    """New back-off weights: what the n-grams that went had, and what was for unseen words before, is for all those now.

    ``old`` are the weights before, of the shares ``unseen``; ``before`` and ``after`` sums of the low rank layers (or
    empty), ``lower`` and ``below`` the new order below and its sums. ``sums`` becomes what everything sums to now.
    """
    for h in range(first, last):
        rest = old[h] * unseen[h]
        free = below[slices[h]]
        total = 0.0
        layers = 0.0
        if len(after) > 0:
            rest += before[h] - after[h]
            layers = after[h]
        left = 0
        for e in range(children[h], children[h + 1]):
            own = low[e] if len(low) > 0 else 0.0
            if keep[e]:
                left += 1
                total += np.float64(np.float32(prob[e]))
                free -= lower[suffixes[e]]
                layers -= own
            else:
                rest += prob[e] - own
        if left == 0 and layers <= 0:
            backoff[h] = 1.0
        elif free > _NOTHING:
            backoff[h] = max(rest, 0.0) / free
        else:
            backoff[h] = old[h]
        sums[h] = total + max(layers, 0.0) + np.float64(backoff[h]) * max(free, 0.0)
