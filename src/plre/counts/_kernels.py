"""Counting by refinement: positions that know their (n-1)-gram are sorted into n-grams, bucket by bucket."""

from __future__ import annotations

import numpy as np

from plre._jit import kernel


@kernel
def add_words(ids, counts):
    """Count the words of a piece of text."""
    for i in range(len(ids)):
        counts[ids[i]] += 1


@kernel
def close_buckets(raw, first, size, carried, bounds):
    """Cut the contexts from ``first`` on into buckets of about ``size`` positions: write where buckets end.

    ``carried`` positions belong to the open bucket. Returns the number of ends and what is carried on.
    """
    n = 0
    for k in range(len(raw)):
        carried += raw[k] + 1
        if carried >= size:
            bounds[n] = first + k + 1
            n += 1
            carried = 0
    return n, carried


@kernel
def partition(ids, grams, before, start_of_sentence, bounds, coarse, shift, word_bits,
              starts, keys, suffixes, positions, which):  # fmt: skip
    """Sort the positions of a piece of text by the bucket of their context.

    ``grams[i]`` is the (n-1)-gram that ends at position i or -1, ``before`` the one before the first. Bucket b has the
    contexts ``bounds[b] : bounds[b + 1]``; ``coarse[h >> shift]`` is the first bucket in which h may be. Writes where
    buckets start, and for each position: its key (context within the bucket, word), its suffix, and where it
    is. Returns how many there are, and the place of the last position of the piece among them (or -1).
    """
    starts[:] = 0
    h = before
    for i in range(len(ids)):
        bucket = -1
        if h >= 0 and ids[i] != start_of_sentence:
            bucket = coarse[h >> shift]
            while h >= bounds[bucket + 1]:
                bucket += 1
            starts[bucket + 1] += 1
        which[i] = bucket
        h = grams[i]
    for bucket in range(len(starts) - 1):
        starts[bucket + 1] += starts[bucket]
    h = before
    last = np.int64(-1)
    for i in range(len(ids)):
        bucket = which[i]
        last = np.int64(-1)
        if bucket >= 0:
            last = starts[bucket]
            starts[bucket] += 1
            keys[last] = np.uint64(((np.int64(h) - bounds[bucket]) << word_bits) | np.int64(ids[i]))
            suffixes[last] = grams[i]
            positions[last] = i
        h = grams[i]
    # Each start has moved on to the next one's place.
    for bucket in range(len(starts) - 1, 0, -1):
        starts[bucket] = starts[bucket - 1]
    starts[0] = 0
    return starts[-1], last


@kernel
def number_keys(keys, bits):
    """Make room for ``bits`` bits below each key and put its place there."""
    for i in range(len(keys)):
        keys[i] = (keys[i] << np.uint64(bits)) | np.uint64(i)


@kernel
def count_distinct(keys, bits):
    """Distinct sorted keys, the lowest ``bits`` bits not counted."""
    n = 0
    for i in range(len(keys)):
        if i == 0 or keys[i] >> np.uint64(bits) != keys[i - 1] >> np.uint64(bits):
            n += 1
    return n


@kernel
def number_ngrams(keys, bits, suffix_of, word_bits, base, words, suffixes, counts, children, grams):
    """Number the n-grams of a bucket from ``base`` on: their words, suffixes and counts, where each context's start.

    ``grams[i]`` becomes the n-gram of place i.
    """
    mask = (np.int64(1) << word_bits) - 1
    n = -1
    before = np.uint64(0)
    open_context = 0
    for k in range(len(keys)):
        key = keys[k] >> np.uint64(bits)
        i = np.int64(keys[k] & ((np.uint64(1) << np.uint64(bits)) - np.uint64(1)))
        if n < 0 or key != before:
            before = key
            n += 1
            h = np.int64(key >> np.uint64(word_bits))
            while open_context <= h:
                children[open_context] = base + n
                open_context += 1
            words[n] = np.int64(key) & mask
            suffixes[n] = suffix_of[i]
            counts[n] = 0
        counts[n] += 1
        grams[i] = base + n
    while open_context < len(children):
        children[open_context] = base + n + 1
        open_context += 1


@kernel
def spread_grams(positions, values, grams):
    """The n-gram of each position of a piece of text from those of its sorted positions; -1 elsewhere."""
    grams[:] = -1
    for i in range(len(positions)):
        grams[positions[i]] = values[i]


@kernel
def count_predecessors(suffixes, adjusted):
    """Add to each (n-1)-gram the n-grams that end in it: the distinct words before it."""
    for i in range(len(suffixes)):
        adjusted[suffixes[i]] += 1


@kernel
def keep_raw(raw, adjusted):
    """An n-gram that nothing precedes keeps its raw count."""
    for i in range(len(raw)):
        if adjusted[i] == 0:
            adjusted[i] = raw[i]


@kernel
def find_pairs(first, children, words, counts, contexts, wanted, grams, found):
    """Look up pairs of context and word, sorted by context, in a piece of a table whose contexts begin with ``first``.

    ``grams[i]`` becomes the place in the piece of pair i's n-gram, or -1. ``found[i]``: its count (0 if there is no
    such n-gram), the context's total, and how many of the context's n-grams have a count of 1, of 2, of 3 or more.
    """
    before = np.int64(-1)
    about = np.zeros(5, np.int32)
    for i in range(len(contexts)):
        h = np.int64(contexts[i]) - first
        low, high = np.int64(children[h]) - children[0], np.int64(children[h + 1]) - children[0]
        if h != before:
            before = h
            about[:] = 0
            for e in range(low, high):
                about[1] += counts[e]
                if counts[e] > 0:
                    about[1 + min(counts[e], 3)] += 1
        end = high
        while low < high:
            middle = (low + high) // 2
            if words[middle] < wanted[i]:
                low = middle + 1
            else:
                high = middle
        there = low < end and words[low] == wanted[i]
        grams[i] = low if there else -1
        found[i, 0] = counts[low] if there else 0
        for k in range(1, 5):  # not as a whole: numba would compile its error message for shapes that differ, 4 s
            found[i, k] = about[k]
