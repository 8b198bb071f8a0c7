"""EM for low rank under generalised KL, over the non-zeros only (method.md 6).

For a matrix ``x`` with factors ``u`` (rows) and ``v`` (columns), entry ij belongs to component k by

    q_ijk = x_ij u_ik v_jk / (u_i . v_j)

and a half step replaces the columns by ``sum_i q_ijk / sum_i u_ik`` or the rows by ``sum_j q_ijk / sum_j v_jk``. Halves
taken in turn, each from the factors that the one before it made, never lower the likelihood and need two thirds of the
steps that both at once need. But only both halves from the same factors, a joint step, give back the row sums and the
column sums of ``x`` whatever the factors were before; so that is how every factorisation ends, in double precision.

The division is put off: ``update`` leaves out the sums of the other side, and the next half starts by dividing what it
is about to replace by its own sums (``scale``), which makes up for it. So a half step is one pass that touches each
factor once, in place.

Rows of factors are padded with zeros to ``width`` numbers, a multiple of ``LANES``. Each row and each column is summed
up by one thread in a fixed order: the result does not depend on how many there are.
"""

from __future__ import annotations

import numpy as np

from plre._jit import fast_kernel, inner_kernel, kernel
from plre._memory import prefetch
from plre._simd import (
    LANES,
    drop,
    element,
    load,
    load_four,
    log,
    only,
    over,
    plus,
    spread,
    store,
    times,
    times_plus,
    total,
    totals,
    zeros,
)

_TINY = np.float32(1e-30)
#: Factors, which are as large as counts, become 0 below this: EM lets many of them shrink until processors slow down.
_NOTHING = np.float32(1e-20)
#: Rows up to this length are summed up in registers.
_NARROW = 4 * LANES
#: Numbers in a cache line.
_LINE = 16
#: Entries are read a few at a time, so arrays of entries end with this many that are never used.
SPARE = 8


@kernel
def column_sums(first, last, column_start, rows, values, column_sum, row_sum):
    """Sums of columns ``first`` to ``last``, and what these columns add to the sums of rows."""
    row_sum[:] = 0.0
    for j in range(first, last):
        of_column = 0.0
        for e in range(column_start[j], column_start[j + 1]):
            of_column += values[e]
            row_sum[rows[e]] += values[e]
        column_sum[j] = of_column


@kernel
def rank_one_rows(first, last, row_start, rank, row_sums, left, left_start, block_sum):
    """Row factors of blocks ``first`` to ``last`` where the rank is 1: the row sums (their parts are added up here)."""
    for b in range(first, last):
        if rank[b] == 1:
            of_block = 0.0
            for i in range(row_start[b], row_start[b + 1]):
                of_row = 0.0
                for part in range(len(row_sums)):
                    of_row += row_sums[part, i]
                left[left_start[b] + i - row_start[b]] = of_row
                of_block += of_row
            block_sum[b] = of_block


@kernel
def rank_one_columns(first, last, column_block, rank, column_sum, block_sum, right, right_start):
    """Column factors where the rank is 1: column sum over the block's total."""
    for j in range(first, last):
        b = column_block[j]
        if rank[b] == 1:
            right[right_start[j]] = column_sum[j] / block_sum[b] if block_sum[b] > 0 else 0.0


@kernel
def tally_columns(first, last, column_block, number, counts):
    """How many of the columns each chosen block (``number`` is not negative) has."""
    counts[:] = 0
    for j in range(first, last):
        b = number[column_block[j]]
        if b >= 0:
            counts[b] += 1


@kernel
def order_columns(first, last, column_block, number, place, order):
    """Columns of chosen blocks go where ``place`` says, which then moves on."""
    for j in range(first, last):
        b = number[column_block[j]]
        if b >= 0:
            order[place[b]] = j
            place[b] += 1


@kernel
def gather(first, last, columns, column_start, rows, values, column_block, row_shift, starts, new_rows, new_values):
    """The chosen columns side by side, their rows renumbered."""
    for c in range(first, last):
        j = columns[c]
        n = starts[c]
        shift = row_shift[column_block[j]]
        for e in range(column_start[j], column_start[j + 1]):
            new_rows[n] = rows[e] + shift
            new_values[n] = values[e]
            n += 1


@kernel
def tally_rows(first, last, starts, rows, counts):
    """How many entries columns ``first`` to ``last`` have in each row."""
    counts[:] = 0
    for e in range(starts[first], starts[last]):
        counts[rows[e]] += 1


@kernel
def transpose(first, last, starts, rows, values, place, row_columns, row_values):
    """Entries go where ``place`` says for their row, which then moves on."""
    for c in range(first, last):
        for e in range(starts[c], starts[c + 1]):
            n = place[rows[e]]
            row_columns[n] = c
            row_values[n] = values[e]
            place[rows[e]] = n + 1


@kernel
def randomise(first, last, rank, width, factor, seed, sums):
    """Rows of numbers between 1/2 and 3/2 from a counter-based generator (splitmix64); adds them up too."""
    for i in range(first, last):
        for k in range(rank):
            z = np.uint64(seed) + np.uint64(i * rank + k + 1) * np.uint64(0x9E3779B97F4A7C15)
            z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            z ^= z >> np.uint64(31)
            number = np.float32(0.5 + np.float64(z >> np.uint64(11)) / 9007199254740992.0)
            factor[i * width + k] = number
            sums[k] += number
        for k in range(rank, width):
            factor[i * width + k] = 0.0


@kernel
def even(first, last, rank, width, factor):
    """Rows in which all components are alike."""
    for i in range(first, last):
        for k in range(width):
            factor[i * width + k] = 1.0 if k < rank else 0.0


@inner_kernel
def accumulate(first, last, width, others, values, other, shift, own, acc, with_likelihood):
    """``acc = sum_j x_j / (own . other_j) other_j`` over the entries ``first`` to ``last`` of one row (or column).

    ``others`` says which row of ``other`` an entry meets, counted from ``shift``. Four entries are taken at a time, so
    that each part of ``own`` and ``acc`` is read once for four; behind the last one it is repeated with value 0. The
    rows for the next four are asked for meanwhile. Returns ``sum_j x_j ln(own . other_j)``, if wanted.
    """
    likelihood = 0.0
    for k in range(0, width, LANES):
        store(acc, k, zeros(own))
    for e in range(first, last, 4):
        a = element(others, e) * width - shift
        b = element(others, min(e + 1, last - 1)) * width - shift
        c = element(others, min(e + 2, last - 1)) * width - shift
        d = element(others, min(e + 3, last - 1)) * width - shift
        for ahead in range(e + 4, e + 8):
            line = element(others, ahead) * width - shift
            for k in range(0, width, _LINE):
                prefetch(other, 4 * (line + k))
        za, zb, zc, zd = zeros(own), zeros(own), zeros(own), zeros(own)
        for k in range(0, width, LANES):
            part = load(own, k, own)
            za = times_plus(load(other, a + k, own), part, za)
            zb = times_plus(load(other, b + k, own), part, zb)
            zc = times_plus(load(other, c + k, own), part, zc)
            zd = times_plus(load(other, d + k, own), part, zd)
        x = only(load_four(values, e, own), last - e)
        z = totals(za, zb, zc, zd)
        if with_likelihood:
            likelihood += total(times(x, log(z)))
        ratio = over(x, z, _TINY)
        for k in range(0, width, LANES):
            part = load(acc, k, own)
            part = times_plus(spread(ratio, 0), load(other, a + k, own), part)
            part = times_plus(spread(ratio, 1), load(other, b + k, own), part)
            part = times_plus(spread(ratio, 2), load(other, c + k, own), part)
            part = times_plus(spread(ratio, 3), load(other, d + k, own), part)
            store(acc, k, part)
    return likelihood


@inner_kernel
def weigh(ra, rb, rc, rd, other, a, b, c, d, k, part, like):
    """Add four weighted rows, from number ``k`` on, to ``part``."""
    part = times_plus(ra, load(other, a + k, like), part)
    part = times_plus(rb, load(other, b + k, like), part)
    part = times_plus(rc, load(other, c + k, like), part)
    return times_plus(rd, load(other, d + k, like), part)


@inner_kernel
def accumulate_narrow(first, last, width, others, values, other, shift, own, acc, with_likelihood):
    """``accumulate`` for rows of at most ``_NARROW`` numbers, whose sums stay in registers."""
    likelihood = 0.0
    two, three, four = width > LANES, width > 2 * LANES, width > 3 * LANES
    own0 = own1 = own2 = own3 = sum0 = sum1 = sum2 = sum3 = zeros(own)
    own0 = load(own, 0, own)
    if two:
        own1 = load(own, LANES, own)
    if three:
        own2 = load(own, 2 * LANES, own)
    if four:
        own3 = load(own, 3 * LANES, own)
    for e in range(first, last, 4):
        a = element(others, e) * width - shift
        b = element(others, min(e + 1, last - 1)) * width - shift
        c = element(others, min(e + 2, last - 1)) * width - shift
        d = element(others, min(e + 3, last - 1)) * width - shift
        za, zb = times(load(other, a, own), own0), times(load(other, b, own), own0)
        zc, zd = times(load(other, c, own), own0), times(load(other, d, own), own0)
        if two:
            za = times_plus(load(other, a + LANES, own), own1, za)
            zb = times_plus(load(other, b + LANES, own), own1, zb)
            zc = times_plus(load(other, c + LANES, own), own1, zc)
            zd = times_plus(load(other, d + LANES, own), own1, zd)
        if three:
            za = times_plus(load(other, a + 2 * LANES, own), own2, za)
            zb = times_plus(load(other, b + 2 * LANES, own), own2, zb)
            zc = times_plus(load(other, c + 2 * LANES, own), own2, zc)
            zd = times_plus(load(other, d + 2 * LANES, own), own2, zd)
        if four:
            za = times_plus(load(other, a + 3 * LANES, own), own3, za)
            zb = times_plus(load(other, b + 3 * LANES, own), own3, zb)
            zc = times_plus(load(other, c + 3 * LANES, own), own3, zc)
            zd = times_plus(load(other, d + 3 * LANES, own), own3, zd)
        x = only(load_four(values, e, own), last - e)
        z = totals(za, zb, zc, zd)
        if with_likelihood:
            likelihood += total(times(x, log(z)))
        ratio = over(x, z, _TINY)
        ra, rb, rc, rd = spread(ratio, 0), spread(ratio, 1), spread(ratio, 2), spread(ratio, 3)
        sum0 = weigh(ra, rb, rc, rd, other, a, b, c, d, 0, sum0, own)
        if two:
            sum1 = weigh(ra, rb, rc, rd, other, a, b, c, d, LANES, sum1, own)
        if three:
            sum2 = weigh(ra, rb, rc, rd, other, a, b, c, d, 2 * LANES, sum2, own)
        if four:
            sum3 = weigh(ra, rb, rc, rd, other, a, b, c, d, 3 * LANES, sum3, own)
    store(acc, 0, sum0)
    if two:
        store(acc, LANES, sum1)
    if three:
        store(acc, 2 * LANES, sum2)
    if four:
        store(acc, 3 * LANES, sum3)
    return likelihood


@fast_kernel
def update(first, last, bounds, width, starts, others, values, factor, other, shift, scale, sums, likelihoods, check):
    """Half a step for pieces ``first`` to ``last`` of one side: ``factor`` is replaced, row by row.

    The rows of piece p are ``bounds[p] : bounds[p + 1]``; ``sums[p]`` receives their sum, and ``likelihoods[p]`` that
    of x ln(u . v) if ``check`` asks for it.
    """
    own, acc = np.empty(width, scale.dtype), np.empty(width, scale.dtype)
    for p in range(first, last):
        likelihoods[p] = 0.0
        sums[p, :] = 0
        for i in range(bounds[p], bounds[p + 1]):
            row = i * width
            for k in range(0, width, LANES):
                store(own, k, times(load(factor, row + k, own), load(scale, k, own)))
            if width <= _NARROW:
                likelihoods[p] += accumulate_narrow(
                    starts[i], starts[i + 1], width, others, values, other, shift, own, acc, check
                )
            else:
                likelihoods[p] += accumulate(
                    starts[i], starts[i + 1], width, others, values, other, shift, own, acc, check
                )
            for k in range(0, width, LANES):
                part = drop(times(load(own, k, own), load(acc, k, own)), _NOTHING)
                store(factor, row + k, part)
                store(sums, p * width + k, plus(load(sums, p * width + k, own), part))


@fast_kernel
def finish(
    first, last, bounds, rank, width, starts, others, values, factor, other, shift, scale, divisor, place, out, sums
):  # fmt: skip
    """One side of the joint step for pieces ``first`` to ``last``: row i, divided, goes to ``out[place[i]]``."""
    own, acc = np.empty(width, scale.dtype), np.empty(width, scale.dtype)
    for p in range(first, last):
        sums[p, :] = 0
        for i in range(bounds[p], bounds[p + 1]):
            for k in range(0, width, LANES):
                store(own, k, times(load(factor, i * width + k, own), load(scale, k, own)))
            accumulate(starts[i], starts[i + 1], width, others, values, other, shift, own, acc, False)
            to = place[i]
            for k in range(rank):
                value = own[k] * acc[k]
                sums[p, k] += value
                out[to + k] = value / divisor[k] if divisor[k] > 0 else 0.0


@kernel
def reciprocal(sums, scale):
    """One over the sums of all pieces, component by component."""
    for k in range(len(scale)):
        of_all = 0.0
        for p in range(len(sums)):
            of_all += sums[p, k]
        scale[k] = 1.0 / of_all if of_all > 0 else 0.0


@kernel
def solve(
    blocks, rank, width, row_start, column_start, left_start, right_start, seeds, left, right,
    entry_start, rows, values, row_entry_start, row_columns, row_values, row_place, column_place,
    out_left, out_right, steps, fresh, check_every, tolerance,
):  # fmt: skip
    """All steps for each of ``blocks``, one after the other; the factors go to ``out_left`` and ``out_right``."""
    for b in blocks:
        w = width[b]
        row0, row1 = row_start[b], row_start[b + 1]
        col0, col1 = column_start[b], column_start[b + 1]
        u, v = left[left_start[b] : left_start[b + 1]], right[right_start[b] : right_start[b + 1]]
        of_row, of_column = row_entry_start[row0 : row1 + 1], entry_start[col0 : col1 + 1]
        all_rows, all_columns = np.zeros(2, np.int64), np.zeros(2, np.int64)
        all_rows[1], all_columns[1] = row1 - row0, col1 - col0
        u_sums, v_sums = np.zeros((1, w), np.float32), np.zeros((1, w), np.float32)
        scale, likelihood = np.ones(w, np.float32), np.zeros(1)
        randomise(0, row1 - row0, rank[b], w, u, seeds[b], u_sums[0])
        randomise(0, col1 - col0, rank[b], w, v, ~seeds[b], v_sums[0])
        whole = np.float32(0)
        for i in range(entry_start[col0], entry_start[col1]):
            whole += values[i]
        before, done, anew = -np.inf, 0, steps - fresh
        while done < steps:
            check = tolerance >= 0 and done < anew and done % check_every == check_every - 1
            if done == anew:
                even(0, col1 - col0, rank[b], w, v)
                scale[:] = 1
            update(0, 1, all_columns, w, of_column, rows, values, v, u, row0 * w, scale, v_sums, likelihood, check)
            now = likelihood[0] - whole * np.log(whole)
            reciprocal(u_sums, scale)
            if done == anew:
                even(0, row1 - row0, rank[b], w, u)
                scale[:] = 1
            update(0, 1, all_rows, w, of_row, row_columns, row_values, u, v, col0 * w, scale, u_sums, likelihood, False)
            reciprocal(v_sums, scale)
            done += 1
            if check:
                if now - before < tolerance * check_every * abs(now):
                    done = anew
                before = now
        precise, sums, unused = scale.astype(np.float64), np.zeros((1, w)), np.zeros((1, w))
        finish(
            0, 1, all_rows, rank[b], w, of_row, row_columns, row_values, u, v, col0 * w, precise,
            np.ones(w), row_place[row0:row1], out_left, sums,
        )  # fmt: skip
        finish(
            0, 1, all_columns, rank[b], w, of_column, rows, values, v, u, row0 * w, precise,
            sums[0], column_place[col0:col1], out_right, unused,
        )  # fmt: skip


@kernel
def place_rows(first, last, row_start, rank, left, left_start, before, total_rank, total_left, total_left_start):
    """Put one approximation's row factors beside those of the ones before it, for blocks ``first`` to ``last``."""
    for b in range(first, last):
        for i in range(row_start[b + 1] - row_start[b]):
            for k in range(rank[b]):
                total_left[total_left_start[b] + i * total_rank[b] + before[b] + k] = left[
                    left_start[b] + i * rank[b] + k
                ]


@kernel
def place_columns(first, last, column_block, rank, right, right_start, before, total_right, total_right_start):
    """The same for the factors of columns ``first`` to ``last``."""
    for j in range(first, last):
        b = column_block[j]
        for k in range(rank[b]):
            total_right[total_right_start[j] + before[b] + k] = right[right_start[j] + k]


@fast_kernel
def dot_rows(left, a, right, b, rank):
    """The product of a row of one array of factors, from ``a`` on, and a row of another, from ``b`` on."""
    u = left[a : a + rank]
    v = right[b : b + rank]
    total = 0.0
    for k in range(rank):
        total += np.float64(u[k]) * np.float64(v[k])
    return total
