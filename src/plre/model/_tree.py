"""P(w | context) from a tree of contexts.

A context is found slot by slot, each node among the children of the one before; the node of the longest chain that was
seen speaks first:

    P(w | node) = stored                          if w was seen there
                = backoff(node) P(w | parent)     otherwise; at the root, the unigram

Both nodes among their siblings and words among the events of a node are found by an index, as n-grams are
(``_finding.py``). Nothing is read beyond a sentence's start, where all words are ``<s>``, nor beyond ``</s>``, where
all are ``</s>``: that is never a context, so it is how "not known" is said.
"""

from __future__ import annotations

import math

import numpy as np
from numba import types

from plre._jit import direct, kernel
from plre._memory import as_float, bytes_at, get, load32, match_line, prefetch, put
from plre.model._bytes import entry
from plre.model._finding import gram_of, hash_gram, line_of, next_line, tag_of
from plre.model.layout import FIRST_PART, LINE
from plre.text._kernels import BOS, EOS

#: A tree's directory begins as that of a mixture without parts (``layout.py``), then has: how many slots there are, the
#: farthest word they look at, how many states there are, and where the unigrams are ...
SLOT_COUNT, REACH, STATES, UNIGRAMS = range(FIRST_PART, FIRST_PART + 4)
#: ... the tables of the root, whose only node it is, and of each slot: the number of its map and where that is (-1:
#: words are symbols), how far back it looks, and its nodes and events, both as tables ...
LEVELS = FIRST_PART + 4
MAP_NUMBER, MAP, DISTANCE, NODES, EVENTS = 0, 1, 2, 3, 8
LEVEL_WIDTH = 13
#: ... a table being: where its records are, how many, where their index is, its lines, the bits of a number in it ...
RECORDS, SIZE, INDEX, LINES, BITS = range(5)
#: ... and for each distance up to one more than the reach: how many slots count if the sentence starts there, and how a
#: state knows the word there: by the map at which place, of how many symbols, and those of ``<s>`` and ``</s>``.
DEPTH, STATE_MAP, RADIX, START, END = range(5)
DISTANCE_WIDTH = 5

#: Records of nodes: symbol, backoff, where children start, where events start. Of events: word, probability.
NODE_BYTES = 16
EVENT_BYTES = 8
VALUE, CHILDREN_AT, EVENTS_AT = 4, 8, 12

#: Positions that are looked up together.
_BLOCK = 256
#: A full line of an index without what was looked for: it may be in the next.
_UNKNOWN = -2


@kernel
def level_at(level, name):
    """Where in the directory an entry about a level is; level 0 is the root."""
    return LEVELS + level * LEVEL_WIDTH + name


@kernel
def about(mem, distance, name):
    """An entry of the directory about a distance, from 1 to one more than the reach."""
    start = LEVELS + (entry(mem, 1, SLOT_COUNT) + 1) * LEVEL_WIDTH
    return entry(mem, 1, start + (distance - 1) * DISTANCE_WIDTH + name)


@kernel
def through(mem, place, w):
    """The symbol of a word by the map at this place."""
    return np.int64(load32(mem, place + 4 * w)) if place >= 0 else np.int64(w)


@kernel
def number(mem, place):
    """The float at a place."""
    return np.float64(as_float(load32(mem, place)))


@kernel
def node_place(mem, level, node):
    """Where the record of a node is."""
    return entry(mem, 1, level_at(level, NODES) + RECORDS) + NODE_BYTES * node


@kernel
def find_one(mem, slots, table, size, owner, start_at, x, symbol):
    """The record with hash ``x`` and this symbol among those of an owner, or -1.

    ``table`` is where the directory describes the records, ``size`` their bytes; the owner is a node, whose record is
    at ``owner`` and says at ``start_at`` where its own begin.
    """
    low = np.int64(load32(mem, owner + start_at))
    high = np.int64(load32(mem, owner + NODE_BYTES + start_at))
    if low == high:
        return np.int64(-1)
    records, lines, bits = entry(mem, 1, table + RECORDS), entry(mem, 1, table + LINES), entry(mem, 1, table + BITS)
    tag = tag_of(x, bits)
    line = line_of(x, lines)
    while True:
        start = (entry(mem, 1, table + INDEX) >> 2) + LINE * line
        if match_line(slots, start, tag, bits) != 0:
            for j in range(start, start + LINE):
                slot = get(slots, j)
                found = gram_of(slot, bits)
                if (
                    slot >> np.uint32(bits) == tag
                    and low <= found < high
                    and load32(mem, records + found * size) == symbol
                ):
                    return found
        if get(slots, start + LINE - 1) == 0:
            return np.int64(-1)
        line = next_line(line, lines)


@kernel
def find_all(mem, table, size, owners, start_at, parents, symbols, found, work):
    """The same for many pairs of a parent and a symbol: ask for lines; for the records they name; look at those.

    ``owners`` is where the records of parents begin. ``work`` has room for two numbers for each pair.
    """
    slots = mem.view(np.uint32)
    records, index = entry(mem, 1, table + RECORDS), entry(mem, 1, table + INDEX)
    lines, bits = entry(mem, 1, table + LINES), entry(mem, 1, table + BITS)
    count = len(parents)
    hashes, starts = work[:count], work[count : 2 * count]
    for k in range(count):
        x = hash_gram(get(parents, k), get(symbols, k))
        start = index + 4 * LINE * line_of(x, lines)
        prefetch(mem, start)
        put(hashes, k, np.int64(x))
        put(starts, k, start >> 2)
    for k in range(count):
        start = get(starts, k)
        guess = gram_of(match_line(slots, start, tag_of(np.uint64(get(hashes, k)), bits), bits), bits)
        prefetch(mem, records + max(guess, 0) * size)
        put(found, k, _UNKNOWN if (guess < 0) & (get(slots, start + LINE - 1) != 0) else guess)
    for k in range(count):
        guess = get(found, k)
        if guess == -1:
            continue
        owner = owners + get(parents, k) * NODE_BYTES
        symbol = get(symbols, k)
        good = guess >= load32(mem, owner + start_at) and guess < load32(mem, owner + NODE_BYTES + start_at)
        if not (good and load32(mem, records + guess * size) == symbol):
            put(found, k, find_one(mem, slots, table, size, owner, start_at, np.uint64(get(hashes, k)), symbol))


@kernel
def find_nodes(mem, ids, first, last, nodes, work):
    """``nodes[j, i - first]`` becomes the node of level j before position i, or -1, for a block of positions.

    The root is not written; ``<s>`` is never predicted and has none.
    """
    reach = entry(mem, 1, REACH)
    size = last - first
    back, depth, todo, parents = (
        work[:size],
        work[size : 2 * size],
        work[2 * size : 3 * size],
        work[3 * size : 4 * size],
    )
    symbols, found, rest = work[4 * size : 5 * size], work[5 * size : 6 * size], work[6 * size :]
    start = max(first - reach, 0) - 1
    for i in range(start + 1, last):
        if i >= first:
            back[i - first] = i - start
            begun = start < 0 or ids[start] == BOS
            depth[i - first] = about(mem, min(i - start, reach + 1) if begun else reach + 1, DEPTH)
            if ids[i] == BOS:
                depth[i - first] = 0
        if ids[i] == BOS or ids[i] == EOS:
            start = i
    for level in range(1, entry(mem, 1, SLOT_COUNT) + 1):
        table, distance = entry(mem, 1, level_at(level, MAP)), entry(mem, 1, level_at(level, DISTANCE))
        left = np.int64(0)
        for k in range(size):
            nodes[level, k] = -1
            parent = np.int64(nodes[level - 1, k]) if level > 1 else np.int64(0)
            at = first + k - min(distance, back[k])
            put(todo, left, k)
            put(parents, left, parent)
            put(symbols, left, through(mem, table, np.int64(get(ids, at)) if at >= 0 else np.int64(BOS)))
            left += np.int64((parent >= 0) & (depth[k] >= level))
        find_all(mem, level_at(level, NODES), NODE_BYTES, node_place(mem, level - 1, 0), CHILDREN_AT,
                 parents[:left], symbols[:left], found, rest)  # fmt: skip
        for k in range(left):
            nodes[level, get(todo, k)] = get(found, k)


@kernel
def score_tree(mem, ids, first, last, probs):
    """P(w | what is before it) of positions ``first`` to ``last``; 1 for ``<s>``.

    As many positions before ``first`` as the chain reaches back are looked at; before the first of all is ``<s>``.
    """
    slots = entry(mem, 1, SLOT_COUNT)
    room = min(_BLOCK, last - first)
    nodes = np.empty((slots + 1, room), np.int32)
    work = np.empty(8 * room, np.int64)
    for begin in range(first, last, _BLOCK):
        end = min(begin + _BLOCK, last)
        find_nodes(mem, ids, begin, end, nodes, work)
        combine_levels(mem, ids, begin, end, nodes, work, probs)


@kernel
def combine_levels(mem, ids, first, last, nodes, work, probs):
    """The probabilities of a block whose nodes are known: from the finest level down, until the word is found."""
    size = last - first
    open_places, todo, parents = work[:size], work[size : 2 * size], work[2 * size : 3 * size]
    symbols, found, rest = work[3 * size : 4 * size], work[4 * size : 5 * size], work[5 * size :]
    unigrams = entry(mem, 1, UNIGRAMS)
    for k in range(size):
        probs[first + k] = 1.0
        prefetch(mem, unigrams + 4 * np.int64(ids[first + k]))
        open_places[k] = k
    waiting = np.int64(size)
    for level in range(entry(mem, 1, SLOT_COUNT), 0, -1):
        left = np.int64(0)
        kept = np.int64(0)
        for n in range(waiting):
            k = open_places[n]
            node = np.int64(nodes[level, k])
            put(todo, left, k)
            put(parents, left, node)
            put(symbols, left, np.int64(ids[first + k]))
            left += np.int64(node >= 0)
            put(open_places, kept, k)
            kept += np.int64(node < 0)
        find_all(mem, level_at(level, EVENTS), EVENT_BYTES, node_place(mem, level, 0), EVENTS_AT,
                 parents[:left], symbols[:left], found, rest)  # fmt: skip
        events = entry(mem, 1, level_at(level, EVENTS) + RECORDS) + VALUE
        weights = node_place(mem, level, 0) + VALUE
        for n in range(left):
            k, event = get(todo, n), get(found, n)
            seen = event >= 0
            probs[first + k] *= number(
                mem, events + EVENT_BYTES * event if seen else weights + NODE_BYTES * get(parents, n)
            )
            put(open_places, kept, k)
            kept += np.int64(not seen)
        waiting = kept
    for n in range(waiting):
        w = np.int64(ids[first + open_places[n]])
        if w != BOS:
            probs[first + open_places[n]] *= number(mem, unigrams + 4 * w)


@kernel
def spread_tree(mem, ids, probs):
    """P(w | context) for all words at once, the context being ``ids``."""
    after = np.empty(len(ids) + 1, np.int32)
    after[: len(ids)] = ids
    after[len(ids)] = EOS  # any word but <s>
    slots = entry(mem, 1, SLOT_COUNT)
    nodes = np.empty((slots + 1, 1), np.int32)
    find_nodes(mem, after, len(ids), len(ids) + 1, nodes, np.empty(8, np.int64))
    for w in range(len(probs)):
        probs[w] = number(mem, entry(mem, 1, UNIGRAMS) + 4 * w)
    for level in range(1, slots + 1):
        if nodes[level, 0] < 0:
            break
        place = node_place(mem, level, np.int64(nodes[level, 0]))
        backoff = number(mem, place + VALUE)
        for w in range(len(probs)):
            probs[w] *= backoff
        events = entry(mem, 1, level_at(level, EVENTS) + RECORDS)
        for e in range(load32(mem, place + EVENTS_AT), load32(mem, place + NODE_BYTES + EVENTS_AT)):
            probs[load32(mem, events + EVENT_BYTES * e)] = number(mem, events + EVENT_BYTES * e + VALUE)


@kernel
def digit_of(mem, distance, symbol):
    """What a state holds for a symbol at a distance: 0 stands for ``</s>``, so that the state 0 knows nothing."""
    digit = symbol - about(mem, distance, END)
    return digit + about(mem, distance, RADIX) if digit < 0 else digit


@kernel
def symbol_in(mem, distance, state):
    """The symbol in the lowest digit of a state."""
    radix = about(mem, distance, RADIX)
    symbol = state % radix + about(mem, distance, END)
    return symbol - radix if symbol >= radix else symbol


@kernel
def known_at(mem, distance, symbols, table):
    """The symbol, by the map at ``table``, of the word that a state knows at a distance: by that map, or by itself."""
    return symbols[distance] if about(mem, distance, STATE_MAP) == table else through(mem, table, symbols[distance])


@kernel
def advance_tree(mem, state, w):
    """P(w | state) and the state after w; a state is the symbols of the last words, as far as the slots need them."""
    slots, reach = entry(mem, 1, SLOT_COUNT), entry(mem, 1, REACH)
    symbols = np.empty(reach + 1, np.int64)
    rest = state
    back = reach + 1
    for distance in range(1, reach + 1):
        symbols[distance] = symbol_in(mem, distance, rest)
        rest //= about(mem, distance, RADIX)
        if symbols[distance] == about(mem, distance, START):
            back = min(back, distance)
    view = mem.view(np.uint32)
    depth = about(mem, back, DEPTH)
    nodes = np.empty(slots + 1, np.int64)
    nodes[0] = 0
    level = 0
    while level < depth:
        distance = entry(mem, 1, level_at(level + 1, DISTANCE))
        symbol = known_at(mem, distance, symbols, entry(mem, 1, level_at(level + 1, MAP)))
        x = hash_gram(nodes[level], symbol)
        owner = node_place(mem, level, nodes[level])
        node = find_one(mem, view, level_at(level + 1, NODES), NODE_BYTES, owner, CHILDREN_AT, x, symbol)
        if node < 0:
            break
        level += 1
        nodes[level] = node
        table = level_at(level, EVENTS)
        line = line_of(hash_gram(node, w), entry(mem, 1, table + LINES))
        prefetch(mem, entry(mem, 1, table + INDEX) + 4 * LINE * line)
    p = 1.0
    while level > 0:
        owner = node_place(mem, level, nodes[level])
        table = level_at(level, EVENTS)
        event = find_one(mem, view, table, EVENT_BYTES, owner, EVENTS_AT, hash_gram(nodes[level], w), w)
        if event >= 0:
            p *= number(mem, entry(mem, 1, table + RECORDS) + EVENT_BYTES * event + VALUE)
            break
        p *= number(mem, owner + VALUE)
        level -= 1
    if level == 0:
        p *= number(mem, entry(mem, 1, UNIGRAMS) + 4 * w)
    after = np.int64(0)
    for distance in range(reach, 0, -1):
        table = about(mem, distance, STATE_MAP)
        symbol = through(mem, table, w)
        if distance > 1 and w != BOS and w != EOS:
            symbol = known_at(mem, distance - 1, symbols, table)
        after = after * about(mem, distance, RADIX) + digit_of(mem, distance, symbol)
    return p, after


@direct(types.int64, types.int64, types.int64, types.int64)
def step(address, size, state, w):
    """log10 P(w | state) and the state after w. A number that is no state is a ValueError."""
    mem = bytes_at(address, size)
    if state < 0 or state >= entry(mem, 1, STATES):
        raise ValueError
    p, after = advance_tree(mem, state, w)
    return math.log10(p) if w != BOS and p > 0 else -np.inf, after
