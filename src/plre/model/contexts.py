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
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from plre._jit import CKernel
from plre.counts.tree import FARTHEST, Slot
from plre.model import _contexts
from plre.model import _plan as p
from plre.model.ngrams import check_names
from plre.scratch import Column, Scratch
from plre.tables import building as t
from plre.tables import reading
from plre.tensorfile import Tensors

if TYPE_CHECKING:
    from plre.model.plan import PlanDraft

#: The number of the map by which words are their own symbols.
WORDS = -1
#: What each level has, in the order of its tables.
KINDS = ("contexts", "events")


@dataclass(frozen=True)
class ContextLevel:
    """One level as plain columns: contexts in the order of those they refine, events in the order of contexts."""

    symbols: Column
    backoff: Column
    #: Where the finer contexts of each start on the next level, and its events on this one, with one entry more.
    children: Column
    events: Column
    words: Column
    probs: Column


@dataclass(frozen=True)
class Contexts:
    """A component of contexts that predicts so many symbols; its chain is of slots, whose maps are numbered."""

    symbols: int
    chain: tuple[Slot, ...]
    #: How many symbols each map has.
    counts: tuple[int, ...]
    #: How many contexts and events each level has, and the bits that choose a shard of either.
    sizes: tuple[tuple[int, int], ...]
    shard_bits: tuple[tuple[int, int], ...]
    tensors: Tensors

    #: Contexts do not say what their probabilities lack.
    missing = False

    @property
    def reach(self) -> int:
        """One more than the farthest word that the chain looks at."""
        return max(slot.distance for slot in self.chain) + 1

    @property
    def kernels(self) -> Mapping[int, CKernel]:
        """Its compiled functions, by their fields in a plan."""
        return {
            p.ASK: _contexts.ask_contexts,
            p.SINGLE: _contexts.step_contexts,
            p.ANSWER: _contexts.answer_contexts,
            p.SPREAD: _contexts.spread_contexts,
        }

    def renumbered(self, ids: NDArray[np.int32]) -> Contexts:
        """The same for other words, whose ids in its own vocabulary these are: slots read words by these."""
        counts = len(self.counts)
        tensors = {name: each[ids] if name.startswith("map") else each for name, each in self.tensors.items()}
        chain = tuple(slot._replace(map=counts) if slot.map == WORDS else slot for slot in self.chain)
        if chain == self.chain:
            return replace(self, tensors=tensors)
        tensors[f"map{counts}"] = ids.astype(np.int32)
        return replace(self, chain=chain, counts=(*self.counts, self.symbols), tensors=tensors)

    def ngrams(self) -> None:
        """Nothing, since it does not consist of n-grams."""
        return None

    def describe(self) -> dict[str, Any]:
        """What a file's metadata says of it."""
        return {
            "kind": "contexts",
            "symbols": self.symbols,
            "chain": [[slot.map, slot.distance] for slot in self.chain],
            "counts": list(self.counts),
            "sizes": [list(sizes) for sizes in self.sizes],
            "shards": [list(bits) for bits in self.shard_bits],
        }

    @classmethod
    def from_tensors(cls, described: Mapping[str, Any], tensors: Tensors) -> Contexts:
        """The component that was described so."""
        symbols, counts = described["symbols"], tuple(described["counts"])
        chain = tuple(Slot(*slot) for slot in described["chain"])
        sizes, shards = (tuple((one, other) for one, other in described[name]) for name in ("sizes", "shards"))
        numbers = [symbols, *counts, *(number for level in sizes for number in level)]
        if (
            not reading.are_counts(numbers)
            or not 1 <= len(chain) <= FARTHEST
            or min((symbols, *counts)) < 1
            or not len(sizes) == len(shards) == len(chain)
        ):
            raise ValueError("a component of contexts makes no sense")
        for which, distance in chain:
            if type(which) is not int or not WORDS <= which < len(counts) or not reading.are_counts([distance]):
                raise ValueError("a chain of contexts makes no sense")
            if not 1 <= distance <= FARTHEST:
                raise ValueError("a chain of contexts makes no sense")
        parts = ("lines", "seeds", "symbols", "ends", "runs")
        levels = [f"level{j}.{kind}" for j in range(1, len(chain) + 1) for kind in KINDS]
        names = {"unigrams", *(f"map{k}" for k in range(len(counts)))}
        check_names(tensors, names | {f"{level}.{part}" for level in levels for part in parts})
        return cls(symbols, chain, counts, sizes, shards, tensors)

    def fields(self, plan: PlanDraft) -> dict[int, int]:
        """What a plan says of it."""
        own = {p.LEVELS: len(self.chain), p.CHAIN: plan.next_field, p.TABLE_COUNT: 2 * len(self.chain)}
        for number, slot in enumerate(self.chain):
            entry = {p.SLOT_DISTANCE: slot.distance, p.SLOT_SYMBOLS: self.slot_symbols(number)}
            if slot.map != WORDS:
                entry[p.SLOT_MAP] = plan.checked(self.tensors[f"map{slot.map}"], np.int32, plan.words + 1)
            plan.add(entry, p.CHAIN_WIDTH)
        own[p.TABLES] = plan.next_field
        owners = 1
        for level in range(1, len(self.chain) + 1):
            late = len(self.chain) - level
            stages = min(max(1, late), max(1, len(self.chain) - 2)), max(0, late - 1)
            for kind, symbols, stage in zip(KINDS, (self.slot_symbols(level - 1), self.symbols), stages, strict=True):
                shape = self.shape(level, kind)
                memo = 4 if kind == "events" else 0
                table = plan.table(self.tensors, f"level{level}.{kind}", shape, symbols, owners, memo)
                plan.add({**table, p.SINCE: 2, p.STAGE: stage}, p.TABLE_WIDTH)
                owners = shape.slots if kind == "contexts" else owners
        return own

    def check(self) -> None:
        """Raise :class:`ValueError` if something in it does not fit together."""
        reading.check_numbers(self.tensors["unigrams"], 1.0)
        for number, count in enumerate(self.counts):
            own = self.tensors[f"map{number}"]
            reading.expect(np.all((own >= 0) & (own <= count)) and own[-1] == count, "a symbol is not there")
        found = reading.roots(1, np.zeros(1, np.uint64))
        for level in range(1, len(self.chain) + 1):
            shapes = [self.shape(level, kind) for kind in KINDS]
            symbols = self.slot_symbols(level - 1)
            found = reading.check_table(self.tensors, f"level{level}.contexts", shapes[0], symbols, found)
            reading.check_numbers(found.numbers[0])
            events = reading.check_table(self.tensors, f"level{level}.events", shapes[1], self.symbols, found)
            reading.check_numbers(events.numbers[0], 1.0)

    def info(self) -> dict[str, Any]:
        """How many contexts and events each level has, and what its slots read."""
        return {
            "contexts": [contexts for contexts, _ in self.sizes],
            "events": [events for _, events in self.sizes],
            "slots": [[self.slot_symbols(number), slot.distance] for number, slot in enumerate(self.chain)],
        }

    def shape(self, level: int, kind: str) -> t.Shape:
        """The shape of a table of "contexts" or "events"."""
        lines, seeds = (self.tensors[f"level{level}.{kind}.{part}"] for part in ("lines", "seeds"))
        which = KINDS.index(kind)
        return t.Shape.found(self.sizes[level - 1][which], 2, self.shard_bits[level - 1][which], lines, seeds)

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
    scratch: Scratch | None = None,
) -> Contexts:
    """A component of these levels, the root first; the maps of slots are numbers of ``maps``, or WORDS."""
    counts = tuple(int(table.max()) + 1 for table in maps)
    tensors: Tensors = {"unigrams": np.append(unigrams, np.float32(0))}
    for number, table in enumerate(maps):
        tensors[f"map{number}"] = np.append(table, counts[number]).astype(np.int32)
    made = Contexts(len(unigrams), tuple(chain), counts, (), (), tensors)
    sizes, shards = [], []
    keys, owners = np.zeros(1, np.uint64), t.Owners(None, 1)
    scratch = scratch or Scratch()
    for j, (coarser, level) in enumerate(pairwise(levels), 1):
        keys = t.child_keys(coarser.children, keys, level.symbols, threads, scratch)
        contexts = t.place(keys, [level.backoff], threads=threads, scratch=scratch)
        given = f"level{j}.contexts", contexts, level.symbols, made.slot_symbols(j - 1), coarser.children
        tensors |= t.table_tensors(*given, owners, scratch)
        owners = t.Owners(contexts.slots, contexts.shape.slots)
        event_keys = t.child_keys(level.events, keys, level.words, threads, scratch)
        events = t.place(event_keys, [level.probs], with_slots=False, threads=threads, scratch=scratch)
        tensors |= t.table_tensors(f"level{j}.events", events, level.words, made.symbols, level.events, owners, scratch)
        sizes.append((len(level.symbols), len(level.words)))
        shards.append((contexts.shape.shard_bits, events.shape.shard_bits))
    return replace(made, sizes=tuple(sizes), shard_bits=tuple(shards))
