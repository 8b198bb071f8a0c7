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

from plre._jit import c_kernel, inlined_kernel, kernel
from plre._memory import call_address, either, peek32, peek64, peek_double, peek_float, poke64, poke_double
from plre.model._gates import gate_bucket
from plre.model._lowrank import add_low_rank, ask_rows, number_of, pointer_of, product, rank_of
from plre.model._plan import (
    AT_ONCE,
    BEFORE,
    BLOCK,
    CURRENT,
    FACTORS,
    FIRST,
    FIRST_ORDER,
    FRESH,
    GATE_BUCKETS,
    HIGH,
    IDS,
    LACKING,
    LAST,
    LEVELS,
    LOW,
    MAP,
    MATCHED,
    NEEDED,
    NEXT,
    NOT_ASKED,
    NOWHERE,
    OFFSET,
    OPEN,
    ORDERS,
    OUT,
    OWN,
    PROTOCOL,
    RANK,
    ROOT,
    ROW,
    SINCE,
    SPACE,
    STAGE,
    SYMBOLS,
    TABLE_COUNT,
    TABLE_ROWS,
    TABLE_WIDTH,
    TABLES,
    UNIGRAMS,
    WEIGHTS,
    at,
    hashes_of,
    lines_of,
    places_of,
    row,
    spare_row,
    symbol_of,
    todo_of,
)
from plre.model._tables import ask_seeds, find_records, first_from, key_of, run_of, scaled
from plre.text._kernels import BOS

#: Where the numbers of a slot stand.
PROBABILITY, BACKOFF, LACK = 4, 8, 12


@kernel
def order_table(plan, component, n):
    """Where the plan describes the table of order n."""
    return at(plan, component + TABLES) + (n - 2) * TABLE_WIDTH


@kernel
def first_keys(plan, component, block, keys):
    """Compute the keys of the n-grams that end at the first position of a block, to column 1 of a row for each length.

    Nothing is known of what stands before ``<s>``, nor where the text has the word after the last one: there all keys
    are that of the symbol after the last one, which no n-gram has.
    """
    order, symbols, table = at(plan, component + LEVELS), at(plan, component + SYMBOLS), at(plan, component + MAP)
    for n in range(order):
        poke64(row(keys, TABLE_ROWS * n) + 8, symbols)
    for i in range(at(block, FIRST) - order + 1, at(block, FIRST) + 1):
        word = peek32(at(block, IDS) + 4 * i)
        symbol = symbol_of(table, symbols, word)
        for n in range(order - 1, 0, -1):
            context = symbols if word == BOS else peek64(row(keys, TABLE_ROWS * (n - 1)) + 8)
            poke64(row(keys, TABLE_ROWS * n) + 8, np.int64(key_of(np.uint64(context), symbol)))
        poke64(keys + 8, symbol)


@inlined_kernel
def further_keys(plan, component, block, keys):
    """Compute the keys of the n-grams that end at the further positions of a block."""
    order, symbols, table = at(plan, component + LEVELS), at(plan, component + SYMBOLS), at(plan, component + MAP)
    ids, first = at(block, IDS), at(block, FIRST)
    columns = at(block, LAST) - first + 1
    for k in range(2, columns):
        poke64(keys + 8 * k, symbol_of(table, symbols, peek32(ids + 4 * (first + k - 1))))
    for n in range(1, order):
        shorter, own = row(keys, TABLE_ROWS * (n - 1)), row(keys, TABLE_ROWS * n)
        for k in range(2, columns):
            begins = peek32(ids + 4 * (first + k - 1)) == BOS
            context = symbols if begins else peek64(shorter + 8 * (k - 1))
            poke64(own + 8 * k, np.int64(key_of(np.uint64(context), peek64(keys + 8 * k))))


@kernel
def choose_columns(plan, component, block, n, space):
    """Choose the columns in which order n is looked up, and take their keys: all of the order that is first.

    A longer n-gram can only be there if its context and its suffix are. A shorter one matters only if one of the two
    that it is the suffix or the context of is not. None ends in ``<s>``.
    """
    earliest, since = at(plan, component + FIRST_ORDER), at(plan, order_table(plan, component, n) + SINCE)
    every = np.int64(at(block, CURRENT) == AT_ONCE or earliest in (0, n))
    side = -1 if n > earliest else 1
    nowhere, not_asked = plan + 8 * NOWHERE, plan + 8 * NOT_ASKED
    places, found = places_of(space, n - 2), places_of(space, n - 2 + side)
    todo, keys = todo_of(space, n - 2), hashes_of(space, n - 2)
    columns, words = at(block, LAST) - at(block, FIRST) + 1, at(block, IDS) + 4 * (at(block, FIRST) - 1)
    count = np.int64(1)
    for k in range(since, columns):
        both = (peek64(found + 8 * k) != nowhere) & (peek64(found + 8 * (k + side)) != nowhere)
        poke64(todo + 8 * count, k)
        poke64(keys + 8 * count, peek64(places + 8 * k))
        poke64(places + 8 * k, nowhere)
        wanted = every | (np.int64(both) ^ np.int64(side > 0))
        count += wanted & np.int64(peek32(words + 4 * k) != BOS)
    poke64(todo, count - 1)
    poke64(places, not_asked)
    poke64(places + 8 * columns, not_asked)


@c_kernel(PROTOCOL)
def ask_ngrams(plan, component, block):
    """Choose the n-grams that are looked up at this stage, and ask for their seeds."""
    space, current = at(block, SPACE) + at(plan, component + OFFSET), at(block, CURRENT)
    if current <= 0:
        first_keys(plan, component, block, places_of(space, -1))
        further_keys(plan, component, block, places_of(space, -1))
    for n in range(2, at(plan, component + LEVELS) + 1):
        table = order_table(plan, component, n)
        if current == AT_ONCE or current == at(plan, table + STAGE):
            choose_columns(plan, component, block, n, space)
            count = peek64(todo_of(space, n - 2))
            ask_seeds(plan, table, hashes_of(space, n - 2), lines_of(space, n - 2), 1, count + 1)
    return 0


@c_kernel(PROTOCOL)
def step_ngrams(plan, component, block):
    """Compute the keys of the n-grams that a single question looks up; those of its context may be known."""
    space, before = at(block, SPACE) + at(plan, component + OFFSET), at(block, BEFORE)
    keys, order = todo_of(space, -1), at(plan, component + LEVELS)
    if before == FRESH:
        first_keys(plan, component, block, keys)
        for n in range(2, order + 1):
            poke64(places_of(space, n - 2), plan + 8 * NOT_ASKED)
    elif before == NEXT:
        for n in range(1, order):
            poke64(todo_of(space, n - 2) + 8, peek64(todo_of(space, n - 2) + 16))
            poke64(places_of(space, n - 2) + 8, peek64(places_of(space, n - 2) + 16))
    further_keys(plan, component, block, keys)
    poke64(places_of(space, -1) + 8, peek64(keys + 8))
    poke64(places_of(space, -1) + 16, peek64(keys + 16))
    return 0


@inlined_kernel
def begin_answer(plan, component, block, space):
    """What unigrams say of each position."""
    unigrams, weights, words = at(plan, component + UNIGRAMS), at(plan, component + WEIGHTS), places_of(space, -1)
    probs, matched = at(block, OWN), at(block, MATCHED)
    poke64(words, plan + 8 * NOT_ASKED)
    for k in range(1, at(block, LAST) - at(block, FIRST) + 1):
        symbol = peek64(words + 8 * k)
        poke64(words + 8 * k, weights + 8 * symbol - BACKOFF)
        poke_double(probs + 8 * k, np.float64(peek_float(unigrams + 4 * symbol)))
        poke64(matched + 8 * k, 1)
    keep_order(block, 1)


@inlined_kernel
def answer_order(plan, component, block, space, n):
    """From what order n - 1 says of each position to what the n-grams found say."""
    nowhere, earliest = plan + 8 * NOWHERE, at(plan, component + FIRST_ORDER)
    probs, matched = at(block, OWN), at(block, MATCHED)
    places, contexts = places_of(space, n - 2), places_of(space, n - 3)
    for k in range(at(plan, order_table(plan, component, n) + SINCE), at(block, LAST) - at(block, FIRST) + 1):
        place, context = peek64(places + 8 * k), peek64(contexts + 8 * (k - 1))
        # Whatever is stored has its context and its suffix stored: else the check is right by chance.
        stored = (n <= earliest) | ((context != nowhere) & (peek64(contexts + 8 * k) != nowhere))
        seen = (place != nowhere) & stored
        poke64(places + 8 * k, either(seen, place, nowhere))
        number = np.float64(peek_float(either(seen, place + PROBABILITY, context + BACKOFF)))
        poke_double(probs + 8 * k, number * either(seen, 1.0, peek_double(probs + 8 * k)))
        poke64(matched + 8 * k, either(seen, np.int64(n), peek64(matched + 8 * k)))


@inlined_kernel
def end_answer(plan, component, block, space):
    """What else has to be known of each position, or after the last."""
    columns = at(block, LAST) - at(block, FIRST) + 1
    if at(plan, component + OPEN) != 0:
        call_address(at(plan, component + OPEN), plan, component, block)
    if at(block, NEEDED) >= 0:
        needed = at(block, NEEDED)
        for n in range(1, at(plan, component + LEVELS)):
            place = peek64(places_of(space, n - 2) + 8 * (columns - 1))
            if place != plan + 8 * NOWHERE and peek_float(place + BACKOFF) != 1.0:
                needed = max(needed, n)
        poke64(block + 8 * NEEDED, needed)


@inlined_kernel
def keep_order(block, n):
    """Write the probabilities as order n has them to where they are wanted, if they are."""
    orders, probs = at(block, ORDERS), at(block, OWN)
    if orders != 0:
        for k in range(1, at(block, LAST) - at(block, FIRST) + 1):
            poke_double(peek64(orders + 8 * (n - 1)) + 8 * (k - 1), peek_double(probs + 8 * k))


@c_kernel(PROTOCOL)
def open_gates(plan, component, block):
    """The row of the gates of the context before each position, and what that lacks to sum to one.

    It is the longest context after which something was seen: the others lack nothing of their own.
    """
    space, columns = at(block, SPACE) + at(plan, component + OFFSET), at(block, LAST) - at(block, FIRST) + 1
    rows, lacking = at(block, ROW), at(block, LACKING)
    for k in range(1, columns):
        poke64(rows + 8 * k, 0)
        poke64(lacking + 8 * k, at(plan, component + ROOT))
    for n in range(1, at(plan, component + LEVELS)):
        contexts = places_of(space, n - 2)
        for k in range(2, columns):
            missing = np.float64(peek_float(peek64(contexts + 8 * (k - 1)) + LACK))
            if missing > 0:
                poke64(rows + 8 * k, n * GATE_BUCKETS + gate_bucket(missing))
                poke_double(lacking + 8 * k, missing)
    return 0


@c_kernel(PROTOCOL)
def answer_ngrams(plan, component, block):
    """Put together what the n-grams found say of each position, order by order from the lowest up."""
    space = at(block, SPACE) + at(plan, component + OFFSET)
    begin_answer(plan, component, block, space)
    for n in range(2, at(plan, component + LEVELS) + 1):
        answer_order(plan, component, block, space, n)
        keep_order(block, n)
    end_answer(plan, component, block, space)
    return 0


@c_kernel(PROTOCOL)
def answer_low_rank(plan, component, block):
    """The same for n-grams with low rank layers."""
    space = at(block, SPACE) + at(plan, component + OFFSET)
    begin_answer(plan, component, block, space)
    for n in range(2, at(plan, component + LEVELS) + 1):
        answer_order(plan, component, block, space, n)
        if at(plan, order_table(plan, component, n) + FACTORS) != 0:
            add_low_rank(plan, component, block, n, space)
        keep_order(block, n)
    end_answer(plan, component, block, space)
    return 0


@kernel
def spread_orders(plan, component, block, low_rank):
    """P(s | context) of the symbols LOW to HIGH, the context being that of the last position, to OUT.

    A seen n-gram is worth its probability times the weights of the longer contexts that were asked before; so the
    lowest order is written for all symbols, and each longer context writes over it what it has seen.
    """
    order, low, high, out = at(plan, component + LEVELS), at(block, LOW), at(block, HIGH), at(block, OUT)
    space = at(block, SPACE) + at(plan, component + OFFSET)
    nowhere, last = plan + 8 * NOWHERE, at(block, LAST) - at(block, FIRST) - 1
    top = 0
    scale = 1.0
    while top < order - 1 and peek64(places_of(space, top - 1) + 8 * last) != nowhere:
        top += 1
        scale *= np.float64(peek_float(peek64(places_of(space, top - 2) + 8 * last) + BACKOFF))
    scaled(at(plan, component + UNIGRAMS), scale, low, high, out)
    if low_rank and top > 0 and at(plan, order_table(plan, component, 2) + FACTORS) != 0:
        spread_bigrams(plan, component, peek64(places_of(space, -1) + 8 * last), space, last, top, low, high, out)
    for n in range(1, top + 1):
        spread_seen(plan, component, n, top, space, last, low, high, out, low_rank)


@kernel
def weight_above(space, n, top, last):
    """The product of the weights of contexts longer than n words, as far as they were seen."""
    scale = 1.0
    for k in range(n + 1, top + 1):
        scale *= np.float64(peek_float(peek64(places_of(space, k - 2) + 8 * last) + BACKOFF))
    return scale


@kernel
def spread_bigrams(plan, component, context, space, last, top, low, high, out):
    """Add the low rank layers of bigrams, which know of every word."""
    table = order_table(plan, component, 2)
    rank = at(plan, table + RANK)
    right = pointer_of(plan, component, table, 2, context)
    scale = weight_above(space, 1, top, last)
    for s in range(low, high):
        poke_double(
            out + 8 * s, peek_double(out + 8 * s) + scale * product(plan, table, rank, right, (2 * s + 1) * rank)
        )


@kernel
def spread_seen(plan, component, n, top, space, last, low, high, out, low_rank):
    """Write what was seen after the context of n words; add to it the low rank layers of the order above.

    The n-grams seen after the middle of a slice are its rows.
    """
    tables = at(plan, component + TABLE_COUNT)
    table = order_table(plan, component, n + 1)
    symbols, hashes, places = spare_row(space, tables, 0), spare_row(space, tables, 1), spare_row(space, tables, 2)
    nowhere = plan + 8 * NOWHERE
    context = peek64(places_of(space, n - 2) + 8 * last)
    scale = weight_above(space, n, top, last)
    owner = np.uint64(peek64(todo_of(space, n - 2) + 8 * last))
    first, stop = run_of(plan, table, number_of(plan, component, n, context))
    first, stop = first_from(plan, table, first, stop, low), first_from(plan, table, first, stop, high)
    layers = False
    rank, right, above, above_scale = np.int64(0), np.int64(0), np.int64(0), 0.0
    if low_rank and n < top:
        above = order_table(plan, component, n + 2)
        layers = at(plan, above + FACTORS) != 0
        if layers:
            rank = rank_of(plan, component, above, n + 2, context)
            right = pointer_of(plan, component, above, n + 2, peek64(places_of(space, n - 1) + 8 * last))
            above_scale = weight_above(space, n + 1, top, last)
    while first < stop:
        count = min(stop - first, BLOCK)
        find_records(plan, table, owner, first, first + count, nowhere, symbols, hashes, places)
        if layers:
            ask_rows(plan, component, above, n + 2, rank, places, hashes, count)
        for j in range(count):
            s, place = peek64(symbols + 8 * j), peek64(places + 8 * j)
            if s < low or s >= high or place == nowhere:
                continue
            p = scale * np.float64(peek_float(place + PROBABILITY))
            if layers:
                p += above_scale * product(plan, above, rank, right, peek64(hashes + 8 * j))
            poke_double(out + 8 * s, p)
        first += count


@c_kernel(PROTOCOL)
def spread_ngrams(plan, component, block):
    """Spread for n-grams without low rank layers."""
    spread_orders(plan, component, block, False)
    return 0


@c_kernel(PROTOCOL)
def spread_low_rank(plan, component, block):
    """Spread for n-grams with low rank layers."""
    spread_orders(plan, component, block, True)
    return 0
