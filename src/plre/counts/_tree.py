"""Counting a tree of contexts: what slots read, and bringing the events of a level to the one above it."""

from __future__ import annotations

import numpy as np

from plre._jit import kernel
from plre.text._kernels import BOS


@kernel
def look_back(ids, first, reach, back):
    """How many words before each position from ``first`` on its sentence starts, at most ``reach`` + 1; 0 for ``<s>``.

    The text is read as if ``<s>`` stood before it.
    """
    start = -1
    for i in range(len(ids)):
        if i >= first:
            back[i - first] = 0 if ids[i] == BOS else min(i - start, reach + 1)
        if ids[i] == BOS:
            start = i


@kernel
def read_symbols(ids, first, back, depths, level, table, distance, ended, symbols):
    """The symbol that a level's slot reads at each position from ``first`` on; ``ended`` where the chain has ended."""
    for k in range(len(symbols)):
        if depths[back[k]] < level:
            symbols[k] = ended
        else:
            w = ids[first + k - distance] if distance < back[k] else BOS
            symbols[k] = table[w] if len(table) > 0 else np.int32(w)


@kernel
def index_events(starts, words, word_bits, index_bits, keys):
    """Context, word and place of each event of a piece as one number; ``starts`` says where those of a context are."""
    for h in range(len(starts) - 1):
        for e in range(starts[h] - starts[0], starts[h + 1] - starts[0]):
            key = np.uint64(h) << np.uint64(word_bits) | np.uint64(words[e])
            keys[e] = key << np.uint64(index_bits) | np.uint64(e)


@kernel
def merge_events(keys, word_bits, index_bits, real, finer_raw, starts, words, raw, counts, merged):
    """The events of a level from those one level finer, sorted by context, word and place.

    ``real`` says of each finer event whether its context is one. ``counts`` becomes in how many of those an event is
    seen, or its raw count if in none; ``merged`` the event that each finer one is part of, ``starts`` where the events
    of each context start. Returns how many there are.
    """
    n = -1
    before = np.uint64(0)
    places, mask = (np.int64(1) << index_bits) - 1, (np.int64(1) << word_bits) - 1
    open_context = 0
    for i in range(len(keys)):
        key = keys[i] >> np.uint64(index_bits)
        e = np.int64(keys[i]) & places
        if n < 0 or key != before:
            before = key
            n += 1
            h = np.int64(key >> np.uint64(word_bits))
            while open_context <= h:
                starts[open_context] = n
                open_context += 1
            words[n] = np.int64(key) & mask
            raw[n] = 0
            counts[n] = 0
        raw[n] += finer_raw[e]
        counts[n] += real[e]
        merged[e] = n
    for e in range(n + 1):
        if counts[e] == 0:
            counts[e] = raw[e]
    return n + 1
