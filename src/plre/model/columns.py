"""N-grams as plain columns: what components of n-grams are made of, and turned back into."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plre.errors import ModelFileError
from plre.lowrank.blocks import Factors
from plre.model import _lowrank
from plre.scratch import Column
from plre.tensorfile import release
from plre.text.vocabulary import BOS, Vocabulary
from plre.threads import even_ranges

#: Factors that are put side by side before they are let go of.
_PIECE = 1 << 22


@dataclass(frozen=True)
class Order:
    """The n-grams of one order as plain columns, sorted by context and then by word.

    ``children`` says for each (n-1)-gram where its n-grams start, with one entry more; ``backoff`` and ``missing`` are
    of n-grams as contexts. ``factors`` are the low rank layers: slices are of order n - 2, rows and columns n - 1.
    """

    words: Column
    children: Column
    prob: Column
    backoff: Column | None = None
    missing: Column | None = None
    factors: Factors | None = None

    def __len__(self) -> int:
        return len(self.words)


@dataclass(frozen=True)
class Columns:
    """A component's unigrams and its orders from 2 up, as plain columns: what :func:`assemble` makes one of."""

    prob: NDArray[np.float32]
    backoff: NDArray[np.float32]
    missing: NDArray[np.float32] | None
    orders: list[Order]

    def ngrams(self, n: int, vocab: Vocabulary) -> Iterator[tuple[tuple[str, ...], float]]:
        """All n-grams of one order, with P(last word | the others)."""
        if n == 1:
            yield from (((vocab.word(w),), float(self.prob[w])) for w in range(len(self.prob)) if w != BOS)
            return

        def below(prefix: tuple[str, ...], owner: int) -> Iterator[tuple[tuple[str, ...], float]]:
            order = self.orders[len(prefix) - 1]
            for i in range(int(order.children[owner]), int(order.children[owner + 1])):
                gram = (*prefix, vocab.word(int(order.words[i])))
                if len(gram) < n:
                    yield from below(gram, i)
                else:
                    yield gram, float(order.prob[i])

        for w in range(len(self.prob)):
            yield from below((vocab.word(w),), w)

    def suffixes(self, n: int) -> NDArray[np.int32]:
        """The number of each n-gram without its oldest word, among those of order n - 1."""
        if n == 2:
            return np.asarray(self.orders[0].words)
        own, below = self.orders[n - 2], self.orders[n - 3]
        contexts = np.repeat(self.suffixes(n - 1), np.diff(own.children))
        # A pair of context and word is known by its place in the list of the order below, which is sorted by both.
        keys = _pairs(np.repeat(np.arange(len(below.children) - 1), np.diff(below.children)), below.words)
        return np.searchsorted(keys, _pairs(contexts, own.words)).astype(np.int32)


def _pairs(contexts: NDArray[np.integer], words: NDArray[np.integer]) -> NDArray[np.int64]:
    return contexts.astype(np.int64) << 32 | words.astype(np.int64)


def check_order(n: int, words: NDArray[np.int32], children: NDArray[np.int32], symbols: int) -> None:
    """Refuse an order whose symbols are not there, or whose runs do not cover its list one after the other."""
    fits = len(children) and children[0] == 0 and children[-1] == len(words) and np.all(np.diff(children) >= 0)
    if not fits or np.any((words < 0) | (words >= symbols)):
        raise ModelFileError(f"the n-grams of order {n} do not fit together; check the model with plre verify")


def join_factors(
    children: Column, f: Factors, right: Column, left: NDArray[Any], room: Callable[[int], NDArray[Any]]
) -> tuple[NDArray[np.uint32], NDArray[Any]]:
    """Both rows of each (n-1)-gram side by side, in as much room as is asked for, and where they meet."""
    row_start = np.asarray(children[:])
    size = int(row_start[-1])
    total = int(f.right_start[size]) + int(f.left_start[-1])
    pointers, factors = np.empty(size, np.uint32), room(total)
    end = 0
    for first, last in even_ranges(f.left_start, 0, len(f.rank), 1 + total // _PIECE):
        rows = slice(int(row_start[first]), int(row_start[last]))
        begins = f.right_start[rows.start : rows.stop + 1]
        begin, end = end, _lowrank.join_factors(
            row_start[first : last + 1], f.rank[first:last], left, f.left_start[first:last],
            right[int(begins[0]) : int(begins[-1])], begins, end, pointers[rows], factors,
        )  # fmt: skip
        release(factors[begin:end])
    return pointers, factors


def part_bigrams(rights: NDArray[Any], lefts: NDArray[Any], symbols: int, rank: int) -> Factors:
    """The low rank layers of bigrams, from factors in which right and left rows alternate."""
    right, left = rights.reshape(symbols, 2, rank)[:, 0], lefts.reshape(symbols, 2, rank)[:, 1]
    starts = rank * np.arange(symbols + 1, dtype=np.int64)
    return Factors(np.array([rank], np.int32), left.reshape(-1), starts[[0, -1]], right.reshape(-1), starts)


def part_factors(
    n: int,
    columns: Columns,
    rank: NDArray[np.int32],
    pointers: NDArray[np.uint32],
    rights: NDArray[np.float32],
    lefts: NDArray[np.float32],
) -> Factors:
    """The low rank layers of order n: the rank of each slice, and where each (n-1)-gram's factors are among all."""
    row_start, suffixes, count = np.asarray(columns.orders[n - 3].children), columns.suffixes(n - 1), len(rights)
    if not np.any(rank < 0) and not np.any((suffixes < 0) | (suffixes >= len(rank))):
        left_size, right_size = np.repeat(rank, np.diff(row_start)).astype(np.int64), rank[suffixes].astype(np.int64)
        at = pointers.astype(np.int64)
        within = np.all((at >= right_size) & (at + left_size <= count))
        if within and int(left_size.sum() + right_size.sum()) <= count:
            left_start = np.concatenate([[0], np.cumsum(np.diff(row_start) * rank.astype(np.int64))])
            right_start = np.concatenate([[0], np.cumsum(right_size)])
            left, right = np.empty(left_start[-1], np.float32), np.empty(right_start[-1], np.float32)
            given = row_start, rank, suffixes, pointers, rights, lefts
            _lowrank.part_factors(*given, left, left_start, right, right_start)
            return Factors(rank, left, left_start, right, right_start)
    raise ModelFileError(f"the low rank layers of order {n} do not fit together; check the model with plre verify")
