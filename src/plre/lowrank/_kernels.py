"""EM for low rank under generalised KL, over the non-zeros only (method.md 6).

One joint step turns factors ``u`` (rows) and ``v`` (columns) of a matrix ``x`` into

    q_ijk = x_ij u_ik v_jk / (u_i . v_j)       how much of entry ij belongs to component k
    u_ik  = sum_j q_ijk                        v_jk = sum_i q_ijk / sum_ij q_ijk

after which row sums and column sums are those of ``x``, whatever the factors were before. A pass over the columns
makes the ratios ``x_ij / (u_i . v_j)`` and the new columns; a pass over the rows makes the new rows from the same
ratios.

Each row and each column is summed up by one thread in a fixed order: the result does not depend on how many there are.
"""

from __future__ import annotations

import math

import numpy as np

from plre._jit import fast_kernel, kernel

_TINY = np.float32(1e-30)


@kernel
def margins(column_start, rows, values, row_sum, column_sum):
    """Sums of all rows and columns."""
    row_sum[:] = 0.0
    for j in range(len(column_start) - 1):
        total = 0.0
        for e in range(column_start[j], column_start[j + 1]):
            total += values[e]
            row_sum[rows[e]] += values[e]
        column_sum[j] = total


@kernel
def rank_one(row_start, column_block, rank, row_sum, column_sum, left, left_start, right, right_start):
    """The closed form for blocks of rank 1: row sum times column sum over the total."""
    total = np.zeros(len(rank))
    for b in range(len(rank)):
        if rank[b] == 1:
            for i in range(row_start[b], row_start[b + 1]):
                total[b] += row_sum[i]
                left[left_start[b] + i - row_start[b]] = row_sum[i]
    for j in range(len(column_block)):
        b = column_block[j]
        if rank[b] == 1:
            right[right_start[j]] = column_sum[j] / total[b] if total[b] > 0 else 0.0


@kernel
def gather(column_order, column_start, rows, values, row_shift, starts, new_rows, new_values):
    """The chosen columns side by side, their rows renumbered."""
    n = 0
    for c in range(len(column_order)):
        j = column_order[c]
        starts[c] = n
        for e in range(column_start[j], column_start[j + 1]):
            new_rows[n] = rows[e] + row_shift[j]
            new_values[n] = values[e]
            n += 1
    starts[len(column_order)] = n


@kernel
def transpose(column_start, rows, row_start, columns, entries):
    """The same pattern row by row: each entry's column and its place in the column-wise arrays."""
    row_start[:] = 0
    for e in range(len(rows)):
        row_start[rows[e] + 1] += 1
    for i in range(len(row_start) - 1):
        row_start[i + 1] += row_start[i]
    at = row_start[:-1].copy()
    for j in range(len(column_start) - 1):
        for e in range(column_start[j], column_start[j + 1]):
            k = at[rows[e]]
            columns[k] = j
            entries[k] = e
            at[rows[e]] += 1


@kernel
def randomise(factor, seed):
    """Numbers between 1/2 and 3/2 from a counter-based generator (splitmix64)."""
    for i in range(len(factor)):
        z = np.uint64(seed) + np.uint64(i + 1) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
        factor[i] = 0.5 + np.float64(z >> np.uint64(11)) / 9007199254740992.0


@fast_kernel
def column_pass(
    first, last, row0, column0, rank, column_start, rows, values, u, v, new_v, ratios, acc, total, with_likelihood
):  # fmt: skip
    """New columns ``first`` to ``last`` (not yet divided by the totals) and their ratios.

    ``u`` and ``v`` are one block's factors, whose first row is ``row0`` and first column ``column0``. ``acc`` is room
    for one row; its type is the precision of the sums. Returns sum x ln(u . v / total), if asked.
    """
    likelihood = 0.0
    for j in range(first, last):
        at = (j - column0) * rank
        vj = v[at : at + rank]
        acc[:] = 0
        for e in range(column_start[j], column_start[j + 1]):
            a = (rows[e] - row0) * rank
            ui = u[a : a + rank]
            z = acc.dtype.type(0)
            for k in range(rank):
                z += ui[k] * vj[k]
            if with_likelihood:
                likelihood += values[e] * math.log(max(z, _TINY) / total)
            ratio = values[e] / max(z, _TINY)
            ratios[e] = ratio
            for k in range(rank):
                acc[k] += ratio * ui[k]
        new = new_v[at : at + rank]
        for k in range(rank):
            new[k] = vj[k] * acc[k]
    return likelihood


@fast_kernel
def row_pass(first, last, row0, column0, rank, row_start, columns, entries, ratios, u, v, new_u, acc, totals):
    """New rows ``first`` to ``last`` from the ratios of the column pass; adds their sums to ``totals``."""
    for i in range(first, last):
        at = (i - row0) * rank
        acc[:] = 0
        for s in range(row_start[i], row_start[i + 1]):
            ratio = ratios[entries[s]]
            a = (columns[s] - column0) * rank
            vj = v[a : a + rank]
            for k in range(rank):
                acc[k] += ratio * vj[k]
        ui = u[at : at + rank]
        new = new_u[at : at + rank]
        for k in range(rank):
            value = ui[k] * acc[k]
            new[k] = value
            totals[k] += value


@fast_kernel
def divide_columns(first, last, rank, v, totals):
    """Divide each component of the columns by its total."""
    for j in range(first, last):
        for k in range(rank):
            if totals[k] > 0:
                v[j * rank + k] = v[j * rank + k] / totals[k]


@kernel
def factorise_small(
    blocks, block_rows, block_columns, rank, left_start, right_start, seeds,
    column_start, rows, values, row_start, columns, entries, ratios, left, right, max_steps, check_every, tolerance,
):  # fmt: skip
    """All steps for each of ``blocks``, one after the other; ``left`` and ``right`` receive the factors."""
    for b in blocks:
        r = rank[b]
        row0, row1 = block_rows[b], block_rows[b + 1]
        col0, col1 = block_columns[b], block_columns[b + 1]
        total = 0.0
        for e in range(column_start[col0], column_start[col1]):
            total += values[e]
        u = left[left_start[b] : left_start[b + 1]]
        v = right[right_start[b] : right_start[b + 1]]
        randomise(u, seeds[b])
        randomise(v, ~seeds[b])
        new_u = np.empty_like(u)
        new_v = np.empty_like(v)
        acc = np.empty(r, np.float32)
        totals = np.empty(r, np.float64)
        before = -np.inf
        for step in range(max_steps - 1):
            check = step % check_every == check_every - 1
            likelihood = column_pass(
                col0, col1, row0, col0, r, column_start, rows, values, u, v, new_v, ratios, acc, total, check
            )
            totals[:] = 0
            row_pass(row0, row1, row0, col0, r, row_start, columns, entries, ratios, u, v, new_u, acc, totals)
            divide_columns(0, col1 - col0, r, new_v, totals)
            u[:] = new_u
            v[:] = new_v
            if check:
                if likelihood - before < tolerance * check_every * abs(likelihood):
                    break
                before = likelihood
        precise = np.empty(r, np.float64)
        totals[:] = 0
        column_pass(col0, col1, row0, col0, r, column_start, rows, values, u, v, new_v, ratios, precise, total, False)
        row_pass(row0, row1, row0, col0, r, row_start, columns, entries, ratios, u, v, new_u, precise, totals)
        divide_columns(0, col1 - col0, r, new_v, totals)
        u[:] = new_u
        v[:] = new_v


@kernel
def scatter(
    chosen, rank, left, left_start, columns, block_columns, right, right_start,
    all_left, all_left_start, all_right, all_right_start,
):  # fmt: skip
    """Put packed factors where the whole matrix keeps them."""
    for b in range(len(chosen)):
        to = all_left_start[chosen[b]]
        for i in range(left_start[b + 1] - left_start[b]):
            all_left[to + i] = left[left_start[b] + i]
        at = right_start[b]
        for c in range(block_columns[b], block_columns[b + 1]):
            to = all_right_start[columns[c]]
            for k in range(rank[b]):
                all_right[to + k] = right[at]
                at += 1


@kernel
def place(
    row_start, column_block, rank, left, left_start, right, right_start,
    before, total_rank, total_left, total_left_start, total_right, total_right_start,
):  # fmt: skip
    """Put one approximation's factors beside those of the ones before it."""
    for b in range(len(rank)):
        for i in range(row_start[b + 1] - row_start[b]):
            for k in range(rank[b]):
                total_left[total_left_start[b] + i * total_rank[b] + before[b] + k] = left[
                    left_start[b] + i * rank[b] + k
                ]
    for j in range(len(column_block)):
        b = column_block[j]
        for k in range(rank[b]):
            total_right[total_right_start[j] + before[b] + k] = right[right_start[j] + k]
