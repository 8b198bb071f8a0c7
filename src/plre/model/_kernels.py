"""Answers from a packed model: find n-grams, combine their probabilities (method.md 7).

``mem`` is the whole model as bytes; ``layout.py`` says what is where. The recursion, with h' the context h without its
oldest word:

    P(w | h) = stored                                       if hw was seen
             = left(mid, w) . right(h) + backoff(h) P(w | h')    if h was seen; the product only where (mid, w) was
             = P(w | h')                                    otherwise

Text is scored in blocks of some hundred positions and in stages. A stage asks for the memory that the next one needs,
for all positions of the block, so that the machine fetches them side by side instead of one after the other.
"""

from __future__ import annotations

import math

import numpy as np
from numba import typeof, types

from plre._jit import direct, fast_kernel, kernel
from plre._memory import as_float, bytes_at, get, load32, load64, match_line, prefetch, put
from plre.model.layout import (
    BACKOFF,
    BACKOFF_BASE,
    BACKOFF_STEP,
    CHILDREN,
    CHILDREN_MASK,
    FIRST,
    FLOAT,
    GRAM_BITS,
    GRAMS,
    INDEX,
    LEFT,
    LEFT_BASE,
    LEFT_START,
    LEFT_STEP,
    LETTERS,
    LINE,
    LINES,
    ORDER,
    PROB,
    PROB_BASE,
    PROB_STEP,
    RANK,
    RIGHT,
    RIGHT_BASE,
    RIGHT_START,
    RIGHT_STEP,
    SEGMENT,
    SIZE,
    SLOT_COUNT,
    SLOTS,
    STARTS,
    STRIDE,
    SUFFIX,
    SUFFIX_MASK,
    VOCABULARY,
    WIDTH,
    WORD_BITS,
    WORD_MASK,
)
from plre.text._kernels import BATCH, BOS, END_AND_START, EOS, NOTHING, UNK, look_up, scramble, split_words

#: Positions of a block: what a batch of words can become.
_BLOCK = 2 * BATCH
#: Products of probabilities are turned into a logarithm before they get too small for a float.
_SMALL = 1e-200
#: A full line of an index without what was looked for: it may be in the next.
_UNKNOWN = -2


# --- bytes ------------------------------------------------------------------------------------------------------------


@kernel
def entry(mem, n, name):
    """An entry of the directory; ``n`` is 1 for entries about the whole model."""
    return np.int64(load64(mem, 8 * ((n - 1) * WIDTH + name)))


@kernel
def field(mem, place, mask):
    """The number at a place, of as many bytes as the mask has."""
    return np.int64(load64(mem, place)) & mask


@kernel
def decode(code, base, step):
    """The number that a code stands for."""
    return np.float64(as_float(np.int32(base + code * step))) if code != 0 else 0.0


@kernel
def pack_field(values, out, stride, at, size):
    """Write one field of consecutive records, the ``size`` bytes from byte ``at`` of each on."""
    for i in range(len(values)):
        value = np.int64(values[i])
        for byte in range(size):
            out[i * stride + at + byte] = np.uint8((value >> (8 * byte)) & 255)


@kernel
def unpack_field(mem, first, base, stride, at, size, out):
    """Read one field of the records from ``first`` on."""
    mask = (np.int64(1) << (8 * size)) - 1
    for i in range(len(out)):
        out[i] = np.int32(field(mem, base + (first + i) * stride + at, mask))


# --- n-grams ---------------------------------------------------------------------------------------------------------


@kernel
def child_start(mem, n, h):
    """Where the children of the n-gram ``h`` start."""
    place = entry(mem, n, GRAMS) + h * entry(mem, n, STRIDE) + entry(mem, n, CHILDREN)
    return field(mem, place, entry(mem, n, CHILDREN_MASK))


@kernel
def word_of(mem, n, gram):
    """The last word of an n-gram."""
    return field(mem, entry(mem, n, GRAMS) + gram * entry(mem, n, STRIDE), entry(mem, n, WORD_MASK))


@kernel
def search(mem, n, low, high, w):
    """The n-gram with the word ``w`` among those from ``low`` to ``high``, or -1.

    Scrambled words are spread evenly, so the place of one can be guessed from its value; so can the distance to it from
    how far off the guess was.
    """
    bits = entry(mem, 1, WORD_BITS)
    key = scramble(w, bits)
    count = high - low
    guess = low + ((key * count) >> bits)
    while low < high:
        found = word_of(mem, n, guess)
        if found == w:
            return guess
        off = key - scramble(found, bits)
        if off > 0:
            low = guess + 1
            guess = min(low + ((off * count) >> bits), high - 1)
        else:
            high = guess
            guess = max(high - 1 - ((-off * count) >> bits), low)
    return np.int64(-1)


@kernel
def hash_gram(h, w):
    """A hash of a context and a word."""
    x = (np.uint64(h) << np.uint64(32) | np.uint64(w)) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
    return x ^ (x >> np.uint64(32))


@kernel
def line_of(x, lines):
    """The line of an index in which a hash belongs: its upper half, scaled."""
    return np.int64(((x >> np.uint64(32)) * np.uint64(lines)) >> np.uint64(32))


@kernel
def tag_of(x, gram_bits):
    """The bits of a hash that stand in a slot above the n-gram's number."""
    return np.uint32(x & (np.uint64(0xFFFFFFFF) >> np.uint64(gram_bits)))


@kernel
def gram_of(slot, gram_bits):
    """The n-gram in a slot, -1 if it is free."""
    return np.int64(slot & ((np.uint32(1) << np.uint32(gram_bits)) - np.uint32(1))) - 1


@kernel
def next_line(line, lines):
    """Where to look after a full line."""
    mask = min(lines, SEGMENT) - 1
    return (line & ~mask) | ((line + 1) & mask)


@kernel
def fill_index(first, last, hashes, start, out, lines, gram_bits):
    """Enter n-grams ``start``, ``start`` + 1, ... with these hashes, those that belong in lines ``first`` to ``last``.

    ``out`` are just these lines, whole segments, and 0 where they are free.
    """
    for k in range(len(hashes)):
        line = line_of(hashes[k], lines)
        if line < first or line >= last:
            continue
        slot = np.uint64(tag_of(hashes[k], gram_bits)) << np.uint64(gram_bits) | np.uint64(start + k + 1)
        placed = False
        while not placed:
            at = (line - first) * LINE
            for j in range(at, at + LINE):
                if out[j] == 0:
                    out[j] = np.int32(np.uint32(slot))
                    placed = True
                    break
            line = next_line(line, lines)


@kernel
def hash_piece(first, children, words, hashes):
    """The hashes of a piece of n-grams, whose contexts are those from ``first`` on."""
    for h in range(len(children) - 1):
        for e in range(children[h] - children[0], children[h + 1] - children[0]):
            hashes[e] = hash_gram(first + h, words[e])


@kernel
def find_indexed(mem, slots, n, x, low, high, w):
    """The n-gram with hash ``x`` and word ``w`` between ``low`` and ``high``, or -1; ``slots`` is ``mem`` as uint32."""
    lines = entry(mem, n, LINES)
    bits = entry(mem, n, GRAM_BITS)
    tag = tag_of(x, bits)
    line = line_of(x, lines)
    while True:
        start = (entry(mem, n, INDEX) >> 2) + LINE * line
        if match_line(slots, start, tag, bits) != 0:
            for j in range(start, start + LINE):
                slot = get(slots, j)
                gram = gram_of(slot, bits)
                if slot >> np.uint32(bits) == tag and low <= gram < high and word_of(mem, n, gram) == w:
                    return gram
        if get(slots, start + LINE - 1) == 0:
            return np.int64(-1)
        line = next_line(line, lines)


@kernel
def find(mem, n, h, w):
    """The number of the n-gram made of context ``h`` and word ``w``, or -1."""
    low = child_start(mem, n - 1, h)
    high = child_start(mem, n - 1, h + 1)
    if low == high:
        return np.int64(-1)
    if entry(mem, n, INDEX) >= 0:
        return find_indexed(mem, mem.view(np.uint32), n, hash_gram(h, w), low, high, w)
    return search(mem, n, low, high, w)


@kernel
def find_grams(mem, ids, grams, work, first, last):
    """``grams[n - 1, i]`` becomes the n-gram that ends at position i, or -1, for positions ``first`` to ``last``.

    Nothing reaches back over ``<s>``; an n-gram can only be there if its suffix is. Position ``first - 1`` is known.
    """
    base, stride = entry(mem, 1, GRAMS), entry(mem, 1, STRIDE)
    for i in range(first, last):
        w = np.int64(ids[i])
        grams[0, i] = w
        prefetch(mem, base + w * stride)
    for n in range(2, entry(mem, 1, ORDER) + 1):
        own = grams[n - 1]
        for i in range(first, last):
            own[i] = -1
        if entry(mem, n, INDEX) >= 0:
            find_by_index(mem, n, ids, grams[n - 2], own, work, first, last)
        else:
            find_by_guess(mem, n, ids, grams[n - 2], own, work, first, last)


@kernel
def find_by_index(mem, n, ids, contexts, own, work, first, last):
    """One order of :func:`find_grams` with an index: ask for its lines; for the n-grams they name; look at those."""
    slots = mem.view(np.uint32)
    index, lines, gram_bits = entry(mem, n, INDEX), entry(mem, n, LINES), entry(mem, n, GRAM_BITS)
    base, stride, mask = entry(mem, n, GRAMS), entry(mem, n, STRIDE), entry(mem, n, WORD_MASK)
    below, below_stride = entry(mem, n - 1, GRAMS) + entry(mem, n - 1, CHILDREN), entry(mem, n - 1, STRIDE)
    below_mask = entry(mem, n - 1, CHILDREN_MASK)
    size = len(work) >> 2
    starts, tags, guesses, todo = work[:size], work[size : 2 * size], work[2 * size : 3 * size], work[3 * size :]
    left = np.int64(0)
    for i in range(max(first, 1), last):
        w = np.int64(ids[i])
        h = np.int64(contexts[i - 1])
        x = hash_gram(h, w)
        start = index + 4 * LINE * line_of(x, lines)
        prefetch(mem, start)
        put(starts, left, start >> 2)
        put(tags, left, np.int64(x))
        put(todo, left, i)
        left += np.int64((h >= 0) & (contexts[i] >= 0) & (w != BOS))
    for k in range(left):
        start = get(starts, k)
        best = match_line(slots, start, tag_of(np.uint64(get(tags, k)), gram_bits), gram_bits)
        guess = gram_of(best, gram_bits)
        prefetch(mem, base + max(guess, 0) * stride)
        put(guesses, k, _UNKNOWN if (guess < 0) & (get(slots, start + LINE - 1) != 0) else guess)
    for k in range(left):
        guess = get(guesses, k)
        if guess == -1:
            continue
        i = get(todo, k)
        w = np.int64(get(ids, i))
        place = below + np.int64(get(contexts, i - 1)) * below_stride
        low = field(mem, place, below_mask)
        high = field(mem, place + below_stride, below_mask)
        good = (guess >= low) & (guess < high) & (field(mem, base + max(guess, 0) * stride, mask) == w)
        if not good:
            guess = find_indexed(mem, slots, n, np.uint64(get(tags, k)), low, high, w)
        put(own, i, np.int32(guess))


@kernel
def find_by_guess(mem, n, ids, contexts, own, work, first, last):
    """One order of :func:`find_grams` without an index: ask for where each word should be; search from there."""
    base, stride, bits = entry(mem, n, GRAMS), entry(mem, n, STRIDE), entry(mem, 1, WORD_BITS)
    size = len(work) >> 2
    lows, highs, todo = work[:size], work[size : 2 * size], work[2 * size :]
    left = np.int64(0)
    for i in range(max(first, 1), last):
        h = np.int64(contexts[i - 1])
        if h < 0 or contexts[i] < 0 or ids[i] == BOS:
            continue
        low = child_start(mem, n - 1, h)
        high = child_start(mem, n - 1, h + 1)
        prefetch(mem, base + (low + ((scramble(np.int64(ids[i]), bits) * (high - low)) >> bits)) * stride)
        lows[left] = low
        highs[left] = high
        todo[left] = i
        left += 1
    for k in range(left):
        own[todo[k]] = search(mem, n, lows[k], highs[k], np.int64(ids[todo[k]]))


# --- probabilities ---------------------------------------------------------------------------------------------------


@kernel
def float_mask(mem):
    """The mask of a probability, a weight or a factor."""
    return (np.int64(1) << (8 * entry(mem, 1, FLOAT))) - 1


@kernel
def prob_of(mem, n, gram):
    """P(w | h) as it is stored with an n-gram."""
    place = entry(mem, n, GRAMS) + gram * entry(mem, n, STRIDE) + entry(mem, n, PROB)
    return decode(field(mem, place, float_mask(mem)), entry(mem, n, PROB_BASE), entry(mem, n, PROB_STEP))


@kernel
def backoff_of(mem, n, h):
    """The weight of the shorter context, as it is stored with a context of n words."""
    place = entry(mem, n, GRAMS) + h * entry(mem, n, STRIDE) + entry(mem, n, BACKOFF)
    return decode(field(mem, place, float_mask(mem)), entry(mem, n, BACKOFF_BASE), entry(mem, n, BACKOFF_STEP))


@fast_kernel
def dot(left, a, right, b, rank):
    """The product of two rows of factors."""
    u = left[a : a + rank]
    v = right[b : b + rank]
    total = 0.0
    for k in range(rank):
        total += np.float64(u[k]) * np.float64(v[k])
    return total


@kernel
def coded_dot(mem, n, a, b, rank, size):
    """The same for factors that are codes of ``size`` bytes."""
    left_base, left_step = entry(mem, n, LEFT_BASE), entry(mem, n, LEFT_STEP)
    right_base, right_step = entry(mem, n, RIGHT_BASE), entry(mem, n, RIGHT_STEP)
    left = entry(mem, n, LEFT) + a * size
    right = entry(mem, n, RIGHT) + b * size
    mask = float_mask(mem)
    total = 0.0
    for k in range(rank):
        u = field(mem, left + k * size, mask)
        v = field(mem, right + k * size, mask)
        total += decode(u, left_base, left_step) * decode(v, right_base, right_step)
    return total


@kernel
def rows_of(mem, n, m, h, row):
    """The rank of slice ``m``, and where in the factors of order n the ``row`` = (m, w) and the context ``h`` are."""
    rank = np.int64(load32(mem, entry(mem, n, RANK) + 4 * m))
    first = child_start(mem, n - 2, m) if n > 2 else np.int64(0)
    left = np.int64(load32(mem, entry(mem, n, LEFT_START) + 4 * m)) + (row - first) * rank
    return rank, left, np.int64(load32(mem, entry(mem, n, RIGHT_START) + 4 * h))


@kernel
def low_rank(mem, n, m, h, row):
    """The low rank layers of order n for an unseen n-gram: slice ``m``, context ``h``, and ``row`` = (m, w)."""
    rank, left, right = rows_of(mem, n, m, h, row)
    if entry(mem, 1, FLOAT) != 4:
        return coded_dot(mem, n, left, right, rank, entry(mem, 1, FLOAT))
    floats = mem.view(np.float32)
    return dot(floats, (entry(mem, n, LEFT) >> 2) + left, floats, (entry(mem, n, RIGHT) >> 2) + right, rank)


@kernel
def add_low_rank(mem, n, grams, first, last, todo, probs):
    """Add the low rank layers of order n where they count: for an unseen n-gram whose context and suffix were seen."""
    left = 0
    for i in range(max(first, 1), last):
        h = grams[n - 2, i - 1]
        todo[left] = i
        left += grams[n - 1, i] < 0 and h >= 0 and grams[n - 2, i] >= 0 and probs[i] < 1.0
    size = entry(mem, 1, FLOAT)
    for k in range(left):
        h = np.int64(grams[n - 2, todo[k] - 1])
        m = np.int64(grams[n - 3, todo[k] - 1]) if n > 2 else np.int64(0)
        prefetch(mem, entry(mem, n, RIGHT_START) + 4 * h)
        prefetch(mem, entry(mem, n, LEFT_START) + 4 * m)
        prefetch(mem, entry(mem, n, RANK) + 4 * m)
    for k in range(left):
        i = todo[k]
        h = np.int64(grams[n - 2, i - 1])
        m = np.int64(grams[n - 3, i - 1]) if n > 2 else np.int64(0)
        rank, a, b = rows_of(mem, n, m, h, np.int64(grams[n - 2, i]))
        for byte in range(0, rank * size, 64):
            prefetch(mem, entry(mem, n, LEFT) + a * size + byte)
            prefetch(mem, entry(mem, n, RIGHT) + b * size + byte)
    for k in range(left):
        i = todo[k]
        m = np.int64(grams[n - 3, i - 1]) if n > 2 else np.int64(0)
        probs[i] += low_rank(mem, n, m, np.int64(grams[n - 2, i - 1]), np.int64(grams[n - 2, i]))


@kernel
def combine(mem, ids, grams, work, first, last, probs, matched):
    """The probability of every position given what is before it, and the order of the longest n-gram found there.

    Order by order, from the lowest up, and without branches that depend on what was found.
    """
    order = entry(mem, 1, ORDER)
    mask = float_mask(mem)
    base, stride = entry(mem, 1, GRAMS) + entry(mem, 1, PROB), entry(mem, 1, STRIDE)
    low, step = entry(mem, 1, PROB_BASE), entry(mem, 1, PROB_STEP)
    for i in range(first, last):
        probs[i] = decode(field(mem, base + np.int64(ids[i]) * stride, mask), low, step)
        matched[i] = 1
    for n in range(2, order + 1):
        below, below_stride = entry(mem, n - 1, GRAMS) + entry(mem, n - 1, BACKOFF), entry(mem, n - 1, STRIDE)
        below_low, below_step = entry(mem, n - 1, BACKOFF_BASE), entry(mem, n - 1, BACKOFF_STEP)
        base, stride = entry(mem, n, GRAMS) + entry(mem, n, PROB), entry(mem, n, STRIDE)
        low, step = entry(mem, n, PROB_BASE), entry(mem, n, PROB_STEP)
        own, contexts = grams[n - 1], grams[n - 2]
        for i in range(max(first, 1), last):
            gram = np.int64(own[i])
            h = np.int64(contexts[i - 1])
            seen = gram >= 0
            place = base + gram * stride if seen else below + max(h, 0) * below_stride
            value = decode(field(mem, place, mask), low if seen else below_low, step if seen else below_step)
            backed_off = probs[i] * value if h >= 0 else probs[i]
            probs[i] = value if seen else backed_off
            matched[i] += seen
        if entry(mem, n, RANK) >= 0:
            add_low_rank(mem, n, grams, first, last, work, probs)
    for i in range(first, last):
        if ids[i] == BOS:
            probs[i] = 1.0
            matched[i] = 0


@kernel
def score_ids(mem, ids, probs, matched):
    """The probability of every position of a text that is already encoded."""
    order = entry(mem, 1, ORDER)
    grams = np.empty((order, _BLOCK + 1), np.int32)
    work = np.empty(4 * (_BLOCK + 2), np.int64)
    for start in range(0, len(ids), _BLOCK):
        stop = min(start + _BLOCK, len(ids))
        # Column 0 is the position before this block, if there is one.
        one = 1 if start > 0 else 0
        some = ids[start - one : stop]
        find_grams(mem, some, grams, work, one, len(some))
        combine(mem, some, grams, work, one, len(some), probs[start - one : stop], matched[start - one : stop])
        for n in range(order):
            grams[n, 0] = grams[n, len(some) - 1]


@kernel
def spread(mem, ids, probs):
    """P(w | context) for all words at once, the context being ``ids``."""
    order = entry(mem, 1, ORDER)
    last = len(ids) - 1
    grams = np.empty((order, len(ids)), np.int32)
    find_grams(mem, ids, grams, np.empty(4 * (len(ids) + 1), np.int64), 0, len(ids))
    for w in range(len(probs)):
        probs[w] = prob_of(mem, 1, w)
    for n in range(2, order + 1):
        if last < 0 or grams[n - 2, last] < 0:
            break
        h = np.int64(grams[n - 2, last])
        backoff = backoff_of(mem, n - 1, h)
        for w in range(len(probs)):
            probs[w] *= backoff
        if entry(mem, n, RANK) >= 0:
            m = np.int64(0)
            first = np.int64(0)
            end = np.int64(len(probs))
            if n > 2:
                m = np.int64(grams[n - 3, last])
                first = child_start(mem, n - 2, m)
                end = child_start(mem, n - 2, m + 1)
            for row in range(first, end):
                w = row
                if n > 2:
                    w = word_of(mem, n - 1, row)
                probs[w] += low_rank(mem, n, m, h, row)
        for e in range(child_start(mem, n - 1, h), child_start(mem, n - 1, h + 1)):
            probs[word_of(mem, n, e)] = prob_of(mem, n, e)
    probs[BOS] = 0.0


# --- states ----------------------------------------------------------------------------------------------------------


@kernel
def shorter(mem, n, gram):
    """The n-gram without its oldest word."""
    if n == 2:
        return word_of(mem, 2, gram)
    place = entry(mem, n, GRAMS) + gram * entry(mem, n, STRIDE) + entry(mem, n, SUFFIX)
    return field(mem, place, entry(mem, n, SUFFIX_MASK))


@direct(types.int64, types.int64, types.int64, types.int64)
def advance(address, size, state, w):
    """log10 P(w | state) and the state after w; a state is an n-gram's number among those of all orders, 0 is none.

    The longest n-gram that continues the state is looked for from the top down. The new state is the longest one ending
    in w after which anything was seen: a longer one would say no more. A number that is no state is a ValueError.
    """
    mem = bytes_at(address, size)
    order = entry(mem, 1, ORDER)
    top = order - 1
    while top > 0 and state < entry(mem, top, FIRST):
        top -= 1
    if state < 0 or (state > 0 and (top == 0 or state >= entry(mem, top, FIRST) + entry(mem, top, SIZE))):
        raise ValueError
    longest = state - entry(mem, top, FIRST) if top > 0 else np.int64(-1)
    # Ask for all that may be looked at below, side by side.
    prefetch(mem, entry(mem, 1, GRAMS) + w * entry(mem, 1, STRIDE))
    n = top
    h = longest
    while n > 0:
        index = entry(mem, n + 1, INDEX)
        if index >= 0:
            prefetch(mem, index + 4 * LINE * line_of(hash_gram(h, w), entry(mem, n + 1, LINES)))
        if n > 1:
            h = shorter(mem, n, h)
        n -= 1
    n = top
    h = longest
    rest = 1.0
    own = 1.0
    layers = np.int64(-1)
    gram = np.int64(-1)
    while n > 0:
        gram = find(mem, n + 1, h, w)
        if gram >= 0:
            break
        rest *= own
        own = backoff_of(mem, n, h)
        layers = h
        n -= 1
        if n > 0:
            h = shorter(mem, n + 1, h)
    if gram < 0:
        gram = w
    n += 1  # the order of the n-gram that was found
    p = own * prob_of(mem, n, gram)
    if layers >= 0 and entry(mem, n + 1, RANK) >= 0:
        p += low_rank(mem, n + 1, shorter(mem, n, layers) if n > 1 else np.int64(0), layers, gram)
    logprob = math.log10(rest * p) if w != BOS else -np.inf
    if n == order:
        n -= 1
        if n == 1:
            gram = w
        elif n > 1:
            gram = find(mem, n, shorter(mem, n, longest), w)
    while n > 0 and child_start(mem, n, gram) == child_start(mem, n, gram + 1):
        gram = shorter(mem, n, gram) if n > 1 else gram
        n -= 1
    return logprob, (entry(mem, n, FIRST) + gram if n > 0 else np.int64(0))


# --- texts -----------------------------------------------------------------------------------------------------------


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

    Logarithms are dear, so products are kept (one for each kind) until they get tiny.
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
def room(order):
    """What :func:`carve` needs, in numbers of 8 bytes."""
    return 3 * BATCH + (6 + (order + 1) // 2) * (_BLOCK + 2) + 8


@kernel
def carve(owner, order):
    """The arrays that scoring a block needs, cut out of one piece of memory, which is made faster than a dozen.

    Numba counts references to arrays, but not to these: ``owner`` must be used once more after the last of them.
    """
    size = _BLOCK + 2
    memory = bytes_at(owner.ctypes.data, owner.nbytes).view(np.int64)
    words = memory[:BATCH], memory[BATCH : 2 * BATCH], memory[2 * BATCH : 3 * BATCH].view(np.uint64)
    memory = memory[3 * BATCH :]
    rest = memory[5 * size :].view(np.int32)
    grams = rest[size : (order + 1) * size].reshape((order, size))
    work, probs = memory[: 4 * size], memory[4 * size : 5 * size].view(np.float64)
    return (*words, work, probs, rest[:size], grams, rest[(order + 1) * size :].view(np.int8))


@kernel
def begin(ids, grams, w):
    """Let position 0 be the word ``w`` with nothing before it."""
    ids[0] = w
    for n in range(len(grams)):
        grams[n, 0] = -1
    grams[0, 0] = w


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
    order = entry(mem, 1, ORDER)
    owner = np.empty(room(order), np.int64)
    begins, ends, hashes, work, probs, ids, grams, matched = carve(owner, order)
    products = np.ones(3)
    so_far = np.array([1.0, 0.0])
    line = 0
    begin(ids, grams, BOS if newline == END_AND_START else EOS)
    at = 0
    while at < len(data):
        words, at = split_words(data, at, BATCH, begins, ends, hashes)
        last, bad = look_up(slots, starts, letters, data, begins, ends, hashes, words, newline, skip, ids, 1)
        if bad >= 0:
            return bad
        find_grams(mem, ids, grams, work, 1, last)
        combine(mem, ids, grams, work, 1, last, probs, matched)
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
    order = entry(mem, 1, ORDER)
    owner = np.empty(room(order) + 3, np.int64)
    begins, ends, hashes, work, probs, ids, grams, matched = carve(owner, order)
    own = bytes_at(owner.ctypes.data, owner.nbytes).view(np.float64)
    so_far, line = own[-3:-1], own[-1:]
    so_far[0], so_far[1] = 1.0, 0.0
    begin(ids, grams, BOS if bos else EOS)
    at = 0
    while True:
        words, at = split_words(data, at, BATCH, begins, ends, hashes)
        last, bad = look_up(slots, starts, letters, data, begins, ends, hashes, words, NOTHING, False, ids, 1)
        if bad >= 0:
            return np.nan
        if at == len(data):
            ids[last] = EOS
            last += 1
        find_grams(mem, ids, grams, work, 1, last)
        combine(mem, ids, grams, work, 1, last, probs, matched)
        add_lines(ids, probs, 1, last, eos, so_far, line, 0)
        if at == len(data):
            return owner[-1:].view(np.float64)[0]
        carry(ids, grams, last)
