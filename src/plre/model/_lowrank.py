"""Low rank layers of n-grams: products of factor rows, for n-grams that were not seen.

The slice of order n for a middle m (of n - 2 words) has a row for each (m, w) and a column for each context (x, m).
Both are (n-1)-grams, and each of those has one pointer into the factors: before it stand its factors as a context (the
*right* row, as long as the rank of its suffix's slice), from it on those as a row (the *left* row, as long as the rank
of its context's slice). Bigrams have one slice, whose rows and columns are the words.
"""

from __future__ import annotations

import numpy as np

from plre._jit import c_kernel, kernel
from plre._memory import dot_product, lowest_bit, peek32, peek64, peek_double, poke64, poke_double, prefetch_at
from plre.model import _plan as p
from plre.model._lookup import slot_number
from plre.model._plan import at, places_of


@kernel
def number_of(plan, component, n, place):
    """The number of a record of order n: that of its slot, or the word."""
    if n == 1:
        return (place + 8 - at(plan, component + p.WEIGHTS)) >> 3
    return slot_number(plan, at(plan, component + p.TABLES) + (n - 2) * p.TABLE_WIDTH, place)


@kernel
def rank_of(plan, component, table, n, middle):
    """The rank of a slice of order n, whose table this is; ``middle`` is its record, of order n - 2."""
    if n == 2:
        return at(plan, table + p.RANK)
    return peek32(at(plan, table + p.RANKS) + 4 * number_of(plan, component, n - 2, middle))


@kernel
def pointer_place(plan, component, table, n, gram):
    """Where the pointer of a record of order n - 1 stands, n being 3 or more."""
    return at(plan, table + p.POINTERS) + 4 * number_of(plan, component, n - 1, gram)


@kernel
def pointer_of(plan, component, table, n, gram):
    """Where among the factors of order n the right row of a record of order n - 1 ends and its left row begins."""
    if n == 2:
        return (2 * number_of(plan, component, 1, gram) + 1) * at(plan, table + p.RANK)
    return peek32(pointer_place(plan, component, table, n, gram))


@kernel
def product(plan, table, rank, right, left):
    """The product of a right and a left row of factors, by their pointers; 0 where they do not lie within them."""
    count = at(plan, table + p.FACTOR_COUNT)
    if rank > count or right < rank or right > count or left < 0 or left > count - rank:
        return 0.0
    factors = at(plan, table + p.FACTORS)
    return dot_product(factors + 4 * (right - rank), factors + 4 * left, rank)


@c_kernel("int64(int64, int64, int64, int64, int64)")
def add_low_rank(plan, component, block, n, mask):
    """Add the low rank layers of order n in the columns of a mask: unseen n-grams whose context and suffix were seen.

    Pointers are asked for first, then the factors they lead to, then all is computed.
    """
    probs, tables = at(block, p.OWN), at(plan, component + p.TABLE_COUNT)
    space = at(block, p.SPACE) + at(plan, component + p.OFFSET)
    table = at(plan, component + p.TABLES) + (n - 2) * p.TABLE_WIDTH
    if at(plan, table + p.FACTORS) == 0:
        return 0
    shorter, middles = places_of(space, n - 3), places_of(space, n - 4 if n > 2 else -1)
    rights, lefts = p.spare_row(space, tables, 0), p.spare_row(space, tables, 1)
    left = mask if n > 2 else np.int64(0)
    while left != 0:
        column = 8 + 8 * lowest_bit(left)
        left &= left - 1
        prefetch_at(pointer_place(plan, component, table, n, peek64(shorter + column - 8)))
        prefetch_at(pointer_place(plan, component, table, n, peek64(shorter + column)))
    factors, left = at(plan, table + p.FACTORS), mask
    while left != 0:
        column = 8 + 8 * lowest_bit(left)
        left &= left - 1
        right_end = pointer_of(plan, component, table, n, peek64(shorter + column - 8))
        left_start = pointer_of(plan, component, table, n, peek64(shorter + column))
        poke64(rights + column, right_end)
        poke64(lefts + column, left_start)
        rank = rank_of(plan, component, table, n, peek64(middles + column - 8))
        for byte in range(0, 4 * min(rank, 256), 64):
            prefetch_at(factors + 4 * (right_end - rank) + byte)
            prefetch_at(factors + 4 * left_start + byte)
    while mask != 0:
        column = 8 + 8 * lowest_bit(mask)
        mask &= mask - 1
        rank = rank_of(plan, component, table, n, peek64(middles + column - 8))
        own = product(plan, table, rank, peek64(rights + column), peek64(lefts + column))
        poke_double(probs + column, peek_double(probs + column) + own)
    return 0


# --- between rows and columns by themselves, and side by side --------------------------------------------------------


@kernel
def join_factors(row_start, rank, left, left_start, right, right_start, at_end, pointers, factors):
    """Put the right and the left row of each (n-1)-gram of some slices side by side.

    ``right`` has the right rows of just these, which start where ``right_start`` says beyond its first number.
    ``pointers`` become where the rows meet. They are put behind ``at_end`` others; returns where they end.
    """
    for m in range(len(rank)):
        for g in range(row_start[m] - row_start[0], row_start[m + 1] - row_start[0]):
            own = right_start[g + 1] - right_start[g]
            pointers[g] = at_end + own
            for k in range(own):
                factors[at_end + k] = right[right_start[g] - right_start[0] + k]
            row = left_start[m] + np.int64(g - (row_start[m] - row_start[0])) * rank[m]
            for k in range(rank[m]):
                factors[at_end + own + k] = left[row + k]
            at_end += own + rank[m]
    return at_end


@kernel
def part_factors(row_start, rank, slices, pointers, rights, lefts, left, left_start, right, right_start):
    """Take rows and columns apart again; ``slices`` says of which slice each (n-1)-gram is a column.

    ``rights`` and ``lefts`` are the same factors, unless both sides have codes of their own.
    """
    for m in range(len(rank)):
        for g in range(row_start[m], row_start[m + 1]):
            row = left_start[m] + np.int64(g - row_start[m]) * rank[m]
            for k in range(rank[m]):
                left[row + k] = lefts[pointers[g] + k]
            own = rank[slices[g]]
            for k in range(own):
                right[right_start[g] + k] = rights[pointers[g] - own + k]
