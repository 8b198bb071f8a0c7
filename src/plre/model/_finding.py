"""Where an n-gram is: by a hash table, or by guessing its place among those that share its context."""

from __future__ import annotations

import numpy as np

from plre._jit import kernel
from plre._memory import get, match_line, prefetch, put
from plre.model._bytes import entry, field
from plre.model.layout import (
    CHILDREN,
    CHILDREN_MASK,
    GRAM_BITS,
    GRAMS,
    INDEX,
    LINE,
    LINES,
    ORDER,
    SEGMENT,
    STRIDE,
    SUFFIX,
    SUFFIX_MASK,
    WORD_BITS,
    WORD_MASK,
)
from plre.text._kernels import BOS, scramble

#: A full line of an index without what was looked for: it may be in the next.
_UNKNOWN = -2


@kernel
def child_start(mem, n, h):
    """Where the children of the n-gram ``h`` start."""
    place = entry(mem, n, GRAMS) + h * entry(mem, n, STRIDE) + entry(mem, n, CHILDREN)
    return field(mem, place, entry(mem, n, CHILDREN_MASK))


@kernel
def word_of(mem, n, gram):
    """The last word of an n-gram."""
    return field(mem, entry(mem, n, GRAMS) + gram * entry(mem, n, STRIDE), entry(mem, n, WORD_MASK))


@kernel
def shorter(mem, n, gram):
    """The n-gram without its oldest word."""
    if n == 2:
        return word_of(mem, 2, gram)
    place = entry(mem, n, GRAMS) + gram * entry(mem, n, STRIDE) + entry(mem, n, SUFFIX)
    return field(mem, place, entry(mem, n, SUFFIX_MASK))


@kernel
def search(mem, n, low, high, w):
    """The n-gram with the word ``w`` among those from ``low`` to ``high``, or -1.

    Scrambled words are spread evenly, so the place of one can be guessed from its value; so can the distance to it from
    how far off the guess was.
    """
    bits = entry(mem, 1, WORD_BITS)
    key = scramble(w, bits)
    count = high - low
    guess = low + ((key * count) >> bits)
    while low < high:
        found = word_of(mem, n, guess)
        if found == w:
            return guess
        off = key - scramble(found, bits)
        if off > 0:
            low = guess + 1
            guess = min(low + ((off * count) >> bits), high - 1)
        else:
            high = guess
            guess = max(high - 1 - ((-off * count) >> bits), low)
    return np.int64(-1)


@kernel
def hash_gram(h, w):
    """A hash of a context and a word."""
    x = (np.uint64(h) << np.uint64(32) | np.uint64(w)) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
    return x ^ (x >> np.uint64(32))


@kernel
def line_of(x, lines):
    """The line of an index in which a hash belongs: its upper half, scaled."""
    return np.int64(((x >> np.uint64(32)) * np.uint64(lines)) >> np.uint64(32))


@kernel
def tag_of(x, gram_bits):
    """The bits of a hash that stand in a slot above the n-gram's number."""
    return np.uint32(x & (np.uint64(0xFFFFFFFF) >> np.uint64(gram_bits)))


@kernel
def gram_of(slot, gram_bits):
    """The n-gram in a slot, -1 if it is free."""
    return np.int64(slot & ((np.uint32(1) << np.uint32(gram_bits)) - np.uint32(1))) - 1


@kernel
def next_line(line, lines):
    """Where to look after a full line."""
    mask = min(lines, SEGMENT) - 1
    return (line & ~mask) | ((line + 1) & mask)


@kernel
def fill_index(first, last, hashes, start, out, lines, gram_bits):
    """Enter n-grams ``start``, ``start`` + 1, ... with these hashes, those that belong in lines ``first`` to ``last``.

    ``out`` are just these lines, whole segments, and 0 where they are free.
    """
    for k in range(len(hashes)):
        line = line_of(hashes[k], lines)
        if line < first or line >= last:
            continue
        slot = np.uint64(tag_of(hashes[k], gram_bits)) << np.uint64(gram_bits) | np.uint64(start + k + 1)
        placed = False
        while not placed:
            at = (line - first) * LINE
            for j in range(at, at + LINE):
                if out[j] == 0:
                    out[j] = np.int32(np.uint32(slot))
                    placed = True
                    break
            line = next_line(line, lines)


@kernel
def hash_piece(first, children, words, hashes):
    """The hashes of a piece of n-grams, whose contexts are those from ``first`` on."""
    for h in range(len(children) - 1):
        for e in range(children[h] - children[0], children[h + 1] - children[0]):
            hashes[e] = hash_gram(first + h, words[e])


@kernel
def find_indexed(mem, slots, n, x, low, high, w):
    """The n-gram with hash ``x`` and word ``w`` between ``low`` and ``high``, or -1; ``slots`` is ``mem`` as uint32."""
    lines = entry(mem, n, LINES)
    bits = entry(mem, n, GRAM_BITS)
    tag = tag_of(x, bits)
    line = line_of(x, lines)
    while True:
        start = (entry(mem, n, INDEX) >> 2) + LINE * line
        if match_line(slots, start, tag, bits) != 0:
            for j in range(start, start + LINE):
                slot = get(slots, j)
                gram = gram_of(slot, bits)
                if slot >> np.uint32(bits) == tag and low <= gram < high and word_of(mem, n, gram) == w:
                    return gram
        if get(slots, start + LINE - 1) == 0:
            return np.int64(-1)
        line = next_line(line, lines)


@kernel
def find(mem, n, h, w):
    """The number of the n-gram made of context ``h`` and word ``w``, or -1."""
    low = child_start(mem, n - 1, h)
    high = child_start(mem, n - 1, h + 1)
    if low == high:
        return np.int64(-1)
    if entry(mem, n, INDEX) >= 0:
        return find_indexed(mem, mem.view(np.uint32), n, hash_gram(h, w), low, high, w)
    return search(mem, n, low, high, w)


@kernel
def find_grams(mem, ids, grams, work, first, last):
    """``grams[n - 1, i]`` becomes the n-gram that ends at position i, or -1, for positions ``first`` to ``last``.

    Nothing reaches back over ``<s>``; an n-gram can only be there if its suffix is. Position ``first - 1`` is known.
    """
    base, stride = entry(mem, 1, GRAMS), entry(mem, 1, STRIDE)
    for i in range(first, last):
        w = np.int64(ids[i])
        grams[0, i] = w
        prefetch(mem, base + w * stride)
    for n in range(2, entry(mem, 1, ORDER) + 1):
        own = grams[n - 1]
        for i in range(first, last):
            own[i] = -1
        if entry(mem, n, INDEX) >= 0:
            find_by_index(mem, n, ids, grams[n - 2], own, work, first, last)
        else:
            find_by_guess(mem, n, ids, grams[n - 2], own, work, first, last)


@kernel
def find_by_index(mem, n, ids, contexts, own, work, first, last):
    """One order of :func:`find_grams` with an index: ask for its lines; for the n-grams they name; look at those."""
    slots = mem.view(np.uint32)
    index, lines, gram_bits = entry(mem, n, INDEX), entry(mem, n, LINES), entry(mem, n, GRAM_BITS)
    base, stride, mask = entry(mem, n, GRAMS), entry(mem, n, STRIDE), entry(mem, n, WORD_MASK)
    below, below_stride = entry(mem, n - 1, GRAMS) + entry(mem, n - 1, CHILDREN), entry(mem, n - 1, STRIDE)
    below_mask = entry(mem, n - 1, CHILDREN_MASK)
    size = len(work) >> 2
    starts, tags, guesses, todo = work[:size], work[size : 2 * size], work[2 * size : 3 * size], work[3 * size :]
    left = np.int64(0)
    for i in range(max(first, 1), last):
        w = np.int64(ids[i])
        h = np.int64(contexts[i - 1])
        x = hash_gram(h, w)
        start = index + 4 * LINE * line_of(x, lines)
        prefetch(mem, start)
        put(starts, left, start >> 2)
        put(tags, left, np.int64(x))
        put(todo, left, i)
        left += np.int64((h >= 0) & (contexts[i] >= 0) & (w != BOS))
    for k in range(left):
        start = get(starts, k)
        best = match_line(slots, start, tag_of(np.uint64(get(tags, k)), gram_bits), gram_bits)
        guess = gram_of(best, gram_bits)
        prefetch(mem, base + max(guess, 0) * stride)
        put(guesses, k, _UNKNOWN if (guess < 0) & (get(slots, start + LINE - 1) != 0) else guess)
    for k in range(left):
        guess = get(guesses, k)
        if guess == -1:
            continue
        i = get(todo, k)
        w = np.int64(get(ids, i))
        place = below + np.int64(get(contexts, i - 1)) * below_stride
        low = field(mem, place, below_mask)
        high = field(mem, place + below_stride, below_mask)
        good = (guess >= low) & (guess < high) & (field(mem, base + max(guess, 0) * stride, mask) == w)
        if not good:
            guess = find_indexed(mem, slots, n, np.uint64(get(tags, k)), low, high, w)
        put(own, i, np.int32(guess))


@kernel
def find_by_guess(mem, n, ids, contexts, own, work, first, last):
    """One order of :func:`find_grams` without an index: ask for where each word should be; search from there."""
    base, stride, bits = entry(mem, n, GRAMS), entry(mem, n, STRIDE), entry(mem, 1, WORD_BITS)
    size = len(work) >> 2
    lows, highs, todo = work[:size], work[size : 2 * size], work[2 * size :]
    left = np.int64(0)
    for i in range(max(first, 1), last):
        h = np.int64(contexts[i - 1])
        if h < 0 or contexts[i] < 0 or ids[i] == BOS:
            continue
        low = child_start(mem, n - 1, h)
        high = child_start(mem, n - 1, h + 1)
        prefetch(mem, base + (low + ((scramble(np.int64(ids[i]), bits) * (high - low)) >> bits)) * stride)
        lows[left] = low
        highs[left] = high
        todo[left] = i
        left += 1
    for k in range(left):
        own[todo[k]] = search(mem, n, lows[k], highs[k], np.int64(ids[todo[k]]))
