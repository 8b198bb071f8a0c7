"""Counts of n-grams: words, suffixes, distinct predecessors, and looking up other text."""

from __future__ import annotations

import numpy as np

from plre._jit import kernel
from plre._memory import prefetch

#: Contexts between one that is looked at and those of which something is fetched.
_FAR, _NEAR = 32, 16


@kernel
def add_words(ids, counts):
    """Count the words of a piece of text."""
    for i in range(len(ids)):
        counts[ids[i]] += 1


@kernel
def find_suffixes(contexts, children, words, lower_children, lower_words, suffixes):
    """The suffix of each n-gram of a piece: that of its context, followed by the same word.

    ``contexts`` are the suffixes of the piece's contexts; whatever is there has a suffix. Words rise, so each is behind
    the one before. The search has no branch: nothing tells a processor which way it will go.
    """
    for h in range(len(contexts)):
        prefetch(lower_children, np.int64(contexts[min(h + _FAR, len(contexts) - 1)]) * 4)
        prefetch(lower_words, np.int64(lower_children[contexts[min(h + _NEAR, len(contexts) - 1)]]) * 4)
        low, stop = np.int64(lower_children[contexts[h]]), np.int64(lower_children[contexts[h] + 1])
        for e in range(children[h] - children[0], children[h + 1] - children[0]):
            size = stop - low - 1
            while size > 0:
                half = (size + 1) >> 1
                low += half * np.int64(lower_words[low + half - 1] < words[e])
                size -= half
            suffixes[e] = low


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
def cut_rare(children, contexts, words, suffixes, raw, adjusted, numbers, least, ngrams, own, starts, lost):
    """The n-grams of a piece that occur at least ``least`` times, in ``ngrams``: words, suffixes, raw and adjusted.

    ``contexts`` are the new numbers of the piece's contexts, ``numbers`` those of suffixes; -1 is gone. ``own`` becomes
    the new number of each n-gram within the piece; ``starts`` where the n-grams of each context that is kept start, and
    ``lost`` the adjusted counts of those that go. Returns how many n-grams and contexts are kept.
    """
    n, kept = 0, 0
    for h in range(len(contexts)):
        before, gone = n, 0
        for e in range(children[h] - children[0], children[h + 1] - children[0]):
            if raw[e] >= least:
                ngrams[0, n] = words[e]
                ngrams[1, n] = numbers[suffixes[e]]
                ngrams[2, n] = raw[e]
                ngrams[3, n] = adjusted[e]
                own[e] = n
                n += 1
            else:
                gone += adjusted[e]
                own[e] = -1
        if contexts[h] >= 0:
            starts[kept] = before
            lost[kept] = gone
            kept += 1
    return n, kept


@kernel
def find_pairs(first, children, words, counts, contexts, wanted, grams, found):
    """Look up pairs of context and word, sorted by context, in a piece of a table whose contexts begin with ``first``.

    ``grams[i]`` becomes the place in the piece of pair i's n-gram, or -1. ``found[i]``: its count (0 if there is no
    such n-gram), the context's total, and how many of the context's n-grams have a count of 1, of 2, of 3 or more.
    """
    before = np.int64(-1)
    about = np.zeros(5, np.int64)
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
