"""Exchanging words between classes: what each move would gain, and carrying moves out.

Everything comes twice, for the two sides of a word: side 0 is about what follows it, side 1 about what precedes it.
``cells[0, c, k]`` is how often class k is followed by class c, ``cells[1, c, k]`` how often it is preceded by c, so
what a word would gain in each class k is summed up along rows. ``ones`` has the same shape: by how much n ln n of the
cell grows when its count grows by one, which is all that most neighbours of a word ask for.
"""

from __future__ import annotations

import math

import numpy as np

from plre._jit import fast_kernel, inner_kernel, kernel

#: Gains smaller than this (in nats) may be rounding.
_NOTHING = 1e-6
#: Classes whose probability is below exp(-_FAR) of the best one's are not drawn.
_FAR = 12.0


@kernel
def transpose(starts, words, counts, place, others, turned):
    """The predecessors of every word from the successors of every word; ``place`` says where each one's start."""
    for v in range(len(starts) - 1):
        for i in range(starts[v], starts[v + 1]):
            w = words[i]
            others[place[w]] = v
            turned[place[w]] = counts[i]
            place[w] += 1


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
def entropy(table, n):
    """The function n ln n of whole numbers: from ``table`` as far as that reaches."""
    if n < len(table):
        return table[n]
    return n * math.log(n)


@inner_kernel
def growth(table, n, more):
    """By how much n ln n grows when n does."""
    return entropy(table, n + more) - entropy(table, n)


@kernel
def fill_ones(table, cells, ones):
    """All of ``ones`` from ``cells``."""
    for i in range(len(cells)):
        ones[i] = growth(table, cells[i], 1)


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
    """What it gains that a word leaves its class k, whose neighbours are in ``seen``."""
    gain = 0.0
    for side in range(2):
        for i in range(n[side]):
            c = touched[side, i]
            if c != k:
                gain += growth(table, cells[side, c, k], -seen[side, c])
        gain -= growth(table, totals[side, k], -occurs[side])
    return gain + growth(table, cells[0, k, k], -(seen[0, k] + seen[1, k] + itself))


@inner_kernel
def joining(table, k, to, itself, n, occurs, seen, touched, cells, totals):
    """What it gains that a word that has left its class k joins another one."""
    gain = 0.0
    for side in range(2):
        for i in range(n[side]):
            c = touched[side, i]
            if c != to and c != k:
                gain += growth(table, cells[side, c, to], seen[side, c])
        gain -= growth(table, totals[side, to], occurs[side])
        # The word was counted on the other side of this cell while it was in k.
        gain += growth(table, cells[side, k, to] - seen[1 - side, to], seen[side, k])
    return gain + growth(table, cells[0, to, to], seen[0, to] + seen[1, to] + itself)


@fast_kernel
def add_rows(ones, rows, n, gains):
    """Add up rows of ``ones``."""
    size = len(gains)
    i = 0
    while i + 4 <= n:
        a, b, c, d = ones[rows[i]], ones[rows[i + 1]], ones[rows[i + 2]], ones[rows[i + 3]]
        for k in range(size):
            gains[k] += (a[k] + b[k]) + (c[k] + d[k])
        i += 4
    while i < n:
        a = ones[rows[i]]
        for k in range(size):
            gains[k] += a[k]
        i += 1


@inner_kernel
def survey(table, k, itself, n, occurs, seen, touched, cells, ones, totals, single, gains):
    """What a word of class k would gain in every other class, less what is the same for all of them.

    In single precision, against counts as they are while the word is still in its class.
    """
    size = len(gains)
    for to in range(size):
        gain = 0.0
        for side in range(2):
            gain -= growth(table, totals[side, to], occurs[side])
        gains[to] = gain
    for side in range(2):
        alone = 0
        for i in range(n[side]):
            c = touched[side, i]
            more = seen[side, c]
            if more == 1:
                single[alone] = c
                alone += 1
            else:
                row = cells[side, c]
                for to in range(size):
                    gains[to] += growth(table, row[to], more)
        add_rows(ones[side], single, alone, gains)
    # Where a word is the neighbour of its own class or of the class it joins, two changes meet in one cell.
    for side in range(2):
        for i in range(n[side]):
            to = touched[side, i]
            if to >= size or to == k:
                continue
            here, other = seen[side, to], seen[1 - side, to]
            if seen[1 - side, k]:
                n_cell = cells[1 - side, k, to]
                gains[to] += growth(table, n_cell - here, seen[1 - side, k]) - growth(table, n_cell, seen[1 - side, k])
            if side == 0 and other:
                n_cell = cells[0, to, to]
                gains[to] += (
                    growth(table, n_cell, here + other) - growth(table, n_cell, here) - growth(table, n_cell, other)
                )
    if itself:
        for to in range(size):
            gains[to] += growth(table, cells[0, to, to] + seen[0, to] + seen[1, to], itself)


@inner_kernel
def uniform(seed, number):
    """A number between 0 and 1 from a counter-based generator (splitmix64)."""
    z = np.uint64(seed) + np.uint64(number + 1) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return float((z ^ (z >> np.uint64(31))) >> np.uint64(11)) / 9007199254740992.0


@kernel
def best(gains, k):
    """The class with the highest gain, k not counted."""
    found = -1
    highest = -np.inf
    for to in range(len(gains)):
        if gains[to] > highest and to != k:
            highest = gains[to]
            found = to
    return found


@kernel
def draw(gains, heat, u):
    """A class, drawn with a probability that grows with exp(gain / heat)."""
    highest = np.float32(-np.inf)
    for to in range(len(gains)):
        highest = max(highest, gains[to])
    least = highest - np.float32(_FAR * heat)
    total = 0.0
    for to in range(len(gains)):
        if gains[to] >= least:
            total += math.exp((gains[to] - highest) / heat)
    left = u * total
    last = 0
    for to in range(len(gains)):
        if gains[to] >= least:
            left -= math.exp((gains[to] - highest) / heat)
            last = to
            if left <= 0:
                break
    return last


@kernel
def survey_words(chosen, starts, words, counts, class_of, table, cells, ones, totals, gains):
    """What each chosen word would gain in each class, less what it gains by leaving its own."""
    width = cells.shape[1]
    seen = np.zeros((2, width), np.int32)
    touched = np.empty((2, width), np.int64)
    single = np.empty(width, np.int64)
    for j in range(len(chosen)):
        w = chosen[j]
        k = class_of[w]
        n0, left, itself = meet(0, w, starts, words, counts, class_of, seen, touched)
        n1, right, _ = meet(1, w, starts, words, counts, class_of, seen, touched)
        n, occurs = (n0, n1), (left, right)
        survey(table, k, itself, n, occurs, seen, touched, cells, ones, totals, single, gains[j])
        gains[j, k] = -leaving(table, k, itself, n, occurs, seen, touched, cells, totals)
        forget(0, n0, seen, touched)
        forget(1, n1, seen, touched)


@kernel
def propose(chosen, heat, seed, starts, words, counts, class_of, table, cells, ones, totals, classes, wanted):
    """For each chosen word the class it should move to, all counts staying as they are."""
    gains = np.empty((1, classes), np.float32)
    for j in range(len(chosen)):
        w = chosen[j]
        survey_words(chosen[j : j + 1], starts, words, counts, class_of, table, cells, ones, totals, gains)
        if heat > 0:
            wanted[j] = draw(gains[0], heat, uniform(seed, w))
        else:
            k = class_of[w]
            to = best(gains[0], k)
            wanted[j] = to if to >= 0 and gains[0, to] > gains[0, k] else k


@kernel
def change(table, cells, ones, side, c, k, more):
    """Count a pair of classes ``more`` times more."""
    cells[side, c, k] += more
    ones[side, c, k] = growth(table, cells[side, c, k], 1)


@kernel
def move(chosen, wanted, least, starts, words, counts, class_of, table, cells, ones, totals):
    """Let each chosen word move where it wants to if, counts being what they are by then, it gains at least ``least``.

    Returns how many moved and what they gained together.
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
        if gain >= least:
            for side in range(2):
                for i in range(n[side]):
                    c = touched[side, i]
                    more = seen[side, c]
                    change(table, cells, ones, side, c, k, -more)
                    change(table, cells, ones, 1 - side, k, c, -more)
                    change(table, cells, ones, side, c, to, more)
                    change(table, cells, ones, 1 - side, to, c, more)
                totals[side, k] -= occurs[side]
                totals[side, to] += occurs[side]
                change(table, cells, ones, side, k, k, -itself)
                change(table, cells, ones, side, to, to, itself)
            class_of[w] = to
            moved += 1
            gained += gain
        forget(0, n0, seen, touched)
        forget(1, n1, seen, touched)
    return moved, gained


@kernel
def likelihood(table, cells, totals):
    """Sum of N ln N over pairs of classes, less those over the classes on either side."""
    total = 0.0
    for i in range(len(cells)):
        total += entropy(table, cells[i])
    for i in range(len(totals)):
        total -= entropy(table, totals[i])
    return total
