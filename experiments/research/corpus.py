"""A corpus as events: words with what stands before them, and classes of words."""

from __future__ import annotations

from functools import cached_property
from threading import Lock
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments.common import WORK, held_out, min_count, training_text
from plre.clustering.exchange import exchange
from plre.counts.local import count_ngrams
from plre.counts.ngrams import Counts, NgramTable
from plre.text.encode import encode_text
from plre.text.vocabulary import BOS, EOS
from plre.threads import cpu_count

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


class Corpus:
    """The three texts of a corpus, with the vocabulary of the first."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.cache: dict[Any, Any] = {}
        self._clustering = Lock()
        self.train = encode_text(training_text(name), min_count=min_count(name), threads=cpu_count())
        self.words = len(self.train.vocab)
        self._ids = {"train": np.asarray(self.train.ids[:])} | {
            text: np.asarray(encode_text(held_out(name, text), vocab=self.train.vocab, threads=cpu_count()).ids[:])
            for text in TEXTS
        }

    def back(self, text: str, places: int) -> NDArray[np.int32]:
        """The word so many places before each event; before a sentence there are only ``<s>``."""
        key = ("back", text, places)
        if key not in self.cache:
            ids = self._ids[text]
            here = np.arange(len(ids))
            start = np.maximum.accumulate(np.where(ids == BOS, here, 0))
            self.cache[key] = ids[np.maximum(here - places, start)][ids != BOS]
        return self.cache[key]  # type: ignore[no-any-return]

    def symbols(self, text: str, feature: Feature) -> NDArray[np.int32]:
        """A feature of every event."""
        words = self.back(text, feature.place)
        return words if feature.classes is None else self.classes(feature.classes)[words]

    @cached_property
    def frequencies(self) -> NDArray[np.float64]:
        """How often each word is predicted in the training text."""
        return np.bincount(self.back("train", 0), minlength=self.words).astype(np.float64)

    def classes(self, wanted: ExchangeClasses) -> NDArray[np.int32]:
        """The class of every word; ``<s>``, ``</s>`` and words that never occur have three of their own."""
        with self._clustering:
            if wanted not in self.cache:
                found = self._clustered(wanted)
                if wanted.role == "predicted":
                    found = found[self.words :]
                found = np.where(found < 0, wanted.size + 2, found)[: self.words].astype(np.int32)
                found[BOS], found[EOS] = wanted.size, wanted.size + 1
                self.cache[wanted] = found
        return self.cache[wanted]  # type: ignore[no-any-return]

    def _clustered(self, wanted: ExchangeClasses) -> NDArray[np.int32]:
        """What exchange finds, kept among the files of the experiments; that of both sides is one file."""
        kind = {"word": "", "skip": "skip."}.get(wanted.role, "paired.")
        path = WORK / "research" / f"{self.name}.{kind}{wanted.size}.{wanted.seed}.{wanted.sweeps}.npy"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            counts = {"": lambda: self._bigrams, "skip.": lambda: pairs_of(self, 2)}.get(kind, self._two_sides)()
            found = exchange(counts, wanted.size, sweeps=wanted.sweeps, seed=wanted.seed, threads=cpu_count())
            with path.with_suffix(".half").open("wb") as out:
                np.save(out, found)
            path.with_suffix(".half").rename(path)
        found = np.load(path)
        if len(found) != self.words * (1 + (kind == "paired.")):
            raise SystemExit(f"{path} belongs to another text; remove it")
        return found  # type: ignore[no-any-return]

    def _two_sides(self) -> Counts:
        return two_sides(self._bigrams)

    @cached_property
    def _bigrams(self) -> Counts:
        return count_ngrams(self.train, 2, threads=cpu_count())


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
