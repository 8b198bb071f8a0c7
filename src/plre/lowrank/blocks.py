"""A sparse non-negative matrix that falls into blocks, each of which is factorised by itself.

The blocks are the slices of one order (method.md 4), but nothing here knows what a word is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plre.errors import TooLargeError
from plre.lowrank import _kernels as kernels
from plre.threads import even_ranges, parallel

#: Numbers that one side of an order's factors may have: a model file points into them with 32 bits.
LARGEST = 2**31 - 1
#: Roots that a rank may grow with, and their names.
ROOTS = {2: "sqrt", 3: "cbrt"}
#: Factors are set side by side in this many pieces.
_PIECES = 32
#: Entries that are looked at together.
_PIECE = 1 << 20


@dataclass(frozen=True)
class Blocks:
    """The pattern of non-zeros, column by column; values are kept apart, since several matrices share one pattern."""

    #: Rows of block b are ``row_start[b] : row_start[b + 1]``.
    row_start: NDArray[np.int32]
    #: The block of each column; columns come in any order.
    column_block: NDArray[np.int32]
    #: Entries of column j are ``column_start[j] : column_start[j + 1]``.
    column_start: NDArray[np.int32]
    #: The row of each entry.
    rows: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.row_start) - 1

    def entries(self) -> NDArray[np.int64]:
        """The non-zeros of each block."""
        return np.bincount(self.column_block, weights=np.diff(self.column_start), minlength=len(self)).astype(np.int64)

    def smaller_side(self) -> NDArray[np.int64]:
        """For each block, the smaller of its numbers of non-zero rows and non-zero columns."""
        used = np.zeros(int(self.row_start[-1]) + 1, np.bool_)
        for part in range(0, len(self.rows), _PIECE):
            used[1:][self.rows[part : part + _PIECE]] = True
        filled = np.cumsum(used)
        rows: NDArray[np.int64] = filled[self.row_start[1:]] - filled[self.row_start[:-1]]
        columns = np.bincount(self.column_block[np.diff(self.column_start) > 0], minlength=len(self))
        return np.minimum(rows, columns)


@dataclass(frozen=True)
class Rank:
    """How high the rank of a block is: a fixed number, a fraction of the block's smaller side as the authors had it, or
    a root of the number of its non-zeros (2: square root, 3: cube root), divided by something.

    >>> Rank(fraction=0.01)(np.array([0, 50, 1000])).tolist()
    [0, 1, 10]
    >>> Rank(root=3, divisor=2.0)(np.array([3, 50]), np.array([4, 1000])).tolist()
    [1, 5]
    """

    fixed: int = 0
    fraction: float = 0.0
    root: int = 0
    divisor: float = 1.0
    #: With a fraction or a root: no more than this, however large the block.
    limit: int | None = None

    def __call__(self, smaller_side: NDArray[np.int64], entries: NDArray[np.int64] | None = None) -> NDArray[np.int32]:
        """The rank of each block: at least 1, at most the smaller side (0 for an empty block)."""
        wanted: Any = self.fixed
        if self.root and entries is not None:
            wanted = np.trunc(entries ** (1 / self.root) / self.divisor + 1e-9)
        elif not self.fixed:
            wanted = np.trunc(self.fraction * smaller_side)
        if self.limit:
            wanted = np.minimum(wanted, self.limit)
        return np.minimum(np.maximum(wanted, 1), smaller_side).astype(np.int32)

    def __str__(self) -> str:
        limit = f"<={self.limit}" if self.limit else ""
        if self.root:
            return f"{ROOTS[self.root]}/{self.divisor:g}{limit}"
        return str(self.fixed) if self.fixed else f"{self.fraction:g}{limit}"


@dataclass(frozen=True)
class Factors:
    """Two thin matrices for each block, flat; an entry is approximated by the product of its row's and its column's.

    Row i of block b has ``rank[b]`` numbers from ``left[left_start[b] + (i - first row of b) * rank[b]]`` on; column j
    has as many from ``right[right_start[j]]`` on.
    """

    rank: NDArray[np.int32]
    left: NDArray[np.float32]
    left_start: NDArray[np.int64]
    #: It may stand for an array on disk.
    right: Any
    right_start: NDArray[np.int64]

    @classmethod
    def empty(cls, blocks: Blocks, rank: NDArray[np.int32]) -> Factors:
        """Room for factors of these ranks; refuses what a model file could not hold."""
        check_ranks(blocks, rank)
        left_start = np.zeros(len(blocks) + 1, np.int64)
        np.cumsum(np.diff(blocks.row_start) * rank.astype(np.int64), out=left_start[1:])
        right_start = np.zeros(len(blocks.column_block) + 1, np.int64)
        np.cumsum(rank[blocks.column_block], out=right_start[1:])
        return cls(
            rank,
            np.zeros(int(left_start[-1]), np.float32),
            left_start,
            np.zeros(int(right_start[-1]), np.float32),
            right_start,
        )


def check_ranks(blocks: Blocks, rank: NDArray[np.int32]) -> None:
    """Refuse ranks whose factors a model file could not hold."""
    columns = np.bincount(blocks.column_block, minlength=len(blocks))
    largest = int(max(rank.astype(np.int64) @ np.diff(blocks.row_start), rank.astype(np.int64) @ columns))
    if largest > LARGEST:
        raise TooLargeError(
            f"low rank layers with ranks up to {int(rank.max())} would have {largest:,} numbers a side "
            f"({4 * largest / 1e9:.0f} GB), more than a model can hold; choose lower ranks"
        )


def average(blocks: Blocks, parts: list[Factors], *, threads: int = 1) -> Factors:
    """The mean of several approximations of the same matrix: their factors side by side, each counting for less."""
    if len(parts) == 1:
        return parts[0]
    share = np.float32(1 / len(parts))
    return stack(blocks, [replace(part, left=part.left * share) for part in parts], threads=threads)


def stack(blocks: Blocks, parts: list[Factors], *, threads: int = 1) -> Factors:
    """The sum of several approximations, as one: their factors side by side."""
    if len(parts) == 1:
        return parts[0]
    rank = np.sum([part.rank for part in parts], axis=0).astype(np.int32)
    total = Factors.empty(blocks, rank)
    before = np.zeros(len(blocks), np.int32)

    def rows(piece: tuple[int, int]) -> None:
        kernels.place_rows(
            *piece, blocks.row_start, part.rank, part.left, part.left_start, before, rank, total.left, total.left_start
        )

    def columns(piece: tuple[int, int]) -> None:
        kernels.place_columns(
            *piece, blocks.column_block, part.rank, part.right, part.right_start, before, total.right, total.right_start
        )

    for part in parts:
        parallel(rows, even_ranges(part.left_start, 0, len(blocks), _PIECES), threads)
        parallel(columns, even_ranges(part.right_start, 0, len(blocks.column_block), _PIECES), threads)
        before += part.rank
    return total
