"""Choosing ranks on held-out text: every combination is tried, every factorisation is made once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from plre.ensemble.blueprint import Blueprint
from plre.ensemble.gating import HeldOut
from plre.ensemble.ingredients import FoundFactors, WordsSay
from plre.ensemble.recipe import Recipe
from plre.errors import TooLargeError
from plre.store import Ingredient, Store


def choose_fractions(store: Store, blueprint: Blueprint, ids: Ingredient) -> tuple[Recipe, list[dict[str, Any]]]:
    """The recipe with the rank fractions under which a held-out text (its ids) is likeliest, and all that was tried, as
    a model file keeps it.

    Ranks too high for this vocabulary are left out with a note; if all are, the recipe stays as it is.
    """
    recipe = blueprint.recipe
    progress = store.how.progress
    combinations = [dict(zip(recipe.grids, each, strict=True)) for each in product(*recipe.grids.values())]
    planned = [replace(blueprint, recipe=recipe.with_fractions(fractions)).parts for fractions in combinations]
    # What cannot be made is better said now than after hours.
    too_large = _too_large(store, list(dict.fromkeys(each for parts in planned for each in parts.factors)))
    trials: list[dict[str, Any]] = []
    lowest = math.inf
    kept: list[Ingredient] = []
    best: Sequence[Ingredient] = []
    for fractions, parts in zip(combinations, planned, strict=True):
        shown = ", ".join(f"order {n} {fraction:g}" for n, fraction in fractions.items())
        if why := next((too_large[each] for each in parts.factors if each in too_large), ""):
            progress.note(f"rank fractions {shown}: left out; {why}")
            continue
        # The factors of the lowest order are many; combinations with the same ones follow each other.
        kept += [blueprint.text, ids, parts.counted, parts.discounts, *(each.sizes for each in parts.factors)]
        kept += parts.factors[1:]
        said: HeldOut = store.get_all([WordsSay(parts, ids)], keep=[*kept, *parts.factors, *best])[0]
        perplexity = said.perplexity()
        trials.append({"fractions": {str(n): each for n, each in fractions.items()}, "perplexity": perplexity})
        if perplexity < lowest:
            lowest, best, recipe = perplexity, parts.factors, recipe.with_fractions(fractions)
        progress.note(f"rank fractions {shown}: dev perplexity {perplexity:.2f}")
    return recipe, trials


def _too_large(store: Store, factors: Sequence[FoundFactors]) -> dict[FoundFactors, str]:
    """Factors with ranks that a model could not hold, and why; refuses what takes more memory than there is."""
    found = {}
    for each in factors:
        store.get_all(each.needs())
        try:
            each.check(store.known, store.how)
        except TooLargeError as error:
            found[each] = str(error)
    return found
