"""The class-based model (Brown et al. 1992; method.md 10): n-grams of classes, times P(word | class).

    P(w | h) = P(w | c(w)) P(c(w) | c(h_1) ... c(h_{n-1}))

Classes come from the exchange algorithm. ``<s>`` and ``</s>`` are classes of their own, and so is ``<unk>``, together
with words that never occur.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from plre.model.component import Component
from plre.scratch import Mapped
from plre.text.encode import EncodedText
from plre.text.vocabulary import BOS, EOS, SPECIAL, UNK, Vocabulary

#: A word that never occurs counts as this much within the class of unknown words.
_NEVER = 0.5


@dataclass(frozen=True)
class Classes:
    """The classes of a vocabulary: their names, the class of each word, and P(word | class)."""

    names: Vocabulary
    symbols: NDArray[np.int32]
    shares: NDArray[np.float32]

    def component(self, classes: Component) -> Component:
        """A component of class n-grams as one that predicts words."""
        symbols = np.append(self.symbols, len(self.names)).astype(np.int32)
        about = {**classes.about, "method": "class", "classes": len(self.names) - len(SPECIAL)}
        return replace(classes, symbols=symbols, shares=np.append(self.shares, np.float32(0)), about=about)

    def of(self, text: EncodedText) -> EncodedText:
        """The text, with each word's class in its place."""
        return EncodedText(Mapped(text.ids, self.symbols), self.names, text.markers, text.sentences, text.unknown)


def classes_of(vocab: Vocabulary, found: NDArray[np.int32], counts: NDArray[np.int32]) -> Classes:
    """Classes as symbols of a model: by falling frequency, each named after its most frequent word.

    ``found`` is what exchange gives, ``counts`` how often each word occurs.
    """
    found = found.copy()
    found[UNK] = -1
    members = np.flatnonzero(found >= 0)
    used, inverse = np.unique(found[members], return_inverse=True)
    order = np.argsort(-np.bincount(inverse, weights=counts[members], minlength=len(used)), kind="stable")
    rank = np.empty(len(used), np.int32)
    rank[order] = np.arange(len(used), dtype=np.int32)
    symbols = np.full(len(vocab), UNK, np.int32)
    symbols[BOS], symbols[EOS] = BOS, EOS
    symbols[members] = len(SPECIAL) + rank[inverse]
    first = np.full(len(SPECIAL) + len(used), -1)
    for w in members[np.argsort(counts[members], kind="stable")]:
        first[symbols[w]] = w
    names = Vocabulary.from_words([f"[{vocab.word(int(w))}]" for w in first[len(SPECIAL) :]])
    weights = np.maximum(counts, _NEVER)
    shares = weights / np.bincount(symbols, weights=weights, minlength=len(names))[symbols]
    return Classes(names, symbols, shares.astype(np.float32))
