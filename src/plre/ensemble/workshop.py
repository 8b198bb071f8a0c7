"""A text and all that was made of it, so that nothing is made twice: counts, classes, factors, models.

The full ensemble is a model of word n-grams that leads class n-gram models (``model/gates.py``): what each order passes
on goes partly to shorter contexts and partly to the classes, which know what to say even where the context was never
seen. How much, by order and by how often the context was seen, is fitted to held-out text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plre._jit import parallel
from plre.clustering.exchange import check_memory, exchange
from plre.counts.cut import cut
from plre.counts.lookup import look_up
from plre.counts.ngrams import Counter, Counts
from plre.counts.tree import Slot
from plre.ensemble.build import Builder
from plre.ensemble.classes import Classes, classes_of
from plre.ensemble.contexts import build_tree
from plre.ensemble.fit import fit_discounts
from plre.ensemble.gating import HeldOut, Weights, fit_weights
from plre.ensemble.recipe import BASELINES, Recipe, Tensors
from plre.model.mixture import Mixture, Part, assemble
from plre.model.ngrams import NgramModel
from plre.model.scoring import score_ids, score_orders
from plre.model.tree import TreeModel
from plre.progress import Progress
from plre.scratch import Scratch
from plre.smoothing.discounts import Discount, Steps
from plre.text.encode import EncodedText
from plre.text.vocabulary import BOS

#: Class n-grams of at least this order are left out where they are rare.
_FIRST_CUT = 3

#: Steps of a chain of contexts: which clustering (0: the word), and how many words back.
Chain = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Clustering:
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
    discounts: dict[Clustering | None, Sequence[Discount]]
    perplexity: float | None = None
    #: The classes that were found, as a start.
    classes: dict[Clustering, NDArray[np.int32]] = field(default_factory=dict)


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
        self._class_builders: dict[Clustering, tuple[Classes, Builder]] = {}
        self._fitted: dict[Clustering | None, Sequence[Discount]] = dict(known.discounts) if known else {}
        self._class_models: dict[Clustering, NgramModel] = {}
        self._trees: dict[str, TreeModel] = {}

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
        key = repr(replace(recipe, rungs={}, grids={}, tensors=Tensors(), preset=None))
        if key not in self._builders:
            builder = Builder(self.counts(recipe.order), self.vocab, replace(recipe, grids={}), **self.how)
            self._builders[key] = builder
            if recipe.fit:
                if dev is not None:
                    self._fitted[None] = fit_discounts(builder, dev, leave_one_out=False)
                builder.discounts = self._fitted.get(None, builder.discounts)
        return self._builders[key]

    # --- classes -----------------------------------------------------------------------------------------------------

    def clusterings(self, recipe: Recipe) -> list[Clustering]:
        """The clusterings that a recipe asks for."""
        wanted = recipe.tensors
        order = wanted.class_order(recipe.order)
        sizes = wanted.sizes(len(self.vocab))
        return [Clustering(size, recipe.seed + k, order, wanted.least, wanted.sweeps) for k, size in enumerate(sizes)]

    def classes(self, wanted: Clustering) -> NDArray[np.int32]:
        """The class of each word."""
        key = (wanted.classes, wanted.seed, wanted.sweeps)
        if key not in self._classes:
            check_memory(wanted.classes, self.scratch)
            start = self.known.classes.get(wanted) if self.known else None
            self._classes[key] = exchange(
                self.bigrams(), wanted.classes, sweeps=wanted.sweeps if start is None else 2, start=start, seed=wanted.seed,
                threads=self.threads, progress=self.progress,
            )  # fmt: skip
        return self._classes[key]

    def class_builder(self, wanted: Clustering, dev: NDArray[np.int32] | None = None) -> tuple[Classes, Builder]:
        """The classes, and what builds their n-gram model; discounts are fitted to ``dev`` if it is given."""
        if wanted not in self._class_builders:
            classes = classes_of(self.vocab, self.classes(wanted), np.asarray(self.bigrams()[1].raw[:]))
            recipe = Recipe(wanted.order, "class", **{**BASELINES["class"], "classes": wanted.classes})
            counted = self.counter(classes.of(self.text, self.scratch), wanted.order, **self.how)
            whole = Builder(counted, classes.names, recipe, warn=False, **self.how)
            if dev is not None:
                self._fitted[wanted] = fit_discounts(whole, classes.symbols[dev], leave_one_out=False)
            discounts = self._fitted.get(wanted, whole.discounts)
            less = cut(counted, wanted.least, _FIRST_CUT)
            builder = Builder(less.counts, classes.names, recipe, discounts=discounts, lost=less.lost, **self.how)
            self._class_builders[wanted] = classes, builder
        return self._class_builders[wanted]

    def tree_part(self, recipe: Recipe, chain: Chain) -> Part:
        """A hybrid-context model as a part of a mixture."""
        wanted = self.clusterings(recipe)
        key = repr([(wanted[which - 1] if which else None, distance) for which, distance in chain])
        if key not in self._trees:
            counts = np.asarray(self.bigrams()[1].raw[:])
            used = sorted({which for which, _ in chain})
            maps = [classes_of(self.vocab, self.classes(wanted[k - 1]), counts).symbols if k else None for k in used]
            slots = [Slot(used.index(which), distance) for which, distance in chain]
            with self.progress.stage("counting contexts"):
                self._trees[key] = build_tree(
                    np.asarray(self.text.ids[:]), len(self.vocab), maps, slots, cut=recipe.tensors.least,
                    markers=self.text.markers, threads=self.threads,
                )  # fmt: skip
        return Part(self._trees[key], 1.0)

    def members(self, recipe: Recipe, dev: NDArray[np.int32] | None = None, bits: int = 32) -> list[Part]:
        """The models that the words lead; their discounts are fitted to ``dev`` if it is given."""
        made = [self.class_part(each, dev, bits) for each in self.clusterings(recipe)]
        return made + [self.tree_part(recipe, chain) for chain in recipe.tensors.contexts]

    def class_part(self, wanted: Clustering, dev: NDArray[np.int32] | None = None, bits: int = 32) -> Part:
        """A class n-gram model as a part of a mixture."""
        classes, builder = self.class_builder(wanted, dev)
        if bits < 32 or wanted not in self._class_models:
            model = builder.build({"classes": wanted.classes}, bits=bits)
            if bits < 32:
                return Part(model, 1.0, classes.symbols, classes.shares)
            self._class_models[wanted] = model
        return Part(self._class_models[wanted], 1.0, classes.symbols, classes.shares)

    # --- together ----------------------------------------------------------------------------------------------------

    def held_out(self, recipe: Recipe, dev: NDArray[np.int32]) -> HeldOut:
        """Everything about a held-out text that fitting weights needs."""
        fitted_to = dev if recipe.fit else None
        builder = self.words(recipe, fitted_to)
        parts = self.members(recipe, fitted_to)
        model = builder.build(recipe=recipe)
        with self.progress.stage("looking up held-out text"):
            events = look_up(builder.counts, dev, adjusted=recipe.continuation, threads=self.threads)
            predicted = dev != BOS

            def score(part: Part) -> NDArray[np.float64]:
                if isinstance(part.model, TreeModel):
                    return part.model.score_ids(dev)[predicted]
                assert part.symbols is not None
                assert part.shares is not None
                return (score_ids(part.model, part.symbols[dev]).probs * part.shares[dev])[predicted]

            others = parallel(score, parts, self.threads)
            orders = score_orders(model, dev)[:, predicted]
        steps = [each for each in builder.discounts if isinstance(each, Steps)]
        return HeldOut.of(events, orders, steps, others)

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
        return Fitted(Weights.unknown(recipe.order, len(wanted) + len(recipe.tensors.contexts)), {})

    def build(self, recipe: Recipe, fitted: Fitted, metadata: dict[str, Any], *, bits: int = 32) -> Mixture:
        """The model."""
        about = {**recipe.describe(), **metadata, "bits": bits}
        words = self.words(recipe).build(metadata, recipe, bits=bits, leaks=fitted.weights.leaks)
        made = [Part(words, 1.0, gates=fitted.weights.gates)]
        made += self.members(recipe, bits=bits)
        about["classes"] = [each.classes for each in self.clusterings(recipe)]
        if fitted.perplexity is not None:
            about["dev_perplexity"] = fitted.perplexity
        return assemble(self.vocab, made, about)
