"""Words from bytes: hashing, looking up, and inserting into a vocabulary.

A vocabulary is three flat arrays. ``arena`` holds the bytes of all words end to end and word ``i`` is
``arena[starts[i]:starts[i + 1]]``. ``slots`` is an open-addressing hash table of pairs ``(tag, id)``: ``tag`` is
the upper half of the hash, ``id`` is -1 where the slot is free.
"""

from __future__ import annotations

import numpy as np

from plre._jit import kernel

UNK, BOS, EOS = 0, 1, 2

_NEWLINE = 10


@kernel
def is_space(byte):
    """ASCII white space, and nothing else: U+00A0 is part of a word."""
    return byte == 32 or (9 <= byte <= 13)


@kernel
def hash_bytes(data, start, stop):
    """A 64-bit hash: FNV-1a with a finishing mix, so that both halves are usable."""
    h = np.uint64(14695981039346656037)
    for i in range(start, stop):
        h = (h ^ np.uint64(data[i])) * np.uint64(1099511628211)
    h ^= h >> np.uint64(32)
    h *= np.uint64(0xD6E8FEB86659FD93)
    h ^= h >> np.uint64(32)
    return h


@kernel
def find_slot(slots, starts, arena, data, start, stop, h):
    """The slot of the word ``data[start:stop]``, or the free slot where it would go."""
    mask = np.uint64(len(slots) // 2 - 1)
    tag = np.int32(h >> np.uint64(32))
    slot = np.int64(h & mask)
    while True:
        word = slots[2 * slot + 1]
        if word < 0:
            return slot
        if slots[2 * slot] == tag and starts[word + 1] - starts[word] == stop - start:
            at = starts[word]
            same = True
            for i in range(stop - start):
                if arena[at + i] != data[start + i]:
                    same = False
                    break
            if same:
                return slot
        slot = np.int64(np.uint64(slot + 1) & mask)


@kernel
def fill_slots(slots, hashes, n):
    """Enter ``n`` distinct words into an empty table by their hashes."""
    mask = np.uint64(len(slots) // 2 - 1)
    slots[:] = -1
    for word in range(n):
        slot = np.int64(hashes[word] & mask)
        while slots[2 * slot + 1] >= 0:
            slot = np.int64(np.uint64(slot + 1) & mask)
        slots[2 * slot] = np.int32(hashes[word] >> np.uint64(32))
        slots[2 * slot + 1] = word


@kernel
def hash_words(arena, starts, hashes):
    """The hash of every word of a vocabulary."""
    for word in range(len(starts) - 1):
        hashes[word] = hash_bytes(arena, starts[word], starts[word + 1])


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
def encode_block(slots, starts, arena, data, skip, markers, ids):
    """The ids of a text under a fixed vocabulary; other words become ``UNK``.

    With ``markers`` each newline gives ``EOS, BOS``; without, it is white space. Returns the number of ids and
    the position of an offending ``<s>`` or ``</s>``, or -1.
    """
    n = 0
    i = 0
    while i < len(data):
        byte = data[i]
        if is_space(byte):
            i += 1
            if byte == _NEWLINE and markers:
                ids[n] = EOS
                ids[n + 1] = BOS
                n += 2
            continue
        start = i
        while i < len(data) and not is_space(data[i]):
            i += 1
        h = hash_bytes(data, start, i)
        word = slots[2 * find_slot(slots, starts, arena, data, start, i, h) + 1]
        if word < 0:
            word = UNK
        elif word in (BOS, EOS):
            if skip:
                continue
            return n, start
        ids[n] = word
        n += 1
    return n, -1


@kernel
def learn_block(slots, hashes, starts, arena, counts, sizes, data, begin, skip, markers, ids):
    """As :func:`encode_block`, but unknown words are added and all are counted.

    ``sizes`` holds the number of words and is updated. Stops early when the table is too full: the caller enlarges it
    and goes on from where this stopped. Returns ids written, position reached, position of an offending marker or -1.
    """
    words = sizes[0]
    limit = len(slots) // 4
    n = 0
    i = begin
    bad = -1
    while i < len(data) and words < limit:
        byte = data[i]
        if is_space(byte):
            i += 1
            if byte == _NEWLINE and markers:
                ids[n] = EOS
                ids[n + 1] = BOS
                n += 2
            continue
        start = i
        while i < len(data) and not is_space(data[i]):
            i += 1
        h = hash_bytes(data, start, i)
        slot = find_slot(slots, starts, arena, data, start, i, h)
        word = slots[2 * slot + 1]
        if word < 0:
            word = words
            at = starts[word]
            for j in range(i - start):
                arena[at + j] = data[start + j]
            starts[word + 1] = at + i - start
            hashes[word] = h
            slots[2 * slot] = np.int32(h >> np.uint64(32))
            slots[2 * slot + 1] = word
            words += 1
        elif word in (BOS, EOS):
            if skip:
                continue
            bad = start
            break
        counts[word] += 1
        ids[n] = word
        n += 1
    sizes[0] = words
    return n, i, bad


@kernel
def renumber(ids, numbers):
    """Replace every id by its new number, in place."""
    for i in range(len(ids)):
        ids[i] = numbers[ids[i]]
