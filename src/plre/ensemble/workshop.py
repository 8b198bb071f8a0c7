"""A text and all that was made of it, so that nothing is made twice: counts, classes, factors, models.

The full ensemble is a model of word n-grams that leads class n-gram models (``model/gates.py``): what each order passes
on goes partly to shorter contexts and partly to the classes, which know what to say even where the context was never
seen. How much, by order and by how often the context was seen, is fitted to held-out text.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plre.clustering.exchange import check_memory, exchange
from plre.counts.cut import cut
from plre.counts.lookup import Events, look_up
from plre.counts.ngrams import Counter, Counts
from plre.counts.tree import Slot
from plre.ensemble.build import Builder
from plre.ensemble.classes import Classes, classes_of
from plre.ensemble.contexts import build_tree
from plre.ensemble.fit import fit_discounts
from plre.ensemble.gating import HeldOut, Weights, fit_weights
from plre.ensemble.recipe import BASELINES, Members, Recipe
from plre.model.component import Component
from plre.model.lm import LanguageModel
from plre.model.scoring import score_ids, score_orders
from plre.progress import Progress
from plre.scratch import Scratch
from plre.smoothing.discounts import Discount, Steps
from plre.text.encode import EncodedText
from plre.text.vocabulary import BOS
from plre.threads import parallel

#: Class n-grams of at least this order are left out where they are rare.
_FIRST_CUT = 3

#: Steps of a chain of contexts: which clustering (0: the word), and how many words back.
Chain = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class WantedClasses:
    """What makes one clustering and its class n-grams."""

    classes: int
    seed: int
    order: int
    least: int
    sweeps: int


@dataclass(frozen=True)
class Fitted:
    """What was fitted to held-out text, to be used with other counts."""

    weights: Weights
    #: If discounts were fitted: those of the words (None), and of each clustering.
    discounts: dict[WantedClasses | None, Sequence[Discount]]
    perplexity: float | None = None
    #: The classes that were found, as a start.
    classes: dict[WantedClasses, NDArray[np.int32]] = field(default_factory=dict)


class Workshop:
    """Builds full ensembles from one text."""

    def __init__(
        self,
        text: EncodedText,
        *,
        counter: Counter,
        threads: int,
        progress: Progress,
        scratch: Scratch,
        known: Fitted | None = None,
        remember: bool = False,
    ) -> None:
        self.text = text
        self.vocab = text.vocab
        self.counter = counter
        self.known = known
        self.how: dict[str, Any] = {"threads": threads, "progress": progress, "scratch": scratch}
        self.threads, self.progress, self.scratch = threads, progress, scratch
        self._counts: Counts | None = None
        self._builders: dict[str, Builder] = {}
        self._classes: dict[tuple[int, int, int], NDArray[np.int32]] = {}
        self._class_builders: dict[WantedClasses, tuple[Classes, Builder]] = {}
        self._fitted: dict[WantedClasses | None, Sequence[Discount]] = dict(known.discounts) if known else {}
        self._class_models: dict[WantedClasses, Component] = {}
        self._trees: dict[str, Component] = {}
        #: If asked to remember: what models say of the held-out text, so that the next recipe only asks new ones.
        self.remember = remember
        self._words_said: dict[Hashable, tuple[Events, NDArray[np.float64]]] = {}
        self._members_said: dict[Hashable, NDArray[np.float64]] = {}

    # --- words -------------------------------------------------------------------------------------------------------

    def counts(self, order: int) -> Counts:
        """The n-grams of words up to this order."""
        if self._counts is None or self._counts.order < order:
            self._counts = self.counter(self.text, order, **self.how)
        return self._counts if self._counts.order == order else self.counter(self.text, order, **self.how)

    def bigrams(self) -> Counts:
        """What words are clustered by: the n-grams of words, of order 2 or more."""
        return self._counts if self._counts is not None and self._counts.order > 1 else self.counts(2)

    def words(self, recipe: Recipe, dev: NDArray[np.int32] | None = None) -> Builder:
        """What builds the model of words. Recipes that differ in their rungs only share one, and its factors."""
        key = _words_key(recipe)
        if key not in self._builders:
            builder = Builder(self.counts(recipe.order), self.vocab, replace(recipe, grids={}), **self.how)
            self._builders[key] = builder
            if recipe.fit:
                if dev is not None:
                    self._fitted[None] = fit_discounts(builder, dev, leave_one_out=False)
                builder.discounts = self._fitted.get(None, builder.discounts)
        return self._builders[key]

    # --- classes -----------------------------------------------------------------------------------------------------

    def clusterings(self, recipe: Recipe) -> list[WantedClasses]:
        """The clusterings that a recipe asks for."""
        wanted = recipe.members
        order = wanted.class_order(recipe.order)
        sizes = wanted.sizes(len(self.vocab))
        return [
            WantedClasses(size, recipe.seed + k, order, wanted.least, wanted.sweeps) for k, size in enumerate(sizes)
        ]

    def classes(self, wanted: WantedClasses) -> NDArray[np.int32]:
        """The class of each word."""
        key = (wanted.classes, wanted.seed, wanted.sweeps)
        if key not in self._classes:
            check_memory(wanted.classes, self.scratch)
            start = self.known.classes.get(wanted) if self.known else None
            self._classes[key] = exchange(
                self.bigrams(), wanted.classes, sweeps=wanted.sweeps if start is None else 2, start=start,
                seed=wanted.seed, threads=self.threads, progress=self.progress,
            )  # fmt: skip
        return self._classes[key]

    def class_builder(self, wanted: WantedClasses, dev: NDArray[np.int32] | None = None) -> tuple[Classes, Builder]:
        """The classes, and what builds their n-gram model; discounts are fitted to ``dev`` if it is given."""
        if wanted not in self._class_builders:
            classes = classes_of(self.vocab, self.classes(wanted), np.asarray(self.bigrams()[1].raw[:]))
            recipe = Recipe(wanted.order, "class", **{**BASELINES["class"], "classes": wanted.classes})
            counted = self.counter(classes.of(self.text), wanted.order, **self.how)
            whole = Builder(counted, classes.names, recipe, warn=False, **self.how)
            if dev is not None:
                self._fitted[wanted] = fit_discounts(whole, classes.symbols[dev], leave_one_out=False)
            discounts = self._fitted.get(wanted, whole.discounts)
            less = cut(counted, wanted.least, _FIRST_CUT)
            builder = Builder(less.counts, classes.names, recipe, discounts=discounts, lost=less.lost, **self.how)
            self._class_builders[wanted] = classes, builder
        return self._class_builders[wanted]

    def tree_part(self, recipe: Recipe, chain: Chain) -> Component:
        """Hybrid contexts as a component."""
        wanted = self.clusterings(recipe)
        key = self._tree_key(recipe, chain)
        if key not in self._trees:
            counts = np.asarray(self.bigrams()[1].raw[:])
            used = sorted({which for which, _ in chain})
            maps = [classes_of(self.vocab, self.classes(wanted[k - 1]), counts).symbols if k else None for k in used]
            slots = [Slot(used.index(which), distance) for which, distance in chain]
            self._trees[key] = build_tree(
                self.text.ids, len(self.vocab), maps, slots, cut=recipe.members.least, markers=self.text.markers,
                **self.how,
            )  # fmt: skip
        return self._trees[key]

    def _tree_key(self, recipe: Recipe, chain: Chain) -> str:
        wanted = self.clusterings(recipe)
        return repr([(wanted[which - 1] if which else None, distance) for which, distance in chain])

    def _members_keys(self, recipe: Recipe) -> list[Hashable]:
        return [*self.clusterings(recipe), *(self._tree_key(recipe, chain) for chain in recipe.members.contexts)]

    def members(self, recipe: Recipe, dev: NDArray[np.int32] | None = None, bits: int = 32) -> list[Component]:
        """The models that the words lead; their discounts are fitted to ``dev`` if it is given."""
        made = [self.class_part(each, dev, bits) for each in self.clusterings(recipe)]
        return made + [self.tree_part(recipe, chain) for chain in recipe.members.contexts]

    def class_part(self, wanted: WantedClasses, dev: NDArray[np.int32] | None = None, bits: int = 32) -> Component:
        """Class n-grams as a component."""
        classes, builder = self.class_builder(wanted, dev)
        if bits < 32:
            return classes.component(builder.component(bits=bits))
        if wanted not in self._class_models:
            self._class_models[wanted] = classes.component(builder.component())
        return self._class_models[wanted]

    # --- what there is -----------------------------------------------------------------------------------------------

    def has_factors(self, recipe: Recipe, n: int) -> bool:
        """Whether the low rank layers of order n were factorised before."""
        builder = self._builders.get(_words_key(recipe))
        return builder is not None and builder.has_factors(n, recipe.rungs[n])

    def has_words(self, recipe: Recipe) -> bool:
        """Whether it is known what the model of words says of the held-out text."""
        return _words_key(recipe, rungs=True) in self._words_said

    def has_classes(self, wanted: WantedClasses) -> bool:
        """Whether the classes were found before."""
        return (wanted.classes, wanted.seed, wanted.sweeps) in self._classes

    def has_class_model(self, wanted: WantedClasses) -> bool:
        """Whether the n-gram model of the classes was made before."""
        return wanted in self._class_models

    def has_tree(self, recipe: Recipe, chain: Chain) -> bool:
        """Whether the contexts were counted before."""
        return self._tree_key(recipe, chain) in self._trees

    def keep(self, recipes: Sequence[Recipe]) -> None:
        """Forget what is large and in none of these recipes. Classes are small and stay: they take longest to find."""
        members = {key for recipe in recipes for key in self._members_keys(recipe)}
        stores: tuple[dict[Any, Any], ...] = (
            self._class_builders, self._class_models, self._fitted, self._trees, self._members_said,
        )  # fmt: skip
        for store in stores:
            for key in set(store) - members - {None}:
                del store[key]
        words = {_words_key(recipe, rungs=True) for recipe in recipes}
        self._words_said = {key: said for key, said in self._words_said.items() if key in words}
        factors: dict[str, set[Any]] = {}
        for recipe in recipes:
            factors.setdefault(_words_key(recipe), set()).update(recipe.rungs.items())
        self._builders = {key: builder for key, builder in self._builders.items() if key in factors}
        for key, builder in self._builders.items():
            builder.keep_factors(factors[key])

    def size(self, recipe: Recipe) -> int:
        """Bytes of the recipe's model, from all that it is made of (which is made if it was not)."""
        return self.build(recipe, self.unfitted(recipe), {}).nbytes

    # --- together ----------------------------------------------------------------------------------------------------

    def held_out(
        self, recipe: Recipe, dev: NDArray[np.int32], others: Sequence[WantedClasses] | None = None
    ) -> HeldOut:
        """Everything about a held-out text that fitting weights needs; with ``others``, as if the class n-grams were of
        these clusterings and not of the recipe's own."""
        fitted_to = dev if recipe.fit else None
        keys, members = self._members_keys(recipe), self.members(recipe, fitted_to)
        if others is not None:
            keys[: len(others)] = others
            members[: len(others)] = [self.class_part(each, fitted_to) for each in others]
        events, orders = self.words_say(recipe, dev)
        with self.progress.stage("looking up held-out text"):
            said = parallel(
                lambda member: self._member_says(*member, dev), list(zip(keys, members, strict=True)), self.threads
            )
        steps = [each for each in self.words(recipe).discounts if isinstance(each, Steps)]
        return HeldOut.of(events, orders, steps, said)

    def taste(self, recipe: Recipe, others: Sequence[WantedClasses], dev: NDArray[np.int32]) -> float:
        """The perplexity of a held-out text if the class n-grams were of these clusterings and not the recipe's own."""
        return fit_weights(self.held_out(recipe, dev, others), threads=self.threads)[1]

    def words_say(self, recipe: Recipe, dev: NDArray[np.int32]) -> tuple[Events, NDArray[np.float64]]:
        """What was counted of the held-out text, and the probability of each event of it by order."""
        key = _words_key(recipe, rungs=True)
        if key in self._words_said:
            return self._words_said[key]
        builder = self.words(recipe, dev if recipe.fit else None)
        model = builder.build(recipe=recipe)
        with self.progress.stage("looking up held-out text"):
            events = look_up(builder.counts, dev, adjusted=recipe.continuation, threads=self.threads)
            said = events, score_orders(model, dev)[:, dev != BOS]
        if self.remember:
            self._words_said[key] = said
        return said

    def _member_says(self, key: Hashable, member: Component, dev: NDArray[np.int32]) -> NDArray[np.float64]:
        """The probability of each event of the held-out text under a component that the words lead."""
        if key in self._members_said:
            return self._members_said[key]
        alone = LanguageModel(self.vocab, [member], {"order": member.body.reach, "markers": self.text.markers})
        probs = score_ids(alone, dev).probs[dev != BOS]
        if self.remember:
            self._members_said[key] = probs
        return probs

    def fit(self, recipe: Recipe, dev: NDArray[np.int32]) -> Fitted:
        """Fit everything that is fitted to held-out text."""
        text = self.held_out(recipe, dev)
        with self.progress.stage("fitting weights"):
            weights, perplexity = fit_weights(text, threads=self.threads)
        wanted = self.clusterings(recipe)
        return Fitted(
            weights,
            {each: self._fitted[each] for each in (None, *wanted) if each in self._fitted},
            perplexity,
            {each: self.classes(each) for each in wanted},
        )

    def unfitted(self, recipe: Recipe) -> Fitted:
        """The same for a text too short to hold anything out."""
        wanted = self.clusterings(recipe)
        return Fitted(Weights.unknown(recipe.order, len(wanted) + len(recipe.members.contexts)), {})

    def build(self, recipe: Recipe, fitted: Fitted, metadata: dict[str, Any], *, bits: int = 32) -> LanguageModel:
        """The model."""
        leader = self.words(recipe).component(recipe, leaks=fitted.weights.leaks, bits=bits)
        made = [replace(leader, gates=fitted.weights.gates)]
        made += self.members(recipe, bits=bits)
        about: dict[str, Any] = {"order": recipe.order, "markers": self.text.markers, **recipe.describe(), **metadata}
        about |= {"bits": bits, "classes": [each.classes for each in self.clusterings(recipe)]}
        if fitted.perplexity is not None:
            about["dev_perplexity"] = fitted.perplexity
        return LanguageModel(self.vocab, made, about)


def _words_key(recipe: Recipe, rungs: bool = False) -> str:
    """What a builder of word models depends on; with ``rungs``, what one of its models does."""
    kept = recipe.rungs if rungs else {}
    return repr(replace(recipe, rungs=kept, grids={}, members=Members(), preset=None))
