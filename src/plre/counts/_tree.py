"""Counting a tree of contexts: positions are sorted by word once, then by one slot of the chain after the other."""

from __future__ import annotations

import numpy as np

from plre._jit import kernel
from plre.text._kernels import BOS


@kernel
def look_back(ids, first, last, reach, back):
    """``back[i]`` becomes how many words before position i its sentence starts, at most ``reach`` + 1; 0 for ``<s>``.

    The text is read as if ``<s>`` stood before it.
    """
    start = max(first - reach, 0) - 1
    for i in range(start + 1, last):
        if i >= first:
            back[i] = 0 if ids[i] == BOS else min(i - start, reach + 1)
        if ids[i] == BOS:
            start = i


@kernel
def symbol_at(ids, i, back, table, distance):
    """The symbol of the word ``distance`` before position i, whose sentence starts ``back`` words before it."""
    w = ids[i - distance] if distance < back else BOS
    return table[w] if len(table) > 0 else np.int32(w)


@kernel
def count_symbols(ids, first, last, back, table, distance, counts):
    """Count the symbols of the chain's first slot over the predicted words of a piece of text."""
    for i in range(first, last):
        if back[i] > 0:
            counts[symbol_at(ids, i, back[i], table, distance)] += 1


@kernel
def deal_out(ids, first, last, back, table, distance, bucket_of, places, positions):
    """Write the positions of a piece of text to their buckets; ``places`` says where each bucket goes on."""
    for i in range(first, last):
        if back[i] > 0:
            bucket = bucket_of[symbol_at(ids, i, back[i], table, distance)]
            positions[places[bucket]] = i
            places[bucket] += 1


@kernel
def sort_words(ids, positions, counters, words, order):
    """The word of each position of a bucket, and the order in which words rise; ``counters`` are one for each word."""
    counters[:] = 0
    for k in range(len(positions)):
        words[k] = ids[positions[k]]
        counters[words[k]] += 1
    prefix_sums(counters)
    for k in range(len(positions)):
        order[counters[words[k]]] = k
        counters[words[k]] += 1


@kernel
def prefix_sums(counters):
    """Turn counts into where each one's part of a sorted list starts; returns their sum."""
    total = 0
    for c in range(len(counters)):
        total, counters[c] = total + counters[c], total
    return total


@kernel
def read_symbols(ids, positions, back, depths, level, table, distance, symbols):
    """The symbol that a level's slot reads at each position of a bucket; -1 where the chain has ended."""
    for k in range(len(positions)):
        i = np.int64(positions[k])
        symbols[k] = symbol_at(ids, i, back[i], table, distance) if depths[back[i]] >= level else -1


@kernel
def refine(symbol_of, words, order, counters, node_of, event_of, parents, symbols, starts, event_words, raw, suffixes):
    """One level of a bucket: nodes are pairs of a node one level coarser and the symbol of this level's slot.

    ``order`` has the positions that are left, sorted by node and word; ``node_of`` and ``event_of`` say what each
    belongs to. All of that is brought to this level: a stable sort by symbol, then by node, keeps words in order within
    a node, so events need no sorting. Positions without a symbol are dropped. Returns how many nodes, events and
    positions there are.
    """
    counters[:] = 0
    sizes = np.zeros(len(order) + 1, np.int32)
    for k in order:
        if symbol_of[k] >= 0:
            counters[symbol_of[k]] += 1
            sizes[node_of[k]] += 1
    left = prefix_sums(counters)
    prefix_sums(sizes)
    by_symbol = np.empty(left, np.int32)
    for k in order:
        if symbol_of[k] >= 0:
            by_symbol[counters[symbol_of[k]]] = k
            counters[symbol_of[k]] += 1
    for k in by_symbol:
        order[sizes[node_of[k]]] = k
        sizes[node_of[k]] += 1
    nodes, events = 0, 0
    parent, symbol, word = -1, -1, -1
    for k in order[:left]:
        if node_of[k] != parent or symbol_of[k] != symbol:
            parent, symbol, word = node_of[k], symbol_of[k], -1
            parents[nodes] = parent
            symbols[nodes] = symbol
            starts[nodes] = events
            nodes += 1
        if words[k] != word:
            word = words[k]
            event_words[events] = word
            suffixes[events] = event_of[k]
            raw[events] = 0
            events += 1
        raw[events - 1] += 1
        node_of[k] = nodes - 1
        event_of[k] = events - 1
    return nodes, events, left
