"""EM for the weights with which a model of n-grams leads others (``gating.py``)."""

from __future__ import annotations

import math

import numpy as np

from plre._jit import kernel
from plre.lowrank._kernels import dot_rows
from plre.model._gates import gate_bucket, left_over
from plre.model._plan import GATE_BUCKETS
from plre.smoothing._kernels import bucket_of

#: Products of probabilities as small as this are far from the least number that there is, even times one more.
_SMALL = 1e-100


@kernel
def pass_on(found, discounts, passed, bucket):
    """What each order passes on to shorter contexts, and the bucket of its context.

    ``found`` is that of ``counts.lookup.Events``. An order whose context was not seen has bucket -1. Unigrams have no
    context: they pass on everything, to what they are themselves.
    """
    for i in range(len(passed)):
        passed[i, 0] = 1.0
        bucket[i, 0] = 0
        for n in range(1, len(found)):
            total = np.float64(found[n, i, 1])
            bucket[i, n] = -1
            passed[i, n] = 0.0
            if total > 0:
                rest = 0.0
                for k in range(3):
                    rest += discounts[n, k] * found[n, i, 2 + k]
                bucket[i, n] = bucket_of(total)
                passed[i, n] = rest / total


@kernel
def low_rank_counts(contexts, suffixes, slices, slice_start, rank, left, left_start, right, right_start, counts):
    """What low rank layers make of the counts of events whose contexts and suffixes were seen."""
    for i in range(len(contexts)):
        m = slices[contexts[i]]
        row = left_start[m] + np.int64(suffixes[i] - slice_start[m]) * rank[m]
        counts[i] = dot_rows(left, row, right, right_start[contexts[i]], rank[m])


@kernel
def expect(kept, passed, bucket, unigram, others, leaks, gates, first, last, leaked, gated):
    """One step of EM over some events; gives their log-likelihood.

    The story of an event: with probability 1 - ``keep`` it comes from the others. Else the longest context either keeps
    it or passes it on; what is passed on leaks to the others, or goes to the next shorter context, and so on.
    ``leaked`` adds up for each order and bucket what leaked and what was passed on; ``gated`` for each row of the gates
    how many events came, how many from the others at once, and from which of them all that came.
    """
    order = kept.shape[1]
    members = others.shape[1]
    likelihood, product = 0.0, 1.0
    below = np.empty(order)  # P of the next shorter context, without what leaks there and below, and that
    below_rest = np.empty(order)
    for i in range(first, last):
        p = np.float64(unigram[i])
        rest = 0.0
        top = 0
        for n in range(order):
            if bucket[i, n] >= 0:
                below[n], below_rest[n] = p, rest
                leak = leaks[n, bucket[i, n]]
                p = kept[i, n] + passed[i, n] * (1 - leak) * p
                rest = passed[i, n] * (leak + (1 - leak) * rest)
                top = n
        row = top * GATE_BUCKETS + (gate_bucket(rest) if top > 0 else 0)
        mixed = 0.0
        for k in range(members):
            mixed += gates[row, 1 + k] * others[i, k]
        keep = gates[row, 0]
        total = keep * p + left_over(keep, rest) * mixed
        product *= total  # one logarithm for several events: it takes as long as all the rest
        if product < _SMALL:
            likelihood += math.log(product)
            product = 1.0
        from_others = (1 - keep) * mixed / total
        gated[row, 0] += 1
        gated[row, 1] += from_others
        reach = keep / total
        for n in range(top, -1, -1):
            if bucket[i, n] >= 0:
                leak = leaks[n, bucket[i, n]]
                reach *= passed[i, n]
                leaking = reach * leak * mixed
                reach *= 1 - leak
                leaked[n, bucket[i, n], 0] += leaking
                leaked[n, bucket[i, n], 1] += leaking + reach * (below[n] + below_rest[n] * mixed)
                from_others += leaking
        for k in range(members):
            gated[row, 2 + k] += from_others * gates[row, 1 + k] * others[i, k] / mixed
    return likelihood + math.log(product)
