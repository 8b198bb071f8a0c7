"""Components of models, looked at one by one."""

from __future__ import annotations

from dataclasses import replace

import plre
from plre.model.component import Component
from plre.model.storage import tensors_of
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
