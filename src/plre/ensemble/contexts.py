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
from plre.progress import Progress
from plre.scratch import Column, Scratch
from plre.smoothing.discounts import Steps, counts_of_counts, estimate
from plre.text.vocabulary import BOS, EOS
from plre.threads import even_ranges, parallel

#: Pieces that a level is cut into, for threads.
_PIECES = 64


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
    counted = count_tree(ids, words, maps, slots, threads=threads, progress=progress, scratch=scratch)
    if not counted[0].raw.any():
        raise UsageError("the text has no words; there is nothing to learn from")
    if discounts is None:
        # Few contexts of frequent classes have no singletons to learn from; the fallback is nothing to warn about.
        seen = [counts_of_counts(level.counts) for level in counted]
        discounts = estimate(seen, ["mkn"] * len(counted), warn=False)
    if len(discounts) != len(counted):
        raise UsageError(f"{len(counted)} levels (unigrams and {len(slots)} slots) but {len(discounts)} discounts")
    unigrams = _unigrams(counted[0], discounts[0], markers)
    smoothed = []
    lower = unigrams
    for number, (level, discount) in enumerate(zip(counted[1:], discounts[1:], strict=True), 1):
        smoothed.append(_Smoothed.of(level, discount, lower, cut if number > 1 else 1, threads))
        lower = smoothed[-1].probs
    tables = {slot.map: table for slot in slots if (table := maps[slot.map]) is not None}
    numbers = {name: number for number, name in enumerate(tables)}
    own = [Slot(numbers.get(slot.map, WORDS), slot.distance) for slot in slots]
    about = {
        "method": "contexts",
        "cut": cut,
        "discounts": [discount.describe() for discount in discounts],
        **(metadata or {}),
    }
    body = assemble(list(tables.values()), own, _linked(smoothed), unigrams, threads=threads)
    return Component(body, about=about)


@dataclass(frozen=True)
class _Smoothed:
    """A level with its weights and probabilities; and which of its nodes and events are kept."""

    level: Level
    backoff: NDArray[np.float32]
    probs: NDArray[np.float32]
    nodes: NDArray[np.int32]
    events: NDArray[np.int32]

    @classmethod
    def of(cls, level: Level, discount: Steps, lower: NDArray[np.float32], cut: int, threads: int) -> _Smoothed:
        """Smooth a level by the probabilities of the one below."""
        backoff = np.empty(len(level.parents), np.float32)
        probs = np.empty(len(level.words), np.float32)
        steps = np.array([0.0, *discount.describe()])

        def smooth(piece: tuple[int, int]) -> None:
            kernels.smooth(
                *piece, level.starts, level.raw, level.counts, level.suffixes, cut, steps, lower, backoff, probs
            )

        if len(backoff):
            parallel(smooth, even_ranges(level.starts, 0, len(backoff), _PIECES), threads)
        nodes, events = np.empty(len(backoff), np.int32), np.empty(len(probs), np.int32)
        kept_nodes, kept_events = kernels.keep(level.starts, level.raw, cut, nodes, events)
        return cls(level, backoff, probs, nodes[:kept_nodes], events[:kept_events])


def _unigrams(root: Level, discount: Steps, markers: bool) -> NDArray[np.float32]:
    """Words without context, interpolated with the uniform distribution over all that can be predicted."""
    predicted = np.ones(len(root.words), bool)
    predicted[BOS] = False
    predicted[EOS] = markers
    counts = root.counts.astype(np.int64)
    rest = discount(counts)
    probs = (counts - rest) / counts.sum() + rest.sum() / counts.sum() * predicted / predicted.sum()
    return probs.astype(np.float32)


def _linked(smoothed: list[_Smoothed]) -> list[ContextLevel]:
    """What is kept of each level, the root first.

    Whatever is kept occurs at least as often one level coarser, so what it hangs on is kept too.
    """
    none = np.empty(0, np.int32)
    nothing, no_weight = np.zeros(1, np.int32), np.ones(1, np.float32)
    levels = [ContextLevel(nothing, no_weight, none, np.zeros(2, np.int32), none, none.view(np.float32))]
    kept = np.zeros(1, np.int32)
    for own in smoothed:
        parents = np.searchsorted(kept, own.level.parents[own.nodes])
        levels[-1] = replace(levels[-1], children=_starts(parents, len(kept)))
        owners = np.searchsorted(own.nodes, np.searchsorted(own.level.starts, own.events, "right") - 1)
        levels.append(
            ContextLevel(
                own.level.symbols[own.nodes],
                own.backoff[own.nodes],
                none,
                _starts(owners, len(own.nodes)),
                own.level.words[own.events],
                own.probs[own.events],
            )
        )
        kept = own.nodes
    levels[-1] = replace(levels[-1], children=_starts(none, len(kept)))
    return levels


def _starts(owners: NDArray[Any], count: int) -> NDArray[np.int32]:
    """Where what belongs to each of so many owners starts, in a list sorted by owner; and where the last ends."""
    return np.concatenate([[0], np.cumsum(np.bincount(owners, minlength=count))]).astype(np.int32)
