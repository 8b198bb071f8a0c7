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
    match_line,
    peek8,
    peek64,
    poke64,
    prefetch_at,
    trailing_zeros,
)
from plre.model._plan import (
    BUCKETS,
    ENDS,
    HEIGHT,
    INVERSE,
    LANES,
    LINES,
    LIST,
    LIST_BYTES,
    LOOKUPS,
    NOWHERE,
    OWNERS,
    PER_LINE,
    RECORDS,
    RUN_BYTES,
    RUNS,
    SEEDS,
    SHARD_BITS,
    at,
    packed,
    row,
)

#: Odd numbers without pattern: the step from an owner's key to its records', and those that mix bits.
STEP = np.uint64(0x9E3779B97F4A7C15)
_MIX = np.uint64(0xD6E8FEB86659FD93)
_OTHER = np.uint64(0xA0761D6478BD642F)


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
def slot_in(line, x, lanes, nowhere):
    """The address of the slot of a line that has the check of a hash, or ``nowhere``."""
    found = match_line(line, x, lanes)
    return line + 4 * np.int64(trailing_zeros(found)) if found != 0 else nowhere


@kernel
def found_in(places, hashes, column, lanes, nowhere):
    """:func:`slot_in` for the line and the hash in one column of two rows of the work space."""
    return slot_in(peek64(places + 8 * column), np.uint64(peek64(hashes + 8 * column)), lanes, nowhere)


@kernel
def seed_place(x, seeds, buckets):
    """Where the seed of a hash is."""
    return seeds + np.int64(high_product(x, np.uint64(buckets)))


@kernel
def line_place(x, seed, lines, shard_bits, height):
    """Where the line of a hash is."""
    return lines + 64 * (shard_of(x, shard_bits) * height + line_of(x, seed, np.uint64(height)))


@kernel
def ask_seeds(plan, table, hashes, places, first, last):
    """Turn keys into their hashes and where their seeds are, and ask for those, in columns ``first`` to ``last``.

    ``hashes``, which has the keys, and ``places`` are rows of the work space.
    """
    seeds, buckets = at(plan, table + SEEDS), at(plan, table + BUCKETS)
    for k in range(first, last):
        x = hash_of(np.uint64(peek64(hashes + 8 * k)))
        place = seed_place(x, seeds, buckets)
        prefetch_at(place)
        poke64(hashes + 8 * k, np.int64(x))
        poke64(places + 8 * k, place)


@kernel
def ask_lines(plan, table, hashes, places, first, last):
    """Turn where seeds are into where lines are, and ask for those, in columns ``first`` to ``last``."""
    shard_bits, height, lines = at(plan, table + SHARD_BITS), at(plan, table + HEIGHT), at(plan, table + LINES)
    for k in range(first, last):
        x = np.uint64(peek64(hashes + 8 * k))
        place = line_place(x, peek8(peek64(places + 8 * k)), lines, shard_bits, height)
        prefetch_at(place)
        poke64(places + 8 * k, place)


@kernel
def find_single(plan, space, count):
    """Look for the keys of a single question in the first ``count`` of its places."""
    places = plan + 8 * at(plan, LOOKUPS)
    for e in range(count):
        table, keys = peek64(places + 16 * e), space + peek64(places + 16 * e + 8)
        x = hash_of(np.uint64(peek64(keys)))
        place = seed_place(x, at(plan, table + SEEDS), at(plan, table + BUCKETS))
        prefetch_at(place)
        poke64(row(keys, 1), np.int64(x))
        poke64(row(keys, 2), place)
    for e in range(count):
        table, keys = peek64(places + 16 * e), space + peek64(places + 16 * e + 8)
        x, seed = np.uint64(peek64(row(keys, 1))), peek8(peek64(row(keys, 2)))
        lines, shard_bits, height = at(plan, table + LINES), at(plan, table + SHARD_BITS), at(plan, table + HEIGHT)
        place = line_place(x, seed, lines, shard_bits, height)
        prefetch_at(place)
        poke64(row(keys, 2), place)
    for e in range(count):
        table, keys = peek64(places + 16 * e), space + peek64(places + 16 * e + 8)
        x, line = np.uint64(peek64(row(keys, 1))), peek64(row(keys, 2))
        poke64(row(keys, 3), slot_in(line, x, at(plan, table + LANES), plan + 8 * NOWHERE))


@kernel
def find_slots(plan, table, todo, hashes, lines, places):
    """Look for so many hashes in their lines: ``places`` becomes the slot of each column that ``todo`` has."""
    lanes, nowhere = at(plan, table + LANES), plan + 8 * NOWHERE
    for j in range(1, peek64(todo) + 1):
        poke64(places + 8 * peek64(todo + 8 * j), found_in(lines, hashes, j, lanes, nowhere))


@kernel
def slot_number(plan, table, place):
    """The number of a slot, counted over the whole table."""
    lines = (place - at(plan, table + LINES)) >> 6
    return lines * at(plan, table + PER_LINE) + ((((place & 63) >> 2) * at(plan, table + INVERSE)) >> 8)


@kernel
def run_of(plan, table, owner):
    """Where the records of an owner (the number of its slot, or a word) begin and end in the table's list.

    Empty if it has none, and within the list whatever the file says.
    """
    records = at(plan, table + RECORDS)
    if owner < 0 or owner >= at(plan, table + OWNERS):
        return np.int64(0), np.int64(0)
    first = packed(at(plan, table + RUNS), at(plan, table + RUN_BYTES), owner)
    if first >= records:
        return np.int64(0), np.int64(0)
    bits = at(plan, table + ENDS)
    last = first
    word = np.uint64(peek64(bits + 8 * (last >> 6))) >> np.uint64(last & 63)
    while word == 0:
        last = (last | 63) + 1
        if last >= records:
            return first, records
        word = np.uint64(peek64(bits + 8 * (last >> 6)))
    return first, min(last + np.int64(trailing_zeros(word)) + 1, records)


@kernel
def listed(plan, table, record):
    """The symbol of a record."""
    return packed(at(plan, table + LIST), at(plan, table + LIST_BYTES), record)


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
def find_records(plan, table, owner, first, last, nowhere, symbols, hashes, places):
    """Look up the records ``first`` to ``last`` of a list, whose owner has this key: their symbols and slots."""
    count = last - first
    for j in range(count):
        symbol = listed(plan, table, first + j)
        poke64(symbols + 8 * j, symbol)
        poke64(hashes + 8 * j, np.int64(key_of(owner, symbol)))
    ask_seeds(plan, table, hashes, places, 0, count)
    ask_lines(plan, table, hashes, places, 0, count)
    lanes = at(plan, table + LANES)
    for j in range(count):
        poke64(places + 8 * j, found_in(places, hashes, j, lanes, nowhere))


@kernel
def scaled(values, scale, low, high, out):
    """Write the single precision numbers ``low`` to ``high`` at one address, times ``scale``, to another in double."""
    given, made = floats_at(values + 4 * low, high - low), doubles_at(out + 8 * low, high - low)
    for i in range(high - low):
        made[i] = np.float64(given[i]) * scale
