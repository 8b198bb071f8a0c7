"""How often a model would say each n-gram if it talked for ever: the P(h) of relative entropy pruning.

The lower orders of Kneser-Ney models are made for backing off: their probabilities say after how many words a word
comes, not how often it comes, and a product of them is no estimate of P(h). What the highest order says of the text
is right, though. So the model's own text is followed: with mass(h) how often a context is met (relative to the number
of predicted words), each order says what it adds to the order below, and what it leaves goes down to that:

    usage(h) = mass(h)                                                        in the highest order of contexts
             = mass(h) + sum over longer contexts g of h of  usage(g) backoff(g) - mass(g)       in lower ones
    mass(hw) = usage(h) P(w | h)  +  what longer n-grams that end in hw add to that

which gives new masses, until they no longer change. ``<s>`` is met as often as ``</s>`` is said,
and after that nothing is asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plre.pruning import _kernels as kernels
from plre.pruning.tables import Table, row_starts
from plre.text.vocabulary import BOS, EOS
from plre.threads import even_ranges, parallel

_STEPS = 100
#: Masses of words that change by no more than this together are those of the text that never ends.
_TOLERANCE = 1e-5
_PIECES = 64
_NOTHING = np.empty(0)


@dataclass(frozen=True)
class Stationary:
    """What the model's own text consists of; one array for each order below the highest."""

    #: How often each n-gram is met, relative to the number of predicted words.
    mass: list[NDArray[np.float64]]
    #: How often each n-gram is asked as a context, by itself or because longer ones back off to it.
    usage: list[NDArray[np.float64]]
    #: The share of unigrams in all that is said.
    words: float


def low_rank_shares(tables: Sequence[Table], threads: int) -> list[NDArray[np.float64]]:
    """For each order what its low rank layers say of its n-grams; empty where there are none."""
    shares = [_NOTHING]
    for n in range(2, len(tables) + 1):
        table, context = tables[n - 1], tables[n - 2]
        if table.factors is None:
            shares.append(_NOTHING)
            continue
        f, out = table.factors, np.empty(len(table))
        run = partial(
            _products, context.children, table.suffixes, context.suffixes, row_starts(tables, n),
            f.rank, f.left, f.left_start, f.right, f.right_start, out,
        )  # fmt: skip
        parallel(run, even_ranges(context.children, 0, len(context), _PIECES), threads)
        shares.append(out)
    return shares


def _products(*arrays_and_piece: Any) -> None:
    *arrays, (first, last) = arrays_and_piece
    kernels.products(first, last, *arrays)


def stationary(
    tables: Sequence[Table], low: Sequence[NDArray[np.float64]], markers: bool, tolerance: float = _TOLERANCE
) -> Stationary:
    """Follow the model's own text until nothing changes; ``low`` is what :func:`low_rank_shares` gives."""
    if len(tables) == 1:
        return Stationary([], [], 1.0)
    words = tables[0].prob.astype(np.float64)
    masses = [words]
    for table, context in zip(tables[1:-1], tables[:-2], strict=True):
        masses.append(np.repeat(masses[-1], np.diff(context.children)) * table.prob)
    if markers:
        masses[0][BOS] = words[EOS]
    found = Stationary(masses, *_usage(tables, masses, markers))
    for _ in range(_STEPS):
        masses = _step(tables, low, found, markers)
        moved = float(np.abs(masses[0] - found.mass[0]).sum())
        found = Stationary(masses, *_usage(tables, masses, markers))
        if moved < tolerance:
            break
    return found


def _usage(
    tables: Sequence[Table], masses: list[NDArray[np.float64]], markers: bool
) -> tuple[list[NDArray[np.float64]], float]:
    """How often each context is asked, and the words alone."""
    usage = [mass.copy() for mass in masses]
    for n in range(len(masses) - 1, -1, -1):
        if markers:
            usage[n][tables[n].words == EOS] = 0.0
        if n > 0:
            longer = usage[n] * tables[n].backoff - masses[n]
            usage[n - 1] += np.bincount(tables[n].suffixes, longer, len(masses[n - 1]))
            np.maximum(usage[n - 1], 0, out=usage[n - 1])
    return usage, float(usage[0] @ tables[0].backoff)


def _step(
    tables: Sequence[Table], low: Sequence[NDArray[np.float64]], found: Stationary, markers: bool
) -> list[NDArray[np.float64]]:
    """The masses one word later."""
    masses: list[NDArray[np.float64]] = [_NOTHING] * (len(tables) - 1)
    arrived = np.zeros(len(tables[-1]))
    for n in range(len(tables), 1, -1):
        table, context, usage = tables[n - 1], tables[n - 2], found.usage[n - 2]
        below = np.zeros(len(context))
        if n < len(tables):
            masses[n - 1] = np.empty(len(table))
        mass = masses[n - 1] if n < len(tables) else _NOTHING
        kernels.follow(
            context.children, table.suffixes, table.prob, low[n - 1], context.backoff, context.prob, usage, arrived,
            mass, below,
        )  # fmt: skip
        if table.factors is not None:
            f = table.factors
            kernels.row_sums(
                context.suffixes, row_starts(tables, n), f.rank, f.left, f.left_start, f.right, f.right_start,
                usage, below,
            )  # fmt: skip
        arrived = below
    masses[0] = arrived + found.words * tables[0].prob
    masses[0][BOS] = masses[0][EOS] if markers else 0.0
    total = masses[0].sum() - masses[0][BOS]
    return [mass / total for mass in masses]
