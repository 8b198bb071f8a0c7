"""Component of hybrid contexts: a chain of ever finer contexts that mix words and classes (``ensemble/contexts.py``).

A slot of the chain is a map and a distance: the context of level j is what the first j slots read. The finest context
that was seen speaks first:

    P(s | context of level j) = stored                                    if s was seen there
                              = backoff P(s | context of level j - 1)     otherwise; at level 0 the unigram

Each level has two tables: contexts, with slots [check, backoff], and events, with slots [check, probability].
"""

from __future__ import annotations

import numpy as np

from plre._jit import c_kernel, kernel
from plre._memory import peek32, peek64, peek_double, peek_float, poke64, poke_double
from plre.model._plan import (
    BLOCK,
    CHAIN,
    CHAIN_WIDTH,
    FIRST,
    HIGH,
    IDS,
    LANES,
    LAST,
    LEVELS,
    LOW,
    MAP,
    MATCHED,
    NEEDED,
    NOWHERE,
    OFFSET,
    OUT,
    OWN,
    PROTOCOL,
    REACH,
    SLOT_DISTANCE,
    SLOT_MAP,
    SLOT_SYMBOLS,
    SPACE,
    SYMBOLS,
    TABLE_COUNT,
    TABLE_WIDTH,
    TABLES,
    UNIGRAMS,
    WORDS,
    at,
    hashes_of,
    places_of,
    spare_row,
    symbol_of,
)
from plre.model._tables import ask_seeds, find_records, first_from, found_in, key_of, run_of, scaled, slot_number
from plre.text._kernels import BOS

#: Where the number of a slot stands: a context's backoff, an event's probability.
NUMBER = 4


@kernel
def no_context(plan):
    """What stands for a context that was not found: a record that says backoff 1."""
    return plan + 8 * NOWHERE + 4


@kernel
def level_table(plan, component, number):
    """Where the plan describes a table: those of contexts have even numbers, those of events odd ones."""
    return at(plan, component + TABLES) + number * TABLE_WIDTH


@c_kernel(PROTOCOL)
def ask_contexts(plan, component, block):
    """Compute the keys of the contexts of all positions of a block and of what is predicted there; ask for seeds.

    Nothing is read beyond ``<s>``: a slot that looks farther back reads that; so does it where nothing is known.
    """
    ids, first, last = at(block, IDS), at(block, FIRST), at(block, LAST)
    space = at(block, SPACE) + at(plan, component + OFFSET)
    symbols, table, levels = at(plan, component + SYMBOLS), at(plan, component + MAP), at(plan, component + LEVELS)
    keys = spare_row(space, at(plan, component + TABLE_COUNT), 0)
    chain, words = at(plan, component + CHAIN), at(plan, WORDS)
    start = first - at(plan, REACH) + 1
    for i in range(start, first + 1):
        if peek32(ids + 4 * i) in (BOS, words):
            start = i
    for i in range(first + 1, last):
        word = peek32(ids + 4 * i)
        predicted = symbol_of(table, symbols, word)
        key = np.uint64(0)
        for j in range(levels):
            slot = chain + j * CHAIN_WIDTH
            before = peek32(ids + 4 * max(i - at(plan, slot + SLOT_DISTANCE), start))
            key = key_of(key, symbol_of(at(plan, slot + SLOT_MAP), at(plan, slot + SLOT_SYMBOLS), before))
            poke64(keys + 8 * j, np.int64(key))
            poke64(hashes_of(space, 2 * j) + 8 * (i - first + 1), np.int64(key))
            poke64(hashes_of(space, 2 * j + 1) + 8 * (i - first + 1), np.int64(key_of(key, predicted)))
        if word in (BOS, words):
            start = i
    for t in range(2 * levels):
        hashes = hashes_of(space, t)
        ask_seeds(plan, level_table(plan, component, t), hashes, hashes, places_of(space, t), 2, last - first + 1)
    return 0


@c_kernel(PROTOCOL)
def answer_contexts(plan, component, block):
    """Find contexts and events, and put together what they say of each position, from the coarsest level up."""
    ids, first, last = at(block, IDS), at(block, FIRST), at(block, LAST)
    space = at(block, SPACE) + at(plan, component + OFFSET)
    symbols, table, levels = at(plan, component + SYMBOLS), at(plan, component + MAP), at(plan, component + LEVELS)
    unigrams, probs, matched = at(plan, component + UNIGRAMS), at(block, OWN), at(block, MATCHED)
    nowhere = no_context(plan)
    columns = last - first + 1
    poke_double(probs + 8, 0.0)
    poke64(matched + 8, 1)
    for k in range(2, columns):
        symbol = symbol_of(table, symbols, peek32(ids + 4 * (first + k - 1)))
        poke_double(probs + 8 * k, np.float64(peek_float(unigrams + 4 * symbol)))
        poke64(matched + 8 * k, 1)
    for j in range(levels):
        context_hashes, contexts = hashes_of(space, 2 * j), places_of(space, 2 * j)
        event_hashes, events = hashes_of(space, 2 * j + 1), places_of(space, 2 * j + 1)
        context_lanes = at(plan, level_table(plan, component, 2 * j) + LANES)
        event_lanes = at(plan, level_table(plan, component, 2 * j + 1) + LANES)
        for k in range(2, columns):
            context = found_in(contexts, context_hashes, k, context_lanes, nowhere)
            event = found_in(events, event_hashes, k, event_lanes, nowhere)
            # Contexts hang on coarser ones, and events on contexts.
            known = (context != nowhere) & ((j == 0) | (peek64(places_of(space, 2 * j - 2) + 8 * k) != nowhere))
            context = context if known else nowhere
            poke64(contexts + 8 * k, context)
            seen = (event != nowhere) & known
            number = np.float64(peek_float((event if seen else context) + NUMBER))
            poke_double(probs + 8 * k, number if seen else number * peek_double(probs + 8 * k))
    if at(block, NEEDED) >= 0:
        needed = at(block, NEEDED)
        for j in range(levels):
            needed = max(needed, at(plan, at(plan, component + CHAIN) + j * CHAIN_WIDTH + SLOT_DISTANCE))
        poke64(block + 8 * NEEDED, needed)
    return 0


@c_kernel(PROTOCOL)
def spread_contexts(plan, component, block):
    """P(s | context) of the symbols LOW to HIGH, the context being that of the last position, to OUT."""
    low, high, out = at(block, LOW), at(block, HIGH), at(block, OUT)
    space = at(block, SPACE) + at(plan, component + OFFSET)
    levels, tables, nowhere = at(plan, component + LEVELS), at(plan, component + TABLE_COUNT), no_context(plan)
    last = at(block, LAST) - at(block, FIRST)
    keys = spare_row(space, tables, 0)
    symbols, hashes, places = spare_row(space, tables, 1), spare_row(space, tables, 2), spare_row(space, tables, 3)
    scale = 1.0
    for j in range(levels):
        scale *= np.float64(peek_float(peek64(places_of(space, 2 * j) + 8 * last) + NUMBER))
    scaled(at(plan, component + UNIGRAMS), scale, low, high, out)
    for j in range(levels):
        context = peek64(places_of(space, 2 * j) + 8 * last)
        if context == nowhere:
            return 0
        scale = 1.0
        for finer in range(j + 1, levels):
            scale *= np.float64(peek_float(peek64(places_of(space, 2 * finer) + 8 * last) + NUMBER))
        table = level_table(plan, component, 2 * j + 1)
        first, stop = run_of(plan, table, slot_number(plan, table - TABLE_WIDTH, context))
        first, stop = first_from(plan, table, first, stop, low), first_from(plan, table, first, stop, high)
        while first < stop:
            count = min(stop - first, BLOCK)
            find_records(
                plan, table, np.uint64(peek64(keys + 8 * j)), first, first + count, nowhere, symbols, hashes, places
            )
            for i in range(count):
                s, place = peek64(symbols + 8 * i), peek64(places + 8 * i)
                if s >= low and s < high and place != nowhere:
                    poke_double(out + 8 * s, scale * np.float64(peek_float(place + NUMBER)))
            first += count
    return 0
