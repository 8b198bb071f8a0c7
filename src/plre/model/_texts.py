"""Texts: split into words, looked up, scored block by block, added up."""

from __future__ import annotations

import math

import numpy as np
from numba import typeof, types

from plre._jit import direct, kernel
from plre._memory import bytes_at
from plre.model._bytes import entry
from plre.model._finding import find_grams
from plre.model._parts import begin, rows, score_block
from plre.model._probabilities import combine
from plre.model.layout import LETTERS, ORDER, SLOT_COUNT, SLOTS, STARTS, VOCABULARY
from plre.text._kernels import BATCH, BOS, END_AND_START, EOS, NOTHING, UNK, look_up, split_words

#: Positions of a block: what a batch of words can become.
_BLOCK = 2 * BATCH
#: Products of probabilities are turned into a logarithm before they get too small for a float.
_SMALL = 1e-200


@kernel
def score_ids(mem, ids, probs, matched):
    """The probability of every position of a text that is already encoded."""
    grams = np.empty((rows(mem), _BLOCK + 1), np.int32)
    work = np.empty(4 * (_BLOCK + 2), np.int64)
    for start in range(0, len(ids), _BLOCK):
        stop = min(start + _BLOCK, len(ids))
        # Column 0 is the position before this block, if there is one.
        one = 1 if start > 0 else 0
        some = ids[start - one : stop]
        score_block(mem, some, grams, work, one, len(some), probs[start - one : stop], matched[start - one : stop])
        grams[:, 0] = grams[:, len(some) - 1]


@kernel
def score_orders(mem, ids, probs):
    """The probability of every position as each order of a model of n-grams has it: row n - 1 is that of order n."""
    order = entry(mem, 1, ORDER)
    grams = np.empty((order, _BLOCK + 1), np.int32)
    work = np.empty(4 * (_BLOCK + 2), np.int64)
    matched = np.empty(_BLOCK + 1, np.int8)
    for start in range(0, len(ids), _BLOCK):
        stop = min(start + _BLOCK, len(ids))
        one = 1 if start > 0 else 0
        some = ids[start - one : stop]
        find_grams(mem, some, grams, work, one, len(some))
        for n in range(1, order + 1):
            combine(mem, some, grams, work, one, len(some), n, probs[n - 1, start - one : stop], matched)
        grams[:, 0] = grams[:, len(some) - 1]


@kernel
def vocabulary_of(mem):
    """Slots, starts and letters of the vocabulary, as arrays."""
    slots = entry(mem, 1, SLOTS)
    starts = entry(mem, 1, STARTS)
    return (
        mem[slots : slots + 4 * entry(mem, 1, SLOT_COUNT)].view(np.int32),
        mem[starts : starts + 4 * (entry(mem, 1, VOCABULARY) + 1)].view(np.int32),
        mem[entry(mem, 1, LETTERS) :],
    )


@kernel
def add_up(ids, probs, matched, first, last, counts, products, sums, hits):
    """Add up positions: known words, unknown words, sentence ends; their log10 P; how many matched each order.

    Logarithms are dear, so products are kept (one for each kind) until they get tiny. Written out for each kind: a
    function for it, or arrays of products, make scoring slower.
    """
    known, unknown, end = products[0], products[1], products[2]
    for i in range(first, last):
        w = ids[i]
        p = probs[i]
        if w > EOS:
            known *= p
            if known < _SMALL:
                sums[0] += math.log10(known)
                known = 1.0
            counts[0] += 1
        elif w == UNK:
            unknown *= p
            if unknown < _SMALL:
                sums[1] += math.log10(unknown)
                unknown = 1.0
            counts[1] += 1
        elif w == EOS:
            end *= p
            if end < _SMALL:
                sums[2] += math.log10(end)
                end = 1.0
            counts[2] += 1
        else:
            continue
        hits[matched[i] - 1] += 1
    products[0], products[1], products[2] = known, unknown, end


@kernel
def add_lines(ids, probs, first, last, eos, so_far, lines, line):
    """Write the log10 probability of each line that ends; of the open one, ``so_far`` has a product and a sum."""
    product, total = so_far[0], so_far[1]
    for i in range(first, last):
        w = ids[i]
        if w != BOS and (eos or w != EOS):
            product *= probs[i]
            if product < _SMALL:
                total += math.log10(product)
                product = 1.0
        if w == EOS:
            lines[line] = total + math.log10(product)
            line += 1
            product, total = 1.0, 0.0
    so_far[0], so_far[1] = product, total
    return line


@kernel
def tally(ids, probs, matched, first, counts, sums, hits):
    """Add up the positions of a text from ``first`` on."""
    products = np.ones(3)
    add_up(ids, probs, matched, first, len(ids), counts, products, sums, hits)
    for kind in range(3):
        sums[kind] += math.log10(products[kind])


@kernel
def room(rows):
    """What :func:`carve` needs, in numbers of 8 bytes."""
    return 3 * BATCH + (6 + (rows + 1) // 2) * (_BLOCK + 2) + 8


@kernel
def carve(owner, rows):
    """The arrays that scoring a block needs, cut out of one piece of memory, which is made faster than a dozen.

    Numba counts references to arrays, but not to these: ``owner`` must be used once more after the last of them.
    """
    size = _BLOCK + 2
    memory = bytes_at(owner.ctypes.data, owner.nbytes).view(np.int64)
    words = memory[:BATCH], memory[BATCH : 2 * BATCH], memory[2 * BATCH : 3 * BATCH].view(np.uint64)
    memory = memory[3 * BATCH :]
    rest = memory[5 * size :].view(np.int32)
    grams = rest[size : (rows + 1) * size].reshape((rows, size))
    work, probs = memory[: 4 * size], memory[4 * size : 5 * size].view(np.float64)
    return (*words, work, probs, rest[:size], grams, rest[(rows + 1) * size :].view(np.int8))


@kernel
def carry(ids, grams, last):
    """Let position 0 be what was the last one before ``last``."""
    ids[0] = ids[last - 1]
    for n in range(len(grams)):
        grams[n, 0] = grams[n, last - 1]


@kernel
def score_text(mem, data, newline, skip, eos, counts, sums, hits, lines):
    """Score a text of whole lines; add it up, and write the log10 probability of each line to ``lines`` if it has room.

    ``newline`` is END_AND_START (each line is a sentence) or END (it has no ``<s>``; ``</s>`` is never a context, so
    nothing reaches over it). ``eos`` says whether ``</s>`` belongs to a line's probability. ``counts`` and ``sums``:
    known words, unknown words, sentence ends; ``hits``: positions by order matched. Returns the position of an
    offending ``<s>`` or ``</s>`` or -1.
    """
    slots, starts, letters = vocabulary_of(mem)
    owner = np.empty(room(rows(mem)), np.int64)
    begins, ends, hashes, work, probs, ids, grams, matched = carve(owner, rows(mem))
    products = np.ones(3)
    so_far = np.array([1.0, 0.0])
    line = 0
    begin(mem, ids, grams, BOS if newline == END_AND_START else EOS)
    at = 0
    while at < len(data):
        words, at = split_words(data, at, BATCH, begins, ends, hashes)
        last, bad = look_up(slots, starts, letters, data, begins, ends, hashes, words, newline, skip, ids, 1)
        if bad >= 0:
            return bad
        score_block(mem, ids, grams, work, 1, last, probs, matched)
        add_up(ids, probs, matched, 1, last, counts, products, sums, hits)
        if len(lines) > 0:
            line = add_lines(ids, probs, 1, last, eos, so_far, lines, line)
        carry(ids, grams, last)
    for kind in range(3):
        sums[kind] += math.log10(products[kind])
    owner[0] = -1
    return owner[0]


@direct(types.int64, types.int64, typeof(b""), types.boolean, types.boolean)
def score_line(address, size, data, bos, eos):
    """log10 probability of one line without its newline; NaN if it holds ``<s>`` or ``</s>``."""
    mem = bytes_at(address, size)
    slots, starts, letters = vocabulary_of(mem)
    owner = np.empty(room(rows(mem)) + 3, np.int64)
    begins, ends, hashes, work, probs, ids, grams, matched = carve(owner, rows(mem))
    own = bytes_at(owner.ctypes.data, owner.nbytes).view(np.float64)
    so_far, line = own[-3:-1], own[-1:]
    so_far[0], so_far[1] = 1.0, 0.0
    begin(mem, ids, grams, BOS if bos else EOS)
    at = 0
    while True:
        words, at = split_words(data, at, BATCH, begins, ends, hashes)
        last, bad = look_up(slots, starts, letters, data, begins, ends, hashes, words, NOTHING, False, ids, 1)
        if bad >= 0:
            return np.nan
        if at == len(data):
            ids[last] = EOS
            last += 1
        score_block(mem, ids, grams, work, 1, last, probs, matched)
        add_lines(ids, probs, 1, last, eos, so_far, line, 0)
        if at == len(data):
            return owner[-1:].view(np.float64)[0]
        carry(ids, grams, last)
