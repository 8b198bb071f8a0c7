"""Component of n-grams with numbers of one or two bytes: small, without hash tables.

The n-grams of an order are records in the order of their contexts, [symbol, probability, backoff, missing mass, start],
where ``start`` says where the longer n-grams of a context begin; they end where the next record's begin. An n-gram is
found among those of its context by bisection, so the n-grams of all shorter lengths have to be found first. A record
is known by its number from 1 on; 0 is none. What the numbers mean is said in ``_ngrams.py``.
"""

from __future__ import annotations

import numpy as np

from plre._jit import c_kernel, kernel
from plre._memory import as_float, peek32, peek64, peek_double, peek_float, poke64, poke_double
from plre.model import _plan as p
from plre.model._gates import gate_bucket
from plre.model._plan import at, bits_at, spare_row, symbol_of
from plre.text._kernels import BOS


@kernel
def compact_table(plan, component, n):
    """Where the plan describes the records of order n."""
    return at(plan, component + p.TABLES) + (n - 2) * p.TABLE_WIDTH


@kernel
def decoded(code, base, step):
    """The number that a code stands for."""
    return np.float64(as_float(np.int32(base + code * step))) if code != 0 else 0.0


@kernel
def field(plan, table, record, offset, size):
    """A field of a record."""
    return bits_at(at(plan, table + p.LIST), at(plan, table + p.STRIDE) * (record - 1) + offset, size)


@kernel
def number_in(plan, table, record, which):
    """The probability (0), backoff (1) or missing mass (2) of a record."""
    size = at(plan, table + p.NUMBER_BITS)
    code = field(plan, table, record, at(plan, table + p.SYMBOL_BITS) + which * size, size)
    first = table + (p.PROB_BASE if which == 0 else p.WEIGHT_BASE)
    return decoded(code, at(plan, first), at(plan, first + 1))


@kernel
def weight_in(plan, component, n, record, which):
    """The backoff (1) or missing mass (2) of a context of n words."""
    if n == 1:
        return np.float64(peek_float(at(plan, component + p.WEIGHTS) + 8 * (record - 1) + 4 * (which - 1)))
    return number_in(plan, compact_table(plan, component, n), record, which)


@kernel
def run_within(plan, component, n, record):
    """Where the n-grams of order n + 1 of a context begin and end; within the records whatever the file says."""
    longer = compact_table(plan, component, n + 1)
    records = at(plan, longer + p.RECORDS)
    if n == 1:
        starts, size = at(plan, longer + p.RUNS), at(plan, longer + p.RUN_BITS)
        first, last = bits_at(starts, size * (record - 1), size), bits_at(starts, size * record, size)
    else:
        table = compact_table(plan, component, n)
        size = at(plan, table + p.START_BITS)
        numbers = 2 + np.int64(at(plan, component + p.MISSING) != 0)
        offset = at(plan, table + p.SYMBOL_BITS) + numbers * at(plan, table + p.NUMBER_BITS)
        first, last = field(plan, table, record, offset, size), field(plan, table, record + 1, offset, size)
    last = min(last, records)
    return min(first, last), last


@kernel
def first_record(plan, table, first, last, symbol):
    """The first record of a run whose symbol is not below this one; runs are sorted by symbol."""
    size = at(plan, table + p.SYMBOL_BITS)
    while first < last:
        middle = (first + last) >> 1
        if field(plan, table, middle + 1, 0, size) < symbol:
            first = middle + 1
        else:
            last = middle
    return first


@kernel
def search(plan, component, n, context, symbol):
    """The record of order n with this symbol, of a context of n - 1 words; 0 if there is none."""
    first, last = run_within(plan, component, n - 1, context)
    table = compact_table(plan, component, n)
    first = first_record(plan, table, first, last, symbol)
    same = first < last and field(plan, table, first + 1, 0, at(plan, table + p.SYMBOL_BITS)) == symbol
    return first + 1 if same else np.int64(0)


@kernel
def coded_product(plan, component, n, middle, context, row):
    """The low rank layers of order n: slice, context and row are records of order n - 2, n - 1 and n - 1."""
    table = compact_table(plan, component, n)
    size, count, factors = (
        at(plan, table + p.NUMBER_BITS),
        at(plan, table + p.FACTOR_COUNT),
        at(plan, table + p.FACTORS),
    )
    if n == 2:
        rank = at(plan, table + p.RANK)
        right, left = (2 * context - 1) * rank, (2 * row - 1) * rank
    else:
        rank = peek32(at(plan, table + p.RANKS) + 4 * (middle - 1))
        right = peek32(at(plan, table + p.POINTERS) + 4 * (context - 1))
        left = peek32(at(plan, table + p.POINTERS) + 4 * (row - 1))
    if rank > count or right < rank or right > count or left < 0 or left > count - rank:
        return 0.0
    right_base, right_step = at(plan, table + p.RIGHT_BASE), at(plan, table + p.RIGHT_STEP)
    left_base, left_step = at(plan, table + p.LEFT_BASE), at(plan, table + p.LEFT_STEP)
    total = 0.0
    for k in range(rank):
        u = decoded(bits_at(factors, size * (right - rank + k), size), right_base, right_step)
        v = decoded(bits_at(factors, size * (left + k), size), left_base, left_step)
        total += u * v
    return total


@kernel
def move_on(plan, component, word, before, after):
    """From the n-grams that end before a word, by length, to those that end with it; the symbol of the word."""
    order, symbols = at(plan, component + p.LEVELS), at(plan, component + p.SYMBOLS)
    symbol = symbol_of(at(plan, component + p.MAP), symbols, word)
    for n in range(1, order + 1):
        if word == BOS:
            poke64(before + 8 * n, 0)
        poke64(after + 8 * n, 0)
    poke64(after + 8, symbol + 1 if symbol < symbols else 0)
    for n in range(2, order + 1):
        context = peek64(before + 8 * (n - 1))
        if context > 0 and peek64(after + 8 * (n - 1)) > 0:
            poke64(after + 8 * n, search(plan, component, n, context, symbol))
    return symbol


@c_kernel(p.PROTOCOL)
def ask_compact(plan, component, block):
    """Do nothing: what is found depends on what was found before."""
    return 0


@c_kernel(p.PROTOCOL)
def answer_compact(plan, component, block):
    """Find all n-grams position by position, and put together what they say."""
    order, ids, first, last = at(plan, component + p.LEVELS), at(block, p.IDS), at(block, p.FIRST), at(block, p.LAST)
    space = at(block, p.SPACE) + at(plan, component + p.OFFSET)
    tables = at(plan, component + p.TABLE_COUNT)
    before, after = spare_row(space, tables, 0), spare_row(space, tables, 1)
    probs, orders = at(block, p.OWN), at(block, p.ORDERS)
    for n in range(order + 1):
        poke64(after + 8 * n, 0)
    for i in range(first - order + 1, last):
        before, after = after, before
        symbol = move_on(plan, component, peek32(ids + 4 * i), before, after)
        if i < first:
            continue
        k = i - first + 1
        prob = np.float64(peek_float(at(plan, component + p.UNIGRAMS) + 4 * symbol))
        matched, row, lacking = np.int64(1), np.int64(0), peek_double(plan + 8 * (component + p.ROOT))
        if orders != 0:
            poke_double(peek64(orders) + 8 * (k - 1), prob)
        for n in range(2, order + 1):
            context, gram = peek64(before + 8 * (n - 1)), peek64(after + 8 * n)
            if gram > 0:
                prob = number_in(plan, compact_table(plan, component, n), gram, 0)
                matched += 1
            elif context > 0:
                prob *= weight_in(plan, component, n - 1, context, 1)
                shorter = peek64(after + 8 * (n - 1))
                if shorter > 0 and at(plan, compact_table(plan, component, n) + p.FACTORS) != 0:
                    middle = peek64(before + 8 * (n - 2)) if n > 2 else np.int64(0)
                    prob += coded_product(plan, component, n, middle, context, shorter)
            if context > 0 and at(plan, component + p.MISSING) != 0:
                missing = weight_in(plan, component, n - 1, context, 2)
                if missing > 0:
                    row, lacking = (n - 1) * p.GATE_BUCKETS + gate_bucket(missing), missing
            if orders != 0:
                poke_double(peek64(orders + 8 * (n - 1)) + 8 * (k - 1), prob)
        poke_double(probs + 8 * k, prob)
        poke64(at(block, p.MATCHED) + 8 * k, matched)
        if at(plan, component + p.MISSING) != 0:
            poke64(at(block, p.ROW) + 8 * k, row)
            poke_double(at(block, p.LACKING) + 8 * k, lacking)
    if at(block, p.NEEDED) >= 0:
        needed = at(block, p.NEEDED)
        for n in range(1, order):
            gram = peek64(after + 8 * n)
            if gram > 0:
                start, stop = run_within(plan, component, n, gram)
                lacks = at(plan, component + p.MISSING) != 0 and weight_in(plan, component, n, gram, 2) > 0
                if stop > start or lacks or weight_in(plan, component, n, gram, 1) != 1.0:
                    needed = max(needed, n)
        poke64(block + 8 * p.NEEDED, needed)
    return 0


@c_kernel(p.PROTOCOL)
def spread_compact(plan, component, block):
    """P(s | context) of the symbols LOW to HIGH, the context ending at the first position of the block, to OUT."""
    order, low, high, out = at(plan, component + p.LEVELS), at(block, p.LOW), at(block, p.HIGH), at(block, p.OUT)
    space = at(block, p.SPACE) + at(plan, component + p.OFFSET)
    tables = at(plan, component + p.TABLE_COUNT)
    before, known = spare_row(space, tables, 0), spare_row(space, tables, 1)
    for n in range(order + 1):
        poke64(known + 8 * n, 0)
    for i in range(at(block, p.FIRST) - order + 1, at(block, p.FIRST) + 1):
        before, known = known, before
        move_on(plan, component, peek32(at(block, p.IDS) + 4 * i), before, known)
    for s in range(low, high):
        poke_double(out + 8 * s, np.float64(peek_float(at(plan, component + p.UNIGRAMS) + 4 * s)))
    for n in range(1, order):
        context = peek64(known + 8 * n)
        if context == 0:
            break
        weight = weight_in(plan, component, n, context, 1)
        for s in range(low, high):
            poke_double(out + 8 * s, peek_double(out + 8 * s) * weight)
        table = compact_table(plan, component, n + 1)
        if at(plan, table + p.FACTORS) != 0:
            middle = peek64(known + 8 * (n - 1)) if n > 1 else np.int64(0)
            first, last, rows = low, high, table - p.TABLE_WIDTH
            if n > 1:
                first, last = run_within(plan, component, n - 1, middle)
                first, last = first_record(plan, rows, first, last, low), first_record(plan, rows, first, last, high)
            for row in range(first, last):
                s = row if n == 1 else field(plan, rows, row + 1, 0, at(plan, rows + p.SYMBOL_BITS))
                if s >= low and s < high:
                    prob = coded_product(plan, component, n + 1, middle, context, row + 1)
                    poke_double(out + 8 * s, peek_double(out + 8 * s) + prob)
        first, last = run_within(plan, component, n, context)
        first, last = first_record(plan, table, first, last, low), first_record(plan, table, first, last, high)
        for record in range(first + 1, last + 1):
            s = field(plan, table, record, 0, at(plan, table + p.SYMBOL_BITS))
            if s >= low and s < high:
                poke_double(out + 8 * s, number_in(plan, table, record, 0))
    return 0
