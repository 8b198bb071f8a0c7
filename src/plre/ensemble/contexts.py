"""Hybrid-context models: words predicted from a chain of contexts that mix words and classes (method.md 9, 10).

"A class of the nearest word between bigram and unigram; a class of the older word beside the exact nearest word": with
classes c and slots (c, 1), (word, 1), (c, 2) the chain is

    P(w)  <  P(w | c(w1))  <  P(w | w1)  <  P(w | w1, c(w2))

Each level is smoothed by interpolated modified Kneser-Ney with the one below; the finest has raw counts, the others
count in how many finer contexts a word was seen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plre.counts.tree import Level, Map, Slot, count_tree
from plre.ensemble import _contexts as kernels
from plre.errors import UsageError
from plre.model.component import Component
from plre.model.contexts import WORDS, ContextLevel, assemble
from plre.progress import Advance, Progress
from plre.scratch import Column, Growing, Scratch
from plre.smoothing.discounts import Steps, counts_of_counts, estimate
from plre.text.vocabulary import BOS, EOS
from plre.threads import overlapped


def build_tree(
    ids: Column,
    words: int,
    maps: Sequence[Map],
    slots: Sequence[Slot],
    *,
    cut: int = 2,
    discounts: Sequence[Steps] | None = None,
    markers: bool = True,
    metadata: Mapping[str, Any] | None = None,
    threads: int = 1,
    progress: Progress | None = None,
    scratch: Scratch | None = None,
) -> Component:
    """The model of a text, given as ids over a vocabulary of so many words.

    maps        from words to symbols; None stands for the words themselves
    slots       from coarse to fine: which map, and how many words back
    cut         events of two slots or more that occur less often are not kept
    discounts   for each level, unigrams first, instead of those that the counts of counts ask for
    markers     whether the text has ``<s>`` and ``</s>``
    """
    if cut < 1:
        raise UsageError(f"cut must be at least 1, not {cut}")
    slots = [Slot(*slot) for slot in slots]
    scratch = scratch or Scratch()
    counted = count_tree(ids, words, maps, slots, threads=threads, progress=progress, scratch=scratch)
    if not counted[0].raw.any():
        raise UsageError("the text has no words; there is nothing to learn from")
    if discounts is None:
        # Few contexts of frequent classes have no singletons to learn from; the fallback is nothing to warn about.
        discounts = estimate([_counts_of_counts(level) for level in counted], ["mkn"] * len(counted), warn=False)
    if len(discounts) != len(counted):
        raise UsageError(f"{len(counted)} levels (unigrams and {len(slots)} slots) but {len(discounts)} discounts")
    unigrams = _unigrams(counted[0], discounts[0], markers)
    events = sum(len(level.words) for level in counted)
    with (progress or Progress()).stage("assembling contexts", 2 * events, "events") as advance:
        levels = _smoothed(counted, discounts, unigrams, cut, threads, scratch, advance)
        tables = {slot.map: table for slot in slots if (table := maps[slot.map]) is not None}
        numbers = {name: number for number, name in enumerate(tables)}
        own = [Slot(numbers.get(slot.map, WORDS), slot.distance) for slot in slots]
        body = assemble(list(tables.values()), own, levels, unigrams, threads=threads, scratch=scratch)
        advance(events)
    about = {
        "method": "contexts",
        "cut": cut,
        "discounts": [discount.describe() for discount in discounts],
        **(metadata or {}),
    }
    return Component(body, about=about)


def _smoothed(
    counted: list[Level],
    discounts: Sequence[Steps],
    unigrams: NDArray[np.float32],
    cut: int,
    threads: int,
    scratch: Scratch,
    advance: Advance,
) -> list[ContextLevel]:
    """What is kept of each level, the root first, smoothed by the ones before. ``counted`` is used up."""
    none, nothing = np.empty(0, np.int32), np.zeros(1, np.int32)
    made = [ContextLevel(nothing, np.ones(1, np.float32), none, np.zeros(2, np.int32), none, none.view(np.float32))]
    kept, lower = np.ones(1, bool), unigrams
    coarser = counted.pop(0)
    for number, discount in enumerate(discounts[1:], 1):
        level = counted.pop(0)
        smoothing = _Smoothing(level, coarser, discount, lower, cut if number > 1 else 1)
        own, children, kept, lower = smoothing.run(kept, bool(counted), threads, scratch, advance)
        made[-1] = replace(made[-1], children=children)
        made.append(own)
        coarser = level
    made[-1] = replace(made[-1], children=np.zeros(len(made[-1].symbols) + 1, np.int32))
    return made


@dataclass(frozen=True)
class _Smoothing:
    """How a level is smoothed: by the probabilities of the events of the ``coarser`` one."""

    level: Level
    coarser: Level
    discount: Steps
    lower: Column
    cut: int

    def run(
        self, is_kept: NDArray[np.bool_], has_finer: bool, threads: int, scratch: Scratch, advance: Advance
    ) -> tuple[ContextLevel, NDArray[np.int32], NDArray[np.bool_], Column]:
        """Smooth the level. ``is_kept`` says which contexts of the coarser one are.

        Gives what is kept of the level; where what refines each kept coarser context starts; which contexts are kept,
        and the probabilities of all events, for a finer level if there is one.

        Whatever is kept occurs at least as often one level coarser, so what it hangs on is kept, too.
        """
        columns = [Growing(scratch, each) for each in (np.int32, np.float32, np.int32, np.int32, np.float32)]
        starts, words = columns[2:4]
        everything = Growing(scratch, np.float32)
        kept = np.zeros(len(self.level), bool)
        children = np.zeros(len(is_kept), np.int32)
        for (first, last), (found, *parts, all_probs) in overlapped(self._smooth, self.level.pieces(), threads):
            kept[first:last] = found
            parents = self.level.parents(first, last)[found]
            if len(parents):
                children[parents[0] : parents[-1] + 1] += np.bincount(parents - parents[0]).astype(np.int32)
            parts[2] += np.int32(words.size)
            for column, part in zip(columns, parts, strict=True):
                column.append(part)
            if has_finer:
                everything.append(all_probs)
            advance(len(all_probs))
        starts.append(np.array([words.size], np.int32))
        symbols, backoff, *events = (column.finish() for column in columns)
        own = ContextLevel(symbols, backoff, None, *events)
        begin = np.concatenate([[0], np.cumsum(children[is_kept])]).astype(np.int32)
        return own, begin, kept, everything.finish()

    def _smooth(self, piece: tuple[int, int]) -> list[NDArray[Any]]:
        """Of some contexts which are kept; of those the symbols, weights and where events start, of kept events words
        and probabilities; and the probabilities of all events."""
        first, last = piece
        level, part = self.level, self.level.events(first, last)
        parents = level.parents(first, last)
        below = self.coarser.events(int(parents[0]), int(parents[-1]) + 1)
        starts = level.starts[first : last + 1] - level.starts[first]
        raw, counts, words = level.raw[part], level.counts[part], level.words[part]
        backoff, probs = np.empty(last - first, np.float32), np.empty(len(raw), np.float32)
        steps = np.array([0.0, *self.discount.describe()])
        lower, suffixes = self.lower[below], level.suffixes[part] - np.int32(below.start)
        kernels.smooth(starts, raw, counts, suffixes, self.cut, steps, lower, backoff, probs)
        rare = np.where(level.real_events(first, last), raw, 0) < self.cut
        begin = np.concatenate([[0], np.cumsum(~rare)])[starts].astype(np.int32)
        kept = begin[1:] > begin[:-1]
        return [
            kept, level.symbols[first:last][kept], backoff[kept], begin[:-1][kept], words[~rare], probs[~rare], probs
        ]  # fmt: skip


def _counts_of_counts(level: Level) -> list[int]:
    """How many events of a level were seen exactly 1, 2, 3 and 4 times."""
    found = np.zeros(4, np.int64)
    for piece in level.pieces():
        found += counts_of_counts(level.counts[level.events(*piece)][level.real_events(*piece)])
    return [int(n) for n in found]


def _unigrams(root: Level, discount: Steps, markers: bool) -> NDArray[np.float32]:
    """Words without context, interpolated with the uniform distribution over all that can be predicted."""
    predicted = np.ones(len(root.words), bool)
    predicted[BOS] = False
    predicted[EOS] = markers
    counts = root.counts.astype(np.int64)
    rest = discount(counts)
    probs = (counts - rest) / counts.sum() + rest.sum() / counts.sum() * predicted / predicted.sum()
    return probs.astype(np.float32)
