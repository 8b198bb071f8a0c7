"""Counting a chain of ever finer contexts, which mix words and classes of words.

A chain is a list of slots from coarse to fine; a slot looks at the word so many positions back, through a map from
words to symbols. Each level of the chain refines the context of the level before, so contexts are nodes of a tree:

    slots    class of w1 | w1     | class of w2
    node     ANIMAL      | cat    | cat after DETERMINER

    events   (ANIMAL, sat)   (cat, sat)   (cat after DETERMINER, sat)

Where ``<s>`` has been read there is nothing older: the chain ends as soon as all that is left would read ``<s>`` again.
A slot that reads beyond the sentence's start otherwise reads ``<s>``.

Contexts with the words after them are windows, which are sorted once (``sorting.py``): that gives the contexts of all
levels, and the events of the finest. Those of a coarser level are the finer ones of each context, sorted by word and
put together. Where a chain has ended, a symbol that no word has stands for the rest, and goes when all is counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from plre.counts import _tree as kernels
from plre.counts._kernels import add_words, count_predecessors, keep_raw
from plre.counts._sorting import add_contexts, put_symbols
from plre.counts.sorting import Bucket, Windows, sorted_windows
from plre.errors import TooLargeError, UsageError
from plre.progress import Progress
from plre.scratch import Column, Growing, Scratch, slices
from plre.text.vocabulary import BOS, EOS
from plre.threads import even_ranges, overlapped, parallel

#: Positions that are looked at together, and events of a piece, about.
_PIECE = 1 << 20
#: The farthest word that a slot may look at.
FARTHEST = 64

#: The symbol of each word; None: the word itself.
Map = NDArray[np.int32] | None


class Slot(NamedTuple):
    """One step of a chain: which map, and how many words back."""

    map: int
    distance: int


@dataclass(frozen=True)
class Level:
    """The contexts of one length of the chain, and the events in them. All arrays are of int32.

    Nodes are sorted by parent and symbol, events by node and word. The root level has one node.
    """

    #: For each node, the one that it refines and the symbol of the slot.
    parents: NDArray[np.int32]
    symbols: NDArray[np.int32]
    #: Where the events of each node start; one entry more than there are nodes.
    starts: NDArray[np.int32]
    #: For each event its word.
    words: NDArray[np.int32]
    #: How often it occurs.
    raw: NDArray[np.int32]
    #: Kneser-Ney's count: in how many nodes of the next level it is seen; the raw count where none are finer.
    counts: NDArray[np.int32]
    #: The event with the same word one level coarser.
    suffixes: NDArray[np.int32]

    def nodes(self) -> NDArray[np.int32]:
        """The node of each event."""
        return np.repeat(np.arange(len(self.parents), dtype=np.int32), np.diff(self.starts))


def check_chain(words: int, maps: Sequence[Map], slots: Sequence[Slot]) -> None:
    """Raise UsageError where slots or maps cannot be used."""
    if not slots:
        raise UsageError("a chain of contexts needs at least one slot")
    for slot in slots:
        if not 0 <= slot.map < len(maps):
            raise UsageError(f"a slot has map {slot.map}, but there are {len(maps)} maps")
        if not 1 <= slot.distance <= FARTHEST:
            raise UsageError(f"a slot looks {slot.distance} words back; it can look back 1 to {FARTHEST}")
    for number, table in enumerate(maps):
        if table is None:
            continue
        if table.shape != (words,) or table.dtype != np.int32 or table.min() < 0:
            raise UsageError(f"map {number} should have a symbol from 0 up, as int32, for each of {words} words")
        if any((table == table[marker]).sum() > 1 for marker in (BOS, EOS)):
            raise UsageError(f"map {number} should give <s> and </s> symbols that no other word has")


def depths(slots: Sequence[Slot]) -> NDArray[np.int64]:
    """How many slots a chain has where the sentence starts so many words back (0 is never asked for).

    >>> depths([Slot(0, 1), Slot(0, 2), Slot(0, 3)]).tolist()
    [0, 1, 2, 3, 3]
    >>> depths([Slot(0, 2), Slot(0, 1)]).tolist()
    [0, 2, 2, 2]
    """
    distances = [slot.distance for slot in slots]
    found = [0]
    for back in range(1, max(distances) + 2):
        depth = 1
        while depth < len(slots):
            starts = [k for k in distances[:depth] if k >= back]
            if starts and min(starts) <= min(distances[depth:]):
                break
            depth += 1
        found.append(depth)
    return np.array(found)


def count_tree(
    ids: Column,
    words: int,
    maps: Sequence[Map],
    slots: Sequence[Slot],
    *,
    threads: int = 1,
    progress: Progress | None = None,
    scratch: Scratch | None = None,
) -> list[Level]:
    """The levels of a chain, from that without context up; ``ids`` is a text over a vocabulary of so many words."""
    check_chain(words, maps, slots)
    progress, scratch = progress or Progress(), scratch or Scratch()
    reader = _Reader(ids, words, maps, slots)
    with progress.stage("counting contexts", len(ids), "words") as advance:
        growing = _GrowingContexts(reader.windows, scratch)
        for batch in sorted_windows(
            reader.windows, reader.pack, len(ids), threads=threads, scratch=scratch, advance=advance
        ):
            growing.add(batch, threads)
        contexts, events = growing.finish()
        levels = [_Counted(contexts[-1], events)]
        for coarser in reversed(contexts[:-1]):
            levels.append(_merged(coarser, levels[-1], words, scratch, threads))
        return _without_ended(ids, words, levels[::-1])


class _Reader:
    """What the slots of a chain read in a text, as windows: a symbol for each level, and the word."""

    def __init__(self, ids: Column, words: int, maps: Sequence[Map], slots: Sequence[Slot]) -> None:
        self.ids = ids
        self.slots = slots
        self.depths = depths(slots)
        self.reach = max(slot.distance for slot in slots)
        tables = [maps[slot.map] for slot in slots]
        self.tables = [np.empty(0, np.int32) if table is None else table for table in tables]
        self.windows = Windows((*(words if table is None else int(table.max()) + 1 for table in tables), words))

    def pack(self, start: int, stop: int) -> NDArray[np.uint64]:
        """The windows of some positions; ``<s>`` is never predicted."""
        before = min(start, self.reach + 1)
        ids = np.ascontiguousarray(self.ids[start - before : stop], np.int32)
        back, symbols = np.empty(stop - start, np.uint8), np.empty(stop - start, np.int32)
        kernels.look_back(ids, before, self.reach, back)
        columns = np.zeros((self.windows.columns, stop - start), np.uint64)
        for k, (slot, table) in enumerate(zip(self.slots, self.tables, strict=True)):
            ended = self.windows.sizes[k]
            kernels.read_symbols(ids, before, back, self.depths, k + 1, table, slot.distance, ended, symbols)
            put_symbols(symbols, k, self.windows.places, columns)
        put_symbols(ids[before:], len(self.slots), self.windows.places, columns)
        return columns[:, back > 0]


@dataclass(frozen=True)
class _Contexts:
    """The contexts of a level: their symbols, and where what each holds starts, finer contexts or events.

    ``ended`` is the symbol that says that the chain has ended before.
    """

    symbols: NDArray[np.int32]
    starts: NDArray[np.int32]
    ended: int


@dataclass(frozen=True)
class _Events:
    """The events of a level: where those of each context start, their words, and how often they occur.

    ``counts`` are Kneser-Ney's; ``merged`` is the event of this level that each event of the finer one is part of.
    """

    starts: NDArray[np.int32]
    words: Column
    raw: Column
    counts: Column
    merged: Column = None


@dataclass(frozen=True)
class _Counted:
    """A level as it is counted, with the contexts that stand for chains that have ended before."""

    contexts: _Contexts
    events: _Events

    def real(self, first: int, last: int) -> NDArray[np.bool_]:
        """Whether each event of some contexts is one of a chain that goes as far as this level."""
        real = self.contexts.symbols[first:last] != self.contexts.ended
        return np.repeat(real, np.diff(self.events.starts[first : last + 1]))


class _GrowingContexts:
    """The contexts of all levels and the events of the finest, made of windows in rising order."""

    def __init__(self, windows: Windows, scratch: Scratch) -> None:
        self.windows = windows
        self.levels = windows.order - 1
        self._symbols = [Growing(scratch, np.int32) for _ in range(self.levels)]
        self._starts = [Growing(scratch, np.int32) for _ in range(self.levels)]
        self._words, self._raw = Growing(scratch, np.int32), Growing(scratch, np.int32)

    def add(self, buckets: list[Bucket], threads: int) -> None:
        """Go on with some buckets of windows."""

        def make(bucket: Bucket) -> list[NDArray[np.int32]]:
            columns, counts, before = bucket
            symbols, starts = np.empty((2, self.levels, len(counts)), np.int32)
            words, raw = np.empty((2, len(counts)), np.int32)
            sizes = np.empty(self.levels, np.int64)
            add_contexts(columns, counts, self.windows.places, before, symbols, starts, words, raw, sizes)
            return [each[k, :size].copy() for k, size in enumerate(sizes) for each in (symbols, starts)] + [words, raw]

        for *parts, words, raw in parallel(make, buckets, threads):
            bases = [*(each.size for each in self._symbols[1:]), self._words.size]
            for k, base in enumerate(bases):
                self._symbols[k].append(parts[2 * k])
                self._starts[k].append(parts[2 * k + 1] + np.int32(base))
            self._words.append(words)
            self._raw.append(raw)
        if self._words.size >= 2**31:
            raise TooLargeError("there are more than 2^31 different contexts with words; leave out a slot of the chain")

    def finish(self) -> tuple[list[_Contexts], _Events]:
        """The contexts of each level, and the events of the finest."""
        ends = [*(each.size for each in self._symbols[1:]), self._words.size]
        found = []
        for k, end in enumerate(ends):
            self._starts[k].append(np.array([end], np.int32))
            symbols, starts = (np.asarray(each[k].finish()[:]) for each in (self._symbols, self._starts))
            found.append(_Contexts(symbols, starts, self.windows.sizes[k]))
        raw = self._raw.finish()
        return found, _Events(found[-1].starts, self._words.finish(), raw, raw)


def _merged(coarser: _Contexts, finer: _Counted, words: int, scratch: Scratch, threads: int) -> _Counted:
    """A level from the one that is finer: the events of each context are those of all that refine it, put together."""
    bounds = finer.events.starts[coarser.starts]
    word_bits = max(1, (words - 1).bit_length())

    def merge(piece: tuple[int, int]) -> list[NDArray[np.int32]]:
        own = bounds[piece[0] : piece[1] + 1]
        part = slice(int(own[0]), int(own[-1]))
        size = part.stop - part.start
        index_bits = max(1, (size - 1).bit_length())
        if (piece[1] - piece[0]).bit_length() + word_bits + index_bits > 64:
            raise TooLargeError("so many words cannot be counted; use a smaller vocabulary (--min-count)")
        keys = np.empty(size, np.uint64)
        kernels.index_events(own, finer.events.words[part], word_bits, index_bits, keys)
        keys.sort()
        real = finer.real(int(coarser.starts[piece[0]]), int(coarser.starts[piece[1]]))
        starts = np.empty(piece[1] - piece[0], np.int32)
        made, merged = np.empty((3, size), np.int32), np.empty(size, np.int32)
        n = kernels.merge_events(keys, word_bits, index_bits, real, finer.events.raw[part], starts, *made, merged)
        return [starts, *(each[:n].copy() for each in made), merged]

    columns = [Growing(scratch, np.int32) for _ in range(5)]
    pieces = even_ranges(bounds, 0, len(coarser.symbols), max(1, len(finer.events.words) // _PIECE))
    for _, (starts, own, raw, counts, merged) in overlapped(merge, iter(pieces), threads):
        base = np.int32(columns[1].size)
        for column, made in zip(columns, (starts + base, own, raw, counts, merged + base), strict=True):
            column.append(made)
    columns[0].append(np.array([columns[1].size], np.int32))
    starts, own, raw, counts, merged = (column.finish() for column in columns)
    return _Counted(coarser, _Events(np.asarray(starts[:]), own, raw, counts, merged))


def _without_ended(ids: Column, words: int, counted: list[_Counted]) -> list[Level]:
    """All levels, that without context first, without what stands for chains that have ended before."""
    levels: list[Level] = []
    kept_contexts = np.zeros(1, np.int32)
    children = np.array([0, len(counted[0].contexts.symbols)])
    merged, kept_events = counted[0].events.words, np.arange(words, dtype=np.int32)
    for number, each in enumerate(counted):
        real, events = each.contexts.symbols != each.contexts.ended, each.real(0, len(each.contexts.symbols))
        parents = np.repeat(kept_contexts, np.diff(children))
        suffixes = kept_events[np.asarray(merged[:])[events]]
        kept_contexts, kept_events = (np.cumsum(each, dtype=np.int32) - 1 for each in (real, events))
        sizes = np.diff(each.events.starts)[real]
        raw, counts = np.asarray(each.events.raw[:])[events], np.asarray(each.events.counts[:])[events]
        keep_raw(raw, counts)
        levels.append(
            Level(
                parents[real],
                each.contexts.symbols[real],
                np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32),
                np.asarray(each.events.words[:])[events],
                raw,
                counts,
                suffixes,
            )
        )
        if number + 1 < len(counted):
            children, merged = each.contexts.starts, each.events.merged
    return [_root(ids, words, levels[0]), *levels]


def _root(ids: Column, words: int, first: Level) -> Level:
    """The level without context, whose events are all words."""
    occurrences = np.zeros(words, np.int64)
    for part in slices(len(ids), _PIECE):
        add_words(ids[part], occurrences)
    raw = occurrences.astype(np.int32)
    raw[BOS] = 0
    zero, every = np.zeros(1, np.int32), np.arange(words, dtype=np.int32)
    counts = np.zeros(words, np.int32)
    count_predecessors(first.suffixes, counts)
    keep_raw(raw, counts)
    return Level(zero, zero, np.array([0, words], np.int32), every, raw, counts, every)
