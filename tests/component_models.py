"""Components of models, looked at one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import plre
from plre.ensemble.blueprint import Blueprint
from plre.ensemble.recipe import Recipe
from plre.model.component import Component
from plre.model.storage import tensors_of
from plre.smoothing.discounts import Discount
from plre.store import Get, Ingredient, LocalEngine, Resources, Store
from plre.text.encode import EncodedText
from plre.text.ingredients import ReadText, TextIds
from plre.text.vocabulary import Vocabulary


def alone(component: Component, vocab: Vocabulary, markers: bool = True) -> plre.LanguageModel:
    """A model of one component only."""
    about = {"order": component.body.reach, "markers": markers, "method": "alone"}
    return plre.LanguageModel(vocab, [replace(component, weight=1.0, gates=None)], about)


def bytes_of(lm: plre.LanguageModel) -> bytes:
    """All numbers of a model, without what it says about itself."""
    return b"".join(tensor.tobytes() for tensor in tensors_of(lm).values())


def over_numbers(component: Component, words: int, markers: bool = True) -> plre.LanguageModel:
    """A model of one component over so many words, which are called by their ids."""
    return alone(component, Vocabulary.from_words([f"v{i}" for i in range(3, words)]), markers)


def in_symbols(component: Component) -> plre.LanguageModel:
    """A model of the component's own symbols instead of words."""
    return over_numbers(replace(component, symbols=None, shares=None), component.body.symbols)


class Given(LocalEngine):
    """Has some things already, and makes the others."""

    def __init__(self, given: dict[Ingredient, Any]) -> None:
        self.given = given

    def make(self, ingredient: Ingredient, get: Get, how: Resources) -> Any:
        """What was given, or is made."""
        return self.given[ingredient] if ingredient in self.given else super().make(ingredient, get, how)


def planned(
    text: EncodedText, recipe: Recipe, dev: EncodedText | None = None, discounts: Sequence[Discount] | None = None
) -> tuple[Store, Blueprint]:
    """A store with a text, and the plan for a recipe's model of it; ``discounts``, if given, are those of words."""
    read = ReadText([])
    given: dict[Ingredient, Any] = {read: text}
    ids = None
    if dev is not None:
        other = ReadText([], like=read)
        given[other], ids = dev, TextIds(other)
    plan = Blueprint(recipe, read, len(text.vocab), ids)
    if discounts is not None:
        given[plan.discounts] = discounts
    return Store(Resources(), Given(given)), plan


def trained(text: EncodedText, recipe: Recipe, discounts: Sequence[Discount] | None = None) -> plre.LanguageModel:
    """A recipe's model of a text; ``discounts``, if given, are those of words."""
    store, plan = planned(text, recipe, discounts=discounts)
    store.get_all(plan.wanted())
    return plan.model(store.known, text.vocab, {"markers": text.markers})
