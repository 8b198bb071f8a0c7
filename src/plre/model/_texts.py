"""Texts: the probability of every position, and sums over them: all together, by kind of word, and line by line."""

from __future__ import annotations

import math

import numpy as np
from numba import typeof, types

from plre._jit import direct, kernel
from plre._memory import address_of, peek32, peek64, peek_double, poke32, poke64
from plre.model import _plan as p
from plre.model._plan import at
from plre.model._questions import answer_components, find_positions, nothing_before
from plre.text._kernels import BATCH, BOS, EOS, NOTHING, UNK, look_up, split_words

#: Products of probabilities are turned into a logarithm before they get too small for a float.
SMALL = 1e-200


@kernel
def score_ids(plan, ids, work, probs, matched):
    """The probability of every position of a text, and the longest n-gram found; ``ids`` has REACH more before it."""
    block, reach, words = address_of(work), at(plan, p.REACH), at(plan, p.WORDS)
    poke64(block + 8 * p.IDS, address_of(ids))
    totals, longest = at(block, p.TOTAL), at(block, p.LONGEST)
    for start in range(reach, len(ids), p.BLOCK):
        stop = min(start + p.BLOCK, len(ids))
        find_positions(plan, block, start - 1, stop)
        answer_components(plan, block)
        for i in range(start, stop):
            k = i - start + 2
            begins = nothing_before(ids[i], words)  # never predicted
            probs[i - reach] = 1.0 if begins else peek_double(totals + 8 * k)
            matched[i - reach] = 0 if begins else peek64(longest + 8 * k)


@kernel
def score_orders(plan, ids, work, rows, orders):
    """The probability of every position as each order of a component of n-grams has it: row n - 1 is that of order n.

    ``rows`` has a row of COLUMNS numbers for each order, to work in.
    """
    block = address_of(work)
    poke64(block + 8 * p.IDS, address_of(ids))
    places = np.empty(len(rows), np.int64)
    for n in range(len(rows)):
        places[n] = address_of(rows) + 8 * p.COLUMNS * n
    poke64(block + 8 * p.ORDERS, address_of(places))
    first = at(plan, p.REACH)
    for start in range(first, len(ids), p.BLOCK):
        stop = min(start + p.BLOCK, len(ids))
        find_positions(plan, block, start - 1, stop)
        answer_components(plan, block)
        for n in range(len(rows)):
            for i in range(start, stop):
                orders[n, i - first] = rows[n, i - start + 1] if ids[i] != BOS else 1.0
    return places[0]  # which must live until here


@direct(types.int64, typeof(b""), types.boolean, types.boolean)
def score_line(plan, data, bos, eos):
    """log10 probability of one line without its newline; infinite if it holds ``<s>`` or ``</s>``."""
    block = at(plan, p.WORK)
    reach = at(plan, p.REACH)
    poke64(block + 8 * p.GIVEN, -1)
    poke64(block + 8 * p.KEPT, -1)
    poke64(block + 8 * p.NEEDED, -1)
    window = at(block, p.IDS)
    batch = (window + 4 * (reach + BATCH + 2) + 7) & -8
    for i in range(reach):
        poke32(window + 4 * i, at(plan, p.WORDS))
    if bos:
        poke32(window + 4 * (reach - 1), BOS)
    product = 1.0
    total = 0.0
    totals = at(block, p.TOTAL)
    place, end = address_of(data), address_of(data) + len(data)
    while True:
        words, place = split_words(place, end, BATCH, batch)
        after, bad = look_up(plan, end, batch, words, NOTHING, False, window + 4 * reach)
        if bad != 0:
            return np.inf
        last, done = (after - window) >> 2, place == end
        if done and eos:
            poke32(after, EOS)
            last += 1
        for start in range(reach, last, p.BLOCK):
            stop = min(start + p.BLOCK, last)
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
            poke32(window + 4 * i, peek32(window + 4 * (last - reach + i)))


# --- sums ------------------------------------------------------------------------------------------------------------


@kernel
def tally(ids, probs, matched, words, counts, sums, hits):
    """Add up positions: known words, unknown words, sentence ends; their log10 P; how many matched each order.

    ``<s>`` and what is not among the ``words`` are not counted. Logarithms are dear, so products are kept (one for each
    kind) until they get tiny. Written out for each kind: arrays of products make it slower.
    """
    known, unknown, end = 1.0, 1.0, 1.0
    for i in range(len(ids)):
        w = ids[i]
        prob = probs[i]
        if EOS < w < words:
            known *= prob
            if known < SMALL:
                sums[0] += math.log10(known)
                known = 1.0
            counts[0] += 1
        elif w == UNK:
            unknown *= prob
            if unknown < SMALL:
                sums[1] += math.log10(unknown)
                unknown = 1.0
            counts[1] += 1
        elif w == EOS:
            end *= prob
            if end < SMALL:
                sums[2] += math.log10(end)
                end = 1.0
            counts[2] += 1
        else:
            continue
        hits[min(max(matched[i], 1), len(hits)) - 1] += 1
    sums[0] += math.log10(known)
    sums[1] += math.log10(unknown)
    sums[2] += math.log10(end)


@kernel
def line_scores(ids, probs, eos, lines):
    """The log10 probability of each line, up to its ``</s>``, which belongs to it if ``eos`` says so.

    ``<s>`` has probability 1.
    """
    product, total = 1.0, 0.0
    line = 0
    for i in range(len(ids)):
        ends = ids[i] == EOS
        if eos or not ends:
            product *= probs[i]
            if product < SMALL:
                total += math.log10(product)
                product = 1.0
        if ends:
            lines[line] = total + math.log10(product)
            line += 1
            product, total = 1.0, 0.0
