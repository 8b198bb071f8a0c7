"""Words that are used alike, by the latent classes of the low rank bigram or by clusterings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from plre.errors import UsageError
from plre.text.vocabulary import SPECIAL, Vocabulary

if TYPE_CHECKING:
    from plre.model.ngrams import NgramModel


def classes(lm: NgramModel) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """P(class | word) of every word, as the word that is predicted and as the word before it.

    The low rank bigram is a sum over classes k of (mass of word w in k) x (share of context h in k), so both are read
    off its factors. A row of zeros belongs to a word that the factors do not know.
    """
    tensors = lm.tensors
    if "order2.rank" not in tensors:
        raise UsageError(
            "neighbours are found by the low rank bigram, which this model does not have; "
            "train with --method plre and order 2 or more"
        )
    if int(tensors["order2.rank"][0]) < 2:
        raise UsageError(
            "the low rank bigram of this model has rank 1, for which all words are alike; train on more text"
        )
    words = len(lm.vocab)
    predicted, before = (side.reshape(words, -1) for side in lm.factors(2))
    before = before * predicted.sum(axis=0)
    return _rows_to_one(predicted), _rows_to_one(before)


def _rows_to_one(matrix: NDArray[np.float32]) -> NDArray[np.float32]:
    sums = matrix.sum(axis=1, keepdims=True)
    return np.divide(matrix, sums, out=np.zeros_like(matrix), where=sums > 0)


def alike(vocab: Vocabulary, clusterings: Sequence[NDArray[np.int32]], word: str, k: int) -> list[tuple[str, float]]:
    """The ``k`` words that share the class of ``word`` in the largest share of clusterings, frequent ones first."""
    if word not in vocab:
        raise UsageError(f"the model does not know the word {word!r}")
    w = vocab[word]
    share = np.mean([symbols == symbols[w] for symbols in clusterings], axis=0)
    share[[w, *range(len(SPECIAL))]] = 0
    best = np.argsort(-share, kind="stable")[: max(k, 0)]
    return [(vocab.word(int(i)), float(share[i])) for i in best if share[i] > 0]


def nearest(lm: NgramModel, word: str, k: int) -> list[tuple[str, float]]:
    """The ``k`` words whose classes overlap most with those of ``word``.

    Overlap is the Bhattacharyya coefficient, averaged over the two roles.
    """
    if word not in lm.vocab:
        raise UsageError(f"the model does not know the word {word!r}")
    index = lm.vocab[word]
    overlap = np.zeros(len(lm.vocab))
    for profile in classes(lm):
        root = np.sqrt(profile)
        overlap += root @ root[index] / 2
    overlap[[0, 1, 2, index]] = -1.0
    best = np.argsort(-overlap, kind="stable")[: max(k, 0)]
    return [(lm.vocab.word(int(i)), float(overlap[i])) for i in best if overlap[i] > 0]
