"""Counting on one machine, in memory or, for what does not fit, on disk.

Every position of the text knows the (n-1)-gram that ends there. The n-gram that ends there is that pair: the (n-1)-gram
before it, and its word. So counting one more order is sorting pairs of numbers, and numbering them:

    text, piece by piece     positions go to buckets of contexts; a piece leaves one run, sorted by bucket
    bucket by bucket         its part of every run is sorted; equal pairs are one n-gram, numbered in sorted order
    text, piece by piece     each position learns its n-gram from its piece's run

Runs and tables are kept in a :class:`Scratch`, so the text may be larger than memory. What must fit is 4 bytes for each
n-gram of the second highest order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plre.counts import _kernels as kernels
from plre.counts.ngrams import Counts, NgramTable
from plre.errors import TooLargeError
from plre.progress import Progress
from plre.scratch import Column, Growing, Runs, Scratch, slices
from plre.text.encode import EncodedText
from plre.text.vocabulary import BOS
from plre.threads import overlapped, parallel

#: Positions of a piece of text, and of a bucket.
_PIECE = 1 << 20
_BUCKET = 1 << 17
#: Buckets that are sorted before the n-grams of the first of them are numbered.
_BATCH = 32
#: Entries of the table that leads from a context to its bucket.
_COARSE = 1 << 16


def count_ngrams(
    text: EncodedText,
    order: int,
    *,
    threads: int = 1,
    progress: Progress | None = None,
    scratch: Scratch | None = None,
) -> Counts:
    """All n-grams of ``text`` up to ``order`` with raw and adjusted counts.

    ``<s>`` is only ever context. Nothing reaches across a sentence's start; without markers the text is one stream.
    """
    progress = progress or Progress()
    scratch = scratch or Scratch()
    words = len(text.vocab)
    with progress.stage("counting n-grams", order * len(text.ids), "words") as advance:
        occurrences = np.zeros(words, np.int64)
        for piece in slices(len(text.ids), _PIECE):
            kernels.add_words(text.ids[piece], occurrences)
        raw = occurrences.astype(np.int32)
        raw[BOS] = 0  # never predicted
        root = np.array([0, words], np.int32)
        tables = [NgramTable(1, np.arange(words, dtype=np.int32), root, np.zeros(words, np.int32), raw, raw)]
        advance(len(text.ids))

        grams: _Grams = _Grams(text.ids)
        weights: Column = occurrences
        for n in range(2, order + 1):
            table, grams = _refine(text, grams, tables[-1], weights, n, n == order, threads, scratch)
            weights = table.raw
            tables.append(table)
            advance(len(text.ids))

        def adjust(n: int) -> NgramTable:
            return _adjusted(tables[n - 1], tables[n], scratch)

        adjusted = parallel(adjust, range(1, order), threads if scratch.memory is None else 1)
    return Counts((*adjusted, tables[-1]), text.markers, len(text.ids) - text.sentences)


@dataclass(frozen=True)
class _Grams:
    """The n-gram that ends at each position of the text, piece by piece: of order 1 the text itself, else from runs."""

    ids: Column
    values: Runs | None = None
    positions: Runs | None = None
    #: How many positions of each piece have an n-gram, and where among them its last position is (or -1).
    sizes: tuple[int, ...] = ()
    last: tuple[int, ...] = ()

    def piece(self, number: int, length: int) -> tuple[NDArray[np.int32], int]:
        """The n-grams of one piece, and the one before it (or -1)."""
        start = number * _PIECE
        if self.values is None or self.positions is None:
            before = int(self.ids[start - 1 : start][0]) if number else -1
            return self.ids[start : start + length], before
        grams = np.empty(length, np.int32)
        size = self.sizes[number]
        kernels.spread_grams(self.positions.read(number, 0, size), self.values.read(number, 0, size), grams)
        at = self.last[number - 1] if number else -1
        return grams, int(self.values.read(number - 1, at, at + 1)[0]) if at >= 0 else -1


def _refine(
    text: EncodedText,
    grams: _Grams,
    shorter: NgramTable,
    weights: Column,
    n: int,
    highest: bool,
    threads: int,
    scratch: Scratch,
) -> tuple[NgramTable, _Grams]:
    """The table of order n, and the n-gram of each position (not for the highest order, where nobody asks)."""
    word_bits = max(1, (len(text.vocab) - 1).bit_length())
    bounds = _bounds(weights)
    buckets = len(bounds) - 1
    shift = max(0, int(bounds[-1]).bit_length() - _COARSE.bit_length())
    coarse = np.searchsorted(bounds, np.arange((int(bounds[-1]) >> shift) + 1) << shift, "right").astype(np.int32) - 1
    keys, suffixes, positions, values = (Runs(scratch, t) for t in (np.uint64, np.int32, np.int32, np.int32))
    starts: list[NDArray[np.int64]] = []
    last: list[int] = []

    def partition(number: int) -> tuple[NDArray[np.int64], int, list[NDArray[np.generic]]]:
        ids = text.ids[number * _PIECE : (number + 1) * _PIECE]
        own, before = grams.piece(number, len(ids))
        begin = np.empty(buckets + 1, np.int64)
        run = [np.empty(len(ids), t) for t in (np.uint64, np.int32, np.int32)]
        which = np.empty(len(ids), np.int32)
        size, at = kernels.partition(ids, own, before, BOS, bounds, coarse, shift, word_bits, begin, *run, which)
        return begin, at, [column[:size].copy() if size < len(column) else column for column in run]

    pieces = -(-len(text.ids) // _PIECE)
    for _, (begin, at, run) in overlapped(partition, iter(range(pieces)), threads):
        starts.append(begin)
        last.append(at)
        keys.append(run[0])
        suffixes.append(run[1])
        if not highest:
            positions.append(run[2])
            values.append(np.empty(len(run[2]), np.int32))

    def parts(bucket: int) -> list[tuple[int, int]]:
        return [(int(begin[bucket]), int(begin[bucket + 1])) for begin in starts]

    def sort(bucket: int) -> tuple[NDArray[np.uint64], int, int]:
        own = keys.gather(parts(bucket))
        bits = max(1, len(own).bit_length())
        contexts = int(bounds[bucket + 1] - bounds[bucket])
        if contexts.bit_length() + word_bits + bits > 64:
            raise TooLargeError("so many words cannot be counted; use a smaller vocabulary (--min-count)")
        kernels.number_keys(own, bits)
        own.sort()
        return own, bits, kernels.count_distinct(own, bits)

    def number(task: tuple[int, NDArray[np.uint64], int, int, int]) -> list[NDArray[np.int32]]:
        bucket, own, bits, distinct, base = task
        table = [np.empty(distinct, np.int32) for _ in range(3)]
        children = np.empty(int(bounds[bucket + 1] - bounds[bucket]), np.int32)
        found = np.empty(len(own), np.int32)
        wanted = parts(bucket)
        kernels.number_ngrams(own, bits, suffixes.gather(wanted), word_bits, base, *table, children, found)
        if not highest:
            at = 0
            for run, (start, stop) in enumerate(wanted):
                values.write(run, start, found[at : at + stop - start])
                at += stop - start
        return [*table, children]

    columns = [Growing(scratch, np.int32) for _ in range(4)]
    total = 0
    for batch in slices(buckets, _BATCH):
        chosen = range(batch.start, batch.stop)
        tasks = []
        for bucket, (own, bits, distinct) in zip(chosen, parallel(sort, chosen, threads), strict=True):
            tasks.append((bucket, own, bits, distinct, total))
            total += distinct
        for made in parallel(number, tasks, threads):
            for column, values_of_bucket in zip(columns, made, strict=True):
                column.append(values_of_bucket)
    columns[3].append(np.array([total], np.int32))
    words, suffix, raw, children = (column.finish() for column in columns)
    known = _Grams(text.ids, values, positions, tuple(int(begin[-1]) for begin in starts), tuple(last))
    return NgramTable(n, words, children, suffix, raw, raw), known


def _bounds(weights: Column) -> NDArray[np.int64]:
    """Contexts cut into buckets of about equally many positions; ``weights`` says how many positions each has."""
    ends = [np.zeros(1, np.int64)]
    carried = 0
    for part in slices(len(weights), _PIECE):
        raw = np.asarray(weights[part], np.int64)
        found = np.empty(len(raw), np.int64)
        n, carried = kernels.close_buckets(raw, part.start, _BUCKET, carried, found)
        ends.append(found[:n])
    bounds = np.concatenate(ends)
    return bounds if bounds[-1] == len(weights) else np.append(bounds, len(weights))


def _adjusted(table: NgramTable, longer: NgramTable, scratch: Scratch) -> NgramTable:
    adjusted = np.zeros(len(table), np.int32)
    for part in slices(len(longer), _PIECE):
        kernels.count_predecessors(longer.suffixes[part], adjusted)
    for part in slices(len(table), _PIECE):
        kernels.keep_raw(table.raw[part], adjusted[part])
    column = Growing(scratch, np.int32)
    column.append(adjusted)
    return NgramTable(table.order, table.words, table.children, table.suffixes, table.raw, column.finish())
