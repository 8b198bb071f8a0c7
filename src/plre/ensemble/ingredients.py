"""What recipes are made of, beyond texts, counts and classes: discounts, factors, components, weights.

    text ──▶ counts ──▶ discounts ──▶ factors ──▶ what words say of held-out text ──┐
      │        └──▶ classes ──▶ class text ──▶ counts ──▶ class n-grams ──▶ what they say ──▶ weights ──▶ word n-grams
      └──────────────┴──▶ hybrid contexts ──▶ what they say ──┘

The word n-grams *lead* the others (``model/gates.py``), so they are put together last, when it is known how much leaks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from plre.clustering.ingredients import Clusters
from plre.counts.lookup import look_up
from plre.counts.tree import Slot
from plre.ensemble import build
from plre.ensemble.classes import Classes, classes_of
from plre.ensemble.contexts import build_tree
from plre.ensemble.gating import HeldOut, Weights, fit_weights, said_by_words
from plre.ensemble.recipe import LowRank, Smoothing
from plre.lowrank.blocks import Factors
from plre.model.component import Component
from plre.model.lm import LanguageModel
from plre.model.scoring import score_ids
from plre.smoothing.discounts import Discount
from plre.store import Get, Ingredient, Resources
from plre.text.encode import EncodedText
from plre.text.ingredients import Text
from plre.text.vocabulary import BOS

#: Memory that a word of held-out text takes, for each order: what was found of it, and what weights are fitted to.
_BYTES_OF_EVENT = 65


@dataclass(frozen=True)
class Discounts(Ingredient):
    """The discounts of each order: from counts of counts, or those under which a text (its ids) is likeliest."""

    counted: Ingredient
    smoothing: Smoothing
    fitted_to: Ingredient | None = None
    leave_one_out: bool = False
    warn: bool = True

    def make(self, get: Get, how: Resources) -> Sequence[Discount]:
        """Estimate and fit them."""
        counts = get(self.counted)
        found = build.find_discounts(counts, self.smoothing, self.warn)
        if self.fitted_to is None:
            return found
        return build.fit_discounts(counts, self.smoothing, found, get(self.fitted_to), self.leave_one_out, how)


@dataclass(frozen=True)
class SliceSizes(Ingredient):
    """The smaller side of each slice of an order, and its non-zeros: what ranks depend on."""

    counted: Ingredient
    order: int

    def make(self, get: Get, how: Resources) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Count them."""
        blocks = build.slices_of(get(self.counted), self.order, how.scratch)
        return blocks.smaller_side(), blocks.entries()


@dataclass(frozen=True)
class FoundFactors(Ingredient):
    """The factors of one order's low rank layers."""

    kind: ClassVar[str] = "factors"
    pace: ClassVar[float] = 6e-9
    counted: Ingredient
    smoothing: Smoothing
    discounts: Discounts
    low_rank: LowRank

    def make(self, get: Get, how: Resources) -> Factors:
        """Factorise them."""
        counts, smoothing, discounts = get(self.counted), self.smoothing, get(self.discounts)
        return build.find_factors(counts, smoothing, discounts, self.low_rank, self._ranks(get), how)

    def check(self, get: Get, how: Resources) -> None:
        """Refuse ranks that are too high for a model or for the memory."""
        build.check_factors(get(self.counted), self.low_rank, self._ranks(get), how.scratch)

    @property
    def sizes(self) -> SliceSizes:
        """The sizes of the order's slices."""
        return SliceSizes(self.counted, self.low_rank.order)

    def needs(self) -> list[Ingredient]:
        """The sizes of slices, too."""
        return [*super().needs(), self.sizes]

    def _ranks(self, get: Get) -> list[NDArray[np.int32]]:
        """The ranks of all slices, for each rung."""
        return [rung.rank(*get(self.sizes)) for rung in self.low_rank.rungs]

    def work(self, get: Get) -> float:
        """Non-zeros times rank, of all slices, for each step."""
        _, entries = get(self.sizes)
        ranked = sum(float(np.sum(ranks * entries)) for ranks in self._ranks(get))
        return ranked * self.low_rank.stopping.steps * self.low_rank.starts


@dataclass(frozen=True)
class PreparedNgrams(Ingredient):
    """All that a component of n-grams is put together from."""

    counted: Ingredient
    smoothing: Smoothing
    discounts: Discounts
    factors: tuple[FoundFactors, ...] = ()

    def make(self, get: Get, how: Resources) -> build.NgramParts:
        """Collect it."""
        factors = {each.low_rank: get(each) for each in self.factors}
        return build.NgramParts(get(self.counted), self.smoothing, get(self.discounts), factors)


@dataclass(frozen=True)
class ClassNames(Ingredient):
    """Classes as symbols of a model, with each word's share of its own."""

    text: Text
    clusters: Clusters

    def make(self, get: Get, how: Resources) -> Classes:
        """Number and name them."""
        bigrams = get(self.clusters.bigrams)
        return classes_of(get(self.text).vocab, get(self.clusters).assignment, np.asarray(bigrams[1].raw[:]))

    def needs(self) -> list[Ingredient]:
        """The counts of words, too."""
        return [*super().needs(), self.clusters.bigrams]


@dataclass(frozen=True)
class ClassText(Text):
    """A text with each word's class in its place."""

    text: Text
    names: ClassNames

    def make(self, get: Get, how: Resources) -> EncodedText:
        """Look through the classes at the words."""
        return get(self.names).of(get(self.text))  # type: ignore[no-any-return]

    @property
    def origin(self) -> Text:
        """The text of words."""
        return self.text.origin


@dataclass(frozen=True)
class ClassIds(Ingredient):
    """The classes of the words of a held-out text."""

    ids: Ingredient
    names: ClassNames

    def make(self, get: Get, how: Resources) -> NDArray[np.int32]:
        """Look them up."""
        return get(self.names).symbols[get(self.ids)]  # type: ignore[no-any-return]


@dataclass(frozen=True)
class ClassNgrams(Ingredient):
    """N-grams of classes, times P(word | class), as a component."""

    kind: ClassVar[str] = "class n-grams"
    pace: ClassVar[float] = 2e-7
    parts: PreparedNgrams
    names: ClassNames
    bits: int = 32

    def make(self, get: Get, how: Resources) -> Component:
        """Put it together."""
        return get(self.names).component(get(self.parts).component(how, bits=self.bits))  # type: ignore[no-any-return]

    def work(self, get: Get) -> float:
        """N-grams of the text, those of each order."""
        return float(len(get(self.names.text.origin).ids)) * len(self.parts.smoothing.discounts)


@dataclass(frozen=True)
class HybridContexts(Ingredient):
    """A chain of contexts that mix words and classes, as a component."""

    kind: ClassVar[str] = "contexts"
    pace: ClassVar[float] = 5e-7
    text: Text
    #: The classes that slots read; None: words.
    maps: tuple[ClassNames | None, ...]
    slots: tuple[Slot, ...]
    cut: int

    def make(self, get: Get, how: Resources) -> Component:
        """Count the contexts and smooth them."""
        text = get(self.text)
        maps = [None if names is None else get(names).symbols for names in self.maps]
        whole = text.ids, len(text.vocab)
        return build_tree(*whole, maps, self.slots, cut=self.cut, markers=text.markers, **how.named)

    def work(self, get: Get) -> float:
        """Words of the text, for each slot."""
        return float(len(get(self.text.origin).ids)) * len(self.slots)


@dataclass(frozen=True)
class WordsSay(Ingredient):
    """What word n-grams say of a held-out text: all that fitting weights needs of them."""

    kind: ClassVar[str] = "words"
    pace: ClassVar[float] = 2e-7
    parts: PreparedNgrams
    ids: Ingredient

    def make(self, get: Get, how: Resources) -> HeldOut:
        """Look the words of the text up."""
        parts, ids = get(self.parts), get(self.ids)
        how.scratch.check_room(
            _BYTES_OF_EVENT * parts.counts.order * len(ids), "looking up the held-out text", "use less of it"
        )
        with how.progress.stage("looking up held-out text"):
            events = look_up(parts.counts, ids, adjusted=parts.smoothing.continuation, threads=how.threads)
            return said_by_words(parts, events, ids[ids != BOS])


@dataclass(frozen=True)
class MemberSays(Ingredient):
    """The probability of each word of a held-out text under a component that the words lead."""

    member: ClassNgrams | HybridContexts
    text: Text
    ids: Ingredient

    def make(self, get: Get, how: Resources) -> NDArray[np.float64]:
        """Ask it alone."""
        member, text, ids = get(self.member), get(self.text), get(self.ids)
        alone = LanguageModel(text.vocab, [member], {"order": member.body.reach, "markers": text.markers})
        probs = score_ids(alone, ids).probs[ids != BOS]
        member.let_go()
        return probs


@dataclass(frozen=True)
class Fitted:
    """Weights, and the perplexity of the text that they were fitted to, if they were."""

    weights: Weights
    perplexity: float | None = None


@dataclass(frozen=True)
class FittedWeights(Ingredient):
    """The weights with which word n-grams lead others, fitted to a held-out text."""

    kind: ClassVar[str] = "fitting"
    pace: ClassVar[float] = 1e-6
    words: WordsSay
    members: tuple[MemberSays, ...]

    def make(self, get: Get, how: Resources) -> Fitted:
        """Fit them by EM."""
        said = np.array([get(each) for each in self.members], np.float32).T.copy()
        with how.progress.stage("fitting weights"):
            return Fitted(*fit_weights(replace(get(self.words), others=said), threads=how.threads))

    def work(self, get: Get) -> float:
        """Events, for each order and each member."""
        return float(len(get(self.words.ids))) * (len(self.words.parts.smoothing.discounts) + len(self.members))


@dataclass(frozen=True)
class UnknownWeights(Ingredient):
    """The weights to take where there is no text to fit them to."""

    order: int
    members: int

    def make(self, get: Get, how: Resources) -> Fitted:
        """All alike."""
        return Fitted(Weights.unknown(self.order, self.members))


@dataclass(frozen=True)
class WordNgrams(Ingredient):
    """Word n-grams as a component; with weights it leads others."""

    kind: ClassVar[str] = "building"
    pace: ClassVar[float] = 2e-6
    parts: PreparedNgrams
    weights: FittedWeights | UnknownWeights | None = None
    bits: int = 32

    def make(self, get: Get, how: Resources) -> Component:
        """Put it together."""
        parts: build.NgramParts = get(self.parts)
        if self.weights is None:
            return parts.component(how, bits=self.bits)
        weights: Weights = get(self.weights).weights
        return replace(parts.component(how, leaks=weights.leaks, bits=self.bits), gates=weights.gates)

    def needs(self) -> list[Ingredient]:
        """The counts, too: how much work it is depends on them."""
        return [*super().needs(), self.parts.counted]

    def work(self, get: Get) -> float:
        """N-grams."""
        return float(sum(len(table) for table in get(self.parts.counted).tables))
