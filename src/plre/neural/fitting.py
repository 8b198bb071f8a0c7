"""Training until the held-out text gets no better, in steps that do not depend on the number of threads."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor

from plre.neural.gradient import Gradient
from plre.neural.network import Network, windows
from plre.neural.settings import NeuralSettings
from plre.progress import Progress
from plre.threads import parallel

T = TypeVar("T")
R = TypeVar("R")

#: A batch is always cut into so many shares, whose gradients are added up: these are what threads work on.
_SHARES = 2
_SCORED_AT_ONCE = 1024
#: Once an epoch gains less than the first, the step is halved before every epoch; then less than the second ends it.
_SLOW, _STOP = 0.02, 0.002
#: Where the number of epochs is given, so many of them have smaller steps anyway.
_LAST = 3


@dataclass
class Course:
    """How training has gone so far, which is all that decides how it goes on."""

    rate: float
    #: Of the processors, on all threads.
    seconds: float = 0.0
    halving: bool = False
    #: It gets no better.
    converged: bool = False
    #: Perplexity after each epoch: of the held-out text, or of the training text while it was learnt.
    perplexities: list[float] = field(default_factory=list)

    def record(self, perplexity: float, epochs: int) -> bool:
        """Note an epoch's perplexity and set the next step; whether it is the best so far."""
        best = min(self.perplexities, default=math.inf)
        self.perplexities.append(perplexity)
        gain = 1 - perplexity / best if best < math.inf else 1.0
        self.converged = self.halving and gain < _STOP
        self.halving = self.halving or gain < _SLOW or len(self.perplexities) >= epochs - _LAST
        if self.halving:
            self.rate /= 2
        return gain > 0

    def finished(self, epochs: int) -> bool:
        """Whether there is nothing more to do."""
        return self.converged or len(self.perplexities) >= epochs


class Trainer:
    """A network, its optimiser (Adam), and the best weights so far."""

    def __init__(self, network: Network, settings: NeuralSettings) -> None:
        self.network = network
        self.settings = settings
        self.optimiser = torch.optim.Adam(network.weights.values(), lr=settings.rate, fused=True)
        self.gradients = [Gradient(network) for _ in range(_SHARES)]
        for name, weights in network.weights.items():
            weights.grad = self.gradients[0].of[name]
        self.course = Course(settings.rate)
        self.best = {name: weights.clone() for name, weights in network.weights.items()}

    def start_optimiser(self) -> None:
        """Let Adam make its arrays: a step without gradient changes no weights."""
        self.optimiser.step()

    def run(
        self, text: Tensor, dev: Tensor | None, threads: int, progress: Progress, after_epoch: Callable[[], object]
    ) -> None:
        """Train to the end, and leave the best weights in the network."""
        while not self.course.finished(self.settings.epochs):
            epoch = len(self.course.perplexities) + 1
            start = time.process_time()
            perplexity = self._epoch(text, epoch, threads, progress)
            if dev is not None:
                perplexity = math.exp(-score(self.network, dev, self.settings.context, threads).mean().item())
            if self.course.record(perplexity, self.settings.epochs):
                _copy(self.network.weights, self.best)
            self.course.seconds += time.process_time() - start
            progress.note(f"epoch {epoch}: {'training' if dev is None else 'dev'} perplexity {perplexity:.2f}")
            after_epoch()
        _copy(self.best, self.network.weights)

    def _epoch(self, text: Tensor, epoch: int, threads: int, progress: Progress) -> float:
        """Once through the text, in an order of its own; gives the perplexity of it while it was learnt."""
        shuffle, *dropouts = np.random.default_rng([self.settings.seed, epoch]).spawn(1 + _SHARES)
        events = windows(text, self.settings.context, self.network.bands.nothing)
        for group in self.optimiser.param_groups:
            group["lr"] = self.course.rate
        total = 0.0
        with progress.stage(f"epoch {epoch}", len(events), "words") as advance, one_thread_each():
            for batch in torch.split(torch.from_numpy(shuffle.permutation(len(events))), self.settings.batch):
                total += self._step(events[batch], dropouts, threads)
                advance(len(batch))
        return math.exp(-total / len(events))

    def _step(self, events: Tensor, dropouts: list[np.random.Generator], threads: int) -> float:
        """One step on a batch; gives the sum of its log P."""

        def run(share: int) -> float:
            rows = events[share::_SHARES]
            return self.gradients[share].compute(rows, self.settings.dropout, dropouts[share])

        total = sum(side_by_side(run, range(_SHARES), threads))
        for name, gradient in self.gradients[0].of.items():
            for other in self.gradients[1:]:
                gradient += other.of[name]  # the sum will do for the mean: Adam does not heed the scale
        self.optimiser.step()
        return total


def _copy(source: dict[str, Tensor], target: dict[str, Tensor]) -> None:
    for name, weights in source.items():
        target[name].copy_(weights)


def score(network: Network, ids: Tensor, context: int, threads: int) -> Tensor:
    """Natural log P of every word of a text."""
    pieces = torch.split(windows(ids, context, network.bands.nothing), _SCORED_AT_ONCE)

    def run(events: Tensor) -> Tensor:
        return network.log_probs(events).double()

    with one_thread_each():
        return torch.cat(side_by_side(run, pieces, threads))


@contextlib.contextmanager
def one_thread_each() -> Iterator[None]:
    """Each of our threads works alone: torch's own threads would wait for each other.

    Their number also changes how sums are rounded, so without them results are the same for any number of threads.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def side_by_side(function: Callable[[T], R], tasks: Iterable[T], threads: int) -> list[R]:
    """Run tasks on our threads."""

    def run(task: T) -> R:
        torch.set_num_threads(1)  # counts for the calling thread only, at least in parts of torch
        return function(task)

    return parallel(run, tasks, threads)
