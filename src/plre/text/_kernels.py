"""Words from bytes: hashing, looking up, and inserting into a vocabulary.

A vocabulary is three flat arrays, of which kernels get the addresses and sizes (the fields below). ``LETTERS`` holds
the bytes of all words end to end, and word ``i`` is those from ``STARTS[i]`` to ``STARTS[i + 1]``. ``SLOTS`` is an
open-addressing hash table of pairs ``(tag, id)``: ``tag`` is the upper half of the hash, ``id`` is negative where the
slot is free.
"""

from __future__ import annotations

import numpy as np

from plre._jit import kernel
from plre._memory import (
    address_of,
    peek8,
    peek32,
    peek64,
    poke8,
    poke32,
    poke64,
    prefetch_at,
    trailing_zeros,
)

UNK, BOS, EOS = 0, 1, 2

#: The fields of a vocabulary, 8 bytes each: its slots (4 bytes for a tag and 4 for an id) and how many there are; where
#: words start (4 bytes each, and where the last one ends) and how many words there are; their letters and how many
#: bytes these have.
SLOTS, SLOT_COUNT, STARTS, WORDS, LETTERS, LETTER_COUNT, VOCABULARY_WIDTH = range(7)
#: Of a vocabulary that grows, also the hash of each word and how often it was seen, 8 bytes each.
HASHES, COUNTS = range(VOCABULARY_WIDTH, VOCABULARY_WIDTH + 2)

#: What a newline becomes: white space, ``</s>``, or ``</s> <s>``.
NOTHING, END, END_AND_START = 0, 1, 2

#: Words that are hashed before the first of them is looked up.
BATCH = 256

_NEWLINE = 10
_SEED = np.uint64(14695981039346656037)
_EACH = np.uint64(0x0101010101010101)
#: Ids are read without a sign, so a larger one is a negative number, which marks a free slot.
_LAST_ID = 2**31 - 1


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
def _next_bytes(at, stop):
    """Up to 8 bytes at an address, before ``stop``, as one number, and how many they are."""
    eight, n = np.uint64(0), np.int64(0)
    while n < 8 and at + n < stop:
        eight |= np.uint64(peek8(at + n)) << np.uint64(8 * n)
        n += 1
    return eight, n


@kernel
def hash_bytes(at, stop):
    """A 64-bit hash of the word between two addresses, 8 bytes at a time."""
    h = _SEED
    while at < stop:
        eight, n = _next_bytes(at, stop)
        h = _stirred(h, eight)
        at += n
    return _mixed(h)


@kernel
def same_letters(vocab, start, at, length, end):
    """Whether the letters from ``start`` on are the ``length`` bytes at address ``at``; up to ``end`` can be read.

    ``start`` may be any number that is not negative: where there are no letters, nothing is the same. ``length`` is at
    least 1.
    """
    room = peek64(vocab + 8 * LETTER_COUNT) - start
    if length > room:
        return False
    letters = peek64(vocab + 8 * LETTERS) + start
    if length <= 8 and room >= 8 and at + 8 <= end:
        # All at once: shift out what does not belong to the word.
        return (np.uint64(peek64(letters) ^ peek64(at)) << np.uint64(64 - 8 * length)) == 0
    for i in range(length):  # noqa: SIM110
        if peek8(letters + i) != peek8(at + i):
            return False
    return True


@kernel
def find_slot(vocab, at, stop, end, h):
    """The address of the slot of the word between two addresses, or of the free slot where it would go.

    It is 0 in a full table without the word. Bytes up to ``end`` can be read. A model file may hold anything, so no
    slot is looked at twice, and ids and starts that lead out of their arrays belong to no word.
    """
    slots, mask = peek64(vocab + 8 * SLOTS), peek64(vocab + 8 * SLOT_COUNT) - 1
    if mask < 0:
        return np.int64(0)
    words, starts = peek64(vocab + 8 * WORDS), peek64(vocab + 8 * STARTS)
    tag = np.int64(h >> np.uint64(32))
    first = number = np.int64(h) & mask
    while True:
        slot = slots + 8 * number
        word = peek32(slot + 4)
        if word > _LAST_ID:
            return slot
        if peek32(slot) == tag and word < words:
            start = peek32(starts + 4 * word)
            length = peek32(starts + 4 * word + 4) - start
            if length == stop - at and same_letters(vocab, start, at, length, end):
                return slot
        number = (number + 1) & mask
        if number == first:  # reached again whatever the size: adding 1 under a mask goes round in a circle
            return np.int64(0)


@kernel
def find_id(vocab, at, stop, end, h):
    """The id of the word between two addresses, or -1; the other arguments are those of :func:`find_slot`."""
    slot = find_slot(vocab, at, stop, end, h)
    word = peek32(slot + 4) if slot != 0 else np.int64(-1)
    return word if word <= _LAST_ID else np.int64(-1)


@kernel
def word_id(vocab, word):
    """The id of a word, given as bytes, or -1."""
    at, stop = address_of(word), address_of(word) + len(word)
    return find_id(vocab, at, stop, stop, hash_bytes(at, stop))


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
    letters = address_of(arena)
    for word in range(len(starts) - 1):
        hashes[word] = hash_bytes(letters + max(starts[word], 0), letters + min(starts[word + 1], len(arena)))


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
def split_words(at, end, most, batch):
    """Up to ``most`` words between two addresses: where they begin and end, and their hashes.

    These are put into ``batch``: BATCH numbers of 8 bytes for the begins, then as many for the ends, then for the
    hashes. A newline counts as a word that begins at 0 and has neither end nor hash. Returns how many words there are
    and the address reached.
    """
    n = np.int64(0)
    while n < most and at < end:
        byte = peek8(at)
        if is_space(byte):
            at += 1
            if byte == _NEWLINE:
                poke64(batch + 8 * n, 0)
                n += 1
            continue
        poke64(batch + 8 * n, at)
        h = _SEED
        while True:
            length = np.int64(8)
            slow = at + 8 > end
            eight = np.uint64(0)
            if not slow:
                eight = np.uint64(peek64(at))
                # The highest bit of each byte that is a space, or below 14 (tabs and newlines are). Bytes above the
                # lowest such one may be flagged for nothing; only the lowest counts.
                spaces = eight ^ _EACH * np.uint64(32)
                flags = (spaces - _EACH) & ~spaces | (eight - _EACH * np.uint64(14)) & ~eight
                flags &= _EACH * np.uint64(128)
                if flags != 0:
                    length = np.int64(trailing_zeros(flags) >> np.uint64(3))
                    slow = not is_space(peek8(at + length))
                    eight &= (np.uint64(1) << np.uint64(8 * length)) - np.uint64(1)
            if slow:
                stop = at
                while stop < at + 8 and stop < end and not is_space(peek8(stop)):
                    stop += 1
                eight, length = _next_bytes(at, stop)
            if length > 0:
                h = _stirred(h, eight)
                at += length
            if length < 8:
                break
        poke64(batch + 8 * (BATCH + n), at)
        poke64(batch + 8 * (2 * BATCH + n), np.int64(_mixed(h)))
        n += 1
    return n, at


@kernel
def ask_slots(vocab, batch, n):
    """Ask for the memory where ``n`` words will be looked up, so that it is fetched for all of them side by side."""
    slots, mask = peek64(vocab + 8 * SLOTS), peek64(vocab + 8 * SLOT_COUNT) - 1
    for k in range(n):
        prefetch_at(slots + 8 * (peek64(batch + 8 * (2 * BATCH + k)) & mask))


@kernel
def look_up(vocab, end, batch, n, newline, skip, ids):
    """Write the ids of ``n`` words (from :func:`split_words`) to address ``ids``; unknown words become ``UNK``.

    Bytes of the text up to address ``end`` can be read. ``newline`` is what a newline becomes: ``NOTHING``, ``END``, or
    ``END_AND_START``; there must be room for two ids in any case. Returns where the ids end, and the address of an
    offending ``<s>`` or ``</s>`` or 0.
    """
    ask_slots(vocab, batch, n)
    for k in range(n):
        begin = peek64(batch + 8 * k)
        if begin == 0:
            if newline != NOTHING:
                poke32(ids, EOS)
                poke32(ids + 4, BOS)
                ids += 4 if newline == END else 8
            continue
        stop, h = peek64(batch + 8 * (BATCH + k)), np.uint64(peek64(batch + 8 * (2 * BATCH + k)))
        word = find_id(vocab, begin, stop, end, h)
        if BOS <= word <= EOS:
            if skip:
                continue
            return ids, begin
        poke32(ids, max(word, UNK))
        ids += 4
    return ids, np.int64(0)


@kernel
def encode_words(vocab, data, newline, skip, batch, ids):
    """The ids of a whole text under a fixed vocabulary, and the position of an offending marker or -1.

    ``batch`` is memory for :func:`split_words`; ``ids`` has room for two a byte, and two more.
    """
    at = start = address_of(data)
    end, place, to, bad = start + len(data), address_of(batch), address_of(ids), np.int64(0)
    while at < end and bad == 0:
        words, at = split_words(at, end, BATCH, place)
        to, bad = look_up(vocab, end, place, words, newline, skip, to)
    return (to - address_of(ids)) >> 2, bad - start if bad != 0 else np.int64(-1)


@kernel
def learn_words(vocab, data, position, newline, skip, batch, ids):
    """The ids of a text under a vocabulary that grows: unknown words are added, and all are counted.

    ``vocab`` has the fields of a builder, with room for a word for every two slots and for the letters of the whole
    text; ``batch`` and ``ids`` are as for :func:`encode_words`. Stops early when the table is too full: the caller
    enlarges it and goes on from where this stopped. Returns ids written, position reached, and the position of an
    offending marker or -1.
    """
    start, place, to = address_of(data), address_of(batch), address_of(ids)
    at, end, bad = start + position, start + len(data), np.int64(-1)
    words, starts, letters = peek64(vocab + 8 * WORDS), peek64(vocab + 8 * STARTS), peek64(vocab + 8 * LETTERS)
    hashes, counts = peek64(vocab + 8 * HASHES), peek64(vocab + 8 * COUNTS)
    limit = peek64(vocab + 8 * SLOT_COUNT) // 2 - BATCH
    while at < end and words < limit and bad < 0:
        found, at = split_words(at, end, BATCH, place)
        ask_slots(vocab, place, found)
        for k in range(found):
            begin, stop, h = (
                peek64(place + 8 * k),
                peek64(place + 8 * (BATCH + k)),
                peek64(place + 8 * (2 * BATCH + k)),
            )
            if begin == 0:
                if newline != NOTHING:
                    poke32(to, EOS)
                    poke32(to + 4, BOS)
                    to += 8
                continue
            slot = find_slot(vocab, begin, stop, end, np.uint64(h))
            word = peek32(slot + 4)
            if word > _LAST_ID:
                word = words
                new = peek32(starts + 4 * word)
                for j in range(stop - begin):
                    poke8(letters + new + j, peek8(begin + j))
                poke32(starts + 4 * word + 4, new + stop - begin)
                poke64(hashes + 8 * word, h)
                poke32(slot, h >> 32)
                poke32(slot + 4, word)
                words += 1
                poke64(vocab + 8 * WORDS, words)
            elif BOS <= word <= EOS:
                if skip:
                    continue
                bad = begin - start
                break
            poke64(counts + 8 * word, peek64(counts + 8 * word) + 1)
            poke32(to, word)
            to += 4
    return (to - address_of(ids)) >> 2, at - start, bad


@kernel
def renumber(ids, numbers):
    """Replace every id by its new number, in place."""
    for i in range(len(ids)):
        ids[i] = numbers[ids[i]]
