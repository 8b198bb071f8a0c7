"""Questions about the whole vocabulary: distributions, the most probable words, random words."""

from __future__ import annotations

import numpy as np

from plre._jit import kernel
from plre._memory import (
    address_of,
    call_address,
    doubles_at,
    floats_at,
    ints_at,
    peek32,
    peek_double,
    poke32,
    poke64,
)
from plre.model._plan import (
    BEFORE,
    BUFFER,
    COMPONENTS,
    FRESH,
    GIVEN,
    HIGH,
    IDS,
    LOW,
    MAP,
    OUT,
    REACH,
    SHARES,
    SPREAD,
    SYMBOLS,
    WORDS,
    at,
)
from plre.model._questions import component_at, last_weight
from plre.model._steps import ask_single, take_context
from plre.text._kernels import BOS, EOS

#: The first words of the vocabulary among which a sample is looked for; each further range is four times as long.
_FIRST_RANGE = 512
#: Words whose probabilities are added up together.
_TOGETHER = 1024


@kernel
def know_context(plan, block):
    """Find out everything about the context in a block's window; the word after it may be any but ``<s>``."""
    ask_single(plan, block, EOS)


@kernel
def add_over_words(own, shares, weight, low, high, out):
    """Add a distribution over words, of which each has its share (if there are any)."""
    probs, made = doubles_at(own + 8 * low, high - low), out[low:high]
    if shares == 0:
        for i in range(high - low):
            made[i] += weight * probs[i]
    else:
        share = floats_at(shares + 4 * low, high - low)
        for i in range(high - low):
            made[i] += weight * probs[i] * np.float64(share[i])


@kernel
def add_over_symbols(own, table, symbols, shares, low, high, out):
    """Add a distribution over symbols times its weight, of which each word has its share, and nothing if none."""
    size = high - low
    probs, made = doubles_at(own, symbols + 1), out[low:high]
    symbol, share = ints_at(table + 4 * low, size), floats_at(shares + 4 * low, size)
    for i in range(size):
        made[i] += probs[min(np.uint32(symbol[i]), np.uint32(symbols))] * np.float64(share[i])


@kernel
def spread_components(plan, block, buffer, low, high):
    """Let each component spread over the words ``low`` to ``high``, to its part of the buffer.

    Components with symbols of their own spread over all of those when ``low`` is 0, and keep that for further ranges.
    """
    for number in range(at(plan, COMPONENTS)):
        component = component_at(number)
        words, symbols = at(plan, component + MAP) == 0, at(plan, component + SYMBOLS)
        if not words and low > 0:
            continue
        own = buffer + 8 * at(plan, component + BUFFER)
        poke64(block + 8 * LOW, low if words else 0)
        poke64(block + 8 * HIGH, high if words else symbols)
        poke64(block + 8 * OUT, own)
        call_address(at(plan, component + SPREAD), plan, component, block)
        if not words:
            probs, weight = doubles_at(own, symbols + 1), peek_double(last_weight(plan, block, component))
            for s in range(symbols):
                probs[s] *= weight
            probs[symbols] = 0.0


@kernel
def spread_range(plan, block, buffer, low, high, out):
    """P(w | context) for the words ``low`` to ``high``, once :func:`know_context` was called; 0 for ``<s>``.

    What the components say is added up for some words after the others, so that those stay in the nearest cache.
    """
    spread_components(plan, block, buffer, low, high)
    for start in range(low, high, _TOGETHER):
        stop = min(start + _TOGETHER, high)
        out[start:stop] = 0.0
        for number in range(at(plan, COMPONENTS)):
            component = component_at(number)
            table, shares = at(plan, component + MAP), at(plan, component + SHARES)
            own = buffer + 8 * at(plan, component + BUFFER)
            if table == 0:
                weight = peek_double(last_weight(plan, block, component))
                add_over_words(own, shares, weight, start, stop, out)
            else:
                add_over_symbols(own, table, at(plan, component + SYMBOLS), shares, start, stop, out)
    if low <= BOS < high:
        out[BOS] = 0.0


@kernel
def spread_many(plan, work, buffer, contexts, sizes, out):
    """P(w | context) of all words, a row for each context; returns the first context that is none, or -1."""
    block = address_of(work)
    for b in range(len(out)):
        size = np.int64(sizes[b])
        start = address_of(contexts) + 4 * (b * contexts.shape[1] + contexts.shape[1] - size)
        if not take_context(plan, block, start, size):
            return b
        know_context(plan, block)
        spread_range(plan, block, address_of(buffer), 0, at(plan, WORDS), out[b])
    return -1


@kernel
def top_words(probs, allowed, best):
    """The words of the highest probability, falling, the lower id first among equals: fill ``best`` with their ids.

    ``allowed`` says of ``<unk>``, ``<s>`` and ``</s>`` whether they count. Returns how many words there are.
    """
    count = 0
    for w in range(len(probs)):
        if w < len(allowed) and not allowed[w]:
            continue
        if count == len(best) and not probs[w] > probs[best[count - 1]]:
            continue
        place = min(count, len(best) - 1)
        while place > 0 and probs[w] > probs[best[place - 1]]:
            best[place] = best[place - 1]
            place -= 1
        best[place] = w
        count = min(count + 1, len(best))
    return count


@kernel
def random_share(state):
    """A number from 0 to 1 without 1, from a counter that is moved on (splitmix64)."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    x = state[0]
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.float64((x ^ (x >> np.uint64(31))) >> np.uint64(11)) / 9007199254740992.0


@kernel
def draw(plan, block, buffer, allowed, share, probs):
    """The word at which the probabilities of all allowed words, added up by id, pass ``share`` of their sum; or -1.

    Frequent words have low ids, so most draws need only the first few hundred probabilities.
    """
    words = at(plan, WORDS)
    low, high = np.int64(0), min(np.int64(_FIRST_RANGE), words)
    passed, total, last = 0.0, 1.0, np.int64(-1)
    while low < words:
        spread_range(plan, block, buffer, low, high, probs)
        if low == 0:
            for w in range(len(allowed)):
                if not allowed[w]:
                    total -= probs[w]
                    probs[w] = 0.0
        for w in range(low, high):
            if probs[w] > 0:
                passed += probs[w]
                last = np.int64(w)
                if passed > share * total:
                    return last
        low, high = high, min(4 * high, words)
    return last  # the probabilities add up to a little less than one


@kernel
def draw_sharpened(plan, block, buffer, allowed, share, temperature, probs):
    """:func:`draw` with probabilities raised to the power 1 / temperature."""
    spread_range(plan, block, buffer, 0, at(plan, WORDS), probs)
    largest = 0.0
    for w in range(len(probs)):
        if w < len(allowed) and not allowed[w]:
            probs[w] = 0.0
        largest = max(largest, probs[w])
    total = 0.0
    for w in range(len(probs)):
        if probs[w] > 0:
            total += (probs[w] / largest) ** (1 / temperature)
    passed, last = 0.0, np.int64(-1)
    for w in range(len(probs)):
        if probs[w] > 0:
            passed += (probs[w] / largest) ** (1 / temperature)
            last = np.int64(w)
            if passed > share * total:
                return last
    return last


@kernel
def sample(plan, work, buffer, context, allowed, temperature, seed, probs, words):
    """Fill ``words`` with a random text that goes on from a context, up to ``</s>``; returns how many they are."""
    block = address_of(work)
    window, reach = at(block, IDS), at(plan, REACH)
    size = min(len(context), reach)
    if not take_context(plan, block, address_of(context) + 4 * (len(context) - size), size):
        return -1
    state = np.array([seed], np.uint64)
    for n in range(len(words)):
        know_context(plan, block)
        share = random_share(state)
        if temperature == 1.0:
            w = draw(plan, block, address_of(buffer), allowed, share, probs)
        else:
            w = draw_sharpened(plan, block, address_of(buffer), allowed, share, temperature, probs)
        if w < 0 or w == EOS:
            return n
        words[n] = w
        for i in range(reach - 1):
            poke32(window + 4 * i, peek32(window + 4 * (i + 1)))
        poke32(window + 4 * (reach - 1), w)
        poke64(block + 8 * BEFORE, FRESH)
        poke64(block + 8 * GIVEN, -1)
    return len(words)
