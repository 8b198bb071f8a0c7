"""Hash tables of n-grams and contexts: a look-up reads one cache line, whether it finds anything or not.

A record is known by its owner and its symbol: an n-gram by its context and its last word, a context by the coarser
context and one symbol more. Keys follow from keys, so no table needs another one to be looked up in:

    key(owner, symbol) = key(owner) * STEP + symbol        of a word: the word itself

A line of 64 bytes has 8, 5 or 4 slots: 32 bits of the key's hash, the *check*, then one to three numbers. Which line is
a matter of "hash and displace": the hash chooses a shard of the table and in it a bucket of about three keys. All keys
of a bucket move together by its seed, a byte that was chosen when the table was built so that each of them finds room
in its line, and no two of a line have one check. So what was stored is always found, and nothing has to be looked for
in a second place. What was not stored is taken for a stored record once in some 500 million look-ups.
"""

from __future__ import annotations

import numpy as np

from plre._jit import kernel
from plre._memory import (
    doubles_at,
    floats_at,
    high_product,
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

#: Odd numbers without pattern: the step from an owner's key to its records', and those that mix bits.
STEP = np.uint64(0x9E3779B97F4A7C15)
_MIX = np.uint64(0xD6E8FEB86659FD93)
_OTHER = np.uint64(0xA0761D6478BD642F)
_NEGATIVE_ZERO = 1 << 31


@kernel
def key_of(owner, symbol):
    """The key of the record with this symbol, of an owner with this key."""
    return owner * STEP + np.uint64(symbol)


@kernel
def hash_of(key):
    """A hash of 64 bits: the upper ones choose shard and bucket, the lower 32 are the check."""
    x = (key + _OTHER) * _MIX
    return (x ^ (x >> np.uint64(32))) * STEP


@kernel
def shard_of(x, shard_bits):
    """The shard of a hash: its uppermost bits."""
    return np.int64((x >> np.uint64(1)) >> np.uint64(63 - shard_bits))


@kernel
def line_of(x, seed, height):
    """The line within its shard to which a seed moves a hash: all keys of a bucket move on by the same distance."""
    return np.int64(high_product(x * _MIX + np.uint64(seed) * _OTHER, height))


@kernel
def seed_place(x, seeds, buckets):
    """Where the seed of a hash is."""
    return seeds + np.int64(high_product(x, np.uint64(buckets)))


@kernel
def line_place(x, seed, lines, shard_bits, height):
    """Where the line of a hash is."""
    return lines + 64 * (shard_of(x, shard_bits) * height + line_of(x, seed, np.uint64(height)))


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
        places = row(space + peek64(lookups + 24 * e + 8), 2)
        found = find_slots(plan, table, places - 8 * p.COLUMNS, places, np.int64(1) << (column - 1))
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
        poke32(numbers + 4 * i, peek32(place + 4) if there else _NEGATIVE_ZERO)
        if pointers != 0:
            poke32(made + 4 * i, peek32(pointers + 4 * slot_number(plan, table, place)) if there else 0)


@kernel
def know_run(plan, block, table, owner, first, last, rows, pointers):
    """Where the numbers and the pointers of a whole run are, 4 bytes each by record (see :func:`find_records`).

    Those of long runs are remembered: contexts with much to say are asked again and again. A number that is remembered
    is not +0.0.
    """
    if last - first <= p.BLOCK:
        numbers, made = row(rows, 3) - 4 * first, row(rows, 4) - 4 * first
        if last > first:
            find_records(plan, table, owner, first, last, rows, numbers, pointers, made)
        return numbers, made
    numbers = at(block, p.MEMO) + at(plan, table + p.RUN_MEMO)
    made = numbers + 4 * at(plan, table + p.RECORDS)
    if peek32(numbers + 4 * first) == 0:
        for low in range(first, last, p.BLOCK):
            find_records(plan, table, owner, low, min(low + p.BLOCK, last), rows, numbers, pointers, made)
    return numbers, made


@kernel
def scaled(values, scale, low, high, out):
    """Write the single precision numbers ``low`` to ``high`` at one address, times ``scale``, to another in double."""
    given, made = floats_at(values + 4 * low, high - low), doubles_at(out + 8 * low, high - low)
    for i in range(high - low):
        made[i] = np.float64(given[i]) * scale
