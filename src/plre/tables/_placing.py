"""Building tables (``_hashing.py``): records are sorted into shards and buckets, and each bucket finds a seed."""

from __future__ import annotations

import numpy as np

from plre._jit import kernel
from plre._memory import high_product, load64
from plre.tables._hashing import hash_of, key_of, line_of, shard_of

#: Seeds that are tried before a table is made larger.
SEED_COUNT = 256


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
def flip(out, bit, value):
    """Flip the bits of a number, from some bit of an array on."""
    bits, byte = np.uint64(value) << np.uint64(bit & 7), bit >> 3
    while bits != 0:
        out[byte] ^= np.uint8(bits & np.uint64(255))
        bits >>= np.uint64(8)
        byte += 1


@kernel
def pack(values, stride, first, out):
    """Write a number every ``stride`` bits, from bit ``first`` on, into zeros."""
    for i in range(len(values)):
        flip(out, i * stride + first, values[i])


@kernel
def unpack(packed, stride, first, size, out):
    """Read numbers of ``size`` bits that :func:`pack` wrote; 8 bytes follow the last of them."""
    for i in range(len(out)):
        bit = np.int64(i * stride + first)
        out[i] = np.int64(load64(packed, bit >> 3) >> np.uint64(bit & 7)) & ((1 << size) - 1)


@kernel
def end_runs(children, ends):
    """Set the bit of the last record of each owner's run."""
    for h in range(len(children) - 1):
        if children[h + 1] > children[h]:
            last = np.int64(children[h + 1]) - 1
            ends[last >> 6] |= np.uint64(1) << np.uint64(last & 63)


@kernel
def start_runs(children, owners, size, out):
    """Write where the run of each owner starts to the place of the owner's slot; those without records get none.

    A number has ``size`` bits, all of which are set before.
    """
    for h in range(len(children) - 1):
        if children[h + 1] > children[h] and owners[h] >= 0:
            flip(out, np.int64(owners[h]) * size, np.int64(children[h]) ^ ((1 << size) - 1))


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
