"""Windows of text as numbers: packing them, putting them in order, and counting those that are equal.

A window of ``order`` symbols takes so many ``bits`` for each, as many as fit side by side into a number of 64 bits, and
the rest in further ones. So windows are columns of such numbers, a row for each, and sorting numbers sorts windows.
"""

from __future__ import annotations

import numpy as np

from plre._jit import kernel


@kernel
def pack_windows(ids, count, bits, widths, pad, start_of_sentence, columns):
    """Pack the windows that begin at the first ``count`` positions; what follows these is there for their sake.

    A window ends before the next sentence starts, or with the text; what it lacks is ``pad``, which is more than any
    symbol. One of a single word is left out. ``widths`` are the bits of each column. Windows fill the columns from
    their end, each made of the next one; returns where the first is.
    """
    mask = (np.uint64(1) << np.uint64(bits)) - np.uint64(1)
    own, nothing = np.empty(len(widths), np.uint64), np.zeros(len(widths), np.uint64)
    for column in range(len(widths)):
        for _ in range(0, widths[column], bits):
            nothing[column] = (nothing[column] << np.uint64(bits)) | np.uint64(pad)
        own[column] = nothing[column]
    at = columns.shape[1]
    for i in range(len(ids) - 1, -1, -1):
        alone = i + 1 == len(ids) or ids[i + 1] == start_of_sentence
        symbol = np.uint64(ids[i])
        for column in range(len(widths)):
            before = nothing[column] if alone else own[column]
            own[column] = (symbol << np.uint64(widths[column] - bits)) | (before >> np.uint64(bits))
            symbol = before & mask
        if i < count and not alone:
            at -= 1
            for column in range(len(widths)):
                columns[column, at] = own[column]
    return at


@kernel
def index_first(columns, drop, index_bits, keys):
    """The first number of each window without its lowest ``drop`` bits, and the window's place."""
    for i in range(len(keys)):
        keys[i] = (columns[0, i] >> np.uint64(drop)) << np.uint64(index_bits) | np.uint64(i)


@kernel
def put_in_order(columns, keys, index_bits, out):
    """Windows in the order of sorted keys that end with their places."""
    mask = (np.int64(1) << index_bits) - 1
    for column in range(columns.shape[0]):
        for i in range(len(keys)):
            out[column, i] = columns[column, np.int64(keys[i]) & mask]


@kernel
def narrow(columns, least, widths, keys):
    """Windows as one number each, where ``least``, taken from the first one of each, leaves enough room."""
    for i in range(len(keys)):
        key = columns[0, i] - least
        for column in range(1, len(widths)):
            key = (key << np.uint64(widths[column])) | columns[column, i]
        keys[i] = key


@kernel
def widen(keys, least, widths, columns):
    """Windows in columns again."""
    for i in range(len(keys)):
        key = keys[i]
        for column in range(len(widths) - 1, 0, -1):
            columns[column, i] = key & ((np.uint64(1) << np.uint64(widths[column])) - np.uint64(1))
            key >>= np.uint64(widths[column])
        columns[0, i] = key + least


@kernel
def count_equal(keys, distinct, counts):
    """Distinct numbers of a sorted list, and how often each occurs; returns how many there are."""
    n = 0
    for i in range(len(keys)):
        if i == 0 or keys[i] != keys[i - 1]:
            distinct[n] = keys[i]
            counts[n] = 0
            n += 1
        counts[n - 1] += 1
    return n


@kernel
def symbol_at(columns, i, k, places):
    """Symbol k of window i; ``places`` says in which column each is, above how many bits, and how many it has."""
    mask = (np.int64(1) << places[2, k]) - 1
    return np.int64(columns[places[0, k], i] >> np.uint64(places[1, k])) & mask


@kernel
def put_symbols(symbols, k, places, columns):
    """Put symbol k of each window into its column, whose bits there are 0."""
    for i in range(len(symbols)):
        columns[places[0, k], i] |= np.uint64(symbols[i]) << np.uint64(places[1, k])


@kernel
def rank_keys(columns, ranks, first, last, places, least, index_bits, keys):
    """A number for each window that sorts as its rank and its symbols from ``first`` to ``last`` do, with its place."""
    for i in range(len(keys)):
        key = np.uint64(ranks[i])
        for k in range(first, last):
            symbol = symbol_at(columns, i, k, places) - (least if k == 0 else 0)
            key = (key << np.uint64(places[2, k])) | np.uint64(symbol)
        keys[i] = (key << np.uint64(index_bits)) | np.uint64(i)


@kernel
def rank_places(keys, index_bits, ranks):
    """The rank of each place among different sorted keys; returns how many there are."""
    n = -1
    before = np.uint64(0)
    mask = (np.int64(1) << index_bits) - 1
    for i in range(len(keys)):
        key = keys[i] >> np.uint64(index_bits)
        n += n < 0 or key != before
        before = key
        ranks[np.int64(keys[i]) & mask] = n
    return n + 1


@kernel
def count_ranked(columns, keys, index_bits, distinct, counts):
    """The windows of different sorted keys, and how often each occurs; returns how many there are."""
    n = 0
    before = np.uint64(0)
    mask = (np.int64(1) << index_bits) - 1
    for i in range(len(keys)):
        key = keys[i] >> np.uint64(index_bits)
        if n == 0 or key != before:
            before = key
            for column in range(columns.shape[0]):
                distinct[column, n] = columns[column, np.int64(keys[i]) & mask]
            counts[n] = 0
            n += 1
        counts[n - 1] += 1
    return n


@kernel
def add_tables(columns, counts, places, pad, before, words, raw, starts, firsts, sizes, carried):
    """The n-grams of all orders from 2 up that different sorted windows begin with, after those of the bucket before.

    ``before`` is the last window of that bucket, or empty: n-grams that it begins with are known already, and
    ``carried`` says how often each of them occurs once more. Row n - 2 of ``words``, ``raw`` and ``starts`` has the
    last word of each new n-gram, how often it occurs, and where the n-grams of which it is the context start among the
    new ones; ``firsts`` the first words of bigrams. ``sizes`` says how many there are of each order.
    """
    order = places.shape[1]
    own, last = np.empty(order, np.int64), np.full(order, -1, np.int64)
    if before.shape[1] > 0:
        for k in range(order):
            last[k] = symbol_at(before, 0, k, places)
    sizes[:] = 0
    carried[:] = 0
    for i in range(len(counts)):
        same = 0
        for k in range(order):
            own[k] = symbol_at(columns, i, k, places)
            same += same == k and own[k] == last[k]
        for n in range(2, order + 1):
            if own[n - 1] == pad:
                break
            if same < n:
                at = sizes[n - 2]
                sizes[n - 2] += 1
                words[n - 2, at] = own[n - 1]
                raw[n - 2, at] = counts[i]
                if n < order:
                    starts[n - 2, at] = sizes[n - 1]
                if n == 2:
                    firsts[at] = own[0]
            elif sizes[n - 2] > 0:
                raw[n - 2, sizes[n - 2] - 1] += counts[i]
            else:
                carried[n - 2] += counts[i]
        for k in range(order):
            last[k] = own[k]


@kernel
def add_contexts(columns, counts, places, before, symbols, starts, words, raw, sizes):
    """The contexts of all levels that different sorted windows have, after those of the bucket before, and the events.

    A window is a context, a symbol for each level, and a word; each is an event of the finest level. ``before`` is the
    last window of that bucket, or empty. Row k of ``symbols`` and ``starts`` has the symbol of each new context of
    level k + 1, and where what it holds starts among what is new: contexts one level finer, or events. ``sizes`` says
    how many contexts there are of each level.
    """
    levels = places.shape[1] - 1
    own, last = np.empty(levels, np.int64), np.full(levels, -1, np.int64)
    if before.shape[1] > 0:
        for k in range(levels):
            last[k] = symbol_at(before, 0, k, places)
    sizes[:] = 0
    for i in range(len(counts)):
        new = False
        for k in range(levels):
            own[k] = symbol_at(columns, i, k, places)
            new |= own[k] != last[k]
            if new:
                at = sizes[k]
                symbols[k, at] = own[k]
                starts[k, at] = sizes[k + 1] if k + 1 < levels else i
                sizes[k] += 1
        words[i] = symbol_at(columns, i, levels, places)
        raw[i] = counts[i]
        for k in range(levels):
            last[k] = own[k]
