"""Looking up records in the tables of a model, many side by side (``tables/_hashing.py`` says how tables work)."""

from __future__ import annotations

import numpy as np

from plre._jit import kernel
from plre._memory import (
    doubles_at,
    floats_at,
    lowest_bit,
    match_line,
    peek8,
    peek32,
    peek64,
    poke32,
    poke64,
    prefetch_at,
    trailing_zeros,
)
from plre.model import _plan as p
from plre.model._plan import at, bits_at, row
from plre.tables._hashing import hash_of, key_of, line_place, seed_place

_NEGATIVE_ZERO = 1 << 31


@kernel
def ask_seeds(plan, table, keys, hashes, places, wanted):
    """Compute the hashes of the keys in the columns of a mask and where their seeds are, and ask for those.

    ``keys``, ``hashes`` and ``places`` are rows of the work space.
    """
    seeds, buckets = at(plan, table + p.SEEDS), at(plan, table + p.BUCKETS)
    while wanted != 0:
        column = 8 + 8 * lowest_bit(wanted)
        wanted &= wanted - 1
        x = hash_of(np.uint64(peek64(keys + column)))
        place = seed_place(x, seeds, buckets)
        prefetch_at(place)
        poke64(hashes + column, np.int64(x))
        poke64(places + column, place)


@kernel
def ask_lines(plan, table, hashes, places, wanted):
    """Turn where seeds are into where lines are, in the columns of a mask, and ask for those."""
    shard_bits, height, lines = at(plan, table + p.SHARD_BITS), at(plan, table + p.HEIGHT), at(plan, table + p.LINES)
    while wanted != 0:
        column = 8 + 8 * lowest_bit(wanted)
        wanted &= wanted - 1
        x = np.uint64(peek64(hashes + column))
        place = line_place(x, peek8(peek64(places + column)), lines, shard_bits, height)
        prefetch_at(place)
        poke64(places + column, place)


@kernel
def find_slots(plan, table, hashes, places, wanted):
    """Turn where lines are into where slots are, in the columns of a mask; the mask of those that were found."""
    lanes, found = at(plan, table + p.LANES), np.int64(0)
    while wanted != 0:
        bit = lowest_bit(wanted)
        wanted &= wanted - 1
        line = peek64(places + 8 + 8 * bit)
        matches = np.int64(match_line(line, np.uint64(peek64(hashes + 8 + 8 * bit)), lanes))
        poke64(places + 8 + 8 * bit, line + 4 * lowest_bit(matches))
        found |= np.int64(matches != 0) << bit
    return found


@kernel
def find_single(plan, space, count):
    """Look for the keys of a single question in the first ``count`` of its places, all of them side by side."""
    lookups = plan + 8 * at(plan, p.LOOKUPS)
    for e in range(count):
        table, column = peek64(lookups + 24 * e), peek64(lookups + 24 * e + 16)
        keys = space + peek64(lookups + 24 * e + 8)
        ask_seeds(plan, table, keys, row(keys, 1), row(keys, 2), np.int64(1) << (column - 1))
    for e in range(count):
        table, column = peek64(lookups + 24 * e), peek64(lookups + 24 * e + 16)
        keys = space + peek64(lookups + 24 * e + 8)
        ask_lines(plan, table, row(keys, 1), row(keys, 2), np.int64(1) << (column - 1))
    for e in range(count):
        table, column = peek64(lookups + 24 * e), peek64(lookups + 24 * e + 16)
        keys = space + peek64(lookups + 24 * e + 8)
        places = row(keys, 2)
        found = find_slots(plan, table, row(keys, 1), places, np.int64(1) << (column - 1))
        poke64(places, peek64(places) | found)


@kernel
def slot_number(plan, table, place):
    """The number of a slot, counted over the whole table."""
    lines = (place - at(plan, table + p.LINES)) >> 6
    return lines * at(plan, table + p.PER_LINE) + ((((place & 63) >> 2) * at(plan, table + p.INVERSE)) >> 8)


@kernel
def run_of(plan, table, owner):
    """Where the records of an owner (the number of its slot, or a word) begin and end in the table's list.

    Empty if it has none, and within the list whatever the file says.
    """
    records = at(plan, table + p.RECORDS)
    if owner < 0 or owner >= at(plan, table + p.OWNERS):
        return np.int64(0), np.int64(0)
    bits = at(plan, table + p.RUN_BITS)
    first = bits_at(at(plan, table + p.RUNS), bits * owner, bits)
    if first >= records:
        return np.int64(0), np.int64(0)
    ends = at(plan, table + p.ENDS)
    last = first
    word = np.uint64(peek64(ends + 8 * (last >> 6))) >> np.uint64(last & 63)
    while word == 0:
        last = (last | 63) + 1
        if last >= records:
            return first, records
        word = np.uint64(peek64(ends + 8 * (last >> 6)))
    return first, min(last + np.int64(trailing_zeros(word)) + 1, records)


@kernel
def listed(plan, table, record):
    """The symbol of a record."""
    bits = at(plan, table + p.LIST_BITS)
    return bits_at(at(plan, table + p.LIST), bits * record, bits)


@kernel
def first_from(plan, table, first, last, symbol):
    """The first record of a run whose symbol is not below this one; runs are sorted by symbol."""
    while first < last:
        middle = (first + last) >> 1
        if listed(plan, table, middle) < symbol:
            first = middle + 1
        else:
            last = middle
    return first


@kernel
def find_records(plan, table, owner, first, last, rows, numbers, pointers, made):
    """Look up the records ``first`` to ``last`` of a list, whose owner has this key, all of them side by side.

    ``numbers`` becomes the first number of each, 4 bytes by record, or -0.0 for one that is not there; ``made`` becomes
    what ``pointers`` has for its slot, if that is not 0.
    """
    keys, hashes, places = rows, row(rows, 1), row(rows, 2)
    for i in range(first, last):
        poke64(keys + 8 + 8 * (i - first), np.int64(key_of(owner, listed(plan, table, i))))
    wanted = ~(np.int64(-2) << (last - first - 1))
    ask_seeds(plan, table, keys, hashes, places, wanted)
    ask_lines(plan, table, hashes, places, wanted)
    found = find_slots(plan, table, hashes, places, wanted)
    for i in range(first, last):
        place = peek64(places + 8 + 8 * (i - first))
        there = (found >> (i - first)) & 1
        number = peek32(place + 4) if there else np.int64(0)
        poke32(numbers + 4 * i, number if number != 0 else _NEGATIVE_ZERO)
        if pointers != 0:
            poke32(made + 4 * i, peek32(pointers + 4 * slot_number(plan, table, place)) if there else 0)
    return found == wanted


@kernel
def know_run(plan, block, table, owner, first, last, rows, pointers):
    """Where the numbers and the pointers of a whole run are, 4 bytes each by record (see :func:`find_records`).

    Those of long runs are remembered: contexts with much to say are asked again and again. 0 means "not asked yet". A
    run is not remembered if something in it was not found: then this is not its owner, but looks like it by chance.
    """
    if last - first <= p.BLOCK:
        numbers, made = row(rows, 3) - 4 * first, row(rows, 4) - 4 * first
        if last > first:
            find_records(plan, table, owner, first, last, rows, numbers, pointers, made)
        return numbers, made
    numbers = at(block, p.MEMO) + at(plan, table + p.RUN_MEMO)
    made = numbers + 4 * at(plan, table + p.RECORDS)
    if peek32(numbers + 4 * first) == 0:
        complete = True
        for low in range(first, last, p.BLOCK):
            high = min(low + p.BLOCK, last)
            complete &= find_records(plan, table, owner, low, high, rows, numbers, pointers, made)
        if not complete:
            poke32(numbers + 4 * first, 0)
    return numbers, made


@kernel
def scaled(values, scale, low, high, out):
    """Write the single precision numbers ``low`` to ``high`` at one address, times ``scale``, to another in double."""
    given, made = floats_at(values + 4 * low, high - low), doubles_at(out + 8 * low, high - low)
    for i in range(high - low):
        made[i] = np.float64(given[i]) * scale
