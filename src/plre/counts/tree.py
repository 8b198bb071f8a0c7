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
put together. Where a chain has ended, a symbol that no word has stands for the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from plre.counts import _tree as kernels
from plre.counts._kernels import add_words, count_predecessors, keep_raw
from plre.counts._sorting import add_contexts, put_symbols
from plre.counts.local import MOST
from plre.counts.sorting import Bucket, Windows, sorted_windows
from plre.errors import TooLargeError, UsageError
from plre.progress import Advance, Progress
from plre.scratch import Column, Growing, Scratch, slices
from plre.text.vocabulary import BOS, EOS
from plre.threads import even_ranges, overlapped, parallel

#: Positions that are looked at together, and events of a piece, about; and the fewest pieces a level is cut into.
_PIECE = 1 << 20
_PIECES = 64
#: Memory that a context takes while levels are put together: where what it holds starts, and what is kept of it.
_BYTES_OF_CONTEXT = 12
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
    """The contexts of one length of the chain, and the events in them.

    Contexts are sorted by the one that they refine and by symbol, events by context and word. The level without context
    has one, which is all that it refines, too. Where a chain has ended at a coarser level, a context with the symbol
    ``ended`` stands for the rest: neither it nor its events count. Columns are arrays of int32, or stand for arrays on
    disk (``plre.scratch``).
    """

    #: For each context of the coarser level, where those that refine it start; one entry more than there are.
    children: NDArray[np.int32]
    #: For each context the symbol that its slot read.
    symbols: Column
    ended: int
    #: Where the events of each context start; one entry more than there are contexts.
    starts: NDArray[np.int32]
    #: For each event its word.
    words: Column
    #: How often it occurs.
    raw: Column
    #: Kneser-Ney's count: in how many contexts of the next level it is seen; the raw count where none are finer.
    counts: Column
    #: The event with the same word one level coarser.
    suffixes: Column = None

    def __len__(self) -> int:
        return len(self.symbols)

    def pieces(self) -> Iterator[tuple[int, int]]:
        """Ranges of contexts with about equally many events."""
        return iter(even_ranges(self.starts, 0, len(self), max(_PIECES, len(self.words) // _PIECE)))

    def events(self, first: int, last: int) -> slice:
        """The events of some contexts."""
        return slice(int(self.starts[first]), int(self.starts[last]))

    def parents(self, first: int, last: int) -> NDArray[np.int32]:
        """Which context of the coarser level each of some contexts refines."""
        begin = int(np.searchsorted(self.children, first, "right")) - 1
        end = int(np.searchsorted(self.children, last, "left"))
        bounds = np.clip(self.children[begin : end + 1], first, last)
        return np.repeat(np.arange(begin, end, dtype=np.int32), np.diff(bounds))

    def real(self, first: int, last: int) -> NDArray[np.bool_]:
        """Whether each of some contexts is one of a chain that goes as far as this level."""
        found: NDArray[np.bool_] = self.symbols[first:last] != self.ended
        return found

    def real_events(self, first: int, last: int) -> NDArray[np.bool_]:
        """The same for the events of these contexts."""
        return np.repeat(self.real(first, last), np.diff(self.starts[first : last + 1]))


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
    # Putting the events of coarser levels together takes about a third of the time.
    last = len(ids) / 3 / (len(slots) - 1) if len(slots) > 1 else 0.0
    with progress.stage("counting contexts", len(ids), "words") as advance:
        growing = _GrowingContexts(reader.windows, scratch)
        for batch in sorted_windows(
            reader.windows, reader.pack, len(ids), threads=threads, scratch=scratch,
            advance=lambda amount: advance(2 / 3 * amount if last else amount),
        ):  # fmt: skip
            growing.add(batch, threads)
        symbols, holds, words_of, raw = growing.finish()
        children = [np.array([0, len(symbols[0])], np.int32), *holds[:-1]]
        starts, events = holds[-1], [words_of, raw, raw]
        levels: list[Level] = []
        for own, within, ended in reversed(list(zip(symbols, children, reader.windows.sizes, strict=False))):
            level = Level(within, own, ended, starts, *events)
            if len(levels) + 1 < len(slots):
                starts, *events, suffixes = _merged(level, words, scratch, threads, lambda share: advance(share * last))
            else:
                suffixes = level.words
            levels.append(replace(level, suffixes=suffixes))
        return [_root(ids, words, levels[-1]), *reversed(levels)]


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


class _GrowingContexts:
    """The contexts of all levels and the events of the finest, made of windows in rising order."""

    def __init__(self, windows: Windows, scratch: Scratch) -> None:
        self.windows = windows
        self.scratch = scratch
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
        if self._words.size > MOST:
            raise TooLargeError("there are some 2^31 contexts with words, more than can be numbered; leave out a slot")

    def finish(self) -> tuple[list[Column], list[NDArray[np.int32]], Column, Column]:
        """Every level's contexts and the finest level's events, as columns.

        For each level the symbols of its contexts, and where what each of them holds starts: finer contexts or events.
        For the events their words, and how often each occurs.
        """
        ends = [*(each.size for each in self._symbols[1:]), self._words.size]
        for starts, end in zip(self._starts, ends, strict=True):
            starts.append(np.array([end], np.int32))
        contexts = sum(each.size for each in self._symbols)
        self.scratch.check_room(_BYTES_OF_CONTEXT * contexts, "contexts", "leave out a slot (--contexts)")
        symbols, holds = ([each.finish() for each in growing] for growing in (self._symbols, self._starts))
        return symbols, [np.asarray(each[:]) for each in holds], self._words.finish(), self._raw.finish()


def _merged(level: Level, words: int, scratch: Scratch, threads: int, advance: Advance) -> list[Column]:
    """The events one level coarser, those of all contexts that refine the same one put together: where those of each
    context start, their words, raw counts and counts; and which of them each event of this level is part of."""
    bounds = level.starts[level.children]
    word_bits = max(1, (words - 1).bit_length())

    def merge(piece: tuple[int, int]) -> list[NDArray[np.int32]]:
        own = bounds[piece[0] : piece[1] + 1]
        part = slice(int(own[0]), int(own[-1]))
        size = part.stop - part.start
        index_bits = max(1, (size - 1).bit_length())
        if (piece[1] - piece[0]).bit_length() + word_bits + index_bits > 64:
            raise TooLargeError("so many words cannot be counted; use a smaller vocabulary (--min-count)")
        keys = np.empty(size, np.uint64)
        kernels.index_events(own, level.words[part], word_bits, index_bits, keys)
        keys.sort()
        real = level.real_events(*level.children[list(piece)].tolist())
        starts = np.empty(piece[1] - piece[0], np.int32)
        made, merged = np.empty((3, size), np.int32), np.empty(size, np.int32)
        n = kernels.merge_events(keys, word_bits, index_bits, real, level.raw[part], starts, *made, merged)
        return [starts, *(each[:n].copy() for each in made), merged]

    columns = [Growing(scratch, np.int32) for _ in range(5)]
    pieces = even_ranges(bounds, 0, len(bounds) - 1, max(1, len(level.words) // _PIECE))
    for _, (starts, own, raw, counts, merged) in overlapped(merge, iter(pieces), threads):
        base = np.int32(columns[1].size)
        for column, made in zip(columns, (starts + base, own, raw, counts, merged + base), strict=True):
            column.append(made)
        advance(1 / len(pieces))
    columns[0].append(np.array([columns[1].size], np.int32))
    starts, *events = (column.finish() for column in columns)
    return [np.asarray(starts[:]), *events]


def _root(ids: Column, words: int, first: Level) -> Level:
    """The level without context, whose events are all words."""
    occurrences = np.zeros(words, np.int64)
    for part in slices(len(ids), _PIECE):
        add_words(ids[part], occurrences)
    raw = occurrences.astype(np.int32)
    raw[BOS] = 0
    every, one = np.arange(words, dtype=np.int32), np.array([0, 1], np.int32)
    counts = np.zeros(words, np.int32)
    for piece in first.pieces():
        suffixes = first.suffixes[first.events(*piece)]
        count_predecessors(suffixes[first.real_events(*piece)], counts)
    keep_raw(raw, counts)
    return Level(one, np.zeros(1, np.int32), -1, one * np.int32(words), every, raw, counts, every)
