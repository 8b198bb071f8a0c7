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
from plre._memory import hashes_at, lowest_bit, peek32, peek64, peek_double, peek_float, poke64, poke_double
from plre.model import _plan as p
from plre.model._lookup import ask_seeds, first_from, know_run, listed, run_of, scaled, slot_number
from plre.model._plan import at, found_of, hashes_of, keys_of, places_of, set_found
from plre.tables._hashing import key_of

#: Where the number of a slot stands: a context's backoff, an event's probability.
NUMBER = 4


@kernel
def level_table(plan, component, number):
    """Where the plan describes a table: those of contexts have even numbers, those of events odd ones."""
    return at(plan, component + p.TABLES) + number * p.TABLE_WIDTH


@kernel
def context_keys(plan, component, block, space):
    """Compute the keys of the contexts of all positions of a block, and of what is predicted there: a row a table.

    Nothing is read beyond ``<s>``: a slot that looks farther back reads that; so does it where nothing is known.
    """
    ids, since = at(block, p.IDS) + 4 * (at(block, p.FIRST) - 1), at(block, p.SINCE_START)
    symbols, table = at(plan, component + p.SYMBOLS), at(plan, component + p.MAP)
    columns = at(block, p.LAST) - at(block, p.FIRST) + 1
    predicted, coarser = keys_of(space, -1), hashes_of(space, -1)
    for k in range(2, columns):
        poke64(predicted + 8 * k, p.symbol_of(table, symbols, peek32(ids + 4 * k)))
        poke64(coarser + 8 * k, 0)
    for j in range(at(plan, component + p.LEVELS)):
        slot = at(plan, component + p.CHAIN) + j * p.CHAIN_WIDTH
        distance, read = at(plan, slot + p.SLOT_DISTANCE), at(plan, slot + p.SLOT_MAP)
        count, contexts = at(plan, slot + p.SLOT_SYMBOLS), keys_of(space, 2 * j)
        for k in range(2, columns):
            before = peek32(ids + 4 * (k - 1 - min(distance - 1, peek64(since + 8 * (k - 1)))))
            key = key_of(np.uint64(peek64(coarser + 8 * k)), p.symbol_of(read, count, before))
            poke64(contexts + 8 * k, np.int64(key))
        coarser = contexts
        given, symbol = hashes_at(contexts + 16, columns - 2), hashes_at(predicted + 16, columns - 2)
        events = hashes_at(keys_of(space, 2 * j + 1) + 16, columns - 2)
        for k in range(columns - 2):
            events[k] = key_of(given[k], symbol[k])


@c_kernel(p.PROTOCOL)
def ask_contexts(plan, component, block):
    """Choose what is looked up at this stage, the finest levels first, and ask for its seeds.

    Where an event was found, coarser levels do not matter; nor does anything where ``<s>`` stands.
    """
    space, current = at(block, p.SPACE) + at(plan, component + p.OFFSET), at(block, p.CURRENT)
    if current <= 0:
        context_keys(plan, component, block, space)
    wanted = p.asked_from(block, 2) & at(at(block, p.WITHIN), 2)
    for t in range(at(plan, component + p.TABLE_COUNT) - 1, -1, -1):
        table = level_table(plan, component, t)
        if t & 1 and at(plan, table + p.STAGE) < current:
            wanted &= ~found_of(space, t)
        if current == p.AT_ONCE or current == at(plan, table + p.STAGE):
            set_found(space, t, 0)
            poke64(hashes_of(space, t), wanted)
            ask_seeds(plan, table, keys_of(space, t), hashes_of(space, t), places_of(space, t), wanted)
    return 0


@c_kernel(p.PROTOCOL)
def step_contexts(plan, component, block):
    """Compute the keys that a single question looks up."""
    space = at(block, p.SPACE) + at(plan, component + p.OFFSET)
    context_keys(plan, component, block, space)
    for t in range(at(plan, component + p.TABLE_COUNT)):
        set_found(space, t, 0)
    return 0


@c_kernel(p.PROTOCOL)
def answer_contexts(plan, component, block):
    """Put together what the contexts and events found say of each position.

    The finest event that was found says its probability; the weights of finer contexts follow, from the coarsest up.
    """
    space, levels = at(block, p.SPACE) + at(plan, component + p.OFFSET), at(plan, component + p.LEVELS)
    asked, finer, probs = p.asked_from(block, 2), np.int64(0), at(block, p.OWN)
    for j in range(levels - 1, -1, -1):
        events = places_of(space, 2 * j + 1)
        own = found_of(space, 2 * j + 1) & asked & ~finer
        finer |= own
        poke64(hashes_of(space, 2 * j), finer)
        while own != 0:
            column = 8 + 8 * lowest_bit(own)
            own &= own - 1
            poke_double(probs + column, np.float64(peek_float(peek64(events + column) + NUMBER)))
    unigrams, words, rest = at(plan, component + p.UNIGRAMS), keys_of(space, -1), asked & ~finer
    while rest != 0:
        column = 8 + 8 * lowest_bit(rest)
        rest &= rest - 1
        poke_double(probs + column, np.float64(peek_float(unigrams + 4 * peek64(words + column))))
    for j in range(levels):
        contexts = places_of(space, 2 * j)
        own = found_of(space, 2 * j) & asked & ~at(hashes_of(space, 2 * j), 0)
        while own != 0:
            column = 8 + 8 * lowest_bit(own)
            own &= own - 1
            weight = np.float64(peek_float(peek64(contexts + column) + NUMBER))
            poke_double(probs + column, peek_double(probs + column) * weight)
    for k in range(2, at(block, p.LAST) - at(block, p.FIRST) + 1):
        poke64(at(block, p.MATCHED) + 8 * k, 1)
    if at(block, p.NEEDED) >= 0:
        for j in range(levels):
            distance = at(plan, at(plan, component + p.CHAIN) + j * p.CHAIN_WIDTH + p.SLOT_DISTANCE)
            poke64(block + 8 * p.NEEDED, max(at(block, p.NEEDED), distance))
    return 0


@kernel
def context_at(plan, space, level):
    """The slot of the context of a single question at a level, or NOWHERE."""
    return at(places_of(space, 2 * level), 2) if found_of(space, 2 * level) & 2 else plan + 8 * p.NOWHERE


@c_kernel(p.PROTOCOL)
def spread_contexts(plan, component, block):
    """P(s | context) of the symbols LOW to HIGH, the context being that of a single question, to OUT."""
    low, high, out = at(block, p.LOW), at(block, p.HIGH), at(block, p.OUT)
    space = at(block, p.SPACE) + at(plan, component + p.OFFSET)
    levels, rows = at(plan, component + p.LEVELS), p.spare_row(space, at(plan, component + p.TABLE_COUNT), 0)
    scale = 1.0
    for j in range(levels):
        scale *= np.float64(peek_float(context_at(plan, space, j) + NUMBER))
    scaled(at(plan, component + p.UNIGRAMS), scale, low, high, out)
    for j in range(levels):
        context = context_at(plan, space, j)
        if context == plan + 8 * p.NOWHERE:
            return 0
        scale = 1.0
        for finer in range(j + 1, levels):
            scale *= np.float64(peek_float(context_at(plan, space, finer) + NUMBER))
        table, owner = level_table(plan, component, 2 * j + 1), np.uint64(at(keys_of(space, 2 * j), 2))
        first, stop = run_of(plan, table, slot_number(plan, table - p.TABLE_WIDTH, context))
        numbers, _ = know_run(plan, block, table, owner, first, stop, rows, 0)
        first, stop = first_from(plan, table, first, stop, low), first_from(plan, table, first, stop, high)
        for i in range(first, stop):
            s = listed(plan, table, i)
            if s >= low and s < high:
                poke_double(out + 8 * s, scale * np.float64(peek_float(numbers + 4 * i)))
    return 0
