"""The likelihood of held-out words, and how it changes with discounts and weights.

``found`` is that of ``counts.lookup.Events``: for each order and event the count, the context's total, and how many of
the context's n-grams have a count of 1, of 2, of 3 or more.
"""

from __future__ import annotations

import math

import numpy as np

from plre._jit import kernel

#: Buckets of contexts by how often they were seen: 1, 2 to 3, 4 to 7, ...
BUCKETS = 32


@kernel
def bucket_of(total):
    """The bucket of a context: the logarithm of its total to the base 2, rounded down."""
    bucket = 0
    while total > 1:
        total >>= 1
        bucket += 1
    return bucket


@kernel
def expect_shares(found, first, last, taken, uniform, shares, reached, passed):
    """One step of EM for Jelinek-Mercer: add up how many events reach each bucket, and how many pass on below.

    ``taken`` occurrences are taken out of every count: 1 where the events are those that were counted. Returns the
    log-likelihood.
    """
    order = len(found)
    buckets = np.empty(order, np.int64)
    passing = np.empty(order)
    loglik = 0.0
    for i in range(first, last):
        p = uniform
        for n in range(order):
            total = found[n, i, 1] - taken
            buckets[n] = -1
            if total <= 0:
                continue
            buckets[n] = bucket_of(total)
            share = shares[n, buckets[n]]
            below = share * p
            p = (1 - share) * (found[n, i, 0] - taken) / total + below
            passing[n] = below / p
        loglik += math.log(p)
        reach = 1.0
        for n in range(order - 1, -1, -1):
            if buckets[n] >= 0:
                reached[n, buckets[n]] += reach
                reach *= passing[n]
                passed[n, buckets[n]] += reach
    return loglik


@kernel
def differentiate_steps(found, first, last, uniform, discounts, gradient, curvature):
    """The log-likelihood under interpolated discounts, three of each order; adds its gradient, and its curvature.

    P(w | h) is linear in the discounts of one order, so of the second derivatives all but the products of the first
    belong to pairs of orders; those sum to nothing where the model is right, and are left out.
    """
    order = len(found)
    slopes = np.empty(3 * order)
    weights = np.empty(order)
    loglik = 0.0
    for i in range(first, last):
        p = uniform
        for n in range(order):
            slopes[3 * n : 3 * n + 3] = 0.0
            weights[n] = 1.0
            count, total = found[n, i, 0], np.float64(found[n, i, 1])
            if total == 0:
                continue
            own = count / total
            weights[n] = 0.0
            for k in range(3):
                weights[n] += discounts[n, k] * found[n, i, 2 + k] / total
                slopes[3 * n + k] = found[n, i, 2 + k] / total * p
            if count > 0:
                k = min(count, 3) - 1
                own -= discounts[n, k] / total
                slopes[3 * n + k] -= 1 / total
            p = own + weights[n] * p
        loglik += math.log(p)
        onwards = 1 / p
        for n in range(order - 1, -1, -1):
            slopes[3 * n : 3 * n + 3] *= onwards
            onwards *= weights[n]
        for a in range(3 * order):
            if slopes[a] == 0:
                continue
            gradient[a] += slopes[a]
            for b in range(a + 1):
                curvature[a, b] += slopes[a] * slopes[b]
    return loglik
