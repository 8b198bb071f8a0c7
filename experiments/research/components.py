"""Models as the probabilities they give to events. Each is a value: the same one is made once for a corpus."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

import plre
from experiments.common import held_out, min_count, training_text
from experiments.research import discounts
from experiments.research.corpus import (
    TEXTS,
    Context,
    CorpusClasses,
    CorpusTexts,
    ExchangeClasses,
    Feature,
    Seen,
    clusterings,
)
from experiments.research.counting import Evidence, Floats, Numbering, count_levels
from plre.lowrank.blocks import Blocks
from plre.lowrank.factorise import Stopping, factorise
from plre.model.scoring import Scored
from plre.store import Get, Ingredient, Resources
from plre.text.vocabulary import BOS

#: The probability of each event of each text.
Probabilities = dict[str, Floats]
#: Ways to choose discounts, by name.
DISCOUNTS: dict[str, discounts.Discounting] = {
    "Good-Turing": discounts.good_turing_of,
    "Good-Turing x 0.8": discounts.scaled(0.8),
    "Good-Turing x 1.2": discounts.scaled(1.2),
    "fitted": discounts.fitting(discounts.STEPS),
    "fitted, 6 steps": discounts.fitting(discounts.MORE_STEPS),
    "fitted power": discounts.fitted_power,
    "singletons cut from order 5": discounts.cutting(range(5, 9)),
    "singletons cut from order 4": discounts.cutting(range(4, 9)),
    "singletons cut from order 3": discounts.cutting(range(3, 9)),
    "counts below 3 cut from order 3": discounts.cutting(range(3, 9), 3),
}


class Predictor(Protocol):
    """Anything that gives probabilities to the events of a corpus."""

    def compute(self, corpus: Seen, threads: int) -> Any:
        """The probability of every event, or what there is instead."""
        ...


@dataclass(frozen=True)
class Said(Ingredient):
    """What a component says of the events of a corpus."""

    texts: CorpusTexts
    component: Predictor

    def make(self, get: Get, how: Resources) -> Any:
        """Compute it."""
        return self.component.compute(Seen(self.texts, get), how.threads)

    def needs(self) -> list[Ingredient]:
        """The texts, and the classes that the component asks for."""
        return [self.texts, *(CorpusClasses(self.texts, each) for each in dict.fromkeys(clusterings(self.component)))]


def ngram_contexts(order: int, classes: ExchangeClasses | None = None) -> tuple[Context, ...]:
    """The contexts of an n-gram model, from the longest to none."""
    return tuple(tuple(Feature(k, classes) for k in range(1, n)) for n in range(order, 0, -1))


def constant(corpus: Seen, value: float) -> Probabilities:
    """One probability for every event."""
    return {text: np.full(len(corpus.back(text, 0)), value) for text in TEXTS}


@dataclass(frozen=True)
class WordModel:
    """Word n-grams, as evidence of every level: the mixture looks between the levels."""

    order: int = 3
    discount: str = "Good-Turing"
    #: Coarser contexts count what is handed down to them instead of distinct n-grams.
    fractional: bool = False

    def compute(self, corpus: Seen, threads: int) -> list[dict[str, Evidence]]:
        """What each level says, the finest first, and below them all words alike; ``<s>`` is never predicted."""
        levels = count_levels(
            corpus, Feature(0), ngram_contexts(self.order), discounts.estimated if self.fractional else None
        )
        base = constant(corpus, 1 / (corpus.words - 1))
        found = discounts.interpolate(levels, base, DISCOUNTS[self.discount])[0]
        nothing = {text: np.zeros(len(base[text])) for text in TEXTS}
        return [*found, {text: Evidence(base[text], nothing[text], nothing[text]) for text in TEXTS}]


@dataclass(frozen=True)
class ClassModel:
    """P(class | classes before) P(word | class), and what it can be varied in."""

    classes: ExchangeClasses
    order: int = 5
    discount: str = "Good-Turing"
    #: Contexts, the finest first, if they are not the same classes of the ``order - 1`` words before.
    contexts: tuple[Context, ...] = ()
    #: The word's share of its class may depend on contexts, the finest first.
    shares: tuple[Context, ...] = ()

    def compute(self, corpus: Seen, threads: int) -> Probabilities:
        """The probability of every event."""
        predicted = Feature(0, self.classes)
        levels = count_levels(corpus, predicted, self.contexts or ngram_contexts(self.order, self.classes))
        base = constant(corpus, 1 / (self.classes.size + 1))
        of_class = discounts.interpolate(levels, base, DISCOUNTS[self.discount])[1]
        shares = self._shares(corpus, predicted)
        return {text: of_class[text] * shares[text] for text in TEXTS}

    def _shares(self, corpus: Seen, predicted: Feature) -> Probabilities:
        seen = np.maximum(corpus.frequencies, 0.5)
        seen[BOS] = 0
        classes = corpus.classes(self.classes)
        share = seen / np.bincount(classes, weights=seen)[classes].clip(min=1e-9)
        base = {text: share[corpus.back(text, 0)] for text in TEXTS}
        if not self.shares:
            return base
        levels = count_levels(corpus, Feature(0), [(predicted, *context) for context in self.shares])
        return discounts.interpolate(levels, base, DISCOUNTS["Good-Turing"])[1]


@dataclass(frozen=True)
class HybridModel:
    """Words after contexts of words and classes, the finest context first."""

    contexts: tuple[Context, ...]

    def compute(self, corpus: Seen, threads: int) -> Probabilities:
        """The probability of every event."""
        levels = count_levels(corpus, Feature(0), self.contexts)
        base = constant(corpus, 1 / (corpus.words - 1))
        return discounts.interpolate(levels, base, DISCOUNTS["Good-Turing"])[1]


@dataclass(frozen=True)
class SoftClasses:
    """P(w | v) = sum_z P(w | z) P(z | v) for the word v so many places back: the counts at a low rank."""

    place: int = 1
    rank: int = 100
    steps: int = 40
    fresh: int = 2

    def compute(self, corpus: Seen, threads: int) -> Probabilities:
        """The probability of every event."""
        before, words = (corpus.back("train", place).astype(np.uint64) for place in (self.place, 0))
        pairs = Numbering(before * np.uint64(corpus.words) + words)  # by context, and then by word
        values = np.bincount(pairs.found).astype(np.float32)
        columns, rows = (side[pairs.first].astype(np.int32) for side in (before, words))
        starts = np.concatenate([[0], np.cumsum(np.bincount(columns, minlength=corpus.words))]).astype(np.int32)
        whole = np.array([0, corpus.words], np.int32), np.zeros(corpus.words, np.int32)
        stopping, rank = Stopping(self.steps, -1.0, self.fresh), np.array([self.rank], np.int32)
        factors = factorise(Blocks(*whole, starts, rows), values, rank, stopping=stopping, threads=threads)
        left, right = factors.left.reshape(-1, self.rank), factors.right.reshape(-1, self.rank)
        totals = np.bincount(columns, weights=values, minlength=corpus.words)
        return {text: self._asked(corpus, text, left, right, totals) for text in TEXTS}

    def _asked(
        self, corpus: Seen, text: str, left: NDArray[np.float32], right: NDArray[np.float32], totals: Floats
    ) -> Floats:
        before, words = corpus.back(text, self.place), corpus.back(text, 0)
        unigram = corpus.frequencies / corpus.frequencies.sum()
        found = np.einsum("ij,ij->i", left[words], right[before]) / np.maximum(totals[before], 1)
        return np.where(totals[before] > 0, found, unigram[words])


@dataclass(frozen=True)
class Trained:
    """A model of the package itself, as ``plre.train`` makes it."""

    method: Literal["mkn", "plre"]
    order: int = 3
    preset: str | None = None
    rungs: tuple[str, ...] = ()

    def compute(self, corpus: Seen, threads: int) -> Probabilities:
        """The probability of every event."""
        how: dict[str, Any] = {"rungs": self.rungs} if self.rungs else {"preset": self.preset}
        lm = plre.train(
            training_text(corpus.name),
            order=self.order,
            method=self.method,
            min_count=min_count(corpus.name),
            **how,
        )
        return {text: _scored(lm, corpus, text) for text in TEXTS}


def _scored(lm: plre.LanguageModel, corpus: Seen, text: str) -> Floats:
    pieces: list[Floats] = []

    def keep(piece: Scored) -> None:
        pieces.append(piece.probs[piece.first :][piece.ids[piece.first :] != BOS])

    lm.tally(held_out(corpus.name, text), also=keep)
    return np.concatenate(pieces)


@dataclass(frozen=True)
class Setup:
    """A model: words, and components beside them."""

    word: WordModel | None = field(default_factory=WordModel)
    components: tuple[Predictor, ...] = ()
