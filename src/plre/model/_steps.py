"""Single questions: one word after a context, which is what decoders ask."""

from __future__ import annotations

import math

import numpy as np

from plre._jit import direct, kernel
from plre._memory import (
    address_of,
    call_address,
    number_and_bytes,
    peek32,
    peek64,
    peek_double,
    plain_bytes,
    plain_word,
    poke32,
    poke64,
)
from plre.errors import UsageError
from plre.model import _plan as p
from plre.model._lookup import find_single
from plre.model._plan import at
from plre.model._questions import answer_components, begin_block, component_at
from plre.text._kernels import BOS, UNK, find_id, hash_bytes

_LOG10_OF_2 = math.log10(2)


@kernel
def same_ids(one, other, count):
    """Whether so many ids at two addresses are the same."""
    for i in range(count):  # noqa: SIM110
        if peek32(one + 4 * i) != peek32(other + 4 * i):
            return False
    return True


@kernel
def take_context(plan, block, words, count):
    """Put a context of ``count`` ids at address ``words`` before the last place of a window; False if it is none.

    If it is the context that was last asked about, or follows from that, what was found is of use again.
    """
    window, reach = at(block, p.IDS), at(plan, p.REACH)
    if count < 0 or count > reach:
        return False
    before = p.FRESH
    finished = at(block, p.BEFORE) == p.SAME
    if finished and count == at(block, p.GIVEN) and same_ids(words, window + 4 * (reach - count), count):
        before = p.SAME
    elif count == at(block, p.KEPT) and same_ids(words, window + 4 * (reach + 1 - count), count):
        before = p.NEXT
    poke64(block + 8 * p.BEFORE, before)
    poke64(block + 8 * p.GIVEN, -1)
    poke64(block + 8 * p.KEPT, -1)
    for i in range(reach - count):
        poke32(window + 4 * i, at(plan, p.WORDS))
    for i in range(count):
        word = peek32(words + 4 * i)
        if word >= at(plan, p.WORDS):
            return False
        poke32(window + 4 * (reach - count + i), word)
    poke64(block + 8 * p.GIVEN, count)
    return True


@kernel
def ask_single(plan, block, word):
    """Let all components answer about one word after the context in a block's window."""
    reach = at(plan, p.REACH)
    poke32(at(block, p.IDS) + 4 * reach, word)
    begin_block(plan, block, reach - 1, reach + 1)
    poke64(block + 8 * p.CURRENT, p.AT_ONCE)
    for number in range(at(plan, p.COMPONENTS)):
        component = component_at(number)
        call_address(at(plan, component + p.SINGLE), plan, component, block)
    find_single(plan, at(block, p.SPACE), at(plan, p.OF_BOTH if at(block, p.BEFORE) == p.FRESH else p.OF_WORD))
    answer_components(plan, block)
    poke64(block + 8 * p.BEFORE, p.SAME)


@kernel
def step_window(plan, block, word):
    """P(word | context) for the context in a block's window, and how many words matter after it, that one included."""
    window, reach = at(block, p.IDS), at(plan, p.REACH)
    poke64(block + 8 * p.NEEDED, 0)
    ask_single(plan, block, word)
    needed = at(block, p.NEEDED)
    kept = np.int64(0)
    while kept < needed and peek32(window + 4 * (reach - kept)) != at(plan, p.WORDS):
        kept += 1
        if peek32(window + 4 * (reach - kept + 1)) == BOS:
            break
    poke64(block + 8 * p.KEPT, kept)
    return peek_double(at(block, p.TOTAL) + 16) if word != BOS else 0.0, kept


@kernel
def start_again(plan, work, context, size):
    """What components say of ``<s>`` after a context of ``size`` ids, which stand at the end of an array."""
    block = address_of(work)
    if not take_context(plan, block, address_of(context) + 4 * (len(context) - size), size):
        return 0.0
    ask_single(plan, block, BOS)
    return peek_double(at(block, p.TOTAL) + 16)


@kernel
def word_of(plan, data, size):
    """The id of the word whose letters are at an address; that of ``<unk>`` if it is not known."""
    if size <= 0:
        return np.int64(UNK)
    return max(find_id(plan, data, data + size, data + size, hash_bytes(data, data + size)), UNK)


@direct(plain_bytes, plain_bytes, plain_word)
def step(address, state, word):
    """log10 P(word | state) and the state after the word.

    The address of the plan is given as bytes, too, since those are passed fastest.
    """
    plan = peek64(address.data)
    block = at(plan, p.WORK)
    w = word_of(plan, word.data, word.size) if word.size >= 0 else word.data
    if word.size == -2 or w < 0 or w >= at(plan, p.WORDS):
        raise UsageError("a word is given as a string, or as its id in the vocabulary (an int below its size)")
    if state.size & 3 or not take_context(plan, block, state.data, state.size >> 2):
        raise UsageError("this is not a state of this model: those come from begin_state, null_state and advance")
    prob, kept = step_window(plan, block, w)
    after = at(block, p.IDS) + 4 * (at(plan, p.REACH) + 1 - kept)
    return number_and_bytes(math.log2(prob) * _LOG10_OF_2 if prob > 0 else -np.inf, after, 4 * kept)


@kernel
def step_many(plan, work, contexts, sizes, words, probs, matched, kept):
    """:func:`step` for many contexts (a row each, right-aligned) and words; one context may serve for all words."""
    block = address_of(work)
    for b in range(len(words)):
        c = b if len(contexts) > 1 else 0
        size = np.int64(sizes[c])
        start = address_of(contexts) + 4 * (c * contexts.shape[1] + contexts.shape[1] - size)
        if words[b] < 0 or words[b] >= at(plan, p.WORDS) or not take_context(plan, block, start, size):
            return b
        probs[b], kept[b] = step_window(plan, block, np.int64(words[b]))
        matched[b] = peek64(at(block, p.LONGEST) + 16)
    return -1
