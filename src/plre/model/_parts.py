"""A block of positions, by a model of n-grams or by a mixture of several.

A mixture's part is a model of n-grams over symbols of its own: words, or classes of words. With s(w) the symbol of a
word and u(w) its share of the symbol's probability,

    P(w | h) = sum over parts of  weight * u(w) * P_part(s(w) | s(h))

The weights of a part that leads others, and theirs, depend on the context (``gates.py``).
"""

from __future__ import annotations

import numpy as np

from plre._jit import kernel
from plre.model._bytes import entry
from plre.model._finding import find_grams
from plre.model._gates import longest_context, open_gates
from plre.model._probabilities import combine, spread_ngrams
from plre.model._tree import REACH, score_tree, spread_tree
from plre.model.layout import (
    BYTES,
    FIRST_PART,
    GATE_BUCKETS,
    GATES,
    MEMBERS,
    ORDER,
    PART_WIDTH,
    PARTS,
    ROWS,
    SHARES,
    START,
    SYMBOLS,
    VOCABULARY,
    WEIGHT,
)
from plre.text._kernels import EOS


@kernel
def part_entry(mem, k, name):
    """An entry of a mixture's directory about part ``k``."""
    return entry(mem, 1, FIRST_PART + k * PART_WIDTH + name)


@kernel
def part_of(mem, k):
    """A part: a whole model of n-grams."""
    start = part_entry(mem, k, START)
    return mem[start : start + part_entry(mem, k, BYTES)]


@kernel
def rows_of(part):
    """How many rows of ``grams`` a part has: its orders, or the words before a position that a tree looks at."""
    order = entry(part, 1, ORDER)
    return order if order > 0 else entry(part, 1, REACH) + 1


@kernel
def rows(mem):
    """How many orders are looked at for a position, those of all parts together."""
    order = entry(mem, 1, ORDER)
    return order if order > 0 else entry(mem, 1, ROWS)


@kernel
def translate(mem, k, ids, symbols):
    """The symbols that words have in part ``k``."""
    place = part_entry(mem, k, SYMBOLS)
    table = mem[max(place, 0) : max(place, 0) + 4 * entry(mem, 1, VOCABULARY)].view(np.int32)
    for i in range(len(symbols)):
        symbols[i] = table[ids[i]] if place >= 0 else ids[i]


@kernel
def shares_of(mem, k):
    """The weight of part ``k``, and the share of each word in its symbol (none: 1)."""
    at = 8 * (FIRST_PART + k * PART_WIDTH + WEIGHT)
    place = part_entry(mem, k, SHARES)
    size = 4 * entry(mem, 1, VOCABULARY) if place >= 0 else 0
    return mem[at : at + 8].view(np.float64)[0], mem[max(place, 0) : max(place, 0) + size].view(np.float32)


@kernel
def gates_of(mem, k):
    """The gates of part ``k``, row by row, and what its unigrams lack; how many numbers a row has (0: no gates)."""
    width = part_entry(mem, k, MEMBERS) + 1
    place = max(part_entry(mem, k, GATES), 0)
    size = entry(part_of(mem, k), 1, ORDER) * GATE_BUCKETS * width if width > 0 else 0
    floats = mem[place : place + 4 * size + 4].view(np.float32)
    return floats[:size], np.float64(floats[size]), width


@kernel
def score_contexts(part, ids, words, first, last, probs, matched):
    """The same by a tree of contexts; ``words[j]`` has what stands j + 1 words before a position, if that is known."""
    reach = entry(part, 1, REACH)
    known = np.empty(reach + last, np.int32)
    own = np.empty(reach + last, np.float64)
    for j in range(reach):
        before = words[j, 0] if first > 0 else -1
        known[reach - 1 - j] = before if before >= 0 else EOS  # which says that nothing is known
    known[reach:] = ids[:last]
    score_tree(part, known, reach + first, reach + last, own)
    for i in range(first, last):
        probs[i] = own[reach + i]
        matched[i] = 1
    for j in range(reach):
        words[j, last - 1] = known[reach + last - 2 - j]


@kernel
def score_block(mem, ids, grams, work, first, last, probs, matched):
    """The probability of positions ``first`` to ``last``, and the longest n-gram found there.

    ``grams`` has a row for each order of each part; position ``first - 1`` is known.
    """
    if entry(mem, 1, ORDER) > 0:
        find_grams(mem, ids, grams, work, first, last)
        combine(mem, ids, grams, work, first, last, len(grams), probs, matched)
        return
    symbols = np.empty(last, np.int32)
    own = np.empty(last, np.float64)
    own_matched = np.empty(last, np.int8)
    gates, root, width = gates_of(mem, 0)
    gate = np.empty(last, np.int64)
    rest = np.empty(last, np.float64)
    led = 0  # parts still to come that the last leader leads
    for i in range(first, last):
        probs[i] = 0.0
        matched[i] = 0
    row = 0
    for k in range(entry(mem, 1, PARTS)):
        part = part_of(mem, k)
        found = grams[row : row + rows_of(part)]
        translate(mem, k, ids, symbols)
        if entry(part, 1, ORDER) > 0:
            find_grams(part, symbols, found, work, first, last)
            combine(part, symbols, found, work, first, last, len(found), own, own_matched)
        else:
            score_contexts(part, symbols, found, first, last, own, own_matched)
        weight, shares = shares_of(mem, k)
        if len(shares) > 0:
            for i in range(first, last):
                own[i] *= shares[ids[i]]
        if led > 0:
            for i in range(first, last):
                probs[i] += rest[i] * gates[gate[i] * width + width - led] * own[i]
            led -= 1
        elif part_entry(mem, k, MEMBERS) > 0:
            gates, root, width = gates_of(mem, k)
            led = width - 1
            open_gates(part, found, first, last, root, gate, rest)
            for i in range(first, last):
                keep = np.float64(gates[gate[i] * width])
                probs[i] += weight * keep * own[i]
                rest[i] = weight * (1.0 - keep * (1.0 - rest[i]))
                matched[i] = max(matched[i], own_matched[i])
        else:
            for i in range(first, last):
                probs[i] += weight * own[i]
                matched[i] = max(matched[i], own_matched[i])
        row += len(found)


@kernel
def context_gate(mem, ids, root):
    """The gate row of a whole context, and what it lacks."""
    grams = np.empty((entry(mem, 1, ORDER), len(ids)), np.int32)
    find_grams(mem, ids, grams, np.empty(4 * (len(ids) + 1), np.int64), 0, len(ids))
    return longest_context(mem, grams, len(ids) - 1, root) if len(ids) > 0 else (np.int64(0), root)


@kernel
def spread(mem, ids, probs):
    """P(w | context) for all words at once, the context being ``ids``."""
    if entry(mem, 1, ORDER) > 0:
        spread_ngrams(mem, ids, probs)
        return
    probs[:] = 0.0
    symbols = np.empty(len(ids), np.int32)
    words = np.arange(len(probs)).astype(np.int32)
    own_symbol = np.empty(len(probs), np.int32)
    gates, rest, width = gates_of(mem, 0)
    gate = np.int64(0)
    led = 0
    for k in range(entry(mem, 1, PARTS)):
        part = part_of(mem, k)
        own = np.empty(entry(part, 1, VOCABULARY), np.float64)
        translate(mem, k, ids, symbols)
        if entry(part, 1, ORDER) > 0:
            spread_ngrams(part, symbols, own)
        else:
            after = np.empty(len(ids) + 1, np.int32)
            after[0] = EOS
            after[1:] = symbols
            spread_tree(part, after, own)
        translate(mem, k, words, own_symbol)
        weight, shares = shares_of(mem, k)
        if led > 0:
            weight = rest * gates[gate * width + width - led]
            led -= 1
        elif part_entry(mem, k, MEMBERS) > 0:
            gates, root, width = gates_of(mem, k)
            led = width - 1
            gate, rest = context_gate(part, symbols, root)
            keep = np.float64(gates[gate * width])
            rest = weight * (1.0 - keep * (1.0 - rest))
            weight *= keep
        for w in range(len(probs)):
            probs[w] += own[own_symbol[w]] * (weight * shares[w] if len(shares) > 0 else weight)


@kernel
def begin(mem, ids, grams, w):
    """Let position 0 be ``<s>`` or ``</s>``, which are their own symbols everywhere, with nothing before it."""
    ids[0] = w
    grams[:, 0] = -1
    grams[0, 0] = w
    if entry(mem, 1, ORDER) == 0:
        row = 0
        for k in range(entry(mem, 1, PARTS)):
            part = part_of(mem, k)
            if entry(part, 1, ORDER) > 0:
                grams[row, 0] = w
            row += rows_of(part)
