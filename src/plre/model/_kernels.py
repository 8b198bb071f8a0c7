"""Answers from a packed model: find n-grams, combine their probabilities (method.md 7).

``mem`` is the whole model as 4-byte words and ``where`` its directory (``layout.py``). The recursion, with h' the
context h without its oldest word:

    P(w | h) = stored                                       if hw was seen
             = left(mid, w) . right(h) + backoff(h) P(w | h')    if h was seen; the product only where (mid, w) was
             = P(w | h')                                    otherwise
"""

from __future__ import annotations

import math

import numpy as np

from plre._jit import fast_kernel, kernel
from plre.model.layout import (
    BACKOFF,
    CHILDREN,
    LEFT,
    LEFT_START,
    PROB,
    RANK,
    RIGHT,
    RIGHT_START,
    WIDTH,
    WORDS,
)
from plre.text._kernels import BOS, EOS


@kernel
def find(mem, where, n, h, w):
    """The number of the n-gram made of context ``h`` and word ``w``, or -1."""
    at = (n - 1) * WIDTH
    children = where[at + CHILDREN]
    words = where[at + WORDS]
    low = np.int64(mem[children + h])
    end = np.int64(mem[children + h + 1])
    high = end
    while low < high:
        middle = (low + high) >> 1
        if mem[words + middle] < w:
            low = middle + 1
        else:
            high = middle
    if low < end and mem[words + low] == w:
        return low
    return np.int64(-1)


@kernel
def find_grams(mem, where, order, ids, grams):
    """``grams[n - 1, i]`` becomes the n-gram that ends at position i, or -1. Nothing reaches back over ``<s>``."""
    if len(ids) == 0:
        return
    for i in range(len(ids)):
        grams[0, i] = ids[i]
    for n in range(2, order + 1):
        grams[n - 1, 0] = -1
        for i in range(1, len(ids)):
            h = grams[n - 2, i - 1]
            found = np.int64(-1)
            if h >= 0 and grams[n - 2, i] >= 0 and ids[i] != BOS:
                found = find(mem, where, n, h, ids[i])
            grams[n - 1, i] = found


@fast_kernel
def dot(factors, a, b, rank):
    """The product of two rows of factors."""
    left = factors[a : a + rank]
    right = factors[b : b + rank]
    total = 0.0
    for k in range(rank):
        total += np.float64(left[k]) * np.float64(right[k])
    return total


@kernel
def low_rank(mem, where, n, m, h, row):
    """The low rank layers of order n for an unseen n-gram: slice ``m``, context ``h``, and ``row`` = (m, w)."""
    at = (n - 1) * WIDTH
    if where[at + RANK] < 0:
        return 0.0
    factors = mem.view(np.float32)
    rank = np.int64(mem[where[at + RANK] + m])
    first = np.int64(0)
    if n > 2:
        first = np.int64(mem[where[at - WIDTH + CHILDREN] + m])
    left = where[at + LEFT] + mem[where[at + LEFT_START] + m] + (row - first) * rank
    right = where[at + RIGHT] + mem[where[at + RIGHT_START] + h]
    return dot(factors, left, right, rank)


@kernel
def combine(mem, where, order, ids, grams, probs, matched):
    """The probability of every position given what is before it, and the order of the longest n-gram found there."""
    values = mem.view(np.float32)
    for i in range(len(ids)):
        if ids[i] == BOS:
            probs[i] = 1.0
            matched[i] = 0
            continue
        n = 1
        while n < order and grams[n, i] >= 0:
            n += 1
        matched[i] = n
        p = np.float64(values[where[(n - 1) * WIDTH + PROB] + grams[n - 1, i]])
        row = grams[n - 1, i]
        while n < order and i > 0 and grams[n - 1, i - 1] >= 0:
            h = grams[n - 1, i - 1]
            n += 1
            p *= np.float64(values[where[(n - 2) * WIDTH + BACKOFF] + h])
            if row >= 0:
                m = grams[n - 3, i - 1] if n > 2 else 0
                p += low_rank(mem, where, n, m, h, row)
                row = -1
        probs[i] = p


@kernel
def spread(mem, where, order, ids, grams, probs):
    """P(w | context) for all words at once; ``grams`` are those of the context ``ids``."""
    values = mem.view(np.float32)
    prob = where[PROB]
    for w in range(len(probs)):
        probs[w] = values[prob + w]
    last = len(ids) - 1
    for n in range(2, order + 1):
        if last < 0 or grams[n - 2, last] < 0:
            break
        h = grams[n - 2, last]
        backoff = np.float64(values[where[(n - 2) * WIDTH + BACKOFF] + h])
        for w in range(len(probs)):
            probs[w] *= backoff
        at = (n - 1) * WIDTH
        if where[at + RANK] >= 0:
            m = np.int64(0)
            first = np.int64(0)
            end = np.int64(len(probs))
            if n > 2:
                m = np.int64(grams[n - 3, last])
                first = np.int64(mem[where[at - WIDTH + CHILDREN] + m])
                end = np.int64(mem[where[at - WIDTH + CHILDREN] + m + 1])
            for row in range(first, end):
                w = mem[where[at - WIDTH + WORDS] + row] if n > 2 else row
                probs[w] += low_rank(mem, where, n, m, h, row)
        for e in range(mem[where[at + CHILDREN] + h], mem[where[at + CHILDREN] + h + 1]):
            probs[mem[where[at + WORDS] + e]] = values[where[at + PROB] + e]
    probs[BOS] = 0.0


@kernel
def score_lines(ids, probs, eos, scores):
    """log10 probability of each sentence of a text with markers, the end of the sentence counted or not."""
    line = 0
    total = 0.0
    for i in range(len(ids)):
        if ids[i] != BOS and (eos or ids[i] != EOS):
            total += math.log10(probs[i])
        if ids[i] == EOS:
            scores[line] = total
            line += 1
            total = 0.0


@kernel
def tally(ids, probs, matched, first, counts, sums, hits):
    """Add up from position ``first``: words, unknown words, sentence ends; their log10 probabilities; hits by order."""
    for i in range(first, len(ids)):
        w = ids[i]
        if w == BOS:
            continue
        kind = 0
        if w == 0:
            kind = 1
        elif w == EOS:
            kind = 2
        counts[kind] += 1
        sums[kind] += math.log10(probs[i])
        hits[matched[i] - 1] += 1
