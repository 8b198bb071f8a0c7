"""Exchanging words between classes: what each move would gain, and carrying moves out.

Everything comes twice, for the two sides of a word: side 0 is about what follows it, side 1 about what precedes it.
``cells[0, c, k]`` is how often class k is followed by class c, ``cells[1, c, k]`` how often it is preceded by c, so
what a word would gain in each class k is summed up along rows. ``values`` has what each cell is worth, and ``growths``
by how much that grows when the count grows by 1 or 2, which is all that most neighbours of a word ask for.
"""

from __future__ import annotations

import math

import numpy as np

from plre._jit import fast_kernel, inner_kernel, kernel
from plre._memory import as_bits, as_float

#: In single precision: the bits of 1/sqrt(2), those of a number's digits, and constants of the logarithm.
_HALF, _DIGITS = np.int32(0x3F3504F3), np.int32(0x7FFFFF)
_NONE, _ONE, _FOUR, _LN2 = np.float32(0), np.float32(1), np.float32(4), np.float32(math.log(2))
#: (ln(1 + z) - z) / z^2 for z from 1/sqrt(2) - 1 to sqrt(2) - 1, as a polynomial (its error: 1.5e-7 in ln(1 + z)).
_L0, _L1, _L2, _L3 = map(np.float32, (-0.50000083, 0.33334354, -0.24983448, 0.19918212))
_L4, _L5, _L6 = map(np.float32, (-0.17102107, 0.16080350, -0.10434420))
#: Words whose gains are found with one set of work arrays.
_TOGETHER = 16
#: What is gained beyond rounding, in nats.
_SOMETHING = 1e-6


@kernel
def fill_predecessors(starts, words, counts, place, others, turned):
    """The predecessors of every word from the successors of every word; ``place`` says where each one's start."""
    for v in range(len(starts) - 1):
        for i in range(starts[v], starts[v + 1]):
            w = words[i]
            others[place[w]] = v
            turned[place[w]] = counts[i]
            place[w] += 1


@kernel
def sum_neighbours(starts, counts, times):
    """How often each word has a neighbour on either side."""
    for side in range(2):
        for w in range(times.shape[1]):
            total = np.int64(0)
            for i in range(starts[side, w], starts[side, w + 1]):
                total += counts[i]
            times[side, w] = total


@kernel
def fill_cells(starts, words, counts, class_of, cells, totals):
    """Count how often classes follow each other, from the successors of every word."""
    for v in range(starts.shape[1] - 1):
        for i in range(starts[0, v], starts[0, v + 1]):
            a, b = class_of[v], class_of[words[i]]
            cells[0, b, a] += counts[i]
            cells[1, a, b] += counts[i]
            totals[0, a] += counts[i]
            totals[1, b] += counts[i]


@inner_kernel
def worth(table, n):
    """The worth of a cell, n ln n less a price if there is anything in it: from ``table`` as far as that reaches.

    The price is that of a single count, whose n ln n is 0.
    """
    if n < len(table):
        return table[n]
    return n * math.log(n) + table[1]


@inner_kernel
def growth(table, n, more):
    """By how much a cell's worth grows when its count does."""
    return worth(table, n + more) - worth(table, n)


@inner_kernel
def growth_of_total(table, n, more):
    """By how much the worth of a class's total grows when the total does; there is no price for totals."""
    return growth(table, n, more) - table[1] * ((n + more > 0) - (n > 0))


@inner_kernel
def meet(side, w, starts, words, counts, class_of, seen, touched):
    """Add up by class the neighbours of w on one side, itself not counted.

    Returns how many classes there are (they are listed in ``touched``), the sum, and how often w meets itself.
    """
    n = 0
    total = 0
    itself = 0
    for i in range(starts[side, w], starts[side, w + 1]):
        total += counts[i]
        if words[i] == w:
            itself = counts[i]
            continue
        c = class_of[words[i]]
        if seen[side, c] == 0:
            touched[side, n] = c
            n += 1
        seen[side, c] += counts[i]
    return n, total, itself


@inner_kernel
def forget(side, n, seen, touched):
    """Make ``seen`` all zero again."""
    for i in range(n):
        seen[side, touched[side, i]] = 0


@inner_kernel
def leaving(table, k, itself, n, occurs, seen, touched, cells, totals):
    """The gain of taking a word out of its class k; its neighbours are in ``seen``."""
    gain = 0.0
    for side in range(2):
        for i in range(n[side]):
            c = touched[side, i]
            if c != k:
                gain += growth(table, cells[side, c, k], -seen[side, c])
        gain -= growth_of_total(table, totals[side, k], -occurs[side])
    return gain + growth(table, cells[0, k, k], -(seen[0, k] + seen[1, k] + itself))


@inner_kernel
def joining(table, k, to, itself, n, occurs, seen, touched, cells, totals):
    """The gain of putting a word that was taken out of its class k into another one."""
    gain = 0.0
    for side in range(2):
        for i in range(n[side]):
            c = touched[side, i]
            if c != to and c != k:
                gain += growth(table, cells[side, c, to], seen[side, c])
        gain -= growth_of_total(table, totals[side, to], occurs[side])
        # The word was counted on the other side of this cell while it was in k.
        gain += growth(table, cells[side, k, to] - seen[1 - side, to], seen[side, k])
    return gain + growth(table, cells[0, to, to], seen[0, to] + seen[1, to] + itself)


@inner_kernel
def single_log(x):
    """The natural logarithm of a number of at least 1 to single precision, without a branch, so that loops vectorise.

    With x = 2^e m, m between 1/sqrt(2) and sqrt(2), and z = m - 1 it is e ln 2 + ln (1 + z).
    """
    moved = np.int32(as_bits(x) - _HALF)
    exponent = np.float32(np.int32(moved >> np.int32(23)))
    z = as_float(np.int32(np.int32(moved & _DIGITS) + _HALF)) - _ONE
    return exponent * _LN2 + log_near_one(z)


@inner_kernel
def log_near_one(z):
    """The logarithm of 1 + z for z from 1/sqrt(2) - 1 to sqrt(2) - 1, to single precision."""
    series = (((((_L6 * z + _L5) * z + _L4) * z + _L3) * z + _L2) * z + _L1) * z + _L0
    return z + z * z * series


@fast_kernel
def fill_values(first, last, price, cells, growths, values):
    """Write down what the cells of some rows are worth, and by how much that grows."""
    for side in range(2):
        for c in range(first, last):
            value_row(price, cells[side, c], values[side, c])
            for more in range(growths.shape[0]):
                growths[more, side, c] = -price
                add_growths(cells[side, c], values[side, c], more + 1, _NONE, growths[more, side, c])


@fast_kernel
def value_row(price, cells, values):
    """What the cells of a row are worth."""
    for k in range(len(values)):
        n = np.float32(cells[k])
        values[k] = n * single_log(max(n, _ONE)) - min(n, _ONE) * price


@fast_kernel
def add_growths(cells, values, more, price, gains):
    """Add by how much the worth of each cell of a row would grow with ``more`` counts; ``values`` has it as it is."""
    more = np.int32(more)
    for to in range(len(gains)):
        x = np.float32(np.int32(cells[to] + more))
        gains[to] += x * single_log(x) - values[to] - price


@fast_kernel
def add_rows(growths, rows, n, gains):
    """Add the first ``n`` of the rows of ``growths`` that ``rows`` lists to ``gains``."""
    size = len(gains)
    i = 0
    while i + 4 <= n:
        a, b, c, d = growths[rows[i]], growths[rows[i + 1]], growths[rows[i + 2]], growths[rows[i + 3]]
        for k in range(size):
            gains[k] += (a[k] + b[k]) + (c[k] + d[k])
        i += 4
    while i < n:
        a = growths[rows[i]]
        for k in range(size):
            gains[k] += a[k]
        i += 1


@fast_kernel
def take_totals(totals, more, gains):
    """Take off by how much n ln n of each class's total would grow with ``more`` counts.

    Totals are large, so both terms of (n + s) ln (n + s) - n ln n are too: s ln (n + s) + n ln (1 + s / n) is exact.
    """
    s = np.float32(more)
    for to in range(len(gains)):
        n = np.float32(totals[to])
        large = s * single_log(n + s) + n * log_near_one(s / n)
        small = (n + s) * single_log(n + s) - n * single_log(max(n, _ONE))
        gains[to] -= large if n > _FOUR * s else small


@kernel
def take_few(totals, few):
    """What :func:`take_totals` makes of nothing, on either side and for each small number of counts."""
    few[:] = 0
    for side in range(2):
        for more in range(few.shape[1]):
            take_totals(totals[side], more, few[side, more])


@inner_kernel
def survey(k, itself, n, occurs, seen, touched, table, cells, growths, values, totals, few, listed, gains):
    """The gain of moving a word of class k to every other class, less what is the same for all of them.

    In single precision, against counts as they are while the word is still in its class.
    """
    size = len(gains)
    price = np.float32(-table[1])
    gains[:] = 0
    for side in range(2):
        if occurs[side] < few.shape[1]:
            for to in range(size):
                gains[to] += few[side, occurs[side], to]
        else:
            take_totals(totals[side], occurs[side], gains)
        known = 0
        for i in range(n[side]):
            c = touched[side, i]
            if seen[side, c] <= growths.shape[0]:
                listed[known] = ((seen[side, c] - 1) * 2 + side) * cells.shape[1] + c
                known += 1
            else:
                add_growths(cells[side, c], values[side, c], seen[side, c], price, gains)
        add_rows(growths.reshape(-1, growths.shape[3]), listed, known, gains)
    # Where a word is the neighbour of its own class or of the class it joins, two changes meet in one cell.
    for side in range(2):
        for i in range(n[side]):
            to = touched[side, i]
            if to >= size or to == k:
                continue
            here, other = seen[side, to], seen[1 - side, to]
            again = seen[1 - side, k]
            if again:
                n_cell = cells[1 - side, k, to]
                gains[to] += growth(table, n_cell - here, again) - growth(table, n_cell, again)
            if side == 0 and other:
                n_cell = cells[0, to, to]
                gains[to] += growth(table, n_cell + here, other) - growth(table, n_cell, other)
    if itself:
        for to in range(size):
            gains[to] += growth(table, cells[0, to, to] + seen[0, to] + seen[1, to], itself)


@kernel
def best_class(gains, k):
    """The class with the highest gain, k not counted."""
    found = -1
    highest = -np.inf
    for to in range(len(gains)):
        if gains[to] > highest and to != k:
            highest = gains[to]
            found = to
    return found


@kernel
def survey_words(chosen, starts, words, counts, class_of, table, cells, growths, values, totals, few, gains):
    """The gain of moving each chosen word to each class, less that of leaving its own."""
    width = cells.shape[1]
    seen = np.zeros((2, width), np.int32)
    touched = np.empty((2, width), np.int64)
    listed = np.empty(width, np.int64)
    for j in range(len(chosen)):
        w = chosen[j]
        k = class_of[w]
        n0, left, itself = meet(0, w, starts, words, counts, class_of, seen, touched)
        n1, right, _ = meet(1, w, starts, words, counts, class_of, seen, touched)
        n, occurs = (n0, n1), (left, right)
        survey(k, itself, n, occurs, seen, touched, table, cells, growths, values, totals, few, listed, gains[j])
        if k < gains.shape[1]:
            gains[j, k] = -leaving(table, k, itself, n, occurs, seen, touched, cells, totals)
        forget(0, n0, seen, touched)
        forget(1, n1, seen, touched)


@inner_kernel
def allowed_loss(threshold, times):
    """The most that a word that occurs so many times may lose by a move."""
    return threshold * math.sqrt(times)


@kernel
def propose(
    chosen,
    threshold,
    times,
    starts,
    words,
    counts,
    class_of,
    table,
    cells,
    growths,
    values,
    totals,
    few,
    classes,
    wanted,
):
    """For each chosen word the best class but its own, or its own if it would lose too much; counts stay as they are.

    A word whose class is not one of ``classes`` waits for one, and takes the best. ``wanted`` is as long as ``chosen``.
    """
    gains = np.empty((_TOGETHER, classes), np.float32)
    for first in range(0, len(chosen), _TOGETHER):
        some = chosen[first : first + _TOGETHER]
        survey_words(some, starts, words, counts, class_of, table, cells, growths, values, totals, few, gains)
        for j in range(len(some)):
            k = class_of[some[j]]
            to = best_class(gains[j], k)
            waits = k >= classes
            gain = gains[j, to] - gains[j, k] if to >= 0 and not waits else -np.inf
            wanted[first + j] = to if waits or gain > -allowed_loss(threshold, times[some[j]]) else k


@kernel
def move(
    chosen, wanted, threshold, times, starts, words, counts, class_of, table, cells, totals, classes
):  # fmt: skip
    """Let each chosen word move where it wants to if, counts being what they are by then, it does not lose too much.

    One that waits for a class gets it. What cells are worth has to be written down again afterwards. Returns how many
    moved and what they gained together.
    """
    width = cells.shape[1]
    seen = np.zeros((2, width), np.int32)
    touched = np.empty((2, width), np.int64)
    moved = 0
    gained = 0.0
    for j in range(len(chosen)):
        w = chosen[j]
        k, to = class_of[w], wanted[j]
        if k == to:
            continue
        n0, left, itself = meet(0, w, starts, words, counts, class_of, seen, touched)
        n1, right, _ = meet(1, w, starts, words, counts, class_of, seen, touched)
        n, occurs = (n0, n1), (left, right)
        gain = leaving(table, k, itself, n, occurs, seen, touched, cells, totals)
        gain += joining(table, k, to, itself, n, occurs, seen, touched, cells, totals)
        if k >= classes or gain > _SOMETHING - allowed_loss(threshold, times[w]):
            for side in range(2):
                for i in range(n[side]):
                    c = touched[side, i]
                    more = seen[side, c]
                    cells[side, c, k] -= more
                    cells[1 - side, k, c] -= more
                    cells[side, c, to] += more
                    cells[1 - side, to, c] += more
                totals[side, k] -= occurs[side]
                totals[side, to] += occurs[side]
                cells[side, k, k] -= itself
                cells[side, to, to] += itself
            class_of[w] = to
            moved += 1
            gained += gain
        forget(0, n0, seen, touched)
        forget(1, n1, seen, touched)
    return moved, gained


@kernel
def likelihood(table, cells, totals):
    """Sum of N ln N over pairs of classes, less those over the classes on either side; and how many pairs there are."""
    total = 0.0
    pairs = 0
    for i in range(len(cells)):
        total += growth_of_total(table, 0, cells[i])
        pairs += cells[i] > 0
    for i in range(len(totals)):
        total -= growth_of_total(table, 0, totals[i])
    return total, pairs
