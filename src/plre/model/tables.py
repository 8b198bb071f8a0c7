"""A model of n-grams as plain arrays, order by order, and back: for work that changes all of a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plre._jit import even_ranges, parallel
from plre.lowrank.blocks import Factors
from plre.model import _pruning as kernels
from plre.model._finding import hash_piece
from plre.model.draft import Draft
from plre.model.layout import Code, Layout, LowRank, backoff_code
from plre.model.ngrams import NgramModel
from plre.scratch import Scratch

_PIECES = 64
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
    #: In a model that leads others: what each context leaves to them.
    rest: NDArray[np.float32] | None = None
    #: The low rank layers, whose slices are of order n - 2 and whose rows and columns are of order n - 1.
    factors: Factors | None = None

    def __len__(self) -> int:
        return len(self.words)


def read_tables(lm: NgramModel, threads: int) -> list[Table]:
    """All orders of a model, the lowest first."""
    tables: list[Table] = []
    for n in range(1, lm.order + 1):
        words = np.arange(lm.layout.sizes[0], dtype=np.int32) if n == 1 else lm.column(n, "word")
        highest = n == lm.order
        table = Table(
            words,
            _suffixes(lm, n, tables[-1].children if tables else None, words, threads),
            lm.column(n, "prob"),
            _NO_FLOATS if highest else lm.column(n, "backoff"),
            np.zeros(0, np.int32) if highest else lm.column(n, "children"),
            lm.column(n, "rest") if lm.layout.rest and not highest else None,
        )
        if n in lm.layout.low_rank:
            table = replace(table, factors=_factors(lm, n))
        tables.append(table)
    return tables


def _suffixes(
    lm: NgramModel, n: int, children: NDArray[np.int32] | None, words: NDArray[np.int32], threads: int
) -> NDArray[np.int32]:
    """The suffixes of an order; those of the highest are not stored but looked up."""
    if n == 1:
        return np.zeros(len(words), np.int32)
    if n == 2:
        return words
    if n < lm.order:
        return lm.column(n, "suffix")
    assert children is not None
    found = np.empty(len(words), np.int32)

    def run(piece: tuple[int, int]) -> None:
        kernels.find_suffixes(lm.memory, n, *piece, children, words, found)

    parallel(run, even_ranges(children, 0, len(children) - 1, _PIECES), threads)
    return found


def _factors(lm: NgramModel, n: int) -> Factors:
    """The low rank layers of an order."""
    left, right = lm.factors(n)
    rank = np.array(lm.tensors[f"order{n}.rank"])
    left_start = np.append(lm.tensors[f"order{n}.left_start"].astype(np.int64), len(left))
    right_start = np.append(lm.tensors[f"order{n}.right_start"].astype(np.int64), len(right))
    return Factors(rank, left, left_start, right, right_start)


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
        rest = None if table.rest is None else table.rest[kept]
        if factors is not None:
            factors = _select_factors(factors, row_starts(tables, n), tables[n - 2].suffixes, keep, n)
        chosen.append(
            Table(table.words[kept], numbers[table.suffixes[kept]], table.prob[kept], backoff, children, rest, factors)
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


def layout_like(lm: NgramModel, sizes: Sequence[int], low_rank: Mapping[int, LowRank]) -> Layout:
    """The layout of a model with the words of ``lm`` and so many n-grams and factors."""
    return Layout(
        tuple(sizes), len(lm.vocab.slots), len(lm.vocab.arena), lm.layout.size, (Code(),) * len(sizes), low_rank,
        lm.layout.rest,
    )  # fmt: skip


def write_tables(lm: NgramModel, tables: Sequence[Table], metadata: dict[str, Any], threads: int) -> NgramModel:
    """The model that has these n-grams and the words of ``lm``; numbers are as wide as there."""
    low_rank = {
        n: LowRank(len(table.factors.left), len(table.factors.right))
        for n, table in enumerate(tables, 1)
        if table.factors is not None
    }
    layout = layout_like(lm, [len(table) for table in tables], low_rank)
    draft = Draft(layout, Scratch())
    draft.put("vocab.bytes", lm.vocab.arena)
    draft.put("vocab.starts", lm.vocab.starts)
    draft.put("vocab.slots", lm.vocab.slots)
    for n, table in enumerate(tables, 1):
        code = draft.code_probabilities(n, table.prob)
        columns: dict[str, NDArray[Any]] = {
            "word": table.words,
            "prob": code.encode(table.prob, layout.size),
            "children": table.children,
            "suffix": table.suffixes,
        }
        if n < len(tables):
            columns["backoff"] = backoff_code(layout.size).encode(table.backoff, layout.size)
            if table.rest is not None:
                columns["rest"] = backoff_code(layout.size).encode(table.rest, layout.size)
        draft.put_records(n, 0, **columns)
        if layout.lines(n):
            hashes = np.empty(len(table), np.uint64)
            hash_piece(0, tables[n - 2].children, table.words, hashes)
            draft.put_index(n, hashes, threads)
        if table.factors is not None:
            f = table.factors
            draft.put_factors(n, f.rank, f.left, f.left_start[:-1], f.right, f.right_start[:-1])
    return draft.finish(metadata)
