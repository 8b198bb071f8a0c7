"""Models put together as one: a weighted sum of all their components, over all their words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plre.model.component import Component
from plre.model.lm import LanguageModel
from plre.model.storage import order_of
from plre.text.vocabulary import UNK, Vocabulary


def combine(models: Sequence[LanguageModel], weights: Sequence[float], metadata: Mapping[str, Any]) -> LanguageModel:
    """A mixture of models. If their words differ it has all of them.

    A word that a model does not know has a share of its ``<unk>``: that is divided evenly among all such words and
    ``<unk>`` itself, so that every model still sums to one.
    """
    vocab = all_words([model.vocab for model in models])
    made = []
    for model, weight in zip(models, weights, strict=True):
        known = renumber(vocab, model.vocab)
        for component in model.components:
            named = {"method": model.metadata["method"], **component.about}
            own = replace(component, weight=weight * component.weight, about=named)
            made.append(own if known is None else _renumbered(own, known))
    about = {"order": order_of(made), "markers": models[0].markers, **metadata}
    return LanguageModel(vocab, made, about)


def all_words(vocabs: Sequence[Vocabulary]) -> Vocabulary:
    """The words of the first, then what the others have besides."""
    if all(_same(vocabs[0], vocab) for vocab in vocabs):
        return vocabs[0]
    return Vocabulary.from_words([word for vocab in vocabs for word in vocab])


@dataclass(frozen=True)
class Renumbering:
    """For each word of one vocabulary its id in another, and its share of that word's probability."""

    ids: NDArray[np.int32]
    shares: NDArray[np.float32]


def renumber(vocab: Vocabulary, own: Vocabulary) -> Renumbering | None:
    """What the words of ``vocab`` are in a model's ``own``; None if both have the same."""
    if _same(vocab, own):
        return None
    ids = np.array([own[word] for word in vocab], np.int32)
    unknown = ids == UNK
    return Renumbering(ids, np.where(unknown, 1.0 / unknown.sum(), 1.0).astype(np.float32))


def _renumbered(component: Component, known: Renumbering) -> Component:
    """A component over another vocabulary: the words of that are its own words, or share its ``<unk>``."""
    body = component.body
    ids = np.append(known.ids, len(component.symbols) - 1 if component.symbols is not None else body.symbols)
    shares = np.append(known.shares, np.float32(0))
    return replace(
        component,
        body=body.renumbered(ids),
        symbols=(ids if component.symbols is None else component.symbols[ids]).astype(np.int32),
        shares=shares if component.shares is None else component.shares[ids] * shares,
    )


def _same(one: Vocabulary, other: Vocabulary) -> bool:
    return np.array_equal(one.starts, other.starts) and np.array_equal(one.arena, other.arena)
