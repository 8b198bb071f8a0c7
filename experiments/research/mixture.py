"""A word model and components put together; weights by EM on the valid text.

    P(w|h) = tau T + (1 - tau) Q_n(w|h),    Q_n(w|h) = kept + rest (l T + (1 - l) Q_{n-1}(w|h')),    T = sum_k v_k T_k

Levels whose context was never seen are skipped. The leak l depends on the level and on log2 of its context's count;
tau and v depend on the longest context that was seen and on a bucket: of its count, or of the part of the probability
that the components would have without tau. Without a word model this is a mixture whose weights depend on the context.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from experiments.research import _kernels as kernels
from experiments.research.components import Setup, WordModel, probabilities, times_seen
from experiments.research.corpus import TEXTS, Corpus
from experiments.research.counting import Floats
from plre.threads import cpu_count, parallel

_BUCKETS = 16
#: Events are shared out in so many pieces, whatever the number of threads.
_PIECES = 8
#: Steps of EM for all weights, while buckets of the rest follow the leaks now and then; and at last for tau and v with
#: leaks and buckets as they are.
_STEPS = 80
_LAST_STEPS = 30
_EVERY = 8


@dataclass
class MixtureWeights:
    """The tables that EM fills."""

    leak: Floats
    tau: Floats
    shares: Floats


@dataclass(frozen=True)
class MixtureEvents:
    """A text as the mixture sees it: a row for each event."""

    kept: Floats
    rest: Floats
    #: Of each level's context, by its count; -1 if it was never seen.
    bucket: NDArray[np.int64]
    #: The finest level that was seen.
    finest: NDArray[np.int64]
    #: The bucket of another context, if weights depend on it.
    also: NDArray[np.int64] | None
    others: Floats

    def components_part(self, leak: Floats) -> Floats:
        """B(h): what the components get of each event's context if tau is 0."""
        part = np.zeros(len(self.finest))
        for n in range(self.kept.shape[1] - 1, -1, -1):
            bucket = self.bucket[:, n]
            given = leak[n][np.maximum(bucket, 0)]
            part = np.where(bucket < 0, part, self.rest[:, n] * (given + (1 - given) * part))
        return part

    def gates(self, kind: str, leak: Floats) -> NDArray[np.int64]:
        """Which tau and v each event uses."""
        gate = self.finest
        if self.also is not None:
            gate = gate * _BUCKETS + self.also
        if kind in ("count", "both"):
            gate = gate * _BUCKETS + self.bucket[np.arange(len(gate)), self.finest]
        if kind in ("rest", "both"):
            part = np.maximum(self.components_part(leak), 1e-9)
            gate = gate * _BUCKETS + np.minimum((-2 * np.log2(part)).astype(np.int64), _BUCKETS - 1)
        return gate


def measure(corpus: Corpus, setup: Setup) -> dict[str, float]:
    """The perplexity of each text, weights being fitted on the valid one."""
    weights = fit(events(corpus, setup, "valid"), setup, _base(corpus, setup))
    return {text: perplexity(corpus, setup, weights, text) for text in TEXTS}


def perplexity(corpus: Corpus, setup: Setup, weights: MixtureWeights, text: str) -> float:
    """exp of minus the mean ln P."""
    seen = events(corpus, setup, text)
    return float(np.exp(-_expect(seen, seen.gates(setup.gate, weights.leak), _base(corpus, setup), weights)[0]))


def _base(corpus: Corpus, setup: Setup) -> float:
    return setup.word.base(corpus) if setup.word else 0.0


def events(corpus: Corpus, setup: Setup, text: str) -> MixtureEvents:
    """All that the mixture needs of a text. Without a word model, contexts are still those of word trigrams."""
    levels = [level[text] for level in (setup.word or WordModel()).evidence(corpus)]
    total = np.stack([level.total for level in levels], axis=1)
    bucket = _by_size(total)
    finest = np.argmax(bucket >= 0, axis=1)
    made = [found[text] for found in probabilities(corpus, setup.components)]
    others = np.stack(made, axis=1) if made else np.zeros((len(finest), 0))
    kept, rest = (np.stack([getattr(level, name) for level in levels], axis=1) for name in ("kept", "rest"))
    if setup.word is None:  # the levels only say how much of the context was seen
        kept, rest = np.zeros_like(kept), np.zeros_like(rest)
    also = np.maximum(_by_size(times_seen(corpus, setup.also)[text]), 0) if setup.also else None
    return MixtureEvents(kept, rest, bucket, finest, also, others)


def _by_size(total: Floats) -> NDArray[np.int64]:
    """log2 of counts, -1 for none."""
    return np.where(total > 0, np.log2(np.maximum(total, 1)).astype(np.int64), -1).clip(max=_BUCKETS - 1)


def fit(seen: MixtureEvents, setup: Setup, base: float) -> MixtureWeights:
    """EM from weights that are all alike."""
    levels, models = seen.kept.shape[1], seen.others.shape[1]
    usual = float(models > 0)
    gates = levels * _BUCKETS ** ({"nothing": 0, "both": 2}.get(setup.gate, 1) + bool(setup.also))
    weights = MixtureWeights(
        np.full((levels, _BUCKETS), 0.3 * usual * setup.leak),
        np.full(gates, 0.1 * usual * setup.top if setup.word else 1.0),
        np.full((gates, models), 1 / max(models, 1)),
    )
    for step in range(_STEPS if models else 0):
        if step % _EVERY == 0:
            gate = seen.gates(setup.gate, weights.leak)
        _maximise(weights, *_expect(seen, gate, base, weights)[1])
    settled = weights.leak.copy()
    gate = seen.gates(setup.gate, settled)
    for _ in range(_LAST_STEPS if models else 0):
        _maximise(weights, *_expect(seen, gate, base, weights)[1])
        weights.leak = settled.copy()
    return weights


Tables = tuple[Floats, Floats, Floats, Floats, Floats]


def _expect(seen: MixtureEvents, gate: NDArray[np.int64], base: float, weights: MixtureWeights) -> tuple[float, Tables]:
    """The mean ln P, and how often each choice was made."""
    bounds = np.linspace(0, len(gate), _PIECES + 1).astype(int)

    def run(piece: int) -> tuple[float, Tables]:
        part = slice(bounds[piece], bounds[piece + 1])
        like = (weights.leak, weights.leak, weights.tau, weights.tau, weights.shares)
        tables = tuple(np.zeros_like(table) for table in like)
        given = (seen.kept[part], seen.rest[part], seen.bucket[part], gate[part], seen.others[part])
        total = kernels.expect(*given, base, weights.leak, weights.tau, weights.shares, *tables)
        return total, tables  # type: ignore[return-value]

    found = parallel(run, range(_PIECES), cpu_count())
    tables = tuple(sum(part[1][i] for part in found) for i in range(5))
    return sum(part[0] for part in found) / len(gate), tables  # type: ignore[return-value]


def _maximise(
    weights: MixtureWeights, leaked: Floats, passed: Floats, chosen: Floats, asked: Floats, shares: Floats
) -> None:
    """Every weight becomes how often it was chosen where it could be; what was never asked stays as it is."""
    for table, times, of in ((weights.leak, leaked, leaked + passed), (weights.tau, chosen, asked)):
        np.divide(times, of, out=table, where=of > 0)
    of = shares.sum(axis=1, keepdims=True)
    np.divide(shares, of, out=weights.shares, where=of > 0)
