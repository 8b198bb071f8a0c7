"""Words that are used alike: by latent classes of the low rank bigram, or by the words that stand before and after.

Two profiles of a word are compared with those of the others: one of it as the word that is predicted, one of it as the
word before. How much alike two profiles are is the Bhattacharyya coefficient, from 0 to 1; neighbours are sorted by
the mean of both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from plre.errors import UsageError
from plre.model.ngrams import NgramBody
from plre.text.vocabulary import SPECIAL

if TYPE_CHECKING:
    from plre.model.lm import LanguageModel

#: Only so many of the most frequent words are compared: of others too little is known.
_CANDIDATES = 20_000
#: The words beside a word are told apart by their classes, or, in a model without classes, if they are among so many.
_FREQUENT = 1_000

Profiles = NDArray[Any]


def nearest(lm: LanguageModel, index: int, k: int) -> list[tuple[str, float]]:
    """The ``k`` words whose profiles are most like those of the word with this id."""
    found = [each.body.ngrams() for each in lm.components if each.symbols is None]
    words = next((body for body in found if body is not None), None)
    if words is None or words.order < 2:
        raise UsageError("neighbours are found by bigrams of words, which this model does not have")
    candidates = np.unique([*range(min(_CANDIDATES, len(lm.vocab))), index])
    low_rank = latent_classes(words)
    overlap = np.zeros(len(candidates))
    for profiles in low_rank or beside(words, _groups(lm), candidates):
        own = np.sqrt(profiles[candidates] if low_rank else profiles)
        overlap += own @ own[np.searchsorted(candidates, index)] / 2
    overlap[np.isin(candidates, [*range(len(SPECIAL)), index])] = -1.0
    best = np.argsort(-overlap, kind="stable")[: max(k, 0)]
    return [(lm.vocab.word(int(candidates[i])), float(overlap[i])) for i in best if overlap[i] > 0]


def latent_classes(body: NgramBody) -> tuple[Profiles, Profiles] | None:
    """P(class | word) of every word, as predicted and as the word before; None without a low rank bigram.

    The low rank bigram is a sum over classes k of (mass of word w in k) x (share of context h in k), so both are read
    off its factors. A row of zeros belongs to a word that the factors do not know.
    """
    factors = body.columns(2).orders[0].factors
    if factors is None or int(factors.rank[0]) < 2:  # for rank 1 all words are alike
        return None
    before, predicted = factors.right.reshape(body.symbols, -1), factors.left.reshape(body.symbols, -1)
    return _rows_to_one(predicted), _rows_to_one(before * predicted.sum(axis=0))


def beside(body: NgramBody, groups: NDArray[np.int32], candidates: NDArray[np.int64]) -> tuple[Profiles, Profiles]:
    """For each candidate what stands before it and what after it: the share of each group of words."""
    columns = body.columns(2)
    bigrams = columns.orders[0]
    before = np.repeat(np.arange(body.symbols), np.diff(bigrams.children))
    mass = columns.prob[before] * bigrams.prob
    place = np.full(body.symbols, -1)
    place[candidates] = np.arange(len(candidates))
    count = int(groups.max()) + 1
    profiles = []
    for own, other in ((bigrams.words, before), (before, bigrams.words)):
        known = place[own] >= 0
        cells = place[own[known]] * count + groups[other[known]]
        profiles.append(_rows_to_one(np.bincount(cells, mass[known], len(candidates) * count).reshape(-1, count)))
    return profiles[0], profiles[1]


def _groups(lm: LanguageModel) -> NDArray[np.int32]:
    """The group of each word: its class in the finest clustering of no more than some hundred classes, or itself."""
    maps = [
        np.clip(each.symbols[:-1], 0, each.body.symbols)
        for each in lm.components
        if each.symbols is not None and each.shares is not None
    ]
    maps = [table for table in maps if len(SPECIAL) + 1 < table.max() < _FREQUENT]
    if maps:
        return max(maps, key=lambda table: int(table.max()))
    return np.minimum(np.arange(len(lm.vocab)), _FREQUENT).astype(np.int32)


def _rows_to_one(matrix: Profiles) -> Profiles:
    sums = matrix.sum(axis=1, keepdims=True)
    return np.divide(matrix, sums, out=np.zeros_like(matrix), where=sums > 0)
