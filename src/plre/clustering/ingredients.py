"""Classes of words as an ingredient."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from plre.clustering.exchange import SWEEPS, Neighbours, Partition, partition_words
from plre.counts.ingredients import Bigrams
from plre.counts.ngrams import Counts
from plre.store import Get, Ingredient, Resources

#: Sweeps that begin with classes of another text, most of which stay.
_SWEEPS_FROM_START = 2


@dataclass(frozen=True)
class FoundClasses:
    """What exchange found: the class of each word (-1: none), and how good that is."""

    assignment: NDArray[np.int32]
    loglikelihood: float
    perplexity: float
    sweeps: int


@dataclass(frozen=True)
class WordNeighbours(Ingredient):
    """The words after and before each word: what all clusterings of a text work on."""

    bigrams: Bigrams

    def make(self, get: Get, how: Resources) -> Neighbours:
        """Find them."""
        bigrams: Counts = get(self.bigrams)
        how.scratch.check_room(Neighbours.bytes(len(bigrams[2])), "clustering", "use a higher --min-count or less text")
        return Neighbours.of(bigrams, how.threads)


@dataclass(frozen=True)
class Clusters(Ingredient):
    """Words in so many classes, found by exchange; ``start`` has those of a part of the text."""

    kind: ClassVar[str] = "clustering"
    pace: ClassVar[float] = 3e-9
    bigrams: Bigrams
    classes: int
    seed: int = 0
    sweeps: int = SWEEPS
    start: Clusters | None = None

    def make(self, get: Get, how: Resources) -> FoundClasses:
        """Find them."""
        bigrams: Counts = get(self.bigrams)
        classes = min(self.classes, len(bigrams[1]))
        need = Neighbours.bytes(len(bigrams[2])) + Partition.bytes(classes)
        how.scratch.check_room(need, f"{classes:,} classes", "use fewer")
        start = get(self.start).assignment if self.start else None
        sweeps = _SWEEPS_FROM_START if self.start else self.sweeps
        found = partition_words(
            get(self.neighbours), np.asarray(bigrams[1].raw[:]), self.classes, sweeps=sweeps, start=start,
            seed=self.seed, threads=how.threads, progress=how.progress,
        )  # fmt: skip
        predicted = found.neighbours.times[1]
        predicted = predicted[predicted > 0].astype(np.float64)
        loglikelihood = found.likelihood() + float(predicted @ np.log(predicted))
        perplexity = float(np.exp(-loglikelihood / max(predicted.sum(), 1.0)))
        return FoundClasses(found.assignment(), loglikelihood, perplexity, found.sweeps)

    @property
    def neighbours(self) -> WordNeighbours:
        """The neighbours of all words."""
        return WordNeighbours(self.bigrams)

    def needs(self) -> list[Ingredient]:
        """The neighbours of all words, too."""
        return [*super().needs(), self.neighbours]

    def work(self, get: Get) -> float:
        """Sweeps over all bigrams, for each class."""
        bigrams = get(self.bigrams.counted)[2]
        return float(self.sweeps) * self.classes * len(bigrams)

    @property
    def urgency(self) -> float:
        """Many classes take longest of all."""
        return float(self.sweeps) * self.classes
