"""The log-bilinear model itself: a few matrices, and nothing that is not linear before the softmax.

The representation of the next word is predicted as a sum over the words before it, each position with its own matrix,
and compared with the representations of all words (Mnih and Hinton 2007, section 3):

    r^ = sum_i C_i r_{w_i}          P(w | w_1 ... w_n)  ~  exp(r^ . q_w + b_w)
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from plre.neural.bands import Bands
from plre.neural.settings import NeuralSettings

#: Of the random start. Small: at first the model says little more than how frequent each word is.
_SPREAD = 0.1


class Network:
    """The weights, and what follows from them. A word is a row here (see :class:`Bands`).

    ``seen`` has the features of words in the context, ``predicted`` those of words to come: one matrix if shared.
    ``positions`` has the matrices C_i below each other.
    """

    def __init__(self, counts: NDArray[np.int64], settings: NeuralSettings) -> None:
        self.bands = Bands(len(counts), settings.head)
        random = torch.Generator().manual_seed(settings.seed)
        rows, n, d = self.bands.nothing + 1, settings.context, settings.dimensions

        def start(*shape: int, spread: float) -> Tensor:
            return torch.randn(shape, generator=random) * spread

        self.seen = start(rows, d, spread=_SPREAD)
        self.seen[self.bands.nothing] = 0
        self.predicted = self.seen if settings.shared else start(rows, d, spread=_SPREAD)
        self.positions = start(n * d, d, spread=(n * d) ** -0.5)
        frequencies = self.bands.counts(counts + 1)  # a word of a given list may never have been seen
        self.bias = torch.tensor(np.log(np.maximum(frequencies, 1)), dtype=torch.float32)

    @property
    def weights(self) -> dict[str, Tensor]:
        """All that is learnt, by name."""
        shared = self.predicted is self.seen
        apart = {} if shared else {"predicted": self.predicted}
        return {"seen": self.seen, **apart, "positions": self.positions, "bias": self.bias}

    def predict(self, contexts: Tensor) -> Tensor:
        """The representation that is expected after each context."""
        return self.seen[contexts].flatten(1) @ self.positions

    def log_probs(self, events: Tensor) -> Tensor:
        """log P of the last word of each row given the others."""
        predicted = self.predict(events[:, :-1])
        logs = torch.zeros(len(events))
        for rows, asking, answers in self.bands.questions(events[:, -1].contiguous()):
            scores = functional.linear(predicted[asking], self.predicted[rows], self.bias[rows])
            logs = logs.index_add(0, asking, -functional.cross_entropy(scores, answers, reduction="none"))
        return logs

    def distribution(self, contexts: Tensor) -> Tensor:
        """log P of every word after each context, in double precision; words by falling frequency."""
        scores = functional.linear(self.predict(contexts), self.predicted, self.bias)
        return self.bands.log_probs(scores.double())


def windows(rows: Tensor, context: int, nothing: int) -> Tensor:
    """Every word of a text as an event: the words before it, oldest first, and itself. Takes no memory of its own.

    >>> windows(torch.tensor([5, 6, 7]), 2, 9).tolist()
    [[9, 9, 5], [9, 5, 6], [5, 6, 7]]
    """
    return functional.pad(rows, (context, 0), value=nothing).unfold(0, context + 1, 1)
