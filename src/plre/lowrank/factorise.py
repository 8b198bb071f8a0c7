"""The best low rank approximation under generalised KL of every block of a sparse matrix (method.md 6)."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plre._jit import even_ranges, parallel
from plre.lowrank import _kernels as kernels
from plre.lowrank.blocks import Blocks, Factors
from plre.progress import Advance

#: A block with more work than this (non-zeros times rank) is shared among threads; others go to one thread each.
_LARGE = 8_000_000
#: The work of a large block is cut into this many pieces, whatever the number of threads.
_PIECES = 32
#: The likelihood is looked at every so many steps: at rank 20 it makes a step half as long again.
_CHECK_EVERY = 5


@dataclass(frozen=True)
class Stopping:
    """When EM stops: after ``steps``, or when a step changes the log-likelihood by less than ``tolerance`` of it."""

    steps: int = 100
    tolerance: float = 1e-5


@dataclass(frozen=True)
class _Packed:
    """The blocks of rank 2 and more, packed (rows, columns, entries and factors of a block follow each other)."""

    rank: NDArray[np.int64]
    row_start: NDArray[np.int64]  # of each block
    column_start: NDArray[np.int64]  # of each block
    columns: NDArray[np.int64]  # the original column of each packed one
    entry_start: NDArray[np.int64]  # of each column
    rows: NDArray[np.int32]
    values: NDArray[np.float32]
    row_entry_start: NDArray[np.int64]  # of each row
    row_columns: NDArray[np.int32]
    row_entries: NDArray[np.int32]
    left_start: NDArray[np.int64]  # of each block
    right_start: NDArray[np.int64]  # of each block
    left: NDArray[np.float32]
    right: NDArray[np.float32]
    #: x_ij / (u_i . v_j), made by the pass over the columns for the pass over the rows.
    ratios: NDArray[np.float32]
    #: Of each block's random start.
    seeds: NDArray[np.uint64]


def factorise(
    blocks: Blocks,
    values: NDArray[np.float32],
    rank: NDArray[np.int32],
    *,
    stopping: Stopping | None = None,
    seed: int | Sequence[int] = 0,
    threads: int = 1,
    advance: Advance | None = None,
) -> Factors:
    """Factors of every block. Row sums and column sums are kept to rounding, converged or not.

    Rank 1 has a closed form; higher ranks are found by EM from a random start, always finishing with a joint step.
    ``advance`` is told how much of the work (which is 1 in all) was done.
    """
    factors = Factors.empty(blocks, rank)
    row_sum = np.empty(int(blocks.row_start[-1]))
    column_sum = np.empty(len(blocks.column_block))
    kernels.margins(blocks.column_start, blocks.rows, values, row_sum, column_sum)
    kernels.rank_one(
        blocks.row_start, blocks.column_block, rank, row_sum, column_sum,
        factors.left, factors.left_start, factors.right, factors.right_start,
    )  # fmt: skip
    chosen = np.flatnonzero(rank > 1)
    if len(chosen):
        packed = _pack(blocks, values, rank, chosen, seed)
        _run(packed, stopping or Stopping(), threads, advance or (lambda share: None))
        kernels.scatter(
            chosen, packed.rank, packed.left, packed.left_start, packed.columns, packed.column_start, packed.right,
            packed.right_start, factors.left, factors.left_start, factors.right, factors.right_start,
        )  # fmt: skip
    return factors


def _pack(
    blocks: Blocks,
    values: NDArray[np.float32],
    rank: NDArray[np.int32],
    chosen: NDArray[np.intp],
    seed: int | Sequence[int],
) -> _Packed:
    first = blocks.row_start[:-1].astype(np.int64)[chosen]
    row_start = _starts(blocks.row_start[1:][chosen] - first)
    number = np.full(len(blocks), -1, np.int64)
    number[chosen] = np.arange(len(chosen))
    block_of = number[blocks.column_block]
    columns = np.flatnonzero(block_of >= 0)
    columns = columns[np.argsort(block_of[columns], kind="stable")]
    column_start = np.searchsorted(block_of[columns], np.arange(len(chosen) + 1))
    shift = (row_start[:-1] - first)[np.maximum(block_of, 0)]

    entries = int((blocks.column_start[columns + 1] - blocks.column_start[columns]).sum())
    entry_start = np.empty(len(columns) + 1, np.int64)
    rows = np.empty(entries, np.int32)
    packed_values = np.empty(entries, np.float32)
    kernels.gather(columns, blocks.column_start, blocks.rows, values, shift, entry_start, rows, packed_values)
    row_entry_start = np.empty(int(row_start[-1]) + 1, np.int64)
    row_columns = np.empty(entries, np.int32)
    row_entries = np.empty(entries, np.int32)
    kernels.transpose(entry_start, rows, row_entry_start, row_columns, row_entries)

    ranks = rank[chosen].astype(np.int64)
    left_start = _starts(np.diff(row_start) * ranks)
    right_start = _starts(np.diff(column_start) * ranks)
    return _Packed(
        ranks, row_start, column_start, columns, entry_start, rows, packed_values,
        row_entry_start, row_columns, row_entries, left_start, right_start,
        np.empty(int(left_start[-1]), np.float32),
        np.empty(int(right_start[-1]), np.float32),
        np.empty(entries, np.float32),
        np.random.SeedSequence(seed).generate_state(len(chosen), np.uint64).astype(np.uint64),
    )  # fmt: skip


def _starts(lengths: NDArray[Any]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(lengths)])


def _run(p: _Packed, stopping: Stopping, threads: int, advance: Advance) -> None:
    """Fill the packed factors: large blocks one by one with all threads, small ones shared out."""
    work = np.diff(p.entry_start[p.column_start]) * p.rank
    share = work / work.sum()
    for b in np.flatnonzero(work > _LARGE).tolist():
        _large(p, b, stopping, threads, lambda done, b=b: advance(done * share[b]))  # type: ignore[misc]

    small = np.flatnonzero(work <= _LARGE)
    small = small[np.argsort(-work[small], kind="stable")]
    groups = [small[i :: 8 * threads] for i in range(min(8 * threads, len(small)))]

    def run(group: NDArray[np.intp]) -> None:
        kernels.factorise_small(
            group, p.row_start, p.column_start, p.rank, p.left_start, p.right_start, p.seeds,
            p.entry_start, p.rows, p.values, p.row_entry_start, p.row_columns, p.row_entries,
            p.ratios, p.left, p.right, stopping.steps, _CHECK_EVERY, stopping.tolerance,
        )  # fmt: skip
        advance(float(share[group].sum()))

    parallel(run, groups, threads)


def _large(p: _Packed, b: int, stopping: Stopping, threads: int, advance: Advance) -> None:
    """All steps for one block, each step shared among threads."""
    rank = int(p.rank[b])
    row0, row1 = int(p.row_start[b]), int(p.row_start[b + 1])
    col0, col1 = int(p.column_start[b]), int(p.column_start[b + 1])
    row_pieces = even_ranges(p.row_entry_start, row0, row1, _PIECES)
    column_pieces = even_ranges(p.entry_start, col0, col1, _PIECES)
    total = float(p.values[p.entry_start[col0] : p.entry_start[col1]].sum(dtype=np.float64))
    u = p.left[p.left_start[b] : p.left_start[b + 1]]
    v = p.right[p.right_start[b] : p.right_start[b + 1]]
    new_u, new_v = np.empty_like(u), np.empty_like(v)
    kernels.randomise(u, p.seeds[b])
    kernels.randomise(v, ~p.seeds[b])

    def step(pool: ThreadPoolExecutor, precision: type, check: bool) -> float:
        def columns(piece: tuple[int, int]) -> float:
            likelihood: float = kernels.column_pass(
                *piece, row0, col0, rank, p.entry_start, p.rows, p.values, u, v, new_v, p.ratios,
                np.empty(rank, precision), total, check,
            )  # fmt: skip
            return likelihood

        def rows(piece: tuple[int, int]) -> NDArray[np.float64]:
            totals = np.zeros(rank)
            kernels.row_pass(
                *piece, row0, col0, rank, p.row_entry_start, p.row_columns, p.row_entries, p.ratios, u, v, new_u,
                np.empty(rank, precision), totals,
            )  # fmt: skip
            return totals

        likelihood = sum(pool.map(columns, column_pieces))
        totals = sum(pool.map(rows, row_pieces))
        kernels.divide_columns(0, col1 - col0, rank, new_v, totals)
        u[:] = new_u
        v[:] = new_v
        return likelihood

    with ThreadPoolExecutor(threads) as pool:
        before = -np.inf
        done = 0
        while done < stopping.steps - 1:
            done += 1
            check = done % _CHECK_EVERY == 0
            likelihood = step(pool, np.float32, check)
            advance(1 / stopping.steps)
            if check:
                if likelihood - before < stopping.tolerance * _CHECK_EVERY * abs(likelihood):
                    break
                before = likelihood
        step(pool, np.float64, False)
        advance(1 - done / stopping.steps)
