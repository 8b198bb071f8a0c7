"""From a recipe and texts to ingredients: which counts, classes, components and weights its model is made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from plre.clustering.exchange import SWEEPS
from plre.clustering.ingredients import Clusters
from plre.counts.ingredients import Bigrams, CountedText, CutCounts
from plre.counts.tree import Slot
from plre.ensemble.ingredients import (
    ClassIds,
    ClassNames,
    ClassNgrams,
    ClassText,
    Discounts,
    FittedWeights,
    FoundFactors,
    HybridContexts,
    MemberSays,
    PreparedNgrams,
    UnknownWeights,
    WordNgrams,
    WordsSay,
)
from plre.ensemble.recipe import Recipe, Smoothing
from plre.model.lm import LanguageModel
from plre.smoothing.discounts import DiscountKind
from plre.store import Get, Ingredient
from plre.text.ingredients import Text
from plre.text.vocabulary import Vocabulary

#: Class n-grams of at least this order are left out where they are rare.
_FIRST_CUT = 3

_CLASS_DISCOUNTS: tuple[DiscountKind, ...] = ("mkn",)

Member = ClassNgrams | HybridContexts


@dataclass(frozen=True)
class Blueprint:
    """The ingredients of the model that a recipe makes of a text.

    text       the text, which has so many different ``words``
    fitted_to  the ids of held-out text to which weights, and discounts if the recipe says so, are fitted
    trial      instead: the blueprint for a part of the text, whose weights and discounts are taken, and with whose
               classes those of the whole text begin
    one_out    ``fitted_to`` is the text itself, one word left out at a time
    """

    recipe: Recipe
    text: Text
    words: int
    fitted_to: Ingredient | None = None
    trial: Blueprint | None = None
    one_out: bool = False

    @cached_property
    def counted(self) -> CountedText:
        """The n-grams of words."""
        return CountedText(self.text, self.recipe.order)

    @cached_property
    def bigrams(self) -> Bigrams:
        """What words are clustered by."""
        has_words = self.recipe.order > 1 and not self.recipe.classes
        return Bigrams(self.counted if has_words else CountedText(self.text, 2))

    @cached_property
    def parts(self) -> PreparedNgrams:
        """What the n-grams of words are put together from."""
        counted, smoothing = self.counted, self.recipe.smoothing
        discounts = self.discounts
        factors = tuple(FoundFactors(counted, smoothing, discounts, each) for each in self.recipe.low_rank)
        return PreparedNgrams(counted, smoothing, discounts, factors)

    @cached_property
    def discounts(self) -> Discounts:
        """The discounts of words."""
        if self.recipe.fit and self.trial:
            return self.trial.discounts
        fitted_to = self.fitted_to if self.recipe.fit else None
        return Discounts(self.counted, self.recipe.smoothing, fitted_to, self.one_out)

    @cached_property
    def clusters(self) -> list[Clusters]:
        """The clusterings that the recipe asks for."""
        recipe, members = self.recipe, self.recipe.members
        wanted = [(recipe.classes, SWEEPS)] if recipe.classes else []
        wanted += [(size, members.sweeps) for size in members.sizes(self.words)]
        starts: Sequence[Clusters | None] = self.trial.clusters if self.trial else [None] * len(wanted)
        # The seeds of an ensemble's clusterings begin with the recipe's.
        return [
            Clusters(self.bigrams, classes, recipe.seed + k, sweeps, start)
            for k, ((classes, sweeps), start) in enumerate(zip(wanted, starts, strict=True))
        ]

    @cached_property
    def names(self) -> list[ClassNames]:
        """The classes of each clustering."""
        return [ClassNames(self.text, each) for each in self.clusters]

    def class_discounts(self, k: int) -> Discounts:
        """The discounts of the n-grams of a clustering."""
        if self.recipe.fit and self.trial:
            return self.trial.class_discounts(k)
        recipe, names = self.recipe, self.names[k]
        order = recipe.members.class_order(recipe.order) if recipe.leads else recipe.order
        counted = CountedText(ClassText(self.text, names), order)
        fitted_to = ClassIds(self.fitted_to, names) if recipe.fit and self.fitted_to else None
        # Classes are few and all are frequent, so that the lowest orders have no singletons to learn discounts from:
        # that is nothing to warn about.
        return Discounts(counted, Smoothing(_CLASS_DISCOUNTS * order), fitted_to, warn=False)

    def class_ngrams(self, bits: int = 32) -> list[ClassNgrams]:
        """The n-grams of the classes of each clustering."""
        recipe, made = self.recipe, []
        for k, names in enumerate(self.names):
            discounts = self.class_discounts(k)
            smoothing = discounts.smoothing
            counted = CountedText(ClassText(self.text, names), len(smoothing.discounts))
            less = CutCounts(counted, recipe.members.least, _FIRST_CUT) if recipe.leads else counted
            made.append(ClassNgrams(PreparedNgrams(less, smoothing, discounts), names, bits))
        return made

    @cached_property
    def contexts(self) -> list[HybridContexts]:
        """Each chain of contexts."""
        made = []
        for chain in self.recipe.members.contexts:
            used = sorted({which for which, _ in chain})
            maps = tuple(self.names[which - 1] if which else None for which in used)
            slots = tuple(Slot(used.index(which), distance) for which, distance in chain)
            made.append(HybridContexts(self.text, maps, slots, self.recipe.members.least))
        return made

    def members(self, bits: int = 32) -> list[Member]:
        """All that the words lead."""
        return [*self.class_ngrams(bits), *self.contexts]

    def weights_beside(self, members: Sequence[Member]) -> FittedWeights:
        """The weights with which the words lead these members."""
        assert self.fitted_to is not None
        says = tuple(MemberSays(each, self.text, self.fitted_to) for each in members)
        return FittedWeights(WordsSay(self.parts, self.fitted_to), says)

    @cached_property
    def weights(self) -> FittedWeights | UnknownWeights:
        """The weights with which the words lead what the recipe has."""
        if self.trial:
            return self.trial.weights
        members = self.members()
        return self.weights_beside(members) if self.fitted_to else UnknownWeights(self.recipe.order, len(members))

    def components(self, bits: int = 32) -> list[Ingredient]:
        """The components of the model, in their order; ``bits`` is what a probability takes."""
        if self.recipe.classes:
            return [*self.class_ngrams(bits)]
        if not self.recipe.leads:
            return [WordNgrams(self.parts, bits=bits)]
        return [WordNgrams(self.parts, self.weights, bits), *self.members(bits)]

    @property
    def lasting(self) -> list[Ingredient]:
        """What other blueprints for the text may have use for, and is not too large to keep."""
        weights: list[Ingredient] = [self.weights]
        if isinstance(self.weights, FittedWeights):
            weights += [self.weights.words, *self.weights.members]
        words = [self.text, self.counted, self.bigrams.counted, self.bigrams, self.discounts, self.parts]
        words += [one for each in self.parts.factors for one in (each, each.sizes)]
        neighbours = [each.neighbours for each in self.clusters[:1]]
        return [*words, *weights, *neighbours, *self.clusters, *self.names, *self.members()]

    @property
    def learnt(self) -> list[Ingredient]:
        """What is taken over by a blueprint that has this one as its trial."""
        fitted = [self.discounts, *(self.class_discounts(k) for k in range(len(self.names)))]
        return [self.weights, *self.clusters, *(fitted if self.recipe.fit else [])]

    def wanted(self, bits: int = 32) -> list[Ingredient]:
        """All that a model is made of and says of itself."""
        return [*self.components(bits), *([self.weights] if self.recipe.leads else [])]

    def model(self, get: Get, vocab: Vocabulary, about: dict[str, Any], bits: int = 32) -> LanguageModel:
        """The model, from what was made of what it wants."""
        recipe = self.recipe
        leader, *others = map(get, self.components(bits))
        said: dict[str, Any] = {"order": recipe.order, **recipe.describe(), "bits": bits}
        if recipe.leads:
            said["classes"] = [each.classes for each in self.clusters]
            if (perplexity := get(self.weights).perplexity) is not None:
                said["dev_perplexity"] = perplexity
        else:
            said |= {name: leader.about[name] for name in ("classes", "discounts") if name in leader.about}
        if not recipe.classes:
            leader = replace(leader, about={"method": recipe.method, "rungs": said["rungs"], **leader.about})
        return LanguageModel(vocab, [leader, *others], {**said, **about})
