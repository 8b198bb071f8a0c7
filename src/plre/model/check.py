"""Whether a model is undamaged and fits together: what ``verify`` finds out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from plre.errors import ModelFileError
from plre.model import storage
from plre.model.component import Component
from plre.tables.reading import check_numbers, expect
from plre.text.vocabulary import SPECIAL

if TYPE_CHECKING:
    from plre.model.lm import LanguageModel

#: Contexts, taken evenly from the vocabulary, after which all probabilities are added up; and how far from one the sum
#: may be: a model of 8 bits a number is off by some percent.
_SAMPLE = 16
_TOLERANCE = 0.1


def verify(lm: LanguageModel) -> None:
    """Raise :class:`ModelFileError` for a model that was changed, or whose parts do not fit together."""
    digest = lm.metadata.get("digest")
    if digest is not None and digest != storage.checksum(lm) and digest != storage.old_checksum(lm):
        raise ModelFileError(f"{lm.path}: its data was damaged after it was written; copy or train it again")
    try:
        _check_words(lm)
        for component in lm.components:
            _check_component(component)
        if any(each.body.describe()["kind"] == "logs" for each in lm.components):
            return  # what others have written down need not sum to one
        if "unknown_shared" in lm.metadata:
            return  # one unknown word of many has but its share
        some = np.linspace(0, len(lm.vocab) - 1, _SAMPLE).astype(int).tolist()
        contexts = [(), *([w] for w in some), *([v, w] for v in some[:4] for w in some[:4])]
        sums = lm.distributions(contexts).sum(axis=1)
        expect(np.all(np.abs(sums - 1) < _TOLERANCE), "its probabilities do not sum to one")
    except ValueError as error:
        raise ModelFileError(f"{lm.path}: is not a sound model ({error}); train it again") from None


def _check_words(lm: LanguageModel) -> None:
    starts, slots = lm.vocab.starts, lm.vocab.slots[1::2]
    expect(np.all(np.diff(starts) >= 0), "its words overlap")
    expect(np.array_equal(np.sort(slots[slots >= 0]), np.arange(len(lm.vocab))), "its words are not all to be found")
    expect(tuple(map(lm.vocab.word, range(len(SPECIAL)))) == SPECIAL, "its special words are others")
    for w in range(0, len(lm.vocab), max(1, len(lm.vocab) // 1000)):
        try:
            expect(lm.vocab[lm.vocab.word(w)] == w, "its words are not all to be found")
        except (UnicodeDecodeError, IndexError) as error:
            raise ValueError(f"word {w} makes no sense") from error


def _check_component(component: Component) -> None:
    body, own = component.body, component.symbols
    if own is not None:
        expect(np.all((own >= 0) & (own <= body.symbols)) and own[-1] == body.symbols, "a symbol is not there")
    gates = None if component.gates is None else component.gates.table
    for values in (component.shares, gates):
        if values is not None:
            check_numbers(values, 1.0)
    body.check()
