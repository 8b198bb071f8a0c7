"""A softmax over a large vocabulary that costs little and still sums to one.

Words are taken by falling frequency and cut into bands. The first band is the head: one softmax over its words and one
entry for each of the other bands. A rarer word is predicted in two steps, its band and then the word within it:

    P(w | h) = P(band | h) P(w | band, h)

Most words of a text are in the head, so the long bands are rarely looked at. With one band this is the plain softmax.
Written by hand because ``torch.nn.AdaptiveLogSoftmaxWithLoss`` cannot share its weights with the words of the context.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


class Bands:
    """Which row of a matrix stands for which word: the head, the entries of the other bands, the words of these bands.

    The last row is "no word", for contexts at the very start of a text. Each band is as long as all before it.

    >>> Bands(9, 2).bounds      # 2 words and 2 bands, one of 2 words, one of the other 5
    [0, 4, 6, 11]
    >>> Bands(9, 2).rows.tolist()
    [0, 1, 4, 5, 6, 7, 8, 9, 10]
    >>> Bands(9, 0).bounds
    [0, 9]
    """

    def __init__(self, words: int, head: int) -> None:
        cuts = []
        at = head
        while at and 2 * at <= words:
            cuts.append(at)
            at *= 2
        self.words = words
        self.head = cuts[0] if cuts else words
        self.bounds = [0, *(len(cuts) + at for at in cuts), len(cuts) + words]
        self.nothing = self.bounds[-1]

    @cached_property
    def rows(self) -> NDArray[np.int64]:
        """The row of each word, words by falling frequency."""
        ranks = np.arange(self.words)
        return np.where(ranks < self.head, ranks, ranks + len(self.bounds) - 2)

    def counts(self, words: NDArray[np.int64]) -> NDArray[np.int64]:
        """How often each row is the answer, if words are so frequent."""
        counts = np.zeros(self.nothing + 1, np.int64)
        counts[self.rows] = words
        starts = self.bounds[1:-1]
        counts[self.head : self.bounds[1]] = np.add.reduceat(counts[:-1], starts) if starts else []
        return counts

    def questions(self, targets: Tensor) -> Iterator[tuple[slice, Tensor, Tensor]]:
        """The softmaxes that predict some targets: the rows of each, the events that ask it, the answer to each."""
        bands = torch.bucketize(targets, torch.tensor(self.bounds[1:-1]), right=True)
        everyone = torch.arange(len(targets))
        yield slice(0, self.bounds[1]), everyone, torch.where(bands == 0, targets, self.head - 1 + bands)
        for band in range(1, len(self.bounds) - 1):
            asking = everyone[bands == band]
            if len(asking):
                first, last = self.bounds[band : band + 2]
                yield slice(first, last), asking, targets[asking] - first

    def log_probs(self, scores: Tensor) -> Tensor:
        """log P of all words (by falling frequency) from the scores of all rows, one event in each line."""
        parts = [scores[:, first:last].log_softmax(1) for first, last in pairwise(self.bounds)]
        head = parts[0]
        rest = [head[:, self.head + i, None] + part for i, part in enumerate(parts[1:])]
        return torch.cat([head[:, : self.head], *rest], 1)
