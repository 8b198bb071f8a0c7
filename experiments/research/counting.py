"""Counts of n-grams whose contexts are any lists of words and classes, as held-out events see them.

A model's contexts are listed from the finest to the coarsest. The finest has raw counts; each coarser one counts the
distinct n-grams of the finer one that it holds, which is Kneser-Ney's count if one word is left out at a time. As
there, an n-gram that begins with ``<s>`` keeps its raw count, and contexts that reach beyond it do not exist: such
events come in where their context first fits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from experiments.research.corpus import TEXTS, Context, Feature, Seen
from plre.text.vocabulary import BOS

_ODD, _PRIME, _HALF = np.uint64(0x632BE59BD9B4E019), np.uint64(0xD6E8FEB86659FD93), np.uint64(32)

Floats = NDArray[np.float64]
#: What is taken from each count.
DiscountOf = Callable[[Floats], Floats]


class Numbering:
    """Different keys, numbered."""

    def __init__(self, keys: NDArray[np.uint64]) -> None:
        self._known, first, found = np.unique(keys, return_index=True, return_inverse=True)
        #: The number of each key, and where each number first occurs.
        self.found, self.first = found.astype(np.int32), first

    def __call__(self, keys: NDArray[np.uint64]) -> NDArray[np.int32]:
        """The numbers of other keys, -1 for those that are new."""
        at = np.searchsorted(self._known, keys).clip(max=len(self._known) - 1)
        return np.where(self._known[at] == keys, at, -1).astype(np.int32)


@dataclass(frozen=True)
class Evidence:
    """What one level says of each event: P(event) = kept + rest * P(event | coarser context)."""

    kept: Floats
    rest: Floats
    #: The count of the context; 0 if it was never seen, where kept is 0 and rest is 1.
    total: Floats


@dataclass(frozen=True)
class ContextLevel:
    """The n-grams of one kind of context."""

    context: Context
    counts: NDArray[np.float32]
    #: The context of each n-gram.
    contexts: NDArray[np.int32]
    totals: Floats
    #: For each text, the n-gram and the context of each event, or -1.
    events: dict[str, tuple[NDArray[np.int32], NDArray[np.int32]]]

    def sums(self, values: Floats) -> Floats:
        """Values of n-grams, added up by context."""
        return np.bincount(self.contexts, weights=values, minlength=len(self.totals))

    def count(self, text: str) -> Floats:
        """The count of each event."""
        return _pick(self.counts.astype(np.float64), self.events[text][0])

    def of_context(self, values: Floats, text: str) -> Floats:
        """Values of contexts, for each event; 0 where the context was never seen."""
        return _pick(values, self.events[text][1])

    def evidence(self, discount: DiscountOf) -> dict[str, Evidence]:
        """What the events of each text get, given what is taken from counts."""
        handed = self.sums(discount(self.counts.astype(np.float64)))
        found = {}
        for text in self.events:
            count, total = self.count(text), self.of_context(self.totals, text)
            seen = total > 0
            whole = np.where(seen, total, 1.0)
            kept = (count - discount(count)) / whole
            rest = np.where(seen, self.of_context(handed, text) / whole, 1.0)
            found[text] = Evidence(kept, rest, total)
        return found


def _pick(values: Floats, index: NDArray[np.int32]) -> Floats:
    return np.where(index >= 0, values[index], 0.0)


def count_levels(
    corpus: Seen,
    predicted: Feature,
    contexts: Sequence[Context],
    handed_down: Callable[[Floats], DiscountOf] | None = None,
) -> list[ContextLevel]:
    """A level for each context, from the finest to the coarsest.

    ``handed_down`` makes a discount of counts; then what it takes from an n-gram is what the coarser context counts,
    in units of what it takes from a count of one, instead of one for each distinct n-gram.
    """
    levels: list[ContextLevel] = []
    where = np.empty(0, np.int64)  # an occurrence of each n-gram of the finer level
    raw = more = np.empty(0)
    waiting = np.ones(len(corpus.back("train", 0)), bool)
    for context in contexts:
        coming = np.flatnonzero(waiting & _fits(corpus, "train", context))
        waiting[coming] = False
        where = np.concatenate([where, coming])
        raw, more = (np.concatenate([old, np.ones(len(coming))]) for old in (raw, more))
        keys = _keys(corpus, "train", context)[where]
        ngrams = Numbering(_extended(keys, corpus.symbols("train", predicted)[where]))
        where = where[ngrams.first]
        raw, counts = (np.bincount(ngrams.found, weights=values) for values in (raw, more))
        if context:
            oldest = max(feature.place for feature in context)
            counts = np.where(corpus.back("train", oldest)[where] == BOS, raw, counts)
        numbered = Numbering(keys[ngrams.first])
        totals = np.bincount(numbered.found, weights=counts)
        events = {text: _find(corpus, text, predicted, context, ngrams, numbered) for text in TEXTS}
        levels.append(ContextLevel(context, counts.astype(np.float32), numbered.found, totals, events))
        more = np.ones(len(where))
        if handed_down:
            discount = handed_down(counts)
            more = discount(counts) / discount(np.ones(1))
    return levels


def _fits(corpus: Seen, text: str, context: Context) -> NDArray[np.bool_]:
    """Whether there are as many words and ``<s>`` before each event as a context asks for."""
    oldest = max((feature.place for feature in context), default=0)
    return corpus.back(text, max(oldest - 1, 0)) != BOS


def _find(
    corpus: Seen, text: str, predicted: Feature, context: Context, ngrams: Numbering, numbered: Numbering
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The n-gram and the context of each event of a text."""
    keys = _keys(corpus, text, context)
    found = ngrams(_extended(keys, corpus.symbols(text, predicted))), numbered(keys)
    fits = _fits(corpus, text, context)
    return np.where(fits, found[0], -1), np.where(fits, found[1], -1)


def _keys(corpus: Seen, text: str, context: Context) -> NDArray[np.uint64]:
    """A key for each event's context."""
    keys = np.ones(len(corpus.back(text, 0)), np.uint64)
    for feature in context:
        keys = _extended(keys, corpus.symbols(text, feature))
    return keys


def _extended(keys: NDArray[np.uint64], symbols: NDArray[np.int32]) -> NDArray[np.uint64]:
    """Keys of the same with one more symbol: hashes of 64 bits, of which two are hardly ever alike."""
    longer = (keys ^ (symbols.astype(np.uint64) + _ODD)) * _PRIME
    longer = (longer ^ (longer >> _HALF)) * _PRIME
    return longer ^ (longer >> _HALF)
