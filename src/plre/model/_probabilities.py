"""What the n-grams that were found say together (method.md 7).

The recursion, with h' the context h without its oldest word:

    P(w | h) = stored                                            if hw was seen
             = left(mid, w) . right(h) + backoff(h) P(w | h')    if h was seen; the product only where (mid, w) was
             = P(w | h')                                         otherwise

Text is scored in blocks of some hundred positions and in stages. A stage asks for the memory that the next one needs,
for all positions of the block, so that the machine fetches them side by side instead of one after the other.
"""

from __future__ import annotations

import math

import numpy as np
from numba import types

from plre._jit import direct, fast_kernel, kernel
from plre._memory import bytes_at, load32, prefetch
from plre.model._bytes import decode, entry, field
from plre.model._finding import child_start, find, find_grams, hash_gram, line_of, shorter, word_of
from plre.model.layout import (
    BACKOFF,
    BACKOFF_BASE,
    BACKOFF_STEP,
    FIRST,
    FLOAT,
    GRAMS,
    INDEX,
    LEFT,
    LEFT_BASE,
    LEFT_START,
    LEFT_STEP,
    LINE,
    LINES,
    ORDER,
    PROB,
    PROB_BASE,
    PROB_STEP,
    RANK,
    RIGHT,
    RIGHT_BASE,
    RIGHT_START,
    RIGHT_STEP,
    SIZE,
    STRIDE,
)
from plre.text._kernels import BOS


@kernel
def float_mask(mem):
    """The mask of a probability, a weight or a factor."""
    return (np.int64(1) << (8 * entry(mem, 1, FLOAT))) - 1


@kernel
def prob_of(mem, n, gram):
    """P(w | h) as it is stored with an n-gram."""
    place = entry(mem, n, GRAMS) + gram * entry(mem, n, STRIDE) + entry(mem, n, PROB)
    return decode(field(mem, place, float_mask(mem)), entry(mem, n, PROB_BASE), entry(mem, n, PROB_STEP))


@kernel
def backoff_of(mem, n, h):
    """The weight of the shorter context, as it is stored with a context of n words."""
    place = entry(mem, n, GRAMS) + h * entry(mem, n, STRIDE) + entry(mem, n, BACKOFF)
    return decode(field(mem, place, float_mask(mem)), entry(mem, n, BACKOFF_BASE), entry(mem, n, BACKOFF_STEP))


@fast_kernel
def dot(left, a, right, b, rank):
    """The product of two rows of factors."""
    u = left[a : a + rank]
    v = right[b : b + rank]
    total = 0.0
    for k in range(rank):
        total += np.float64(u[k]) * np.float64(v[k])
    return total


@kernel
def coded_dot(mem, n, a, b, rank, size):
    """The same for factors that are codes of ``size`` bytes."""
    left_base, left_step = entry(mem, n, LEFT_BASE), entry(mem, n, LEFT_STEP)
    right_base, right_step = entry(mem, n, RIGHT_BASE), entry(mem, n, RIGHT_STEP)
    left = entry(mem, n, LEFT) + a * size
    right = entry(mem, n, RIGHT) + b * size
    mask = float_mask(mem)
    total = 0.0
    for k in range(rank):
        u = field(mem, left + k * size, mask)
        v = field(mem, right + k * size, mask)
        total += decode(u, left_base, left_step) * decode(v, right_base, right_step)
    return total


@kernel
def rows_of(mem, n, m, h, row):
    """The rank of slice ``m``, and where in the factors of order n the ``row`` = (m, w) and the context ``h`` are."""
    rank = np.int64(load32(mem, entry(mem, n, RANK) + 4 * m))
    first = child_start(mem, n - 2, m) if n > 2 else np.int64(0)
    left = np.int64(load32(mem, entry(mem, n, LEFT_START) + 4 * m)) + (row - first) * rank
    return rank, left, np.int64(load32(mem, entry(mem, n, RIGHT_START) + 4 * h))


@kernel
def low_rank(mem, n, m, h, row):
    """The low rank layers of order n for an unseen n-gram: slice ``m``, context ``h``, and ``row`` = (m, w)."""
    rank, left, right = rows_of(mem, n, m, h, row)
    if entry(mem, 1, FLOAT) != 4:
        return coded_dot(mem, n, left, right, rank, entry(mem, 1, FLOAT))
    floats = mem.view(np.float32)
    return dot(floats, (entry(mem, n, LEFT) >> 2) + left, floats, (entry(mem, n, RIGHT) >> 2) + right, rank)


@kernel
def add_low_rank(mem, n, grams, first, last, todo, probs):
    """Add the low rank layers of order n where they count: for an unseen n-gram whose context and suffix were seen."""
    left = 0
    for i in range(max(first, 1), last):
        h = grams[n - 2, i - 1]
        todo[left] = i
        left += grams[n - 1, i] < 0 and h >= 0 and grams[n - 2, i] >= 0 and probs[i] < 1.0
    size = entry(mem, 1, FLOAT)
    for k in range(left):
        h = np.int64(grams[n - 2, todo[k] - 1])
        m = np.int64(grams[n - 3, todo[k] - 1]) if n > 2 else np.int64(0)
        prefetch(mem, entry(mem, n, RIGHT_START) + 4 * h)
        prefetch(mem, entry(mem, n, LEFT_START) + 4 * m)
        prefetch(mem, entry(mem, n, RANK) + 4 * m)
    for k in range(left):
        i = todo[k]
        h = np.int64(grams[n - 2, i - 1])
        m = np.int64(grams[n - 3, i - 1]) if n > 2 else np.int64(0)
        rank, a, b = rows_of(mem, n, m, h, np.int64(grams[n - 2, i]))
        for byte in range(0, rank * size, 64):
            prefetch(mem, entry(mem, n, LEFT) + a * size + byte)
            prefetch(mem, entry(mem, n, RIGHT) + b * size + byte)
    for k in range(left):
        i = todo[k]
        m = np.int64(grams[n - 3, i - 1]) if n > 2 else np.int64(0)
        probs[i] += low_rank(mem, n, m, np.int64(grams[n - 2, i - 1]), np.int64(grams[n - 2, i]))


@kernel
def combine(mem, ids, grams, work, first, last, order, probs, matched):
    """The probability of every position given what is before it, and the order of the longest n-gram found there.

    Order by order, from the lowest up to ``order``, and without branches that depend on what was found.
    """
    mask = float_mask(mem)
    base, stride = entry(mem, 1, GRAMS) + entry(mem, 1, PROB), entry(mem, 1, STRIDE)
    low, step = entry(mem, 1, PROB_BASE), entry(mem, 1, PROB_STEP)
    for i in range(first, last):
        probs[i] = decode(field(mem, base + np.int64(ids[i]) * stride, mask), low, step)
        matched[i] = 1
    for n in range(2, order + 1):
        below, below_stride = entry(mem, n - 1, GRAMS) + entry(mem, n - 1, BACKOFF), entry(mem, n - 1, STRIDE)
        below_low, below_step = entry(mem, n - 1, BACKOFF_BASE), entry(mem, n - 1, BACKOFF_STEP)
        base, stride = entry(mem, n, GRAMS) + entry(mem, n, PROB), entry(mem, n, STRIDE)
        low, step = entry(mem, n, PROB_BASE), entry(mem, n, PROB_STEP)
        own, contexts = grams[n - 1], grams[n - 2]
        for i in range(max(first, 1), last):
            gram = np.int64(own[i])
            h = np.int64(contexts[i - 1])
            seen = gram >= 0
            place = base + gram * stride if seen else below + max(h, 0) * below_stride
            value = decode(field(mem, place, mask), low if seen else below_low, step if seen else below_step)
            backed_off = probs[i] * value if h >= 0 else probs[i]
            probs[i] = value if seen else backed_off
            matched[i] += seen
        if entry(mem, n, RANK) >= 0:
            add_low_rank(mem, n, grams, first, last, work, probs)
    for i in range(first, last):
        if ids[i] == BOS:
            probs[i] = 1.0
            matched[i] = 0


@kernel
def spread_ngrams(mem, ids, probs):
    """P(w | context) for all words at once, the context being ``ids``."""
    order = entry(mem, 1, ORDER)
    last = len(ids) - 1
    grams = np.empty((order, len(ids)), np.int32)
    find_grams(mem, ids, grams, np.empty(4 * (len(ids) + 1), np.int64), 0, len(ids))
    for w in range(len(probs)):
        probs[w] = prob_of(mem, 1, w)
    for n in range(2, order + 1):
        if last < 0 or grams[n - 2, last] < 0:
            break
        h = np.int64(grams[n - 2, last])
        backoff = backoff_of(mem, n - 1, h)
        for w in range(len(probs)):
            probs[w] *= backoff
        if entry(mem, n, RANK) >= 0:
            m = np.int64(0)
            first = np.int64(0)
            end = np.int64(len(probs))
            if n > 2:
                m = np.int64(grams[n - 3, last])
                first = child_start(mem, n - 2, m)
                end = child_start(mem, n - 2, m + 1)
            for row in range(first, end):
                w = row
                if n > 2:
                    w = word_of(mem, n - 1, row)
                probs[w] += low_rank(mem, n, m, h, row)
        for e in range(child_start(mem, n - 1, h), child_start(mem, n - 1, h + 1)):
            probs[word_of(mem, n, e)] = prob_of(mem, n, e)
    probs[BOS] = 0.0


@direct(types.int64, types.int64, types.int64, types.int64)
def advance(address, size, state, w):
    """log10 P(w | state) and the state after w; a state is an n-gram's number among those of all orders, 0 is none.

    The longest n-gram that continues the state is looked for from the top down. The new state is the longest one ending
    in w that has anything to say, if only by its weight: a longer one would say no more. A number that is no state is a
    ValueError.
    """
    mem = bytes_at(address, size)
    order = entry(mem, 1, ORDER)
    top = order - 1
    while top > 0 and state < entry(mem, top, FIRST):
        top -= 1
    if state < 0 or (state > 0 and (top == 0 or state >= entry(mem, top, FIRST) + entry(mem, top, SIZE))):
        raise ValueError
    longest = state - entry(mem, top, FIRST) if top > 0 else np.int64(-1)
    # Ask for all that may be looked at below, side by side.
    prefetch(mem, entry(mem, 1, GRAMS) + w * entry(mem, 1, STRIDE))
    n = top
    h = longest
    while n > 0:
        index = entry(mem, n + 1, INDEX)
        if index >= 0:
            prefetch(mem, index + 4 * LINE * line_of(hash_gram(h, w), entry(mem, n + 1, LINES)))
        if n > 1:
            h = shorter(mem, n, h)
        n -= 1
    n = top
    h = longest
    rest = 1.0
    own = 1.0
    layers = np.int64(-1)
    gram = np.int64(-1)
    while n > 0:
        gram = find(mem, n + 1, h, w)
        if gram >= 0:
            break
        rest *= own
        own = backoff_of(mem, n, h)
        layers = h
        n -= 1
        if n > 0:
            h = shorter(mem, n + 1, h)
    if gram < 0:
        gram = w
    n += 1  # the order of the n-gram that was found
    p = own * prob_of(mem, n, gram)
    if layers >= 0 and entry(mem, n + 1, RANK) >= 0:
        p += low_rank(mem, n + 1, shorter(mem, n, layers) if n > 1 else np.int64(0), layers, gram)
    logprob = math.log10(rest * p) if w != BOS else -np.inf
    if n == order:
        n -= 1
        if n == 1:
            gram = w
        elif n > 1:
            gram = find(mem, n, shorter(mem, n, longest), w)
    while n > 0 and child_start(mem, n, gram) == child_start(mem, n, gram + 1) and backoff_of(mem, n, gram) == 1.0:
        gram = shorter(mem, n, gram) if n > 1 else gram
        n -= 1
    return logprob, (entry(mem, n, FIRST) + gram if n > 0 else np.int64(0))
