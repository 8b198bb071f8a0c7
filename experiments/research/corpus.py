"""A corpus as events: words with what stands before them, and classes of words; both are ingredients (``store.py``)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments.common import held_out, min_count, training_text
from plre.clustering.exchange import exchange
from plre.counts.local import count_ngrams
from plre.counts.ngrams import Counts, NgramTable
from plre.store import Get, Ingredient, Resources
from plre.text.encode import encode_text
from plre.text.vocabulary import BOS, EOS

#: What weights are fitted on, and what is reported.
TEXTS = ("valid", "test")


class ExchangeClasses(NamedTuple):
    """A clustering by exchange; words of one class are one symbol.

    ``role`` "word" is the usual one, where a word has one class wherever it stands. The next two belong together:
    words are clustered once by what follows them ("context") and once by what they follow ("predicted"). "skip" looks
    at the words two places before and after instead of the neighbours.
    """

    size: int
    seed: int = 0
    sweeps: int = 12
    role: Literal["word", "context", "predicted", "skip"] = "word"


class Feature(NamedTuple):
    """The word so many places back, or its class. Place 0 is the predicted word itself."""

    place: int
    classes: ExchangeClasses | None = None


Context = tuple[Feature, ...]


@dataclass(frozen=True)
class CorpusTexts(Ingredient):
    """The three texts of a corpus."""

    name: str

    def make(self, get: Get, how: Resources) -> Corpus:
        """Read them."""
        return Corpus(self.name, how.threads)


@dataclass(frozen=True)
class Exchanged(Ingredient):
    """What exchange finds on some pairs of words; those of two sides have classes for both."""

    texts: CorpusTexts
    pairs: Literal["neighbours", "two places apart", "two sides"]
    size: int
    seed: int
    sweeps: int

    def make(self, get: Get, how: Resources) -> NDArray[np.int32]:
        """Find them."""
        corpus: Corpus = get(self.texts)
        bigrams = pairs_of(corpus, 2) if self.pairs == "two places apart" else count_ngrams(corpus.train, 2)
        counts = two_sides(bigrams) if self.pairs == "two sides" else bigrams
        return exchange(counts, self.size, sweeps=self.sweeps, seed=self.seed, threads=how.threads)

    @property
    def urgency(self) -> float:
        """Many classes take longest."""
        return float(self.size * self.sweeps)


@dataclass(frozen=True)
class CorpusClasses(Ingredient):
    """The class of every word of a corpus; ``<s>``, ``</s>`` and words that never occur have three of their own."""

    texts: CorpusTexts
    wanted: ExchangeClasses

    @property
    def found(self) -> Exchanged:
        """What exchange finds."""
        pairs = {"word": "neighbours", "skip": "two places apart"}.get(self.wanted.role, "two sides")
        return Exchanged(self.texts, pairs, *self.wanted[:3])  # type: ignore[arg-type]

    def needs(self) -> list[Ingredient]:
        """What exchange finds, too."""
        return [self.texts, self.found]

    def make(self, get: Get, how: Resources) -> NDArray[np.int32]:
        """Give the rest classes of their own."""
        words, size = get(self.texts).words, self.wanted.size
        found = get(self.found)[words if self.wanted.role == "predicted" else 0 :][:words]
        found = np.where(found < 0, size + 2, found).astype(np.int32)
        found[BOS], found[EOS] = size, size + 1
        return found


def clusterings(value: object) -> Iterator[ExchangeClasses]:
    """All clusterings that a component, a context or a feature asks for."""
    if isinstance(value, ExchangeClasses):
        yield value
    elif isinstance(value, tuple):
        for each in value:
            yield from clusterings(each)
    elif is_dataclass(value):
        for field in fields(value):
            yield from clusterings(getattr(value, field.name))


class Corpus:
    """The three texts of a corpus, with the vocabulary of the first."""

    def __init__(self, name: str, threads: int = 1) -> None:
        self.name = name
        self._backs: dict[tuple[str, int], NDArray[np.int32]] = {}
        self.train = encode_text(training_text(name), min_count=min_count(name), threads=threads)
        self.words = len(self.train.vocab)
        self._ids = {"train": np.asarray(self.train.ids[:])} | {
            text: np.asarray(encode_text(held_out(name, text), vocab=self.train.vocab, threads=threads).ids[:])
            for text in TEXTS
        }

    def back(self, text: str, places: int) -> NDArray[np.int32]:
        """The word so many places before each event; before a sentence there are only ``<s>``."""
        key = text, places
        if key not in self._backs:
            ids = self._ids[text]
            here = np.arange(len(ids))
            start = np.maximum.accumulate(np.where(ids == BOS, here, 0))
            self._backs[key] = ids[np.maximum(here - places, start)][ids != BOS]
        return self._backs[key]

    @cached_property
    def frequencies(self) -> NDArray[np.float64]:
        """How often each word is predicted in the training text."""
        return np.bincount(self.back("train", 0), minlength=self.words).astype(np.float64)


class Seen:
    """A corpus with the classes that were found."""

    def __init__(self, texts: CorpusTexts, get: Get) -> None:
        self._texts, self._get = texts, get
        self.corpus: Corpus = get(texts)
        self.name, self.words, self.frequencies = self.corpus.name, self.corpus.words, self.corpus.frequencies

    def back(self, text: str, places: int) -> NDArray[np.int32]:
        """The word so many places before each event."""
        return self.corpus.back(text, places)

    def classes(self, wanted: ExchangeClasses) -> NDArray[np.int32]:
        """The class of every word."""
        return self._get(CorpusClasses(self._texts, wanted))  # type: ignore[no-any-return]

    def symbols(self, text: str, feature: Feature) -> NDArray[np.int32]:
        """A feature of every event."""
        words = self.back(text, feature.place)
        return words if feature.classes is None else self.classes(feature.classes)[words]


def pairs_of(corpus: Corpus, distance: int) -> Counts:
    """Counts of the words so far apart within a sentence, as if they stood side by side."""
    before, words = corpus.back("train", distance), corpus.back("train", 0)
    inside = corpus.back("train", distance - 1) != BOS
    pairs, raw = np.unique(before[inside].astype(np.int64) * corpus.words + words[inside], return_counts=True)
    left, right = np.divmod(pairs, corpus.words)
    return _counts(corpus.words, left, right, raw, corpus.frequencies)


def _counts(words: int, left: NDArray[Any], right: NDArray[Any], raw: NDArray[Any], times: NDArray[Any]) -> Counts:
    """Bigram counts, given sorted by their left words, with how often each word occurs."""
    starts = np.concatenate([[0], np.cumsum(np.bincount(left, minlength=words))])
    nothing = np.empty(0, np.int32)
    columns = [array.astype(np.int32) for array in (np.arange(words), times, right, starts, raw)]
    order1 = NgramTable(1, columns[0], nothing, nothing, columns[1], columns[1])
    order2 = NgramTable(2, columns[2], columns[3], nothing, columns[4], columns[4])
    return Counts((order1, order2), True, int(columns[4].sum()))


def two_sides(counts: Counts) -> Counts:
    """The same bigrams over twice the words: word w of the vocabulary is w as a context and V + w where predicted.

    A class may then hold words of both kinds, but what it holds of one says nothing about the other: pairs of classes
    are counted by who stands left and who stands right. So exchange, as it is, finds both clusterings at once. ``<s>``
    and ``</s>`` keep their numbers, by which exchange knows them.
    """
    words = len(counts[1])
    before, after, raw = counts[2].contexts(), np.asarray(counts[2].words[:]), np.asarray(counts[2].raw[:])
    times = np.concatenate([np.bincount(side, weights=raw, minlength=words) for side in (before, after)])
    times[words + EOS] = 0
    return _counts(2 * words, before, np.where(after == EOS, after, after + words), raw, times)
