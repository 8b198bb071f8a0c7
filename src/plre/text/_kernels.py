"""Words from bytes: hashing, looking up, and inserting into a vocabulary.

A vocabulary is three flat arrays. ``arena`` holds the bytes of all words end to end and word ``i`` is
``arena[starts[i]:starts[i + 1]]``. ``slots`` is an open-addressing hash table of pairs ``(tag, id)``: ``tag`` is
the upper half of the hash, ``id`` is -1 where the slot is free.
"""

from __future__ import annotations

import numpy as np

from plre._jit import kernel
from plre._memory import address_of, hashes_at, load64, longs_at, prefetch, trailing_zeros

UNK, BOS, EOS = 0, 1, 2

#: What a newline becomes: white space, ``</s>``, or ``</s> <s>``.
NOTHING, END, END_AND_START = 0, 1, 2

#: Words that are hashed before the first of them is looked up.
BATCH = 256

_NEWLINE = 10
_SEED = np.uint64(14695981039346656037)
_EACH = np.uint64(0x0101010101010101)


@kernel
def is_space(byte):
    """ASCII white space, and nothing else: U+00A0 is part of a word."""
    return byte <= 32 and (byte == 32 or (9 <= byte <= 13))


@kernel
def _stirred(h, eight):
    """A hash with 8 more bytes in it."""
    h = (h ^ eight) * np.uint64(0x9E3779B97F4A7C15)
    return h ^ (h >> np.uint64(32))


@kernel
def _mixed(h):
    """A finishing mix, so that both halves of a hash are usable."""
    h *= np.uint64(0xD6E8FEB86659FD93)
    return h ^ (h >> np.uint64(32))


@kernel
def _next_bytes(data, at, stop):
    """Up to 8 bytes of a word that ends before ``stop``, as one number, and how many they are."""
    eight = np.uint64(0)
    n = 0
    while n < 8 and at + n < stop:
        eight |= np.uint64(data[at + n]) << np.uint64(8 * n)
        n += 1
    return eight, n


@kernel
def hash_bytes(data, start, stop):
    """A 64-bit hash of a word, 8 bytes at a time."""
    h = _SEED
    at = start
    while at < stop:
        eight, n = _next_bytes(data, at, stop)
        h = _stirred(h, eight)
        at += n
    return _mixed(h)


@kernel
def same_bytes(a, at, b, start, length):
    """Whether ``length`` bytes of ``a`` from ``at`` on and of ``b`` from ``start`` on are the same.

    ``start`` is the place of a word in ``b``; ``at`` may be any number, and bytes outside of ``a`` equal nothing.
    """
    if length <= 8 and at >= 0 and at + 8 <= len(a) and start + 8 <= len(b):
        # All at once: shift out what does not belong to the word.
        return ((load64(a, at) ^ load64(b, start)) << np.uint64(64 - 8 * length)) == 0
    if at < 0 or at + length > len(a):
        return False
    for i in range(length):  # noqa: SIM110
        if a[at + i] != b[start + i]:
            return False
    return True


@kernel
def find_slot(slots, starts, arena, data, start, stop, h):
    """The slot of the word ``data[start:stop]``, or the free slot where it would go; -1 in a full table without it.

    A model file may hold anything, so no slot is looked at twice, and ids and starts that lead out of their arrays
    belong to no word. This is one function, small enough to be inlined: a call would cost as much as its work.
    """
    size = len(slots) // 2
    if size < 1:
        return np.int64(-1)
    mask = np.uint64(size - 1)
    tag = np.int32(h >> np.uint64(32))
    first = slot = np.int64(h & mask)
    words, length = len(starts) - 1, stop - start
    while True:
        word = slots[2 * slot + 1]
        if word < 0:
            return slot
        if slots[2 * slot] == tag and word < words:
            at = starts[word]
            if starts[word + 1] - at == length and same_bytes(arena, at, data, start, length):
                return slot
        slot = np.int64(np.uint64(slot + 1) & mask)
        if slot == first:  # reached again whatever the size: adding 1 under a mask goes round in a circle
            return np.int64(-1)


@kernel
def word_in(slots, slot):
    """The id in a slot that :func:`find_slot` found, or -1."""
    return slots[2 * slot + 1] if slot >= 0 else np.int32(-1)


@kernel
def fill_slots(slots, hashes, n):
    """Enter ``n`` distinct words into an empty table, which has more slots than that, by their hashes."""
    mask = np.uint64(len(slots) // 2 - 1)
    slots[:] = -1
    for word in range(min(n, len(slots) // 2)):
        slot = np.int64(hashes[word] & mask)
        while slots[2 * slot + 1] >= 0:
            slot = np.int64(np.uint64(slot + 1) & mask)
        slots[2 * slot] = np.int32(hashes[word] >> np.uint64(32))
        slots[2 * slot + 1] = word


@kernel
def hash_words(arena, starts, hashes):
    """The hash of every word of a vocabulary; what starts say beyond the arena is not read."""
    for word in range(len(starts) - 1):
        hashes[word] = hash_bytes(arena, max(starts[word], 0), min(starts[word + 1], len(arena)))


@kernel
def reorder_words(arena, starts, order, arena_out, starts_out):
    """Copy the words ``order`` of one arena into another, in that order."""
    at = 0
    for i in range(len(order)):
        word = order[i]
        starts_out[i] = at
        for j in range(starts[word], starts[word + 1]):
            arena_out[at] = arena[j]
            at += 1
    starts_out[len(order)] = at


@kernel
def batch_at(address):
    """Memory for :func:`split_words`, 3 * BATCH numbers of 8 bytes: where words begin and end, and their hashes."""
    begins, ends = longs_at(address, BATCH), longs_at(address + 8 * BATCH, BATCH)
    return begins, ends, hashes_at(address + 16 * BATCH, BATCH)


@kernel
def split_words(data, at, most, begins, ends, hashes):
    """Up to ``most`` words of ``data`` from ``at`` on: where they begin and end, and their hashes.

    A newline counts as a word that begins at -1. Returns how many there are and the position reached.
    """
    n = 0
    size = len(data)
    while n < most and at < size:
        byte = data[at]
        if is_space(byte):
            at += 1
            if byte == _NEWLINE:
                begins[n] = -1
                n += 1
            continue
        begins[n] = at
        h = _SEED
        while True:
            length = np.int64(8)
            slow = at + 8 > size
            if not slow:
                eight = load64(data, at)
                # The highest bit of each byte that is a space, or below 14 (tabs and newlines are). Bytes above the
                # lowest such one may be flagged for nothing; only the lowest counts.
                spaces = eight ^ _EACH * np.uint64(32)
                flags = (spaces - _EACH) & ~spaces | (eight - _EACH * np.uint64(14)) & ~eight
                flags &= _EACH * np.uint64(128)
                if flags != 0:
                    length = np.int64(trailing_zeros(flags) >> np.uint64(3))
                    slow = not is_space(data[at + length])
                    eight &= (np.uint64(1) << np.uint64(8 * length)) - np.uint64(1)
            if slow:
                stop = at
                while stop < at + 8 and stop < size and not is_space(data[stop]):
                    stop += 1
                eight, length = _next_bytes(data, at, stop)
            if length > 0:
                h = _stirred(h, eight)
                at += length
            if length < 8:
                break
        ends[n] = at
        hashes[n] = _mixed(h)
        n += 1
    return n, at


@kernel
def look_up(slots, starts, arena, data, begins, ends, hashes, n, newline, skip, ids, at):
    """Write the ids of ``n`` words (from :func:`split_words`) to ``ids[at:]``; unknown words become ``UNK``.

    ``newline`` is what a newline becomes: ``NOTHING``, ``END``, or ``END_AND_START``. Returns the end of the ids, and
    the position of an offending ``<s>`` or ``</s>`` or -1. The memory of all words is asked for before the first is
    looked at, so that they are fetched side by side.
    """
    mask = np.uint64(len(slots) // 2 - 1)
    for k in range(n):
        if begins[k] >= 0:
            prefetch(slots, np.int64(hashes[k] & mask) * 8)
    for k in range(n):
        if begins[k] < 0:
            if newline != NOTHING:
                ids[at] = EOS
                at += 1
                if newline == END_AND_START:
                    ids[at] = BOS
                    at += 1
            continue
        word = word_in(slots, find_slot(slots, starts, arena, data, begins[k], ends[k], hashes[k]))
        if word < 0:
            word = UNK
        elif BOS <= word <= EOS:
            if skip:
                continue
            return at, begins[k]
        ids[at] = word
        at += 1
    return at, -1


@kernel
def encode_words(slots, starts, arena, batch, data, newline, skip, ids):
    """The ids of a whole text under a fixed vocabulary, and the position of an offending marker or -1.

    ``batch`` is memory for :func:`batch_at`.
    """
    begins, ends, hashes = batch_at(address_of(batch))
    n = 0
    at = 0
    bad = -1
    while at < len(data) and bad < 0:
        words, at = split_words(data, at, BATCH, begins, ends, hashes)
        n, bad = look_up(slots, starts, arena, data, begins, ends, hashes, words, newline, skip, ids, n)
    return n, bad


@kernel
def learn_words(slots, hashes, starts, arena, counts, sizes, batch, data, at, newline, skip, ids):
    """The ids of a text under a vocabulary that grows: unknown words are added, and all are counted.

    ``sizes`` holds the number of words and is updated; ``batch`` is memory for :func:`batch_at`. Stops early when the
    table is too full: the caller enlarges it and goes on from where this stopped. Returns ids written, position
    reached, position of an offending marker or -1.
    """
    begins, ends, hashed = batch_at(address_of(batch))
    mask = np.uint64(len(slots) // 2 - 1)
    words = sizes[0]
    limit = len(slots) // 4 - BATCH
    n = 0
    bad = -1
    while at < len(data) and words < limit and bad < 0:
        found, at = split_words(data, at, BATCH, begins, ends, hashed)
        for k in range(found):
            prefetch(slots, np.int64(hashed[k] & mask) * 8)
        for k in range(found):
            begin = begins[k]
            if begin < 0:
                if newline != NOTHING:
                    ids[n] = EOS
                    ids[n + 1] = BOS
                    n += 2
                continue
            length = ends[k] - begin
            slot = find_slot(slots, starts, arena, data, begin, ends[k], hashed[k])
            word = slots[2 * slot + 1]
            if word < 0:
                word = words
                to = starts[word]
                for j in range(length):
                    arena[to + j] = data[begin + j]
                starts[word + 1] = to + length
                hashes[word] = hashed[k]
                slots[2 * slot] = np.int32(hashed[k] >> np.uint64(32))
                slots[2 * slot + 1] = word
                words += 1
            elif BOS <= word <= EOS:
                if skip:
                    continue
                bad = begin
                break
            counts[word] += 1
            ids[n] = word
            n += 1
    sizes[0] = words
    return n, at, bad


@kernel
def renumber(ids, numbers):
    """Replace every id by its new number, in place."""
    for i in range(len(ids)):
        ids[i] = numbers[ids[i]]
