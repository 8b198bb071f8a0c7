"""What a recipe is made of, how much work each part is, and making them one at a time.

So a search knows beforehand what a recipe costs: that of which it has the parts already costs next to nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plre.ensemble.recipe import Members, Recipe
from plre.ensemble.workshop import WantedClasses, Workshop
from plre.lowrank.blocks import Blocks, Rank
from plre.text.vocabulary import BOS


@dataclass(frozen=True)
class Ingredient:
    """A part that takes long to make. Work is in units of its kind; how long one takes is for others to measure."""

    kind: str
    key: Hashable
    work: float = field(compare=False)
    make: Callable[[], Any] = field(compare=False, repr=False)


class Pantry:
    """The ingredients of recipes, for one workshop and one held-out text."""

    def __init__(self, workshop: Workshop, dev: NDArray[np.int32]) -> None:
        self.workshop = workshop
        self.dev = dev
        self._events = int(np.sum(dev != BOS))
        self._ranked: dict[tuple[int, Rank], float] = {}
        self._blocks: dict[int, tuple[NDArray[np.int64], NDArray[np.int64]]] = {}

    def missing(self, recipe: Recipe) -> list[Ingredient]:
        """What has to be made for a recipe, in the order in which it can be."""
        workshop = self.workshop
        found = []
        for n, rungs in recipe.rungs.items():
            if rungs and not workshop.has_factors(recipe, n):
                work = sum(self._ranked_work(recipe.order, n, rung.rank) for rung in rungs)
                work *= recipe.stopping(n).steps * recipe.starts
                key = repr((n, replace(recipe, rungs={n: rungs}, members=Members())))
                found.append(Ingredient("factors", key, work, partial(self._factorise, recipe, n)))
        if not workshop.has_words(recipe):
            key = repr(replace(recipe, members=Members()))
            found.append(Ingredient("words", key, self.building(recipe), partial(workshop.words_say, recipe, self.dev)))
        clusterings = workshop.clusterings(recipe)
        for wanted in clusterings:
            found += self.missing_classes(recipe, wanted)
        for chain in recipe.members.contexts:
            if not workshop.has_tree(recipe, chain):
                tree = tuple((clusterings[which - 1] if which else None, distance) for which, distance in chain)
                work = float(len(workshop.text.ids)) * len(chain)
                found.append(Ingredient("contexts", tree, work, partial(workshop.tree_part, recipe, chain)))
        return found

    def _factorise(self, recipe: Recipe, n: int) -> None:
        self.workshop.words(recipe).factors(n, recipe.rungs[n])

    def missing_classes(self, recipe: Recipe, wanted: WantedClasses) -> list[Ingredient]:
        """What has to be made for one clustering and its n-grams."""
        workshop = self.workshop
        found = []
        if not workshop.has_classes(wanted):
            bigrams = len(workshop.counts(recipe.order)[2]) if recipe.order > 1 else len(workshop.text.ids)
            work = float(wanted.sweeps) * wanted.classes * bigrams
            key = (wanted.classes, wanted.seed, wanted.sweeps)
            found.append(Ingredient("clustering", key, work, partial(workshop.classes, wanted)))
        if not workshop.has_class_model(wanted):
            work = float(len(workshop.text.ids)) * wanted.order
            fitted_to = self.dev if recipe.fit else None
            found.append(Ingredient("class n-grams", wanted, work, partial(workshop.class_part, wanted, fitted_to)))
        return found

    def fitting(self, recipe: Recipe) -> float:
        """The work of fitting weights, once everything is there: events, for each model of them."""
        members = len(recipe.members.classes) + len(recipe.members.contexts)
        return float(self._events) * (recipe.order + members)

    def building(self, recipe: Recipe) -> float:
        """The work of putting the model together, once everything is there."""
        counts = self.workshop.counts(recipe.order)
        return float(sum(len(counts[n]) for n in range(1, recipe.order + 1)))

    def _ranked_work(self, order: int, n: int, rank: Rank) -> float:
        """Non-zeros times rank, of all slices of order n."""
        if (n, rank) not in self._ranked:
            if n not in self._blocks:
                counts = self.workshop.counts(order)
                table, shorter = counts[n], counts[n - 1]
                blocks = Blocks(shorter.children[:], shorter.suffixes[:], table.children[:], table.suffixes[:])
                self._blocks[n] = blocks.smaller_side(), blocks.entries()
            smaller, entries = self._blocks[n]
            self._ranked[n, rank] = float(np.sum(rank(smaller, entries) * entries))
        return self._ranked[n, rank]
