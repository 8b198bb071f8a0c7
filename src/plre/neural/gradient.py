"""The gradient of the log-bilinear model, by hand.

What torch derives by itself (the test compares) makes a new matrix as large as the vocabulary for every use of the
words' features and adds them up afterwards, which takes several times as long as the arithmetic. Here all goes straight
into one place.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from plre.neural.network import Network


class Gradient:
    """The sum of d(-log P) / d(weights) over some events, in arrays that are used again for every batch."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self.of = {name: torch.zeros_like(weights) for name, weights in network.weights.items()}

    def compute(self, events: Tensor, dropout: float, random: np.random.Generator) -> float:
        """Set this to the gradient of events (rows of words, the last to be predicted); gives the sum of log P.

        Features of the context and of the prediction drop out at random, and those that stay count for more.
        """
        network, of = self.network, self.of
        for each in of.values():
            each.zero_()
        contexts, targets = events[:, :-1], events[:, -1].contiguous()
        kept_seen = _kept((len(events), len(network.positions)), dropout, random)
        kept = _kept((len(events), network.positions.shape[1]), dropout, random)
        seen = network.seen[contexts].flatten(1).mul_(kept_seen)
        predicted = (seen @ network.positions).mul_(kept)

        back = torch.zeros_like(predicted)
        matrix, total = of.get("predicted", of["seen"]), 0.0
        for rows, asking, answers in network.bands.questions(targets):
            given = predicted[asking]
            logs = torch.addmm(network.bias[rows], given, network.predicted[rows].T).log_softmax(1)
            total += logs.gather(1, answers[:, None]).sum().item()
            errors = logs.exp_()  # P of each row, less 1 for the answer
            errors[torch.arange(len(asking)), answers] -= 1
            matrix[rows].addmm_(errors.T, given)
            of["bias"][rows] += errors.sum(0)
            back.index_add_(0, asking, errors @ network.predicted[rows])

        back.mul_(kept)
        of["positions"].addmm_(seen.T, back)
        further = (back @ network.positions.T).mul_(kept_seen)
        of["seen"].index_add_(0, contexts.reshape(-1), further.view(contexts.numel(), -1))
        of["seen"][network.bands.nothing] = 0
        return total


def _kept(shape: tuple[int, int], dropout: float, random: np.random.Generator) -> Tensor:
    """0 for what drops out; what stays is raised so that the expected sum is the same."""
    if not dropout:
        return torch.ones(shape)
    kept = random.random(shape, np.float32) >= dropout
    return torch.from_numpy(kept).to(torch.float32).div_(1 - dropout)
