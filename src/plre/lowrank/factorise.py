"""The best low rank approximation under generalised KL of every block of a sparse matrix (method.md 6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plre._simd import LANES
from plre.lowrank import _kernels as kernels
from plre.lowrank.blocks import Blocks, Factors
from plre.progress import Advance
from plre.threads import Team, even_ranges

#: A block with more work than this (non-zeros times rank) is shared among threads; others go to one thread each.
_LARGE = 4_000_000
#: The work of a large block is cut into this many pieces, whatever the number of threads.
_PIECES = 64
#: Pieces of everything that is done once: they need room for a number per row or block each.
_PARTS = 16
#: The likelihood is looked at every so many steps.
_CHECK_EVERY = 5


@dataclass(frozen=True)
class Stopping:
    """When EM stops: after ``steps``, or when a step changes the log-likelihood by less than ``tolerance`` of it
    (a negative one never stops it, and saves looking).

    The last ``fresh`` steps begin anew: columns learn from the rows found so far with all components alike, then rows
    from those columns. What is rare has too little to say to shake off its random start, and then goes on to believe
    too firmly in what it has: a few steps from an even start give it a better guess, and what is frequent is soon where
    it was. This is not the paper's, which goes for the highest likelihood: 0.
    """

    steps: int = 100
    tolerance: float = 1e-5
    fresh: int = 0

    def before_last(self) -> tuple[int, int]:
        """Steps before the joint one that comes last, and how many of them are fresh: at most half."""
        return self.steps - 1, min(self.fresh, (self.steps - 1) // 2)


@dataclass(frozen=True)
class _Side:
    """The rows or the columns of some blocks, as one half step sees them."""

    start: NDArray[np.int64]  # the first one of each block
    entry_start: NDArray[np.int64]  # of each row or column
    others: NDArray[np.int32]  # the column (for rows) or the row (for columns) of each entry
    values: NDArray[np.float32]
    factor_start: NDArray[np.int64]  # of each block
    factor: NDArray[np.float32]
    place: NDArray[np.int64]  # where each one's factors belong in the end


@dataclass(frozen=True)
class _Packed:
    """Blocks of rank 2 and more, packed: what belongs to a block stands together."""

    rank: NDArray[np.int64]
    #: The rank, padded to whole vectors.
    width: NDArray[np.int64]
    rows: _Side
    columns: _Side
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
    memory: int | None = None,
    advance: Advance | None = None,
) -> Factors:
    """Factors of every block. Row sums and column sums are kept to rounding, converged or not.

    Rank 1 has a closed form; higher ranks are found by EM from a random start, always finishing with a joint step.
    With ``memory``, no more blocks are worked on at a time than need that many bytes beside the factors (but at least
    one), which changes nothing in the result. ``advance`` is told how much of the work (which is 1 in all) was done.
    """
    factors = Factors.empty(blocks, rank)
    with Team(threads) as team:
        if np.any(rank == 1):
            _rank_one(blocks, values, factors, team)
        chosen = np.flatnonzero(rank > 1)
        if len(chosen):
            entries, columns = _sizes(blocks, chosen)
            seeds = np.random.SeedSequence(seed).generate_state(len(chosen), np.uint64).astype(np.uint64)
            work = entries * rank[chosen]
            need = _bytes(entries, np.diff(blocks.row_start)[chosen], columns, _padded(rank[chosen]))
            for first, last in _groups(need, memory):
                packed = _pack(blocks, values, factors, chosen[first:last], seeds[first:last], team)
                _run(packed, factors, work[first:last], work.sum(), stopping or Stopping(), team, advance or _ignore)
    return factors


def bytes_needed(blocks: Blocks, rank: NDArray[np.int32]) -> tuple[int, int]:
    """Bytes of the factors, and of the work on the block that takes most, which is done as a whole."""
    rows, columns = np.diff(blocks.row_start), np.bincount(blocks.column_block, minlength=len(blocks))
    factors = 4 * int((rank * (rows + columns)).sum()) + 8 * len(blocks.column_block)
    chosen = np.flatnonzero(rank > 1)
    if not len(chosen):
        return factors, 0
    entries, own_columns = _sizes(blocks, chosen)
    return factors, int(_bytes(entries, rows[chosen], own_columns, _padded(rank[chosen])).max())


def _ignore(share: float) -> None:
    pass


def _padded(rank: NDArray[np.int32]) -> NDArray[np.int64]:
    return -(-rank.astype(np.int64) // LANES) * LANES


def _sizes(blocks: Blocks, chosen: NDArray[np.intp]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Entries and columns of the chosen blocks."""
    lengths = np.diff(blocks.column_start)
    entries = np.bincount(blocks.column_block, weights=lengths, minlength=len(blocks))[chosen].astype(np.int64)
    return entries, np.bincount(blocks.column_block, minlength=len(blocks))[chosen]


def _bytes(entries: Any, rows: Any, columns: Any, width: Any) -> NDArray[np.int64]:
    """What packing and solving blocks needs: entries twice, counters to transpose them, factors, and where they are."""
    return 24 * entries + (4 * width + 24) * (rows + columns)


def _groups(need: NDArray[np.int64], memory: int | None) -> list[tuple[int, int]]:
    """Runs of blocks that together need no more than ``memory``, or are alone."""
    if memory is None:
        return [(0, len(need))]
    bounds, used = [0], 0
    for b, size in enumerate(need.tolist()):
        if b > bounds[-1] and used + size > memory:
            bounds.append(b)
            used = 0
        used += size
    return list(pairwise([*bounds, len(need)]))


def _rank_one(blocks: Blocks, values: NDArray[np.float32], factors: Factors, team: Team) -> None:
    """The closed form for blocks of rank 1: row sum times column sum over the total."""
    rows, columns = int(blocks.row_start[-1]), len(blocks.column_block)
    parts = even_ranges(blocks.column_start, 0, columns, _parts(len(blocks.rows), rows))
    row_sums = np.empty((len(parts), rows))
    column_sum = np.empty(columns)
    block_sum = np.zeros(len(blocks))
    team.run(
        lambda part: kernels.column_sums(
            *parts[part], blocks.column_start, blocks.rows, values, column_sum, row_sums[part]
        ),
        range(len(parts)),
    )
    team.run(
        lambda piece: kernels.rank_one_rows(
            *piece, blocks.row_start, factors.rank, row_sums, factors.left, factors.left_start, block_sum
        ),
        even_ranges(blocks.row_start, 0, len(blocks), _PIECES),
    )
    team.run(
        lambda piece: kernels.rank_one_columns(
            *piece, blocks.column_block, factors.rank, column_sum, block_sum, factors.right, factors.right_start
        ),
        even_ranges(blocks.column_start, 0, columns, _PIECES),
    )


def _parts(size: int, places: int) -> int:
    """In how many parts to count ``size`` things into so many places, with far fewer counters than things."""
    return max(1, min(_PARTS, size // max(4 * places, 1)))


def _starts(lengths: NDArray[Any]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(lengths)])


def _places(counts: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """From counts (part, key): where each key starts, and within it where each part does."""
    starts = _starts(counts.sum(axis=0))
    places = np.cumsum(counts, axis=0, dtype=np.int32)
    places -= counts
    places += starts[:-1].astype(np.int32)
    return starts, places


def _pack(
    blocks: Blocks,
    values: NDArray[np.float32],
    factors: Factors,
    chosen: NDArray[np.intp],
    seeds: NDArray[np.uint64],
    team: Team,
) -> _Packed:
    # Columns, sorted by block.
    number = np.full(len(blocks), -1, np.int32)
    number[chosen] = np.arange(len(chosen))
    parts = even_ranges(blocks.column_start, 0, len(blocks.column_block), _parts(len(blocks.column_block), len(chosen)))
    counts = np.empty((len(parts), len(chosen)), np.int32)
    team.run(lambda p: kernels.tally_columns(*parts[p], blocks.column_block, number, counts[p]), range(len(parts)))
    column_start, places = _places(counts)
    columns = np.empty(int(column_start[-1]), np.int32)
    team.run(
        lambda p: kernels.order_columns(*parts[p], blocks.column_block, number, places[p], columns), range(len(parts))
    )

    # Entries, column by column, rows numbered through.
    entry_start = _starts(blocks.column_start[columns + 1] - blocks.column_start[columns])
    entries = int(entry_start[-1])
    row_start = _starts(np.diff(blocks.row_start)[chosen])
    shift = np.zeros(len(blocks), np.int64)
    shift[chosen] = row_start[:-1] - blocks.row_start[chosen]
    rows, packed_values = np.zeros(entries + kernels.SPARE, np.int32), np.zeros(entries + kernels.SPARE, np.float32)
    team.run(
        lambda piece: kernels.gather(
            *piece, columns, blocks.column_start, blocks.rows, values, blocks.column_block, shift,
            entry_start, rows, packed_values,
        ),
        even_ranges(entry_start, 0, len(columns), _PIECES),
    )  # fmt: skip

    # Entries, row by row.
    parts = even_ranges(entry_start, 0, len(columns), _parts(entries, int(row_start[-1])))
    counts = np.empty((len(parts), int(row_start[-1])), np.int32)
    team.run(lambda p: kernels.tally_rows(*parts[p], entry_start, rows, counts[p]), range(len(parts)))
    row_entry_start, places = _places(counts)
    row_columns, row_values = np.zeros_like(rows), np.zeros_like(packed_values)
    team.run(
        lambda p: kernels.transpose(*parts[p], entry_start, rows, packed_values, places[p], row_columns, row_values),
        range(len(parts)),
    )

    rank = factors.rank[chosen].astype(np.int64)
    width = _padded(factors.rank[chosen])
    left_start, right_start = _starts(np.diff(row_start) * width), _starts(np.diff(column_start) * width)
    row_place = np.arange(row_start[-1]) - np.repeat(row_start[:-1], np.diff(row_start))
    row_place *= np.repeat(rank, np.diff(row_start))
    row_place += np.repeat(factors.left_start[chosen], np.diff(row_start))
    return _Packed(
        rank,
        width,
        _Side(row_start, row_entry_start, row_columns, row_values, left_start, _room(left_start), row_place),
        _Side(column_start, entry_start, rows, packed_values, right_start, _room(right_start),
              factors.right_start[columns]),
        seeds,
    )  # fmt: skip


def _room(starts: NDArray[np.int64]) -> NDArray[np.float32]:
    """Room for factors that starts on a cache line, so that no vector lies across two."""
    size = 4 * int(starts[-1])
    bytes_ = np.empty(size + 64, np.uint8)
    first = -bytes_.ctypes.data % 64
    return bytes_[first : first + size].view(np.float32)


def _run(
    p: _Packed,
    factors: Factors,
    work: NDArray[np.int64],
    all_work: int,
    stopping: Stopping,
    team: Team,
    advance: Advance,
) -> None:
    """Solve the packed blocks: large ones one by one with all threads, small ones shared out."""
    share = work / all_work
    for b in np.flatnonzero(work > _LARGE).tolist():
        _large(p, b, factors, stopping, team, lambda done, b=b: advance(done * share[b]))  # type: ignore[misc]

    small = np.flatnonzero(work <= _LARGE)
    small = small[np.argsort(-work[small], kind="stable")]
    groups = [small[i :: 8 * team.threads].copy() for i in range(min(8 * team.threads, len(small)))]
    rows, columns = p.rows, p.columns

    def run(group: NDArray[np.intp]) -> None:
        kernels.solve(
            group, p.rank, p.width, rows.start, columns.start, rows.factor_start, columns.factor_start, p.seeds,
            rows.factor, columns.factor, columns.entry_start, columns.others, columns.values,
            rows.entry_start, rows.others, rows.values, rows.place, columns.place,
            factors.left, factors.right, *stopping.before_last(), _CHECK_EVERY, stopping.tolerance,
        )  # fmt: skip
        advance(float(share[group].sum()))

    team.run(run, groups)


class _Half:
    """One side of a large block, cut into pieces, and how the team goes over it."""

    def __init__(self, side: _Side, b: int, rank: int, width: int, team: Team) -> None:
        self.first, last = int(side.start[b]), int(side.start[b + 1])
        self.rank, self.width, self.team = rank, width, team
        self.starts = side.entry_start[self.first : last + 1]
        self.others, self.values = side.others, side.values
        self.factor = side.factor[side.factor_start[b] : side.factor_start[b + 1]]
        self.place = side.place[self.first : last]
        # Counted from the block's first entry: the pieces are the same wherever the block stands.
        pieces = even_ranges(self.starts - self.starts[0], 0, last - self.first, _PIECES)
        self.bounds = np.array([0, *(end for _, end in pieces)])
        self.sums = np.zeros((len(pieces), width), np.float32)
        self.likelihoods = np.zeros(len(pieces))
        self.jobs = even_ranges(np.arange(len(pieces) + 1), 0, len(pieces), min(len(pieces), 8 * team.threads))

    def randomise(self, seed: np.uint64) -> None:
        """Start afresh."""

        def run(job: tuple[int, int]) -> None:
            for p in range(*job):
                kernels.randomise(
                    self.bounds[p], self.bounds[p + 1], self.rank, self.width, self.factor, seed, self.sums[p]
                )

        self.team.run(run, self.jobs)

    def even(self) -> None:
        """Forget: all components alike."""
        self.team.run(
            lambda job: kernels.even(self.bounds[job[0]], self.bounds[job[1]], self.rank, self.width, self.factor),
            self.jobs,
        )

    def update(self, other: _Half, scale: NDArray[np.float32], check: bool) -> float:
        """Half a step; the log-likelihood before it, if ``check`` asks for it."""
        self.team.run(
            lambda job: kernels.update(
                *job, self.bounds, self.width, self.starts, self.others, self.values, self.factor, other.factor,
                other.first * self.width, scale, self.sums, self.likelihoods, check,
            ),
            self.jobs,
        )  # fmt: skip
        return float(self.likelihoods.sum())

    def finish(
        self, other: _Half, scale: NDArray[np.float64], divisor: NDArray[np.float64], out: NDArray[np.float32]
    ) -> NDArray[np.float64]:
        """This side of the joint step; the sum over all rows."""
        sums = np.zeros((len(self.sums), self.width))
        self.team.run(
            lambda job: kernels.finish(
                *job, self.bounds, self.rank, self.width, self.starts, self.others, self.values, self.factor,
                other.factor, other.first * self.width, scale, divisor, self.place, out, sums,
            ),
            self.jobs,
        )  # fmt: skip
        total: NDArray[np.float64] = sums.sum(axis=0)
        return total


def _large(p: _Packed, b: int, factors: Factors, stopping: Stopping, team: Team, advance: Advance) -> None:
    """All steps for one block, each step shared among threads; ``kernels.solve`` is the same for one thread."""
    width = int(p.width[b])
    rows, columns = (_Half(side, b, int(p.rank[b]), width, team) for side in (p.rows, p.columns))
    rows.randomise(p.seeds[b])
    columns.randomise(~p.seeds[b])
    whole = columns.values[columns.starts[0] : columns.starts[-1]].sum(dtype=np.float64)
    scale = np.ones(width, np.float32)
    steps, fresh = stopping.before_last()
    before, done, anew = -np.inf, 0, steps - fresh
    while done < steps:
        check = stopping.tolerance >= 0 and done < anew and done % _CHECK_EVERY == _CHECK_EVERY - 1
        if done == anew:
            columns.even()
            scale[:] = 1
        likelihood = columns.update(rows, scale, check) - whole * np.log(whole)
        kernels.reciprocal(rows.sums, scale)
        if done == anew:
            rows.even()
            scale[:] = 1
        rows.update(columns, scale, False)
        kernels.reciprocal(columns.sums, scale)
        done += 1
        advance(1 / stopping.steps)
        if check:
            if likelihood - before < stopping.tolerance * _CHECK_EVERY * abs(likelihood):
                advance((anew - done) / stopping.steps)
                done = anew
            before = likelihood
    precise = scale.astype(np.float64)
    sums = rows.finish(columns, precise, np.ones(width), factors.left)
    columns.finish(rows, precise, sums, factors.right)
    advance(1 - done / stopping.steps)
