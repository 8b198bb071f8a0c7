"""Which row of its gates a leader's context has, and what it leaves to the models that it leads (see ``gates.py``)."""

from __future__ import annotations

import numpy as np
from numba import types

from plre._jit import direct, kernel
from plre._memory import as_bits, bytes_at, prefetch
from plre.model._bytes import decode, entry, field
from plre.model._finding import shorter
from plre.model._probabilities import float_mask
from plre.model.layout import (
    BACKOFF_BASE,
    BACKOFF_STEP,
    FIRST,
    GATE_BUCKETS,
    GRAMS,
    ORDER,
    REST,
    STRIDE,
)

_ONE = 0x3F800000  # the bits of 1.0


@kernel
def gate_bucket(rest):
    """The bucket of what a context lacks: half octaves down from 1, by the exponent and the first bit of a float."""
    return min(max((_ONE - np.int64(as_bits(np.float32(rest)))) >> 22, 0), GATE_BUCKETS - 1)


@kernel
def rest_of(mem, n, h):
    """What P(w | h) lacks to sum to one, as it is stored with a context of n words; 0 if nothing was seen after it."""
    place = entry(mem, n, GRAMS) + h * entry(mem, n, STRIDE) + entry(mem, n, REST)
    return decode(field(mem, place, float_mask(mem)), entry(mem, n, BACKOFF_BASE), entry(mem, n, BACKOFF_STEP))


@kernel
def longest_context(mem, grams, i, root):
    """The gate row of the context that ends at position ``i``, and what it lacks; ``root`` is that of no words."""
    for n in range(entry(mem, 1, ORDER) - 1, 0, -1):
        h = np.int64(grams[n - 1, i])
        if h >= 0:
            rest = rest_of(mem, n, h)
            if rest > 0:
                return n * GATE_BUCKETS + gate_bucket(rest), rest
    return np.int64(0), root


@kernel
def open_gates(mem, grams, first, last, root, row, rest):
    """The same for the context before each position."""
    order = entry(mem, 1, ORDER)
    for n in range(1, order):
        base, stride = entry(mem, n, GRAMS) + entry(mem, n, REST), entry(mem, n, STRIDE)
        for i in range(max(first, 1), last):
            if grams[n - 1, i - 1] >= 0:
                prefetch(mem, base + np.int64(grams[n - 1, i - 1]) * stride)
    for i in range(first, last):
        row[i], rest[i] = longest_context(mem, grams, i - 1, root) if i > 0 else (np.int64(0), root)


@direct(types.int64, types.int64, types.int64, types.float64)
def open_gate(address, size, state, root):
    """The same for a state, which is the number of such a context among the n-grams of all orders."""
    mem = bytes_at(address, size)
    n = entry(mem, 1, ORDER) - 1
    while n > 0 and state < entry(mem, n, FIRST):
        n -= 1
    h = state - entry(mem, n, FIRST) if n > 0 else np.int64(0)
    while n > 0:
        rest = rest_of(mem, n, h)
        if rest > 0:
            return n * GATE_BUCKETS + gate_bucket(rest), rest
        h = shorter(mem, n, h) if n > 1 else h
        n -= 1
    return np.int64(0), root
