"""Questions to a model: all its components are asked, and their answers are put together.

    P(w | h) = sum over components of  weight(h) * share(w) * P_component(symbol(w) | h)

What a component is does not matter here: its plan has the addresses of three functions (``ask``, ``answer`` and
``spread``), so that a model compiles those of its own kinds only. Text is asked about in blocks of 64 positions. First
every component says where in its tables it will look, so that the machine fetches all of that side by side; then each
answers. A single question is a block of two positions: the last word of the context, which has to be found, too, and
the word. Nothing else has to be known of what came before, so a context is nothing but words.

All memory that is worked in comes from the caller: a *work space*, of which ``plan.work_space`` knows the size.
"""

from __future__ import annotations

import math

import numpy as np
from numba import typeof, types

from plre._jit import direct, kernel
from plre._memory import (
    address_of,
    bytes_at,
    bytes_from,
    call_address,
    doubles_at,
    floats_at,
    hashes_at,
    ints_at,
    longs_at,
    peek32,
    peek64,
    peek_double,
    peek_float,
    plain_bytes,
    poke32,
    poke64,
    poke_double,
)
from plre.model._gates import left_over
from plre.model._plan import (
    ANSWER,
    ASK,
    AT_ONCE,
    BEFORE,
    BLOCK,
    BUFFER,
    COLUMNS,
    COMPONENT_WIDTH,
    COMPONENTS,
    CURRENT,
    FIRST,
    FRESH,
    GATES,
    GIVEN,
    HIGH,
    IDS,
    KEPT,
    LACKING,
    LAST,
    LETTER_COUNT,
    LETTERS,
    LINES,
    LONGEST,
    LOW,
    MAP,
    MATCHED,
    MEMBERS,
    MODEL_WIDTH,
    NEEDED,
    NEXT,
    OF_BOTH,
    OF_WORD,
    OFFSET,
    ORDERS,
    OUT,
    OWN,
    REACH,
    ROW,
    SAME,
    SHARES,
    SINGLE,
    SLOT_COUNT,
    SLOTS,
    SPACE,
    SPREAD,
    STAGE,
    STAGES,
    STARTS,
    SYMBOLS,
    TABLE_COUNT,
    TABLE_WIDTH,
    TABLES,
    TOTAL,
    WEIGHT,
    WORDS,
    WORK,
    at,
    hashes_of,
    lines_of,
    places_of,
    spare_row,
    todo_of,
)
from plre.model._tables import ask_lines, find_single, find_slots
from plre.text._kernels import BATCH, BOS, EOS, NOTHING, look_up, split_words

#: Products of probabilities are turned into a logarithm before they get too small for a float.
SMALL = 1e-200
#: The first words of the vocabulary among which a sample is looked for; each further range is four times as long.
_FIRST_RANGE = 512


@kernel
def component_at(number):
    """Where in a plan a component is described."""
    return MODEL_WIDTH + number * COMPONENT_WIDTH


@kernel
def last_weight(plan, block, component):
    """Where a component's weight at the last position is kept."""
    return spare_row(at(block, SPACE) + at(plan, component + OFFSET), at(plan, component + TABLE_COUNT), 4)


@kernel
def find_positions(plan, block, first, last):
    """Let all components find what they know of positions ``first`` to ``last`` of a text.

    That takes some stages, since what was found says what else is worth looking for.
    """
    poke64(block + 8 * FIRST, first)
    poke64(block + 8 * LAST, last)
    at_once = at(block, ORDERS) != 0
    for stage in range(1 if at_once else at(plan, STAGES)):
        poke64(block + 8 * CURRENT, AT_ONCE if at_once else stage)
        for number in range(at(plan, COMPONENTS)):
            component = component_at(number)
            call_address(at(plan, component + ASK), plan, component, block)
        for finding in range(2):
            for number in range(at(plan, COMPONENTS)):
                component = component_at(number)
                space = at(block, SPACE) + at(plan, component + OFFSET)
                for t in range(at(plan, component + TABLE_COUNT)):
                    table = at(plan, component + TABLES) + t * TABLE_WIDTH
                    if at(plan, table + LINES) == 0:  # compact n-grams have none
                        break
                    if not at_once and at(plan, table + STAGE) != stage:
                        continue
                    todo, hashes, lines = todo_of(space, t), hashes_of(space, t), lines_of(space, t)
                    if finding:
                        find_slots(plan, table, todo, hashes, lines, places_of(space, t))
                    else:
                        ask_lines(plan, table, hashes, lines, 1, peek64(todo) + 1)


@kernel
def weight_of(plan, leader, member, gate, lacking):
    """The weight of a leader (member 0) or of one of its members in a context with this row of the gates.

    A component that leads no others has the same weight in every context.
    """
    weight = peek_double(plan + 8 * (leader + WEIGHT))
    members = at(plan, leader + MEMBERS)
    if members == 0:
        return weight
    gates = at(plan, leader + GATES) + 4 * gate * (members + 1)
    keep = np.float64(peek_float(gates))
    if member == 0:
        return weight * keep
    return weight * left_over(keep, lacking) * np.float64(peek_float(gates + 4 * member))


@kernel
def answer_components(plan, block):
    """Let all components answer; TOTAL becomes the probability of each position, LONGEST the order matched."""
    totals, longest, own, matched = at(block, TOTAL), at(block, LONGEST), at(block, OWN), at(block, MATCHED)
    ids, first = at(block, IDS), at(block, FIRST)
    rows, lacking = at(block, ROW), at(block, LACKING)
    columns = at(block, LAST) - first + 1
    for k in range(1, columns):
        poke_double(totals + 8 * k, 0.0)
        poke64(longest + 8 * k, 0)
    weight = 0.0
    leader, member, members = np.int64(0), np.int64(0), np.int64(0)
    for number in range(at(plan, COMPONENTS)):
        component = component_at(number)
        call_address(at(plan, component + ANSWER), plan, component, block)
        if member < members:
            member += 1
        else:
            leader, member, members = component, np.int64(0), at(plan, component + MEMBERS)
            for k in range(1, columns):
                poke64(longest + 8 * k, max(peek64(longest + 8 * k), peek64(matched + 8 * k)))
        shares = at(plan, component + SHARES)
        for k in range(1, columns):
            p = peek_double(own + 8 * k)
            if shares != 0:
                p *= np.float64(peek_float(shares + 4 * peek32(ids + 4 * (first + k - 1))))
            weight = weight_of(plan, leader, member, peek64(rows + 8 * k), peek_double(lacking + 8 * k))
            poke_double(totals + 8 * k, peek_double(totals + 8 * k) + weight * p)
        poke_double(last_weight(plan, block, component), weight)


# --- texts -----------------------------------------------------------------------------------------------------------


@kernel
def score_positions(plan, block, first, last, probs, matched):
    """The probability of positions ``first`` to ``last`` of the block's ids, and the longest n-gram found there.

    Both are written to the entries from 0 on of ``probs`` and ``matched``.
    """
    ids, totals, longest = at(block, IDS), at(block, TOTAL), at(block, LONGEST)
    for start in range(first, last, BLOCK):
        stop = min(start + BLOCK, last)
        find_positions(plan, block, start - 1, stop)
        answer_components(plan, block)
        for i in range(start, stop):
            k = i - start + 2
            begins = peek32(ids + 4 * i) in (BOS, at(plan, WORDS))  # never predicted
            probs[i - first] = 1.0 if begins else peek_double(totals + 8 * k)
            matched[i - first] = 0 if begins else peek64(longest + 8 * k)


@kernel
def score_ids(plan, ids, work, probs, matched):
    """The probability of every position of a text, before which ``ids`` has REACH more."""
    block = address_of(work)
    poke64(block + 8 * IDS, address_of(ids))
    first = at(plan, REACH)
    score_positions(plan, block, first, len(ids), probs, matched)


@kernel
def score_orders(plan, ids, work, rows, orders):
    """The probability of every position as each order of a component of n-grams has it: row n - 1 is that of order n.

    ``rows`` has a row of COLUMNS numbers for each order, to work in.
    """
    block = address_of(work)
    poke64(block + 8 * IDS, address_of(ids))
    places = np.empty(len(rows), np.int64)
    for n in range(len(rows)):
        places[n] = address_of(rows) + 8 * COLUMNS * n
    poke64(block + 8 * ORDERS, address_of(places))
    first = at(plan, REACH)
    for start in range(first, len(ids), BLOCK):
        stop = min(start + BLOCK, len(ids))
        find_positions(plan, block, start - 1, stop)
        answer_components(plan, block)
        for n in range(len(rows)):
            for i in range(start, stop):
                orders[n, i - first] = rows[n, i - start + 1] if ids[i] != BOS else 1.0
    return places[0]  # which must live until here


@direct(types.int64, typeof(b""), types.boolean, types.boolean)
def score_line(plan, data, bos, eos):
    """log10 probability of one line without its newline; infinite if it holds ``<s>`` or ``</s>``."""
    block = at(plan, WORK)
    reach = at(plan, REACH)
    poke64(block + 8 * GIVEN, -1)
    poke64(block + 8 * KEPT, -1)
    poke64(block + 8 * NEEDED, -1)
    window = at(block, IDS)
    ids = ints_at(window, reach + BATCH + 1)
    space = window + 4 * (reach + BATCH + 2)
    begins, ends, hashes = (
        longs_at(space, BATCH),
        longs_at(space + 8 * BATCH, BATCH),
        hashes_at(space + 16 * BATCH, BATCH),
    )
    slots, starts = ints_at(at(plan, SLOTS), at(plan, SLOT_COUNT)), ints_at(at(plan, STARTS), at(plan, WORDS) + 1)
    letters = bytes_at(at(plan, LETTERS), at(plan, LETTER_COUNT))
    for i in range(reach):
        ids[i] = at(plan, WORDS)
    if bos:
        ids[reach - 1] = BOS
    product = 1.0
    total = 0.0
    totals = at(block, TOTAL)
    place = np.int64(0)
    while True:
        words, place = split_words(data, place, BATCH, begins, ends, hashes)
        last, bad = look_up(slots, starts, letters, data, begins, ends, hashes, words, NOTHING, False, ids, reach)
        if bad >= 0:
            return np.inf
        done = place == len(data)
        if done and eos:
            ids[last] = EOS
            last += 1
        for start in range(reach, last, BLOCK):
            stop = min(start + BLOCK, last)
            find_positions(plan, block, start - 1, stop)
            answer_components(plan, block)
            for k in range(2, stop - start + 2):
                product *= peek_double(totals + 8 * k)
                if product < SMALL:
                    total += math.log10(product)
                    product = 1.0
        if done:
            return total + math.log10(product)
        for i in range(reach):
            ids[i] = ids[last - reach + i]


# --- single words ----------------------------------------------------------------------------------------------------


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
    window, reach = at(block, IDS), at(plan, REACH)
    if count < 0 or count > reach:
        return False
    before = FRESH
    if count == at(block, GIVEN) and same_ids(words, window + 4 * (reach - count), count):
        before = SAME
    elif count == at(block, KEPT) and same_ids(words, window + 4 * (reach + 1 - count), count):
        before = NEXT
    poke64(block + 8 * BEFORE, before)
    poke64(block + 8 * GIVEN, -1)
    poke64(block + 8 * KEPT, -1)
    for i in range(reach - count):
        poke32(window + 4 * i, at(plan, WORDS))
    for i in range(count):
        word = peek32(words + 4 * i)
        if word >= at(plan, WORDS):
            return False
        poke32(window + 4 * (reach - count + i), word)
    poke64(block + 8 * GIVEN, count)
    return True


@kernel
def ask_single(plan, block, word):
    """Let all components answer about one word after the context in a block's window."""
    reach = at(plan, REACH)
    poke32(at(block, IDS) + 4 * reach, word)
    poke64(block + 8 * FIRST, reach - 1)
    poke64(block + 8 * LAST, reach + 1)
    for number in range(at(plan, COMPONENTS)):
        component = component_at(number)
        call_address(at(plan, component + SINGLE), plan, component, block)
    find_single(plan, at(block, SPACE), at(plan, OF_BOTH if at(block, BEFORE) == FRESH else OF_WORD))
    answer_components(plan, block)
    poke64(block + 8 * BEFORE, SAME)


@kernel
def step_window(plan, block, word):
    """P(word | context) for the context in a block's window, and how many words matter after it, that one included."""
    window, reach = at(block, IDS), at(plan, REACH)
    poke64(block + 8 * NEEDED, 0)
    ask_single(plan, block, word)
    needed = at(block, NEEDED)
    kept = np.int64(0)
    while kept < needed and peek32(window + 4 * (reach - kept)) != at(plan, WORDS):
        kept += 1
        if peek32(window + 4 * (reach - kept + 1)) == BOS:
            break
    poke64(block + 8 * KEPT, kept)
    return peek_double(at(block, TOTAL) + 16) if word != BOS else 0.0, kept


@direct(types.int64, plain_bytes, types.int64)
def step(plan, state, word):
    """log10 P(word | state) and the state after the word. What is no state, or no word, is a ValueError."""
    block = at(plan, WORK)
    if state.size & 3 or word < 0 or word >= at(plan, WORDS):
        raise ValueError
    if not take_context(plan, block, state.data, state.size >> 2):
        raise ValueError
    p, kept = step_window(plan, block, word)
    after = at(block, IDS) + 4 * (at(plan, REACH) + 1 - kept)
    return math.log10(p) if p > 0 else -np.inf, bytes_from(after, 4 * kept)


@kernel
def step_many(plan, work, contexts, sizes, words, probs, matched, kept):
    """:func:`step` for many contexts (a row each, right-aligned) and words; one context may serve for all words."""
    block = address_of(work)
    for b in range(len(words)):
        c = b if len(contexts) > 1 else 0
        size = np.int64(sizes[c])
        start = address_of(contexts) + 4 * (c * contexts.shape[1] + contexts.shape[1] - size)
        if not take_context(plan, block, start, size) or words[b] < 0 or words[b] >= at(plan, WORDS):
            return b
        probs[b], kept[b] = step_window(plan, block, np.int64(words[b]))
        matched[b] = peek64(at(block, LONGEST) + 16)
    return -1


# --- the whole vocabulary --------------------------------------------------------------------------------------------


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
def add_over_symbols(own, table, symbols, shares, weight, low, high, out):
    """Add a distribution over symbols, of which each word has its share; a symbol that there is not has none."""
    size = high - low
    probs, made = doubles_at(own, symbols + 1), out[low:high]
    symbol, share = ints_at(table + 4 * low, size), floats_at(shares + 4 * low, size)
    for i in range(size):
        made[i] += weight * probs[min(np.uint32(symbol[i]), np.uint32(symbols))] * np.float64(share[i])


@kernel
def spread_range(plan, block, buffer, low, high, out):
    """P(w | context) for the words ``low`` to ``high``, once :func:`know_context` was called; 0 for ``<s>``.

    Components with symbols of their own spread over those when ``low`` is 0, and keep that for further ranges.
    """
    for w in range(low, high):
        out[w] = 0.0
    for number in range(at(plan, COMPONENTS)):
        component = component_at(number)
        table, shares, symbols = at(plan, component + MAP), at(plan, component + SHARES), at(plan, component + SYMBOLS)
        own = buffer + 8 * at(plan, component + BUFFER)
        poke64(block + 8 * LOW, low if table == 0 else 0)
        poke64(block + 8 * HIGH, high if table == 0 else symbols)
        poke64(block + 8 * OUT, own)
        if table == 0 or low == 0:
            call_address(at(plan, component + SPREAD), plan, component, block)
        weight = peek_double(last_weight(plan, block, component))
        if table == 0:
            add_over_words(own, shares, weight, low, high, out)
        else:
            poke_double(own + 8 * symbols, 0.0)
            add_over_symbols(own, table, symbols, shares, weight, low, high, out)
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
