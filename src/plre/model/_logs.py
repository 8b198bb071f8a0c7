"""N-grams whose numbers are base 10 logarithms, as ARPA files have them.

    log10 P(w | h) = stored                                    if hw was seen
                   = backoff(h) + log10 P(w | h')              if h was seen; h' is h without its oldest word
                   = log10 P(w | h')                           otherwise

Numbers are added up in single precision from the shortest context up, as KenLM does, so that its answers come out.
Records are found as those of other n-grams are (``_ngrams.py``). A context that nothing depends on has
the weight -0.0, which is how it is told from one whose weight is 0.
"""

from __future__ import annotations

import math

import numpy as np

from plre._jit import c_kernel, kernel
from plre._memory import lowest_bit, peek32, peek64, peek_double, peek_float, poke64, poke_double
from plre.model import _plan as p
from plre.model._lookup import first_from, know_run, listed, run_of
from plre.model._lowrank import number_of
from plre.model._ngrams import BACKOFF, check_found, longest_found, order_table
from plre.model._plan import at, found_of, hashes_of, keys_of, places_of

#: The bits of -0.0.
NOTHING = 1 << 31
_LN10 = math.log(10)


@kernel
def probability(logarithm):
    """What has this base 10 logarithm."""
    return math.exp(np.float64(logarithm) * _LN10)


@kernel
def add_weights(block, contexts, mask):
    """Add the weight of the context before each column of a mask, in single precision."""
    logs = at(block, p.OWN)
    while mask != 0:
        column = 8 + 8 * lowest_bit(mask)
        mask &= mask - 1
        weight = peek_float(peek64(contexts + column - 8) + BACKOFF)
        poke_double(logs + column, np.float64(np.float32(np.float32(peek_double(logs + column)) + weight)))


@c_kernel(p.PROTOCOL)
def answer_logs(plan, component, block):
    """Put together what the n-grams found say of each position, and how many words matter after the last one."""
    space, order = at(block, p.SPACE) + at(plan, component + p.OFFSET), at(plan, component + p.LEVELS)
    check_found(plan, component, block, space)
    asked, columns = p.asked_from(block, 2), at(block, p.LAST) - at(block, p.FIRST)
    orders, own = at(block, p.ORDERS), at(block, p.OWN)
    for top in range(1 if orders != 0 else order, order + 1):
        longest_found(plan, component, block, space, top)
        for n in range(2, top + 1):
            shorter = asked & ~at(hashes_of(space, n - 2), 0) & (found_of(space, n - 3) << 1)
            add_weights(block, places_of(space, n - 3), shorter)
        for k in range(2, columns + 1):
            poke_double(own + 8 * k, probability(peek_double(own + 8 * k)))
            if orders != 0:
                poke_double(at(orders, top - 1) + 8 * (k - 1), peek_double(own + 8 * k))
    if at(block, p.NEEDED) >= 0:
        for n in range(1, order):
            places = places_of(space, n - 2)
            if found_of(space, n - 2) >> 1 & 1 and peek32(at(places, 2) + BACKOFF) != NOTHING:
                poke64(block + 8 * p.NEEDED, max(at(block, p.NEEDED), n))
    return 0


@kernel
def logs_above(space, n, top):
    """The sum of the weights of contexts longer than n words, as far as they were seen."""
    weight = np.float32(0)
    for k in range(n + 1, top + 1):
        weight += peek_float(at(places_of(space, k - 2), 1) + BACKOFF)
    return weight


@c_kernel(p.PROTOCOL)
def spread_logs(plan, component, block):
    """P(s | context) of the symbols LOW to HIGH, the context being that of a single question, to OUT."""
    order, low, high, out = at(plan, component + p.LEVELS), at(block, p.LOW), at(block, p.HIGH), at(block, p.OUT)
    space, unigrams = at(block, p.SPACE) + at(plan, component + p.OFFSET), at(plan, component + p.UNIGRAMS)
    rows = p.spare_row(space, at(plan, component + p.TABLE_COUNT), 0)
    top = 0
    while top < order - 1 and found_of(space, top - 1) & 1:
        top += 1
    weight = logs_above(space, 0, top)
    for s in range(low, high):
        poke_double(out + 8 * s, probability(peek_float(unigrams + 4 * s) + weight))
    for n in range(1, top + 1):
        table, context = order_table(plan, component, n + 1), at(places_of(space, n - 2), 1)
        weight, owner = logs_above(space, n, top), np.uint64(at(keys_of(space, n - 2), 1))
        first, stop = run_of(plan, table, number_of(plan, component, n, context))
        numbers, _ = know_run(plan, block, table, owner, first, stop, rows, 0)
        first, stop = first_from(plan, table, first, stop, low), first_from(plan, table, first, stop, high)
        for i in range(first, stop):
            s = listed(plan, table, i)
            if s >= low and s < high:
                poke_double(out + 8 * s, probability(peek_float(numbers + 4 * i) + weight))
    return 0
