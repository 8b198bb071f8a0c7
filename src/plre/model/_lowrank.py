"""Low rank layers of n-grams: products of factor rows, for n-grams that were not seen.

The slice of order n for a middle m (of n - 2 words) has a row for each (m, w) and a column for each context (x, m).
Both are (n-1)-grams, and each of those has one pointer into the factors: before it stand its factors as a context (the
*right* row, as long as the rank of its suffix's slice), from it on those as a row (the *left* row, as long as the rank
of its context's slice). Bigrams have one slice, whose rows and columns are the words.
"""

from __future__ import annotations

import numpy as np

from plre._jit import kernel
from plre._memory import dot_product, peek32, peek64, peek_double, poke64, poke_double, prefetch_at
from plre.model._plan import (
    FACTOR_COUNT,
    FACTORS,
    FIRST,
    LAST,
    NOWHERE,
    OWN,
    POINTERS,
    RANK,
    RANKS,
    TABLE_COUNT,
    TABLE_WIDTH,
    TABLES,
    WEIGHTS,
    at,
    places_of,
    spare_row,
)
from plre.model._tables import slot_number


@kernel
def number_of(plan, component, n, place):
    """The number of a record of order n: that of its slot, or the word."""
    if n == 1:
        return (place + 8 - at(plan, component + WEIGHTS)) >> 3
    return slot_number(plan, at(plan, component + TABLES) + (n - 2) * TABLE_WIDTH, place)


@kernel
def rank_of(plan, component, table, n, middle):
    """The rank of a slice of order n, whose table this is; ``middle`` is its record, of order n - 2."""
    if n == 2:
        return at(plan, table + RANK)
    return peek32(at(plan, table + RANKS) + 4 * number_of(plan, component, n - 2, middle))


@kernel
def pointer_place(plan, component, table, n, gram):
    """Where the pointer of a record of order n - 1 stands, n being 3 or more."""
    return at(plan, table + POINTERS) + 4 * number_of(plan, component, n - 1, gram)


@kernel
def pointer_of(plan, component, table, n, gram):
    """Where among the factors of order n the right row of a record of order n - 1 ends and its left row begins."""
    if n == 2:
        return (2 * number_of(plan, component, 1, gram) + 1) * at(plan, table + RANK)
    return peek32(pointer_place(plan, component, table, n, gram))


@kernel
def product(plan, table, rank, right, left):
    """The product of a right and a left row of factors, by their pointers; 0 where they do not lie within them."""
    count = at(plan, table + FACTOR_COUNT)
    if rank > count or right < rank or right > count or left > count - rank:
        return 0.0
    factors = at(plan, table + FACTORS)
    return dot_product(factors + 4 * (right - rank), factors + 4 * left, rank)


@kernel
def add_low_rank(plan, component, block, n, space):
    """Add the low rank layers of order n where they count: to unseen n-grams whose context and suffix were seen.

    Pointers are asked for first, then the factors they lead to, then all is computed.
    """
    nowhere, probs = plan + 8 * NOWHERE, at(block, OWN)
    tables, columns = at(plan, component + TABLE_COUNT), at(block, LAST) - at(block, FIRST) + 1
    table = at(plan, component + TABLES) + (n - 2) * TABLE_WIDTH
    own, shorter, middles = places_of(space, n - 2), places_of(space, n - 3), places_of(space, n - 4 if n > 2 else -1)
    todo, rights, lefts = spare_row(space, tables, 0), spare_row(space, tables, 1), spare_row(space, tables, 2)
    count = np.int64(0)
    for k in range(2, columns):
        h, gram = peek64(shorter + 8 * (k - 1)), peek64(shorter + 8 * k)
        poke64(todo + 8 * count, k)
        count += np.int64((peek64(own + 8 * k) == nowhere) & (h != nowhere) & (gram != nowhere))
    if n > 2:
        for j in range(count):
            k = peek64(todo + 8 * j)
            prefetch_at(pointer_place(plan, component, table, n, peek64(shorter + 8 * (k - 1))))
            prefetch_at(pointer_place(plan, component, table, n, peek64(shorter + 8 * k)))
    factors = at(plan, table + FACTORS)
    for j in range(count):
        k = peek64(todo + 8 * j)
        right = pointer_of(plan, component, table, n, peek64(shorter + 8 * (k - 1)))
        left = pointer_of(plan, component, table, n, peek64(shorter + 8 * k))
        poke64(rights + 8 * j, right)
        poke64(lefts + 8 * j, left)
        rank = rank_of(plan, component, table, n, peek64(middles + 8 * (k - 1)))
        for byte in range(0, 4 * min(rank, 256), 64):
            prefetch_at(factors + 4 * (right - rank) + byte)
            prefetch_at(factors + 4 * left + byte)
    for j in range(count):
        k = peek64(todo + 8 * j)
        rank = rank_of(plan, component, table, n, peek64(middles + 8 * (k - 1)))
        p = peek_double(probs + 8 * k)
        poke_double(probs + 8 * k, p + product(plan, table, rank, peek64(rights + 8 * j), peek64(lefts + 8 * j)))


@kernel
def ask_rows(plan, component, table, n, rank, grams, pointers, count):
    """Find the pointers of so many records of order n - 1, and ask for their left rows; NOWHERE has some pointer."""
    nowhere = plan + 8 * NOWHERE
    for j in range(count):
        if peek64(grams + 8 * j) != nowhere:
            prefetch_at(pointer_place(plan, component, table, n, peek64(grams + 8 * j)))
    factors = at(plan, table + FACTORS)
    for j in range(count):
        gram = peek64(grams + 8 * j)
        pointer = pointer_of(plan, component, table, n, gram) if gram != nowhere else np.int64(0)
        poke64(pointers + 8 * j, pointer)
        for byte in range(0, 4 * min(rank, 256), 64):
            prefetch_at(factors + 4 * pointer + byte)


# --- between rows and columns by themselves, and side by side --------------------------------------------------------


@kernel
def join_factors(row_start, rank, left, left_start, right, right_start, pointers, factors):
    """Put the right and the left row of each (n-1)-gram side by side; ``pointers`` become where they meet.

    With no ``factors`` it only finds the pointers. Returns how many numbers there are.
    """
    at_end = np.int64(0)
    for m in range(len(rank)):
        for g in range(row_start[m], row_start[m + 1]):
            own = right_start[g + 1] - right_start[g]
            pointers[g] = at_end + own
            if len(factors) > 0:
                for k in range(own):
                    factors[at_end + k] = right[right_start[g] + k]
                row = left_start[m] + np.int64(g - row_start[m]) * rank[m]
                for k in range(rank[m]):
                    factors[at_end + own + k] = left[row + k]
            at_end += own + rank[m]
    return at_end


@kernel
def part_factors(row_start, rank, slices, pointers, factors, left, left_start, right, right_start):
    """Take rows and columns apart again; ``slices`` says of which slice each (n-1)-gram is a column."""
    for m in range(len(rank)):
        for g in range(row_start[m], row_start[m + 1]):
            row = left_start[m] + np.int64(g - row_start[m]) * rank[m]
            for k in range(rank[m]):
                left[row + k] = factors[pointers[g] + k]
            own = rank[slices[g]]
            for k in range(own):
                right[right_start[g] + k] = factors[pointers[g] - own + k]
