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

#: Seeds that are tried before a table is made larger.
SEED_COUNT = 256


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


# --- building --------------------------------------------------------------------------------------------------------


@kernel
def count_shards(keys, shard_bits, counts):
    """Count how many keys belong to each shard."""
    for i in range(len(keys)):
        counts[shard_of(hash_of(keys[i]), shard_bits)] += 1


@kernel
def sort_shards(keys, values, first, shard_bits, low, high, places, hashes, numbers, records):
    """Sort a piece of records into the shards ``low`` to ``high``: hashes, numbers, and which record each is.

    ``first`` is the first record of the piece. ``places`` says where the next one of each shard goes, and is moved on.
    """
    for i in range(len(keys)):
        x = hash_of(keys[i])
        shard = shard_of(x, shard_bits)
        if low <= shard < high:
            place = places[shard - low]
            places[shard - low] += 1
            hashes[place] = x
            records[place] = first + i
            for f in range(len(values)):
                numbers[f, place] = values[f, i]


@kernel
def child_keys(children, keys, symbols, out):
    """The keys of records from those of their owners; ``children`` says where the records of each owner start."""
    for h in range(len(children) - 1):
        for e in range(children[h] - children[0], children[h + 1] - children[0]):
            out[e] = key_of(keys[h], symbols[e])


@kernel
def sort_buckets(hashes, first, buckets, order, starts):
    """Sort the records of a shard by bucket: ``order`` becomes their places, ``starts`` where each bucket starts.

    ``first`` is the shard's first bucket, ``buckets`` how many all shards have together. Returns the largest bucket.
    """
    starts[:] = 0
    for i in range(len(hashes)):
        starts[np.int64(high_product(hashes[i], np.uint64(buckets))) - first + 1] += 1
    largest = 0
    for b in range(len(starts) - 1):
        largest = max(largest, starts[b + 1])
        starts[b + 1] += starts[b]
    for i in range(len(hashes)):
        b = np.int64(high_product(hashes[i], np.uint64(buckets))) - first
        order[starts[b]] = i
        starts[b] += 1
    for b in range(len(starts) - 1, 0, -1):
        starts[b] = starts[b - 1]
    starts[0] = 0
    return largest


@kernel
def _has(lines, line, used, slot, check):
    """Whether one of the used slots of a line has a check."""
    for j in range(used):  # noqa: SIM110
        if lines[line * 16 + j * slot] == check:
            return True
    return False


@kernel
def _repeated(hashes, order, first, k):
    """Whether the record ``k`` of a bucket has the hash of one before it."""
    for j in range(k):  # noqa: SIM110
        if hashes[order[first + j]] == hashes[order[first + k]]:
            return True
    return False


@kernel
def place_records(hashes, order, starts, largest, values, slot, per_line, attempt, seeds, lines, numbers):
    """Place the records of one shard, the largest buckets first; False if some bucket finds no seed.

    ``values`` has the numbers of each record, as bits. ``lines`` and ``seeds`` are the shard's own; ``numbers`` become
    those of the slots, counted from the shard's first. Each ``attempt`` tries seeds in another order. What is left free
    of a line becomes a copy of its first slot, which no look-up can tell from that. Of two records with one hash, of
    which there is hardly ever a pair, the second has no place: number -1.
    """
    height = len(lines) // 16
    used = np.zeros(height, np.int8)
    chosen = np.empty(largest + 1, np.int64)
    for size in range(largest, 0, -1):
        for b in range(len(seeds)):
            if starts[b + 1] - starts[b] != size:
                continue
            tried = 0
            placed = 0
            while placed < size:
                seed = (tried + attempt * (b + 1)) & (SEED_COUNT - 1)
                i = order[starts[b] + placed]
                if _repeated(hashes, order, starts[b], placed):
                    chosen[placed] = -1
                    placed += 1
                    continue
                check = np.int32(np.uint32(hashes[i]))
                line = line_of(hashes[i], seed, np.uint64(height))
                if used[line] < per_line and not _has(lines, line, used[line], slot, check):
                    chosen[placed] = line * per_line + used[line]
                    lines[line * 16 + used[line] * slot] = check
                    used[line] += 1
                    placed += 1
                    continue
                for k in range(placed):
                    if chosen[k] >= 0:
                        used[chosen[k] // per_line] -= 1
                placed = 0
                tried += 1
                if tried == SEED_COUNT:
                    return False
            seeds[b] = (tried + attempt * (b + 1)) & (SEED_COUNT - 1)
            for k in range(size):
                i = order[starts[b] + k]
                numbers[i] = chosen[k]
                if chosen[k] >= 0:
                    place = chosen[k] // per_line * 16 + chosen[k] % per_line * slot
                    for f in range(slot - 1):
                        lines[place + 1 + f] = values[f, i]
    some = 0
    while some < height - 1 and used[some] == 0:
        some += 1
    for line in range(height):
        source = line if used[line] > 0 else some
        for j in range(used[line], per_line):
            for f in range(slot):
                lines[line * 16 + j * slot + f] = lines[source * 16 + f]
    return True


@kernel
def pack(values, size, out):
    """Write numbers of ``size`` bytes each, end to end."""
    for i in range(len(values)):
        value = np.int64(values[i])
        for byte in range(size):
            out[i * size + byte] = np.uint8((value >> (8 * byte)) & 255)


@kernel
def end_runs(children, ends):
    """Set the bit of the last record of each owner's run."""
    for h in range(len(children) - 1):
        if children[h + 1] > children[h]:
            last = np.int64(children[h + 1]) - 1
            ends[last >> 6] |= np.uint64(1) << np.uint64(last & 63)


@kernel
def start_runs(children, owners, size, out):
    """Write where the run of each owner starts to the place of the owner's slot; those without records get none."""
    for h in range(len(children) - 1):
        if children[h + 1] > children[h] and owners[h] >= 0:
            for byte in range(size):
                out[np.int64(owners[h]) * size + byte] = np.uint8((np.int64(children[h]) >> (8 * byte)) & 255)


@kernel
def locate(keys, lines, seeds, shard_bits, height, slot, per_line, slots):
    """Find the slot of each key in a table that is given as arrays; -1 if it is not there."""
    for i in range(len(keys)):
        x = hash_of(keys[i])
        seed = seeds[np.int64(high_product(x, np.uint64(len(seeds))))]
        line = shard_of(x, shard_bits) * height + line_of(x, seed, np.uint64(height))
        slots[i] = -1
        for j in range(per_line):
            if lines[line * 16 + j * slot] == np.int32(np.uint32(x)):
                slots[i] = line * per_line + j
                break
