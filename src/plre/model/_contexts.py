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
from plre._memory import either, peek32, peek64, peek_double, peek_float, poke64, poke_double
from plre.model._plan import (
    AT_ONCE,
    BLOCK,
    CHAIN,
    CHAIN_WIDTH,
    CURRENT,
    FIRST,
    HIGH,
    IDS,
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
    STAGE,
    SYMBOLS,
    TABLE_COUNT,
    TABLE_ROWS,
    TABLE_WIDTH,
    TABLES,
    UNIGRAMS,
    WORDS,
    at,
    hashes_of,
    lines_of,
    places_of,
    row,
    spare_row,
    symbol_of,
    todo_of,
)
from plre.model._tables import ask_seeds, find_records, first_from, key_of, run_of, scaled, slot_number
from plre.text._kernels import BOS

#: Where the number of a slot stands: a context's backoff, an event's probability.
NUMBER = 4


@kernel
def level_table(plan, component, number):
    """Where the plan describes a table: those of contexts have even numbers, those of events odd ones."""
    return at(plan, component + TABLES) + number * TABLE_WIDTH


@kernel
def context_keys(plan, component, block, keys):
    """Compute the keys of the contexts of all positions of a block, and of what is predicted there: a row a table.

    Nothing is read beyond ``<s>``: a slot that looks farther back reads that; so does it where nothing is known.
    """
    ids, first, words = at(block, IDS), at(block, FIRST), at(plan, WORDS)
    symbols, table, tables = at(plan, component + SYMBOLS), at(plan, component + MAP), at(plan, component + TABLE_COUNT)
    columns = at(block, LAST) - first + 1
    space = at(block, SPACE) + at(plan, component + OFFSET)
    starts, predicted = spare_row(space, tables, 0), spare_row(space, tables, 1)
    start = first - at(plan, REACH) + 1
    for i in range(start, first + 1):
        if peek32(ids + 4 * i) in (BOS, words):
            start = i
    for k in range(2, columns):
        word = peek32(ids + 4 * (first + k - 1))
        poke64(starts + 8 * k, start)
        poke64(predicted + 8 * k, symbol_of(table, symbols, word))
        start = either(word in (BOS, words), first + k - 1, start)
    coarser = spare_row(space, tables, 2)
    for k in range(2, columns):
        poke64(coarser + 8 * k, 0)
    for j in range(at(plan, component + LEVELS)):
        slot = at(plan, component + CHAIN) + j * CHAIN_WIDTH
        distance, read, count = at(plan, slot + SLOT_DISTANCE), at(plan, slot + SLOT_MAP), at(plan, slot + SLOT_SYMBOLS)
        contexts, events = row(keys, TABLE_ROWS * 2 * j), row(keys, TABLE_ROWS * (2 * j + 1))
        for k in range(2, columns):
            before = peek32(ids + 4 * max(first + k - 1 - distance, peek64(starts + 8 * k)))
            key = key_of(np.uint64(peek64(coarser + 8 * k)), symbol_of(read, count, before))
            poke64(contexts + 8 * k, np.int64(key))
            poke64(events + 8 * k, np.int64(key_of(key, peek64(predicted + 8 * k))))
        coarser = contexts


@c_kernel(PROTOCOL)
def ask_contexts(plan, component, block):
    """Choose what is looked up at this stage, the finest levels first, and ask for its seeds.

    Where an event was found, coarser levels do not matter; nor does anything where ``<s>`` stands.
    """
    space, current = at(block, SPACE) + at(plan, component + OFFSET), at(block, CURRENT)
    tables, nowhere = at(plan, component + TABLE_COUNT), plan + 8 * NOWHERE
    ids, first, levels = at(block, IDS), at(block, FIRST), at(plan, component + LEVELS)
    columns = at(block, LAST) - first + 1
    finest = spare_row(space, tables, 0)
    if current <= 0:
        context_keys(plan, component, block, places_of(space, 0))
        for k in range(2, columns):
            poke64(finest + 8 * k, either(peek32(ids + 4 * (first + k - 1)) == BOS, levels, np.int64(-1)))
    for t in range(1, tables, 2):
        if at(plan, level_table(plan, component, t) + STAGE) < current:
            events = places_of(space, t)
            for k in range(2, columns):
                level = t >> 1 if peek64(events + 8 * k) != nowhere else np.int64(-1)
                poke64(finest + 8 * k, max(peek64(finest + 8 * k), level))
    for t in range(tables):
        table = level_table(plan, component, t)
        if current == AT_ONCE or current == at(plan, table + STAGE):
            todo, keys, places = todo_of(space, t), hashes_of(space, t), places_of(space, t)
            count = np.int64(1)
            for k in range(2, columns):
                poke64(todo + 8 * count, k)
                poke64(keys + 8 * count, peek64(places + 8 * k))
                poke64(places + 8 * k, nowhere)
                count += np.int64(peek64(finest + 8 * k) < t >> 1)
            poke64(todo, count - 1)
            ask_seeds(plan, table, keys, lines_of(space, t), 1, count)
    return 0


@c_kernel(PROTOCOL)
def step_contexts(plan, component, block):
    """Compute the keys that a single question looks up."""
    context_keys(plan, component, block, todo_of(at(block, SPACE) + at(plan, component + OFFSET), 0))
    return 0


@c_kernel(PROTOCOL)
def answer_contexts(plan, component, block):
    """Put together what the contexts and events found say of each position, from the coarsest level up."""
    ids, first = at(block, IDS), at(block, FIRST)
    space = at(block, SPACE) + at(plan, component + OFFSET)
    symbols, table, levels = at(plan, component + SYMBOLS), at(plan, component + MAP), at(plan, component + LEVELS)
    unigrams, probs, matched = at(plan, component + UNIGRAMS), at(block, OWN), at(block, MATCHED)
    nowhere = plan + 8 * NOWHERE
    columns = at(block, LAST) - first + 1
    poke_double(probs + 8, 0.0)
    poke64(matched + 8, 1)
    for k in range(2, columns):
        symbol = symbol_of(table, symbols, peek32(ids + 4 * (first + k - 1)))
        poke_double(probs + 8 * k, np.float64(peek_float(unigrams + 4 * symbol)))
        poke64(matched + 8 * k, 1)
    for j in range(levels):
        contexts, events = places_of(space, 2 * j), places_of(space, 2 * j + 1)
        for k in range(2, columns):
            event = peek64(events + 8 * k)
            seen = event != nowhere
            number = np.float64(peek_float(either(seen, event, peek64(contexts + 8 * k)) + NUMBER))
            poke_double(probs + 8 * k, number * either(seen, 1.0, peek_double(probs + 8 * k)))
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
    levels, tables, nowhere = at(plan, component + LEVELS), at(plan, component + TABLE_COUNT), plan + 8 * NOWHERE
    last = at(block, LAST) - at(block, FIRST)
    symbols, hashes, places = spare_row(space, tables, 0), spare_row(space, tables, 1), spare_row(space, tables, 2)
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
        table, owner = level_table(plan, component, 2 * j + 1), np.uint64(peek64(todo_of(space, 2 * j) + 8 * last))
        first, stop = run_of(plan, table, slot_number(plan, table - TABLE_WIDTH, context))
        first, stop = first_from(plan, table, first, stop, low), first_from(plan, table, first, stop, high)
        while first < stop:
            count = min(stop - first, BLOCK)
            find_records(plan, table, owner, first, first + count, nowhere, symbols, hashes, places)
            for i in range(count):
                s, place = peek64(symbols + 8 * i), peek64(places + 8 * i)
                if s >= low and s < high and place != nowhere:
                    poke_double(out + 8 * s, scale * np.float64(peek_float(place + NUMBER)))
            first += count
    return 0
