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

from plre._jit import fast_kernel, kernel
from plre._memory import as_float, get, load32, load64, match_line, prefetch, put
from plre.model.layout import (
    BACKOFF,
    BACKOFF_BASE,
    BACKOFF_STEP,
    BITS,
    CHILDREN,
    CHILDREN_BITS,
    FIRST,
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
    SUFFIX_BITS,
    VOCABULARY,
    WIDTH,
    WORD_BITS,
)
from plre.text._kernels import BATCH, BOS, END, END_AND_START, EOS, UNK, look_up, scramble, split_words

#: Positions of a block: what a batch of words can become.
_BLOCK = 2 * BATCH
#: Products of probabilities are turned into a logarithm before they get too small for a float.
_SMALL = 1e-200
#: A full line of an index without what was looked for: it may be in the next.
_UNKNOWN = -2


# --- bits ------------------------------------------------------------------------------------------------------------


@kernel
def entry(mem, n, name):
    """An entry of the directory; ``n`` is 1 for entries about the whole model."""
    return np.int64(load64(mem, 8 * ((n - 1) * WIDTH + name)))


@kernel
def bits_at(mem, base, bit, bits):
    """``bits`` bits from bit ``bit`` after byte ``base`` on."""
    value = load64(mem, base + (bit >> 3)) >> np.uint64(bit & 7)
    return np.int64(value & ((np.uint64(1) << np.uint64(bits)) - np.uint64(1)))


@kernel
def decode(code, base, step):
    """The number that a code stands for."""
    return np.float64(as_float(np.int32(base + code * step if code != 0 else 0)))


@kernel
def pack_field(values, out, stride, at, bits):
    """Write one field of consecutive records, ``bits`` bits from bit ``at`` of each on; it is 0 there before."""
    mask = (np.int64(1) << bits) - 1
    for i in range(len(values)):
        value = np.uint64(np.int64(values[i]) & mask)
        bit = i * stride + at
        shift = bit & 31
        value <<= np.uint64(shift)
        out[bit >> 5] |= np.int32(np.uint32(value & np.uint64(0xFFFFFFFF)))
        if shift + bits > 32:
            out[(bit >> 5) + 1] |= np.int32(np.uint32(value >> np.uint64(32)))


@kernel
def unpack_field(mem, first, base, stride, at, bits, out):
    """Read one field of the records from ``first`` on."""
    for i in range(len(out)):
        out[i] = bits_at(mem, base, (first + i) * stride + at, bits)


# --- n-grams ---------------------------------------------------------------------------------------------------------


@kernel
def child_start(mem, n, h):
    """Where the children of the n-gram ``h`` start."""
    return bits_at(mem, entry(mem, n, GRAMS), h * entry(mem, n, STRIDE) + entry(mem, n, CHILDREN),
                   entry(mem, n, CHILDREN_BITS))  # fmt: skip


@kernel
def search(mem, base, stride, word_bits, low, high, w):
    """The n-gram with the word ``w`` among those from ``low`` to ``high``, or -1.

    Scrambled words are spread evenly, so the place of one can be guessed from its value; so can the distance to it from
    how far off the guess was.
    """
    key = scramble(w, word_bits)
    count = high - low
    guess = low + ((key * count) >> word_bits)
    while low < high:
        found = bits_at(mem, base, guess * stride, word_bits)
        if found == w:
            return guess
        off = key - scramble(found, word_bits)
        if off > 0:
            low = guess + 1
            guess = min(low + ((off * count) >> word_bits), high - 1)
        else:
            high = guess
            guess = max(high - 1 - ((-off * count) >> word_bits), low)
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
    base = entry(mem, n, GRAMS)
    stride = entry(mem, n, STRIDE)
    word_bits = entry(mem, 1, WORD_BITS)
    tag = tag_of(x, bits)
    line = line_of(x, lines)
    while True:
        start = (entry(mem, n, INDEX) >> 2) + LINE * line
        best = match_line(slots, start, tag, bits)
        if best != 0:
            for j in range(start, start + LINE):
                slot = get(slots, j)
                gram = np.int64(slot & ((np.uint32(1) << np.uint32(bits)) - np.uint32(1))) - 1
                same = (slot >> np.uint32(bits) == tag) and low <= gram < high
                if same and bits_at(mem, base, gram * stride, word_bits) == w:
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
    return search(mem, entry(mem, n, GRAMS), entry(mem, n, STRIDE), entry(mem, 1, WORD_BITS), low, high, w)


@kernel
def find_grams(mem, ids, grams, work, first, last):
    """``grams[n - 1, i]`` becomes the n-gram that ends at position i, or -1, for positions ``first`` to ``last``.

    Nothing reaches back over ``<s>``; an n-gram can only be there if its suffix is. Position ``first - 1`` is known.
    """
    order = entry(mem, 1, ORDER)
    word_bits = entry(mem, 1, WORD_BITS)
    base = entry(mem, 1, GRAMS)
    stride = entry(mem, 1, STRIDE)
    slots = mem.view(np.uint32)
    lows, highs, hashes, guesses, todo = work[0], work[1], work[2].view(np.uint64), work[3], work[4]
    for i in range(first, last):
        w = np.int64(ids[i])
        grams[0, i] = w
        prefetch(mem, base + ((w * stride) >> 3))
    for n in range(2, order + 1):
        at = entry(mem, n - 1, CHILDREN)
        bits = entry(mem, n - 1, CHILDREN_BITS)
        below, below_stride = base, stride
        base = entry(mem, n, GRAMS)
        stride = entry(mem, n, STRIDE)
        index = entry(mem, n, INDEX)
        lines = entry(mem, n, LINES)
        gram_bits = entry(mem, n, GRAM_BITS)
        contexts = grams[n - 2]
        own = grams[n - 1]
        own[first] = -1
        left = np.int64(0)
        for i in range(max(first, 1), last):
            own[i] = -1
            w = np.int64(ids[i])
            h = np.int64(contexts[i - 1])
            possible = (h >= 0) & (contexts[i] >= 0) & (w != BOS)
            h = h if possible else np.int64(0)
            low = bits_at(mem, below, h * below_stride + at, bits)
            high = bits_at(mem, below, (h + 1) * below_stride + at, bits)
            put(lows, left, low)
            put(highs, left, high)
            put(todo, left, i)
            if index >= 0:
                x = hash_gram(h, w)
                put(hashes, left, x)
                prefetch(mem, index + 4 * LINE * line_of(x, lines))
            else:
                guess = low + ((scramble(w, word_bits) * (high - low)) >> word_bits)
                prefetch(mem, base + ((guess * stride) >> 3))
            left += np.int64(possible & (high > low))
        if index < 0:
            for k in range(left):
                i = get(todo, k)
                put(own, i, np.int32(search(mem, base, stride, word_bits, lows[k], highs[k], np.int64(get(ids, i)))))
            continue
        for k in range(left):
            x = hashes[k]
            start = (index >> 2) + LINE * line_of(x, lines)
            best = match_line(slots, start, tag_of(x, gram_bits), gram_bits)
            full = get(slots, start + LINE - 1) != 0
            guess = np.int64(best & ((np.uint32(1) << np.uint32(gram_bits)) - np.uint32(1))) - 1
            prefetch(mem, base + ((max(guess, 0) * stride) >> 3))
            guesses[k] = _UNKNOWN if guess < 0 and full else guess
        for k in range(left):
            guess = guesses[k]
            i = get(todo, k)
            w = np.int64(get(ids, i))
            good = (guess >= lows[k]) & (guess < highs[k])
            good &= bits_at(mem, base, max(guess, 0) * stride, word_bits) == w
            if not good and guess != -1:
                guess = find_indexed(mem, slots, n, hashes[k], lows[k], highs[k], w)
            put(own, i, np.int32(guess))


# --- probabilities ---------------------------------------------------------------------------------------------------


@kernel
def prob_of(mem, n, gram):
    """P(w | h) as it is stored with an n-gram."""
    bit = gram * entry(mem, n, STRIDE) + entry(mem, n, PROB)
    code = bits_at(mem, entry(mem, n, GRAMS), bit, entry(mem, 1, BITS))
    return decode(code, entry(mem, n, PROB_BASE), entry(mem, n, PROB_STEP))


@kernel
def backoff_of(mem, n, h):
    """The weight of the shorter context, as it is stored with a context of n words."""
    bit = h * entry(mem, n, STRIDE) + entry(mem, n, BACKOFF)
    code = bits_at(mem, entry(mem, n, GRAMS), bit, entry(mem, 1, BITS))
    return decode(code, entry(mem, n, BACKOFF_BASE), entry(mem, n, BACKOFF_STEP))


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
    total = 0.0
    for k in range(rank):
        u = bits_at(mem, left + k * size, 0, 8 * size)
        v = bits_at(mem, right + k * size, 0, 8 * size)
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
    if entry(mem, 1, BITS) != 32:
        return coded_dot(mem, n, left, right, rank, entry(mem, 1, BITS) >> 3)
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
    size = entry(mem, 1, BITS) >> 3
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
    bits = entry(mem, 1, BITS)
    base, stride = entry(mem, 1, GRAMS), entry(mem, 1, STRIDE)
    at, low, step = entry(mem, 1, PROB), entry(mem, 1, PROB_BASE), entry(mem, 1, PROB_STEP)
    for i in range(first, last):
        probs[i] = decode(bits_at(mem, base, ids[i] * stride + at, bits), low, step)
        matched[i] = 1
    for n in range(2, order + 1):
        below, below_stride = base, stride
        below_at = entry(mem, n - 1, BACKOFF)
        below_low, below_step = entry(mem, n - 1, BACKOFF_BASE), entry(mem, n - 1, BACKOFF_STEP)
        base, stride = entry(mem, n, GRAMS), entry(mem, n, STRIDE)
        at, low, step = entry(mem, n, PROB), entry(mem, n, PROB_BASE), entry(mem, n, PROB_STEP)
        for i in range(max(first, 1), last):
            gram = np.int64(grams[n - 1, i])
            h = np.int64(grams[n - 2, i - 1])
            seen = gram >= 0
            place = base if seen else below
            bit = gram * stride + at if seen else max(h, 0) * below_stride + below_at
            value = decode(bits_at(mem, place, bit, bits), low if seen else below_low, step if seen else below_step)
            backed_off = probs[i] * value if h >= 0 else probs[i]
            probs[i] = value if seen else backed_off
            matched[i] += seen
        if entry(mem, n, RANK) >= 0:
            add_low_rank(mem, n, grams, first, last, work[4], probs)
    for i in range(first, last):
        if ids[i] == BOS:
            probs[i] = 1.0
            matched[i] = 0


@kernel
def score_ids(mem, ids, probs, matched):
    """The probability of every position of a text that is already encoded."""
    order = entry(mem, 1, ORDER)
    grams = np.empty((order, _BLOCK + 1), np.int32)
    work = np.empty((5, _BLOCK + 2), np.int64)
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
    word_bits = entry(mem, 1, WORD_BITS)
    last = len(ids) - 1
    grams = np.empty((order, len(ids)), np.int32)
    find_grams(mem, ids, grams, np.empty((5, len(ids) + 1), np.int64), 0, len(ids))
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
                    w = bits_at(mem, entry(mem, n - 1, GRAMS), row * entry(mem, n - 1, STRIDE), word_bits)
                probs[w] += low_rank(mem, n, m, h, row)
        for e in range(child_start(mem, n - 1, h), child_start(mem, n - 1, h + 1)):
            w = bits_at(mem, entry(mem, n, GRAMS), e * entry(mem, n, STRIDE), word_bits)
            probs[w] = prob_of(mem, n, e)
    probs[BOS] = 0.0


# --- states ----------------------------------------------------------------------------------------------------------


@kernel
def shorter(mem, n, gram):
    """The n-gram without its oldest word."""
    if n == 2:
        return bits_at(mem, entry(mem, 2, GRAMS), gram * entry(mem, 2, STRIDE), entry(mem, 1, WORD_BITS))
    bit = gram * entry(mem, n, STRIDE) + entry(mem, n, SUFFIX)
    return bits_at(mem, entry(mem, n, GRAMS), bit, entry(mem, n, SUFFIX_BITS))


@kernel
def advance(mem, state, w):
    """log10 P(w | state) and the state after w; a state is an n-gram's number among those of all orders, 0 is none.

    The longest n-gram that continues the state is looked for from the top down. The new state is the longest one ending
    in w after which anything was seen: a longer one would say no more. Gives state -1 for a number that is no state.
    """
    order = entry(mem, 1, ORDER)
    top = order - 1
    while top > 0 and state < entry(mem, top, FIRST):
        top -= 1
    if state < 0 or (state > 0 and (top == 0 or state >= entry(mem, top, FIRST) + entry(mem, top, SIZE))):
        return 0.0, np.int64(-1)
    longest = state - entry(mem, top, FIRST) if top > 0 else np.int64(-1)
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
def kind_of(w):
    """What a position counts as: 0 a known word, 1 an unknown word, 2 the end of a sentence."""
    return np.int64(w == UNK) + 2 * np.int64(w == EOS)


@kernel
def add_log(products, sums, k, p):
    """Add log10 p to ``sums[k]``, but not at once: logarithms are dear, so products are kept until they get tiny."""
    product = products[k] * p
    if product < _SMALL:
        sums[k] += math.log10(product)
        product = 1.0
    products[k] = product


@kernel
def tally(ids, probs, matched, first, counts, sums, hits):
    """Add up from position ``first``: known words, unknown words, sentence ends; their log10 P; hits by order."""
    products = np.ones(3)
    for i in range(first, len(ids)):
        if ids[i] != BOS:
            kind = kind_of(ids[i])
            counts[kind] += 1
            hits[matched[i] - 1] += 1
            add_log(products, sums, kind, probs[i])
    for kind in range(3):
        sums[kind] += math.log10(products[kind])


@kernel
def score_text(mem, data, newline, skip, eos, counts, sums, hits, lines):
    """Score a text of whole lines; add it up, and write the log10 probability of each line to ``lines`` if it has room.

    ``newline`` is END_AND_START (each line is a sentence) or END (it has no ``<s>``; ``</s>`` is never a context, so
    nothing reaches over it). ``eos`` says whether ``</s>`` belongs to a line's probability. ``counts`` and ``sums``:
    known words, unknown words, sentence ends; ``hits``: positions by order matched. Returns the number of lines, and
    the position of an offending ``<s>`` or ``</s>`` or -1.
    """
    slots, starts, letters = vocabulary_of(mem)
    order = entry(mem, 1, ORDER)
    begins = np.empty(BATCH, np.int64)
    ends = np.empty(BATCH, np.int64)
    hashes = np.empty(BATCH, np.uint64)
    ids = np.empty(_BLOCK + 2, np.int32)
    grams = np.empty((order, _BLOCK + 2), np.int32)
    work = np.empty((5, _BLOCK + 2), np.int64)
    probs = np.empty(_BLOCK + 2, np.float64)
    matched = np.empty(_BLOCK + 2, np.int8)
    products = np.ones(4)  # of the three kinds of positions, and of this line
    line = 0
    so_far = np.zeros(1)
    ids[0] = BOS if newline == END_AND_START else EOS
    grams[:, 0] = -1
    grams[0, 0] = ids[0]
    at = 0
    while at < len(data):
        words, at = split_words(data, at, BATCH, begins, ends, hashes)
        last, bad = look_up(slots, starts, letters, data, begins, ends, hashes, words, newline, skip, ids, 1)
        if bad >= 0:
            return line, bad
        find_grams(mem, ids, grams, work, 1, last)
        combine(mem, ids, grams, work, 1, last, probs, matched)
        for i in range(1, last):
            w = ids[i]
            if w == BOS:
                continue
            kind = kind_of(w)
            counts[kind] += 1
            hits[matched[i] - 1] += 1
            add_log(products, sums, kind, probs[i])
            if len(lines) > 0:
                if eos or w != EOS:
                    add_log(products[3:], so_far, 0, probs[i])
                if w == EOS:
                    lines[line] = so_far[0] + math.log10(products[3])
                    line += 1
                    so_far[0] = 0.0
                    products[3] = 1.0
        ids[0] = ids[last - 1]
        for n in range(order):
            grams[n, 0] = grams[n, last - 1]
    for kind in range(3):
        sums[kind] += math.log10(products[kind])
    return line, -1


@kernel
def score_line(mem, data, bos, eos):
    """log10 probability of one line, which ends with the text's only newline; NaN if it holds ``<s>`` or ``</s>``."""
    lines = np.empty(1)
    newline = END_AND_START if bos else END
    _, bad = score_text(mem, data, newline, False, eos, np.zeros(3, np.int64), np.zeros(3),
                        np.zeros(entry(mem, 1, ORDER), np.int64), lines)  # fmt: skip
    return lines[0] if bad < 0 else np.nan
