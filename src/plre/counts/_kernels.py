"""Counting by refinement: positions sorted by n-gram become positions sorted by (n+1)-gram in one pass."""

from __future__ import annotations

import numpy as np

from plre._jit import kernel


@kernel
def sort_positions(ids, words, order):
    """Positions of the text by their word (a counting sort, stable)."""
    starts = np.zeros(words + 1, np.int64)
    for i in range(len(ids)):
        starts[ids[i] + 1] += 1
    for w in range(words):
        starts[w + 1] += starts[w]
    for i in range(len(ids)):
        w = ids[i]
        order[starts[w]] = i
        starts[w] += 1


@kernel
def group_positions(ids, grams, contexts, by_word, start_of_sentence, ends, sorted_positions):
    """Positions of one order's n-grams, sorted by context and, within one, by word.

    ``grams[i]`` is the (n-1)-gram that ends at position i, or -1. ``ends[h]`` becomes the end of context h's positions.
    """
    ends[:] = 0
    for i in range(1, len(ids)):
        h = grams[i - 1]
        if h >= 0 and ids[i] != start_of_sentence:
            ends[h] += 1
    total = 0
    for h in range(contexts):
        n = ends[h]
        ends[h] = total
        total += n
    for k in range(len(by_word)):
        i = by_word[k]
        if i == 0 or ids[i] == start_of_sentence:
            continue
        h = grams[i - 1]
        if h >= 0:
            sorted_positions[ends[h]] = i
            ends[h] += 1
    return total


@kernel
def number_ngrams(ids, grams, contexts, sorted_positions, ends, children, words, suffixes, counts, next_grams):
    """Number the n-grams in sorted order; write their word, suffix and count, and each position's n-gram."""
    next_grams[:] = -1
    n = 0
    k = 0
    for h in range(contexts):
        children[h] = n
        last = -1
        while k < ends[h]:
            i = sorted_positions[k]
            if ids[i] != last:
                last = ids[i]
                words[n] = last
                suffixes[n] = grams[i]
                counts[n] = 0
                n += 1
            counts[n - 1] += 1
            next_grams[i] = n - 1
            k += 1
    children[contexts] = n
    return n


@kernel
def count_predecessors(suffixes, raw, adjusted):
    """Distinct words seen before each n-gram; an n-gram that nothing precedes keeps its raw count."""
    adjusted[:] = 0
    for i in range(len(suffixes)):
        adjusted[suffixes[i]] += 1
    for i in range(len(raw)):
        if adjusted[i] == 0:
            adjusted[i] = raw[i]
