"""Counting a chain of ever finer contexts, which mix words and classes of words.

A chain is a list of slots from coarse to fine; a slot looks at the word so many positions back, through a map from
words to symbols. Each level of the chain refines the context of the level before, so contexts are nodes of a tree:

    slots    class of w1 | w1     | class of w2
    node     ANIMAL      | cat    | cat after DETERMINER

    events   (ANIMAL, sat)   (cat, sat)   (cat after DETERMINER, sat)

Where ``<s>`` has been read there is nothing older: the chain ends as soon as all that is left would read ``<s>`` again.
A slot that reads beyond the sentence's start otherwise reads ``<s>``.

Everything is in memory, about 55 bytes for each word of the text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from plre.counts import _tree as kernels
from plre.counts._kernels import add_words, close_buckets, count_predecessors, keep_raw
from plre.errors import UsageError
from plre.scratch import slices
from plre.text.vocabulary import BOS, EOS
from plre.threads import parallel

#: Positions of a piece of text, and the fewest of a bucket: the first slot's symbols are cut into buckets.
_PIECE = 1 << 20
_BUCKET = 1 << 17
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
    ids: NDArray[np.int32], words: int, maps: Sequence[Map], slots: Sequence[Slot], *, threads: int = 1
) -> list[Level]:
    """The levels of a chain, from that without context up; ``ids`` is a text over a vocabulary of so many words.

    Words after different symbols of the first slot have nothing to do with each other except as unigrams, so these
    symbols are cut into buckets, which threads count one by one.
    """
    check_chain(words, maps, slots)
    counter = _Counter(np.ascontiguousarray(ids, np.int32), words, maps, slots)
    buckets = counter.buckets(threads)
    counted = parallel(counter.count, buckets, threads)
    levels = []
    nodes = events = np.zeros(len(buckets), np.int64)
    for number in range(len(slots)):
        parts = [bucket[number] for bucket in counted]
        levels.append(_joined(parts, nodes, events))
        nodes, events = (np.cumsum([0, *sizes[:-1]]) for sizes in
                         ([len(p.parents) for p in parts], [len(p.words) for p in parts]))  # fmt: skip
        for bucket in counted:
            bucket[number] = _NOTHING
    return [_root(ids, words, levels[0]), *levels]


class _Counter:
    """Counts one text, bucket by bucket."""

    def __init__(self, ids: NDArray[np.int32], words: int, maps: Sequence[Map], slots: Sequence[Slot]) -> None:
        self.ids = ids
        self.words = words
        self.slots = slots
        self.depths = depths(slots)
        empty = np.empty(0, np.int32)
        self.tables: list[NDArray[np.int32]] = []
        self.sizes: list[int] = []
        for slot in slots:
            table = maps[slot.map]
            self.tables.append(empty if table is None else table)
            self.sizes.append(words if table is None else int(table.max()) + 1)
        self.back = np.empty(len(ids), np.uint8)

    def buckets(self, threads: int) -> list[NDArray[np.int32]]:
        """The positions of each bucket, in the order of the text."""
        pieces = list(slices(len(self.ids), _PIECE))
        first = self.tables[0], self.slots[0].distance
        reach = max(slot.distance for slot in self.slots)

        by_piece = np.zeros((len(pieces), self.sizes[0]), np.int32)

        def count(number: int) -> None:
            piece = pieces[number]
            kernels.look_back(self.ids, piece.start, piece.stop, reach, self.back)
            kernels.count_symbols(self.ids, piece.start, piece.stop, self.back, *first, by_piece[number])

        parallel(count, range(len(pieces)), threads)
        total = by_piece.sum(axis=0)
        ends = np.empty(len(total), np.int64)
        closed, _ = close_buckets(total, 0, _BUCKET, 0, ends)
        bounds = np.unique([0, *ends[:closed], len(total)])
        bucket_of = np.repeat(np.arange(len(bounds) - 1, dtype=np.int32), np.diff(bounds))
        sizes = np.add.reduceat(by_piece, bounds[:-1], axis=1)
        begins = np.cumsum([0, *sizes.sum(axis=0)])
        places = begins[:-1] + np.cumsum(sizes, axis=0) - sizes
        positions = np.empty(begins[-1], np.int32)

        def deal_out(number: int) -> None:
            piece = pieces[number]
            own = places[number]
            kernels.deal_out(self.ids, piece.start, piece.stop, self.back, *first, bucket_of, own, positions)

        parallel(deal_out, range(len(pieces)), threads)
        return [positions[begin:end] for begin, end in pairwise(begins)]

    def count(self, positions: NDArray[np.int32]) -> list[Level]:
        """All levels of one bucket; numbers of nodes and events count from the bucket's first."""
        words, order, symbol_of = (np.empty(len(positions), np.int32) for _ in range(3))
        counters = np.empty(max(self.words, *self.sizes), np.int32)
        kernels.sort_words(self.ids, positions, counters[: self.words], words, order)
        node_of, event_of = np.zeros(len(positions), np.int32), words.copy()
        made = [np.empty(len(positions), np.int32) for _ in range(6)]
        levels: list[Level] = []
        for number, (slot, table, size) in enumerate(zip(self.slots, self.tables, self.sizes, strict=True), 1):
            kernels.read_symbols(self.ids, positions, self.back, self.depths, number, table, slot.distance, symbol_of)
            nodes, events, left = kernels.refine(symbol_of, words, order, counters[:size], node_of, event_of, *made)
            order = order[:left]
            parents, symbols, starts = (column[:nodes].copy() for column in made[:3])
            event_words, raw, suffixes = (column[:events].copy() for column in made[3:])
            if levels:
                _adjust(levels[-1], suffixes)
            levels.append(Level(parents, symbols, starts, event_words, raw, np.zeros(events, np.int32), suffixes))
        _adjust(levels[-1], np.empty(0, np.int32))
        return levels


_NOTHING = Level(*([np.empty(0, np.int32)] * 7))


def _adjust(level: Level, finer: NDArray[np.int32]) -> None:
    """Fill in Kneser-Ney's counts; ``finer`` are the suffixes of the next level's events."""
    count_predecessors(finer, level.counts)
    keep_raw(level.raw, level.counts)


def _joined(parts: list[Level], nodes: NDArray[np.int64], events: NDArray[np.int64]) -> Level:
    """The buckets of a level end to end; one level coarser they begin with these nodes and events."""
    first = np.cumsum([0, *(len(part.words) for part in parts)])
    for part, node, event, start in zip(parts, nodes, events, first, strict=False):
        np.add(part.parents, node, out=part.parents, casting="unsafe")
        np.add(part.suffixes, event, out=part.suffixes, casting="unsafe")
        np.add(part.starts, start, out=part.starts, casting="unsafe")
    return Level(
        np.concatenate([part.parents for part in parts]),
        np.concatenate([part.symbols for part in parts]),
        np.concatenate([*(part.starts for part in parts), first[-1:].astype(np.int32)]),
        np.concatenate([part.words for part in parts]),
        np.concatenate([part.raw for part in parts]),
        np.concatenate([part.counts for part in parts]),
        np.concatenate([part.suffixes for part in parts]),
    )


def _root(ids: NDArray[np.int32], words: int, first: Level) -> Level:
    """The level without context, whose events are all words."""
    raw = np.zeros(words, np.int32)
    add_words(ids, raw)
    raw[BOS] = 0
    zero, every = np.zeros(1, np.int32), np.arange(words, dtype=np.int32)
    level = Level(zero, zero, np.array([0, words], np.int32), every, raw, np.zeros(words, np.int32), every)
    _adjust(level, first.suffixes)
    return level
