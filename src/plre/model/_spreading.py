"""Questions about the whole vocabulary: distributions, the most probable words, random words."""

from __future__ import annotations

import numpy as np

from plre._jit import kernel
from plre._memory import (
    add_gathered,
    address_of,
    call_address,
    doubles_at,
    longs_at,
    peek32,
    peek64,
    peek_double,
    peek_float,
    poke32,
    poke64,
    poke_double,
)
from plre.model import _plan as p
from plre.model._plan import at
from plre.model._questions import component_at, last_weight
from plre.model._steps import ask_single, take_context
from plre.text._kernels import BOS, EOS

#: The first symbols among which a sample is looked for; the next range is as long as those before it together.
_FIRST_RANGE = 512
#: How often a word is drawn that is not allowed before all words are looked at.
_TRIES = 64
#: Words that a component spreads over together: at least so many, and more if that would make more than _PIECES pieces.
_TOGETHER = 4096
_PIECES = 8
#: Words that are added up together, so that their sums stay in the nearest cache.
_NEAR = 512
#: Words that are passed over together where the best are looked for.
_PASSED = 64


@kernel
def know_context(plan, block):
    """Find out everything about the context in a block's window; the word after it may be any but ``<s>``."""
    ask_single(plan, block, EOS)


@kernel
def add_over_words(own, weight, low, high, out):
    """Add a distribution over the words ``low`` to ``high``."""
    probs, made = doubles_at(own, high - low), out[low:high]
    for i in range(high - low):
        made[i] += weight * probs[i]


@kernel
def add_over_symbols(own, weight, table, symbols, shares, low, high, out):
    """Add a distribution over symbols, of which each word has its share; a symbol that there is not has none.

    Behind the probabilities of the symbols stands a 0, for those.
    """
    groups = (high - low) // 8
    add_gathered(address_of(out) + 8 * low, weight, own, symbols, table + 4 * low, shares + 4 * low, groups)
    for w in range(low + 8 * groups, high):
        share = np.float64(peek_float(shares + 4 * w))
        out[w] += weight * peek_double(own + 8 * min(peek32(table + 4 * w), symbols)) * share


@kernel
def spread_range(plan, block, component, low, high, own):
    """Let a component spread over its symbols ``low`` to ``high``; ``own`` is where symbol 0 would stand."""
    poke64(block + 8 * p.LOW, low)
    poke64(block + 8 * p.HIGH, high)
    poke64(block + 8 * p.OUT, own)
    call_address(at(plan, component + p.SPREAD), plan, component, block)


@kernel
def add_components(plan, block, buffer, first, low, high, out):
    """Add up what all components say of the words ``low`` to ``high``; buffers over words begin with word ``first``."""
    out[low:high] = 0.0
    for number in range(at(plan, p.COMPONENTS)):
        component = component_at(number)
        table, symbols = at(plan, component + p.MAP), at(plan, component + p.SYMBOLS)
        own, weight = buffer + 8 * at(plan, component + p.BUFFER), peek_double(last_weight(plan, block, component))
        if table == 0:
            add_over_words(own + 8 * (low - first), weight, low, high, out)
        else:
            add_over_symbols(own, weight, table, symbols, at(plan, component + p.SHARES), low, high, out)


@kernel
def spread_words(plan, block, buffer, out):
    """P(w | context) for all words, once :func:`know_context` was called; 0 for ``<s>``.

    Classes are few, and spread over first. Then words are gone through some at a time, so that all of it stays in the
    nearer caches.
    """
    for number in range(at(plan, p.COMPONENTS)):
        component = component_at(number)
        if at(plan, component + p.MAP) != 0:
            symbols, own = at(plan, component + p.SYMBOLS), buffer + 8 * at(plan, component + p.BUFFER)
            spread_range(plan, block, component, 0, symbols, own)
            poke_double(own + 8 * symbols, 0.0)
    together = max(_TOGETHER, (len(out) + _PIECES - 1) // _PIECES)
    for low in range(0, len(out), together):
        high = min(low + together, len(out))
        for number in range(at(plan, p.COMPONENTS)):
            component = component_at(number)
            if at(plan, component + p.MAP) == 0:
                spread_range(plan, block, component, low, high, buffer + 8 * (at(plan, component + p.BUFFER) - low))
        for near in range(low, high, _NEAR):
            add_components(plan, block, buffer, low, near, min(near + _NEAR, high), out)
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
        spread_words(plan, block, address_of(buffer), out[b])
    return -1


@kernel
def top_words(probs, allowed, best):
    """The words of the highest probability, falling, the lower id first among equals: fill ``best`` with their ids.

    ``allowed`` says of ``<unk>``, ``<s>`` and ``</s>`` whether they count. Returns how many words there are. Most words
    are passed over some at a time: the bits of positive numbers are ordered as they are, and compared eight at once.
    """
    count, bits = 0, longs_at(address_of(probs), len(probs))
    for low in range(0, len(probs), _PASSED):
        high = min(low + _PASSED, len(probs))
        largest = np.int64(0)
        for value in bits[low:high]:
            largest = max(largest, value)
        if count == len(best) and largest <= bits[best[count - 1]]:
            continue
        for w in range(low, high):
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
def draw_component(plan, block, share):
    """The component at which the mass of all of them, added up, passes ``share``, and what its probabilities sum to."""
    passed, number = 0.0, np.int64(0)
    while True:
        component = component_at(number)
        weight, mass = last_weight(plan, block, component), peek_double(last_weight(plan, block, component) + 8)
        passed += peek_double(weight) * mass
        number += 1
        if passed > share or number == at(plan, p.COMPONENTS):
            return component, mass


@kernel
def draw_symbol(plan, block, component, own, share):
    """The symbol at which the probabilities of a component, added up, pass ``share``; or -1.

    Frequent symbols have low numbers, so most draws need only the first few hundred probabilities.
    """
    symbols = at(plan, component + p.SYMBOLS)
    low, high = np.int64(0), min(np.int64(_FIRST_RANGE), symbols)
    passed = 0.0
    while low < symbols:
        spread_range(plan, block, component, low, high, own)
        for s in range(low, high):
            passed += max(peek_double(own + 8 * s), 0.0)
            if passed > share:
                return np.int64(s)
        low, high = high, min(2 * high, symbols)
    return np.int64(-1)  # rounded, they add up to a little less


@kernel
def draw_word(plan, component, symbol, share):
    """The word at which the shares of all words of a symbol, added up, pass ``share``; or -1."""
    if at(plan, component + p.MAP) == 0 or symbol < 0:
        return symbol
    words, starts = at(plan, component + p.MEMBER_WORDS), at(plan, component + p.MEMBER_STARTS)
    shares = at(plan, component + p.SHARES)
    passed = 0.0
    for i in range(peek64(starts + 8 * symbol), peek64(starts + 8 * symbol + 8)):
        w = peek64(words + 8 * i)
        passed += max(np.float64(peek_float(shares + 4 * w)), 0.0)
        if passed > share:
            return w
    return np.int64(-1)


@kernel
def draw(plan, block, buffer, allowed, state):
    """A random word, drawn from a component that is drawn by its weight; -1 if no allowed word was found."""
    for _ in range(_TRIES):
        component, mass = draw_component(plan, block, random_share(state))
        own = buffer + 8 * at(plan, component + p.BUFFER)
        symbol = draw_symbol(plan, block, component, own, mass * random_share(state))
        w = draw_word(plan, component, symbol, random_share(state))
        if w >= len(allowed) or (w >= 0 and allowed[w]):
            return w
    return np.int64(-1)


@kernel
def draw_sharpened(plan, block, buffer, allowed, share, temperature, probs):
    """The word at which probabilities to the power 1 / temperature, added up, pass ``share`` of their sum; or -1."""
    spread_words(plan, block, buffer, probs)
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
    window, reach = at(block, p.IDS), at(plan, p.REACH)
    size = min(len(context), reach)
    if not take_context(plan, block, address_of(context) + 4 * (len(context) - size), size):
        return -1
    state = np.full(1, seed, np.uint64)
    for n in range(len(words)):
        know_context(plan, block)
        w = draw(plan, block, address_of(buffer), allowed, state) if temperature == 1.0 else np.int64(-1)
        if w < 0:
            w = draw_sharpened(plan, block, address_of(buffer), allowed, random_share(state), temperature, probs)
        if w < 0 or w == EOS:
            return n
        words[n] = w
        for i in range(reach - 1):
            poke32(window + 4 * i, peek32(window + 4 * (i + 1)))
        poke32(window + 4 * (reach - 1), w)
        poke64(block + 8 * p.BEFORE, p.FRESH)
        poke64(block + 8 * p.GIVEN, -1)
    return len(words)
