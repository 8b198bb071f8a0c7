"""Hybrid contexts as a component of a model: its tensors, made from plain arrays.

unigrams                         P(s) of each predicted symbol without context
map{k}                           the symbol of each word, by map k; none for words themselves. The last entry is for the
                                 word "not known", and is the symbol after the last one
level{j}.contexts.lines, ...     the contexts of the first j slots; the owner of one is that of the slots before it
level{j}.events.lines, ...       the symbols seen there; the owner of one is its context
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plre.counts.tree import FARTHEST, Slot
from plre.model import tables as t
from plre.model.file import Tensors
from plre.model.ngrams import check_names
from plre.scratch import Scratch

#: The number of the map by which words are their own symbols.
WORDS = -1


@dataclass(frozen=True)
class ContextLevel:
    """One level as plain arrays: contexts in the order of those they refine, events in the order of contexts."""

    symbols: NDArray[np.int32]
    backoff: NDArray[np.float32]
    #: Where the finer contexts of each start on the next level, and its events on this one, with one entry more.
    children: NDArray[np.int32]
    events: NDArray[np.int32]
    words: NDArray[np.int32]
    probs: NDArray[np.float32]


@dataclass(frozen=True)
class Contexts:
    """A component of contexts that predicts so many symbols; its chain is of slots, whose maps are numbered."""

    symbols: int
    chain: tuple[Slot, ...]
    #: How many symbols each map has.
    counts: tuple[int, ...]
    #: Of each level: the bits that choose a shard of its contexts, and of its events.
    shard_bits: tuple[tuple[int, int], ...]
    tensors: Tensors

    #: Contexts do not say what their probabilities lack.
    missing = False

    @property
    def reach(self) -> int:
        """One more than the farthest word that the chain looks at."""
        return max(slot.distance for slot in self.chain) + 1

    @property
    def sizes(self) -> list[tuple[int, int]]:
        """How many contexts and events each level has."""
        return [(self._records(j, "contexts"), self._records(j, "events")) for j in range(1, len(self.chain) + 1)]

    def _records(self, level: int, kind: str) -> int:
        size = t.width_of((self.slot_symbols(level - 1) if kind == "contexts" else self.symbols) - 1)
        return (len(self.tensors[f"level{level}.{kind}.symbols"]) - t.PADDING) // size

    def describe(self) -> dict[str, Any]:
        """What a file's metadata says of it."""
        chain = [[slot.map, slot.distance] for slot in self.chain]
        shards = [list(bits) for bits in self.shard_bits]
        return {
            "kind": "contexts", "symbols": self.symbols, "chain": chain, "counts": list(self.counts), "shards": shards,
        }  # fmt: skip

    @classmethod
    def from_tensors(cls, described: Mapping[str, Any], tensors: Tensors) -> Contexts:
        """The component that was described so."""
        symbols, counts = described["symbols"], described["counts"]
        chain = tuple(Slot(*slot) for slot in described["chain"])
        numbers = [symbols, *counts, *(number for slot in chain for number in slot)]
        if (
            any(type(number) is not int for number in numbers)
            or not 1 <= len(chain) <= FARTHEST
            or symbols < 1
            or min(counts, default=1) < 1
        ):
            raise ValueError("a component of contexts makes no sense")
        if any(not WORDS <= slot.map < len(counts) or not 1 <= slot.distance <= FARTHEST for slot in chain):
            raise ValueError("a chain of contexts makes no sense")
        parts = [
            f"{kind}.{part}"
            for kind in ("contexts", "events")
            for part in ("lines", "seeds", "symbols", "ends", "runs")
        ]
        shards = tuple((contexts, events) for contexts, events in described["shards"])
        if len(shards) != len(chain):
            raise ValueError("a chain of contexts makes no sense")
        names = {"unigrams", *(f"map{k}" for k in range(len(counts)))}
        names |= {f"level{j}.{part}" for j in range(1, len(chain) + 1) for part in parts}
        check_names(tensors, names)
        return cls(symbols, chain, tuple(counts), shards, tensors)

    def info(self) -> dict[str, Any]:
        """How many contexts and events each level has, and what its slots read."""
        return {
            "contexts": [contexts for contexts, _ in self.sizes],
            "events": [events for _, events in self.sizes],
            "slots": [[self.slot_symbols(number), slot.distance] for number, slot in enumerate(self.chain)],
        }

    def shape(self, level: int, kind: str, records: int) -> t.Shape:
        """The shape of a table of "contexts" or "events", which has so many records."""
        lines, seeds = (self.tensors[f"level{level}.{kind}.{part}"] for part in ("lines", "seeds"))
        return t.Shape.found(records, 2, self.shard_bits[level - 1][kind == "events"], lines, seeds)

    def slot_symbols(self, number: int) -> int:
        """How many symbols a slot of the chain can read; of words, as many as its map or the vocabulary has."""
        which = self.chain[number].map
        return self.symbols if which == WORDS else self.counts[which]


def assemble(
    maps: Sequence[NDArray[np.int32]],
    chain: Sequence[Slot],
    levels: Sequence[ContextLevel],
    unigrams: NDArray[np.float32],
    *,
    threads: int = 1,
) -> Contexts:
    """A component of these levels, the root first; the maps of slots are numbers of ``maps``, or WORDS."""
    counts = tuple(int(table.max()) + 1 for table in maps)
    tensors: Tensors = {"unigrams": np.append(unigrams, np.float32(0))}
    for number, table in enumerate(maps):
        tensors[f"map{number}"] = np.append(table, counts[number]).astype(np.int32)
    made = Contexts(len(unigrams), tuple(chain), counts, (), tensors)
    shards = []
    scratch = Scratch()
    keys, slots, owners = np.zeros(1, np.uint64), None, 1
    for j, (coarser, level) in enumerate(pairwise(levels), 1):
        keys = t.child_keys(coarser.children, keys, level.symbols, scratch)
        placed = t.place(keys, [level.backoff], threads=threads)
        symbols = made.slot_symbols(j - 1)
        tensors |= _tensors(f"level{j}.contexts", placed, level.symbols, symbols, coarser.children, slots, owners)
        slots, owners, own_bits = placed.slots, placed.shape.slots, placed.shape.shard_bits
        events = t.child_keys(level.events, keys, level.words, scratch)
        placed = t.place(events, [level.probs], with_slots=False, threads=threads)
        shards.append((own_bits, placed.shape.shard_bits))
        tensors |= _tensors(f"level{j}.events", placed, level.words, len(unigrams), level.events, slots, owners)
    return replace(made, shard_bits=tuple(shards))


def _tensors(name: str, placed: t.Placed, symbols: Any, count: int, children: Any, slots: Any, owners: int) -> Tensors:
    """The tensors of one table."""
    return {
        f"{name}.lines": placed.lines,
        f"{name}.seeds": placed.seeds,
        f"{name}.symbols": t.list_symbols(symbols, count, Scratch()),
        f"{name}.ends": t.end_runs(children),
        f"{name}.runs": t.start_runs(children, slots, owners),
    }
