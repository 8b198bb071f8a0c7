"""Component of n-grams, of words or of classes: each record is an n-gram and, but for the highest order, a context.

    P(w | h) = stored                                             if hw was seen
             = low rank layers(hw) + backoff(h) P(w | h')         if h was seen; h' is h without its oldest word
             = P(w | h')                                          otherwise

Slots are [check, probability], and where records are contexts [check, probability, backoff], with the missing mass
behind it in a component that leads others. Unigrams are an array of probabilities and one of pairs (backoff, missing
mass). What was not found stands at NOWHERE, a record that says backoff 1.
"""

from __future__ import annotations

import numpy as np

from plre._jit import c_kernel, kernel
from plre._memory import (
    call_address,
    hashes_at,
    lowest_bit,
    peek32,
    peek64,
    peek_double,
    peek_float,
    poke64,
    poke_double,
)
from plre.model import _plan as p
from plre.model._gates import gate_bucket
from plre.model._lookup import ask_seeds, first_from, know_run, listed, run_of, scaled
from plre.model._lowrank import number_of, pointer_of, product, rank_of
from plre.model._plan import at, found_of, hashes_of, keys_of, places_of, set_found
from plre.tables._hashing import STEP, key_of

#: Where the numbers of a slot stand.
PROBABILITY, BACKOFF, LACK = 4, 8, 12


@kernel
def order_table(plan, component, n):
    """Where the plan describes the table of order n."""
    return at(plan, component + p.TABLES) + (n - 2) * p.TABLE_WIDTH


@kernel
def first_keys(plan, component, block, space):
    """Compute the keys of the n-grams that end at the first position of a block, to column 1 of a row for each length.

    The word after the last one stands for "not known", and so does the symbol after the last one: no n-gram has it.
    """
    symbols, table = at(plan, component + p.SYMBOLS), at(plan, component + p.MAP)
    key, power = np.uint64(0), np.uint64(1)
    for n in range(1, at(plan, component + p.LEVELS) + 1):
        word = peek32(at(block, p.IDS) + 4 * (at(block, p.FIRST) + 1 - n))
        key += np.uint64(p.symbol_of(table, symbols, word)) * power
        power *= STEP
        poke64(keys_of(space, n - 2) + 8, np.int64(key))


@kernel
def further_keys(plan, component, block, space):
    """Compute the keys of the n-grams that end at the further positions of a block."""
    symbols, table = at(plan, component + p.SYMBOLS), at(plan, component + p.MAP)
    count = at(block, p.LAST) - at(block, p.FIRST) - 1
    ids, words = at(block, p.IDS) + 4 * (at(block, p.FIRST) + 1), keys_of(space, -1)
    for k in range(count):
        poke64(words + 16 + 8 * k, p.symbol_of(table, symbols, peek32(ids + 4 * k)))
    newest = hashes_at(words + 16, count)
    for n in range(2, at(plan, component + p.LEVELS) + 1):
        shorter, own = hashes_at(keys_of(space, n - 3) + 8, count), hashes_at(keys_of(space, n - 2) + 16, count)
        for k in range(count):
            own[k] = key_of(shorter[k], newest[k])


@kernel
def wanted_columns(plan, component, block, space, n):
    """The mask of the columns in which order n is looked up: all, of the order that is first.

    A longer n-gram can only be there if its context and its suffix are. A shorter one matters only if one of the two
    that it is the suffix or the context of is not; if both are, so is it, which the mask beside its keys says.
    """
    earliest, table = at(plan, component + p.FIRST_ORDER), order_table(plan, component, n)
    wanted, implied = at(at(block, p.WITHIN), n) & p.asked_from(block, at(plan, table + p.SINCE)), np.int64(0)
    if at(block, p.CURRENT) != p.AT_ONCE and earliest != 0 and earliest != n:
        if n > earliest:
            shorter = found_of(space, n - 3)
            wanted &= shorter & (shorter << 1 | 1)
        else:
            longer = found_of(space, n - 1) | at(keys_of(space, n - 1), 0)
            last = np.int64(1) << (at(block, p.LAST) - at(block, p.FIRST) - 1)
            implied = longer & (longer >> 1 | last)
    poke64(keys_of(space, n - 2), implied)
    return wanted & ~implied


@c_kernel(p.PROTOCOL)
def ask_ngrams(plan, component, block):
    """Choose the n-grams that are looked up at this stage, and ask for their seeds."""
    space, current = at(block, p.SPACE) + at(plan, component + p.OFFSET), at(block, p.CURRENT)
    if current <= 0:
        first_keys(plan, component, block, space)
        further_keys(plan, component, block, space)
    for n in range(2, at(plan, component + p.LEVELS) + 1):
        table = order_table(plan, component, n)
        if current == p.AT_ONCE or current == at(plan, table + p.STAGE):
            wanted = wanted_columns(plan, component, block, space, n)
            poke64(hashes_of(space, n - 2), wanted)
            ask_seeds(plan, table, keys_of(space, n - 2), hashes_of(space, n - 2), places_of(space, n - 2), wanted)
    return 0


@c_kernel(p.PROTOCOL)
def step_ngrams(plan, component, block):
    """Compute the keys of the n-grams that a single question looks up; those of its context may be known."""
    space, before = at(block, p.SPACE) + at(plan, component + p.OFFSET), at(block, p.BEFORE)
    order = at(plan, component + p.LEVELS)
    if before == p.FRESH:
        first_keys(plan, component, block, space)
    word = peek32(at(block, p.IDS) + 4 * (at(block, p.FIRST) + 1))
    symbol = p.symbol_of(at(plan, component + p.MAP), at(plan, component + p.SYMBOLS), word)
    shorter = np.uint64(0)
    for n in range(1, order + 1):
        keys, places = keys_of(space, n - 2), places_of(space, n - 2)
        known = np.int64(0)
        if before == p.NEXT:
            poke64(keys + 8, peek64(keys + 16))
            poke64(places + 8, peek64(places + 16))
            known = found_of(space, n - 2) >> 1  # column 2 becomes column 1
        elif before == p.SAME:
            known = found_of(space, n - 2)
        set_found(space, n - 2, known & 1)
        poke64(keys + 16, np.int64(key_of(shorter, symbol)) if n > 1 else symbol)
        shorter = np.uint64(peek64(keys + 8))
    return 0


@kernel
def take_stored(block, places, mask, n):
    """Let the n-grams found in the columns of a mask say their probability."""
    probs, matched = at(block, p.OWN), at(block, p.MATCHED)
    while mask != 0:
        column = 8 + 8 * lowest_bit(mask)
        mask &= mask - 1
        poke_double(probs + column, np.float64(peek_float(peek64(places + column) + PROBABILITY)))
        poke64(matched + column, n)


@kernel
def weigh_contexts(block, contexts, mask):
    """Multiply by the weight of the context before each column of a mask."""
    probs = at(block, p.OWN)
    while mask != 0:
        column = 8 + 8 * lowest_bit(mask)
        mask &= mask - 1
        weight = np.float64(peek_float(peek64(contexts + column - 8) + BACKOFF))
        poke_double(probs + column, peek_double(probs + column) * weight)


@kernel
def check_found(plan, component, block, space):
    """Let the masks say what was really found, and where unigrams are as contexts.

    Whatever is stored has its context and its suffix stored: else the check of its slot is right by chance.
    """
    columns, weights = at(block, p.LAST) - at(block, p.FIRST), at(plan, component + p.WEIGHTS)
    words, places = keys_of(space, -1), places_of(space, -1)
    for k in range(1, columns + 1):
        poke64(places + 8 * k, weights + 8 * peek64(words + 8 * k) - BACKOFF)
    set_found(space, -1, -1)
    earliest, within = at(plan, component + p.FIRST_ORDER), at(block, p.WITHIN)
    if at(block, p.CURRENT) == p.AT_ONCE:
        earliest = 0
    for n in range(2, at(plan, component + p.LEVELS) + 1):
        found, shorter = found_of(space, n - 2) & at(within, n), found_of(space, n - 3)
        set_found(space, n - 2, found if n <= earliest else found & shorter & (shorter << 1 | 1))


@kernel
def longest_found(plan, component, block, space, top):
    """Let the longest n-gram found of each position, of at most ``top`` words, say its number.

    Beside each order stands the mask of the columns in which one of that length or more was found.
    """
    asked, longer = p.asked_from(block, 2), np.int64(0)
    for n in range(top, 1, -1):
        own = found_of(space, n - 2) & asked & ~longer
        longer |= own
        poke64(hashes_of(space, n - 2), longer)
        take_stored(block, places_of(space, n - 2), own, n)
    unigrams, words = at(plan, component + p.UNIGRAMS), keys_of(space, -1)
    rest = asked & ~longer
    while rest != 0:
        column = 8 + 8 * lowest_bit(rest)
        rest &= rest - 1
        poke_double(at(block, p.OWN) + column, np.float64(peek_float(unigrams + 4 * peek64(words + column))))
        poke64(at(block, p.MATCHED) + column, 1)


@kernel
def answer_up_to(plan, component, block, space, top):
    """Put together what n-grams of at most ``top`` words say of each position.

    The longest that was found says its probability; the weights of the longer contexts follow, from the shortest up.
    """
    longest_found(plan, component, block, space, top)
    asked = p.asked_from(block, 2)
    for n in range(2, top + 1):
        contexts, longer = found_of(space, n - 3), at(hashes_of(space, n - 2), 0)
        shorter = asked & ~longer & (contexts << 1)
        weigh_contexts(block, places_of(space, n - 3), shorter)
        if at(plan, component + p.LAYERS) != 0:
            call_address(at(plan, component + p.LAYERS), plan, component, block, n, shorter & contexts)


@kernel
def says_something(plan, component, place):
    """Whether what follows depends on this context: it has a weight, or lacks something to sum to one."""
    lacks = at(plan, component + p.MISSING) != 0 and peek_float(place + LACK) > 0
    return peek_float(place + BACKOFF) != 1.0 or lacks


@c_kernel(p.PROTOCOL)
def answer_ngrams(plan, component, block):
    """Put together what the n-grams found say of each position, and what else has to be known."""
    space, order = at(block, p.SPACE) + at(plan, component + p.OFFSET), at(plan, component + p.LEVELS)
    check_found(plan, component, block, space)
    orders, columns = at(block, p.ORDERS), at(block, p.LAST) - at(block, p.FIRST)
    for n in range(1 if orders != 0 else order, order + 1):
        answer_up_to(plan, component, block, space, n)
        if orders != 0:
            for k in range(2, columns + 1):
                poke_double(at(orders, n - 1) + 8 * (k - 1), peek_double(at(block, p.OWN) + 8 * k))
    if at(plan, component + p.OPEN) != 0:
        call_address(at(plan, component + p.OPEN), plan, component, block)
    if at(block, p.NEEDED) >= 0:
        for n in range(1, order):
            places = places_of(space, n - 2)
            if found_of(space, n - 2) >> 1 & 1 and says_something(plan, component, at(places, 2)):
                poke64(block + 8 * p.NEEDED, max(at(block, p.NEEDED), n))
    return 0


@c_kernel(p.PROTOCOL)
def open_gates(plan, component, block):
    """The row of the gates of the context before each position, and what that lacks to sum to one.

    It is the longest context after which something was seen: the others lack nothing of their own.
    """
    space, asked = at(block, p.SPACE) + at(plan, component + p.OFFSET), p.asked_from(block, 2)
    rows, lacking = at(block, p.ROW), at(block, p.LACKING)
    for k in range(2, at(block, p.LAST) - at(block, p.FIRST) + 1):
        poke64(rows + 8 * k, 0)
        poke64(lacking + 8 * k, at(plan, component + p.ROOT))
    for n in range(1, at(plan, component + p.LEVELS)):
        contexts = places_of(space, n - 2)
        mask = asked & (found_of(space, n - 2) << 1)
        while mask != 0:
            column = 8 + 8 * lowest_bit(mask)
            mask &= mask - 1
            missing = np.float64(peek_float(peek64(contexts + column - 8) + LACK))
            if missing > 0:
                poke64(rows + column, n * p.GATE_BUCKETS + gate_bucket(missing))
                poke_double(lacking + column, missing)
    return 0


@kernel
def spread_orders(plan, component, block, low_rank):
    """P(s | context) of the symbols LOW to HIGH, the context being that of a single question, to OUT.

    A seen n-gram is worth its probability times the weights of the longer contexts that were asked before; so the
    lowest order is written for all symbols, and each longer context writes over it what it has seen.
    """
    order, low, high, out = at(plan, component + p.LEVELS), at(block, p.LOW), at(block, p.HIGH), at(block, p.OUT)
    space = at(block, p.SPACE) + at(plan, component + p.OFFSET)
    top = 0
    scale = 1.0
    while top < order - 1 and found_of(space, top - 1) & 1:
        top += 1
        scale *= np.float64(peek_float(at(places_of(space, top - 2), 1) + BACKOFF))
    scaled(at(plan, component + p.UNIGRAMS), scale, low, high, out)
    if low_rank and top > 0 and at(plan, order_table(plan, component, 2) + p.FACTORS) != 0:
        spread_bigrams(plan, component, at(places_of(space, -1), 1), weight_above(space, 1, top), low, high, out)
    for n in range(1, top + 1):
        spread_seen(plan, component, block, n, top, space, low_rank)


@kernel
def weight_above(space, n, top):
    """The product of the weights of contexts longer than n words, as far as they were seen."""
    scale = 1.0
    for k in range(n + 1, top + 1):
        scale *= np.float64(peek_float(at(places_of(space, k - 2), 1) + BACKOFF))
    return scale


@kernel
def spread_bigrams(plan, component, context, scale, low, high, out):
    """Add the low rank layers of bigrams, which know of every word."""
    table = order_table(plan, component, 2)
    rank = at(plan, table + p.RANK)
    right = pointer_of(plan, component, table, 2, context)
    for s in range(low, high):
        poke_double(
            out + 8 * s, peek_double(out + 8 * s) + scale * product(plan, table, rank, right, (2 * s + 1) * rank)
        )


@kernel
def spread_seen(plan, component, block, n, top, space, low_rank):
    """Write what was seen after the context of n words; add to it the low rank layers of the order above.

    The n-grams seen after the middle of a slice are its rows.
    """
    low, high, out = at(block, p.LOW), at(block, p.HIGH), at(block, p.OUT)
    table, context = order_table(plan, component, n + 1), at(places_of(space, n - 2), 1)
    rows = p.spare_row(space, at(plan, component + p.TABLE_COUNT), 0)
    above, pointers = np.int64(0), np.int64(0)
    if low_rank and n + 2 <= at(plan, component + p.LEVELS):
        above = order_table(plan, component, n + 2)
        pointers = at(plan, above + p.POINTERS)
    layers = pointers != 0 and n < top
    rank, right, above_scale = np.int64(0), np.int64(0), 0.0
    if layers:
        rank = rank_of(plan, component, above, n + 2, context)
        right = pointer_of(plan, component, above, n + 2, at(places_of(space, n - 1), 1))
        above_scale = weight_above(space, n + 1, top)
    scale, owner = weight_above(space, n, top), np.uint64(at(keys_of(space, n - 2), 1))
    first, stop = run_of(plan, table, number_of(plan, component, n, context))
    numbers, made = know_run(plan, block, table, owner, first, stop, rows, pointers)
    first, stop = first_from(plan, table, first, stop, low), first_from(plan, table, first, stop, high)
    for i in range(first, stop):
        s = listed(plan, table, i)
        if s >= low and s < high:
            own = scale * np.float64(peek_float(numbers + 4 * i))
            if layers:
                own += above_scale * product(plan, above, rank, right, peek32(made + 4 * i))
            poke_double(out + 8 * s, own)


@c_kernel(p.PROTOCOL)
def spread_ngrams(plan, component, block):
    """Spread for n-grams without low rank layers."""
    spread_orders(plan, component, block, False)
    return 0


@c_kernel(p.PROTOCOL)
def spread_low_rank(plan, component, block):
    """Spread for n-grams with low rank layers."""
    spread_orders(plan, component, block, True)
    return 0
