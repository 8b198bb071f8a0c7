"""Weights by context, fitted to held-out text: how a model of n-grams leads others (``model/gates.py``; method.md 10).

Everything an event needs is computed once: what each order keeps of it and passes on, and its probability under each of
the other models. EM then takes a fraction of a second a step, whatever the size of the models. What few events speak of
is drawn to what all of them say, as if some more had said just that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from plre.counts.lookup import Events
from plre.ensemble import _gating as kernels
from plre.ensemble.build import NgramParts, unigram_probs
from plre.ensemble.ladder import split
from plre.model._plan import GATE_BUCKETS
from plre.model.gates import Gates
from plre.scratch import slices
from plre.smoothing._kernels import BUCKETS
from plre.threads import parallel

#: EM stops after so many steps, or when some in a row gain less than this many nats an event. A single one may well
#: lose: as more or less leaks, contexts fall into other buckets.
_STEPS = 300
_TOLERANCE = 1e-5
_PATIENCE = 5
#: Events are added up in pieces of this many, whatever the number of threads.
_PIECE = 1 << 14
#: So many pieces of a long text are enough to begin with.
_FIRST_PIECES = 6
#: Where nothing is known: what leaks at each order, and what comes from the other models at once.
_LEAK = 0.5
_OTHERS = 0.25
#: So many events more are made up, which say what all events of the order say (of the v_k: all events of all orders).
_PRIOR = 20.0


@dataclass(frozen=True)
class HeldOut:
    """Events of held-out text, as EM needs them: a row for each event, a column for each order or model."""

    kept: NDArray[np.float32]
    passed: NDArray[np.float32]
    bucket: NDArray[np.int8]
    unigram: NDArray[np.float32]
    others: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.unigram)

    def perplexity(self, weights: Weights | None = None, *, threads: int = 1) -> float:
        """That of the text under all models with these weights, or under the n-grams alone."""
        if weights is not None:
            return float(np.exp(-_expect(self, weights, threads)[0] / len(self)))
        probs = self.unigram.astype(np.float64)
        for kept, passed, bucket in zip(self.kept.T, self.passed.T, self.bucket.T, strict=True):
            probs = np.where(bucket >= 0, kept + passed * probs, probs)
        return float(np.exp(-np.log(probs).mean()))

    def part(self, pieces: Sequence[slice]) -> HeldOut:
        """Some of the events."""
        return HeldOut(
            *(np.concatenate([getattr(self, each.name)[piece] for piece in pieces]) for each in fields(self))
        )


def said_by_words(parts: NgramParts, events: Events, words: NDArray[np.int32]) -> HeldOut:
    """What n-grams say of events, as :class:`NgramParts` would make a component of them."""
    kept = np.zeros((events.order, len(events)), np.float32)
    passed, bucket = np.empty(kept.T.shape, np.float32), np.empty(kept.T.shape, np.int8)
    steps = [steps.describe() for steps in parts.discounts]
    kernels.pass_on(events.found, np.array(steps), passed, bucket)
    for n in range(2, events.order + 1):
        count, total = events.found[n - 1, :, 0].astype(np.int64), events.found[n - 1, :, 1]
        powers, factors = parts.factors_of(n)
        own = split(count, parts.discounts[n - 1], powers)[0][0]
        if factors is not None:
            below = parts.counts[n - 1]
            at = np.flatnonzero((total > 0) & (events.grams[n - 2] >= 0))
            more = np.empty(len(at))
            kernels.low_rank_counts(
                events.before[n - 2, at], events.grams[n - 2, at], below.suffixes[:], below.children[:], factors.rank,
                factors.left, factors.left_start, factors.right, factors.right_start, more,
            )  # fmt: skip
            own[at] += more
        kept[n - 1] = own / np.maximum(total, 1)
    unigram = unigram_probs(parts.counts, parts.smoothing, parts.discounts[0])[words]
    return HeldOut(kept.T.copy(), passed, bucket, unigram, np.empty((len(events), 0), np.float32))


@dataclass(frozen=True)
class Weights:
    """What leaks at each order, by bucket of the context's total, and the gates."""

    leaks: NDArray[np.float64]
    #: A row for each length of a context and bucket of what it lacks: ``keep``, then the v_k.
    table: NDArray[np.float64]

    @classmethod
    def unknown(cls, order: int, members: int) -> Weights:
        """What to take where there is no text to fit them to."""
        table = np.full((order * GATE_BUCKETS, 1 + members), 1 / members)
        table[:, 0] = 1 - _OTHERS
        return cls(np.full((order, BUCKETS), _LEAK), table)

    @property
    def gates(self) -> Gates:
        """As a model has them."""
        return Gates(self.table.astype(np.float32), float(self.leaks[0, 0]))


def fit_weights(text: HeldOut, *, threads: int = 1) -> tuple[Weights, float]:
    """The weights under which the text is likeliest, and its perplexity.

    Those of a long text are first fitted to a part from all over it, which takes most of the steps and little time.
    """
    start = Weights.unknown(text.kept.shape[1], text.others.shape[1])
    pieces = list(slices(len(text), _PIECE))
    every = len(pieces) // _FIRST_PIECES
    if every > 1:
        start = _fit(text.part(pieces[every // 2 :: every]), start, threads)[0]
    return _fit(text, start, threads)


def _fit(text: HeldOut, start: Weights, threads: int) -> tuple[Weights, float]:
    """EM from these weights."""
    weights = best = start
    reached = -np.inf
    slow = 0
    for _ in range(_STEPS):
        likelihood, leaked, gated = _expect(text, weights, threads)
        slow = slow + 1 if likelihood - reached < _TOLERANCE * len(text) else 0
        if likelihood > reached:
            reached, best = likelihood, weights
        if slow == _PATIENCE:
            break
        weights = _maximise(leaked, gated)
    return best, float(np.exp(-reached / max(len(text), 1)))


def _expect(text: HeldOut, weights: Weights, threads: int) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
    def run(piece: slice) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
        leaked = np.zeros((*weights.leaks.shape, 2))
        gated = np.zeros((len(weights.table), 1 + weights.table.shape[1]))
        likelihood = kernels.expect(
            text.kept, text.passed, text.bucket, text.unigram, text.others, weights.leaks, weights.table,
            piece.start, piece.stop, leaked, gated,
        )  # fmt: skip
        return likelihood, leaked, gated

    parts = parallel(run, slices(len(text), _PIECE), threads)
    likelihoods, leaked, gated = zip(*parts, strict=True)
    return sum(likelihoods), np.sum(leaked, axis=0), np.sum(gated, axis=0)


def _maximise(leaked: NDArray[np.float64], gated: NDArray[np.float64]) -> Weights:
    """The weights that what EM expects asks for, with the made-up events."""
    by_order = leaked.sum(axis=1, keepdims=True)
    mean = (by_order[..., 0] + _PRIOR * _LEAK) / (by_order[..., 1] + _PRIOR)
    leaks = (leaked[..., 0] + _PRIOR * mean) / (leaked[..., 1] + _PRIOR)
    rows = gated.reshape(-1, GATE_BUCKETS, gated.shape[1])
    alike = rows.sum(axis=1, keepdims=True)
    tau = (alike[..., 1] + _PRIOR * _OTHERS) / (alike[..., 0] + _PRIOR)
    keep = 1 - (rows[..., 1] + _PRIOR * tau) / (rows[..., 0] + _PRIOR)
    everywhere = rows[..., 2:].sum(axis=(0, 1)) + _PRIOR / (rows.shape[2] - 2)
    everywhere /= everywhere.sum()
    shares = rows[..., 2:] + _PRIOR * everywhere
    shares /= shares.sum(axis=2, keepdims=True)
    return Weights(leaks, np.concatenate([keep[..., None], shares], axis=2).reshape(len(gated), -1))
