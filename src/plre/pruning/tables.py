"""The n-grams of a component as plain arrays, order by order, and back: for work that changes all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from plre.lowrank.blocks import Factors
from plre.model.columns import Columns, Order
from plre.model.ngrams import NgramBody

_NO_FLOATS = np.empty(0, np.float32)


@dataclass(frozen=True)
class Table:
    """The n-grams of one order."""

    words: NDArray[np.int32]
    #: The (n-1)-gram without the oldest word; of a word the only one of order 0.
    suffixes: NDArray[np.int32]
    prob: NDArray[np.float32]
    #: As contexts: the weight of the shorter context, and where the longer n-grams start. Empty in the highest order.
    backoff: NDArray[np.float32]
    children: NDArray[np.int32]
    #: In a component that leads others: what each context leaves to them.
    missing: NDArray[np.float32] | None = None
    #: The low rank layers, whose slices are of order n - 2 and whose rows and columns are of order n - 1.
    factors: Factors | None = None

    def __len__(self) -> int:
        return len(self.words)


def read_tables(body: NgramBody) -> list[Table]:
    """All orders of a component, the lowest first."""
    columns = body.columns()
    none = np.zeros(0, np.int32)
    symbols = np.arange(body.symbols, dtype=np.int32)
    children = [order.children for order in columns.orders] + [none]
    highest = body.order == 1
    tables = [
        Table(
            symbols, np.zeros(len(symbols), np.int32), columns.prob, _NO_FLOATS if highest else columns.backoff,
            children[0], columns.missing if not highest else None,
        )
    ]  # fmt: skip
    for n, order in enumerate(columns.orders, 2):
        backoff = order.backoff if order.backoff is not None else _NO_FLOATS
        tables.append(
            Table(order.words, columns.suffixes(n), order.prob, backoff, children[n - 1], order.missing, order.factors)
        )
    return tables


def row_starts(tables: Sequence[Table], n: int) -> NDArray[np.int32]:
    """Where the rows of each slice of order n start among the (n-1)-grams."""
    return tables[n - 3].children if n > 2 else np.array([0, len(tables[0])], np.int32)


def select(tables: Sequence[Table], keep: Sequence[NDArray[np.bool_]]) -> list[Table]:
    """Only the n-grams to keep, numbered anew; the context and the suffix of each must be among them."""
    chosen = []
    numbers = np.zeros(1, np.int32)
    for n, (table, kept) in enumerate(zip(tables, keep, strict=True), 1):
        backoff, children, factors = table.backoff, table.children, table.factors
        if n < len(tables):
            before = np.concatenate([[0], np.cumsum(keep[n])]).astype(np.int32)[children]
            backoff, children = backoff[kept], np.append(before[:-1][kept], before[-1])
        missing = None if table.missing is None else table.missing[kept]
        if factors is not None:
            factors = _select_factors(factors, row_starts(tables, n), tables[n - 2].suffixes, keep, n)
        chosen.append(
            Table(
                table.words[kept], numbers[table.suffixes[kept]], table.prob[kept], backoff, children, missing, factors
            )
        )
        numbers = (np.cumsum(kept) - 1).astype(np.int32)
    return chosen


def _select_factors(
    factors: Factors,
    row_start: NDArray[np.int32],
    column_slices: NDArray[np.int32],
    keep: Sequence[NDArray[np.bool_]],
    n: int,
) -> Factors:
    """The factors of order n for the slices, rows and columns that are left."""
    shorter = keep[n - 2]
    slices = keep[n - 3] if n > 2 else np.ones(1, np.bool_)
    rank = factors.rank
    rows_rank = np.repeat(rank, np.diff(row_start))
    left = factors.left[np.repeat(shorter, rows_rank)]
    right = factors.right[np.repeat(shorter, rank[column_slices])]
    sizes = np.bincount(np.repeat(np.arange(len(rank)), np.diff(row_start))[shorter], minlength=len(rank))
    left_start = np.concatenate([[0], np.cumsum((sizes * rank)[slices])])
    right_start = np.concatenate([[0], np.cumsum(rank[column_slices[shorter]], dtype=np.int64)])
    return Factors(rank[slices], left, left_start, right, right_start)


def write_tables(tables: Sequence[Table], like: NgramBody, threads: int) -> NgramBody:
    """The component that has these n-grams, with numbers of as many bits as another one."""
    orders = [
        Order(
            table.words, context.children, table.prob, table.backoff if n < len(tables) else None, table.missing,
            table.factors,
        )
        for n, (context, table) in enumerate(pairwise(tables), 2)
    ]  # fmt: skip
    missing = tables[0].missing
    if like.missing and missing is None:
        missing = np.zeros(len(tables[0]), np.float32)
    backoff = tables[0].backoff if orders else np.ones(len(tables[0]), np.float32)
    columns = Columns(tables[0].prob, backoff, missing, orders)
    return like.remade(columns, threads)
