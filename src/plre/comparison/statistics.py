"""How sure a difference is: the paper's bootstrap, a paired test, and an interval for the gain.

All of it takes sentences as the units that were drawn at random, independently of each other. ``scores`` has a row for
each sentence and a column for each method: log10 of the sentence's probability; ``tokens`` are its words and ``</s>``.
Every function draws from its own generator, so that methods are compared on the same draws and a seed gives the same
numbers whatever else is computed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

#: Test sets that the paper draws to see how perplexity varies.
TEST_SETS = 10
#: Drawn for the interval of the gain.
DRAWS = 1000
#: Ways to swap the two methods in the paired test.
FLIPS = 9999

_INTERVAL = (2.5, 97.5)
#: Random numbers that are held at a time.
_HELD = 1 << 21
#: Sums of the same numbers in another order differ by less than this share of them.
_ROUNDING = 1e-12

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Spread:
    """Perplexity over test sets drawn from the test text: its mean and its standard deviation."""

    mean: float
    deviation: float


@dataclass(frozen=True)
class Gain:
    """How much lower a method's perplexity is than the reference's, as a share of that; with its 95 % interval.

    ``p`` is the probability of a difference at least as large if the two methods were equally good.
    """

    value: float
    low: float
    high: float
    p: float


def perplexities(logprob10: Floats, tokens: Floats) -> Floats:
    """10 to the mean of -log10 P."""
    result: Floats = 10 ** (-logprob10 / tokens)
    return result


def resample(scores: Floats, tokens: NDArray[np.int64], draws: int, seed: int) -> Floats:
    """Perplexities (a row for each draw) over as many sentences as there are, drawn with replacement."""
    random = np.random.default_rng(seed)
    sentences = len(tokens)
    columns = np.column_stack([scores, tokens])
    sums = []
    for rows in _batches(draws, sentences):
        times = [np.bincount(random.integers(0, sentences, sentences), minlength=sentences) for _ in range(rows)]
        sums.append(np.array(times, np.float64) @ columns)
    whole = np.concatenate(sums)
    return perplexities(whole[:, :-1], whole[:, -1:])


def _batches(draws: int, sentences: int) -> list[int]:
    """Draws shared out, so that one matrix product does many of them and little memory is held."""
    at_once = max(1, _HELD // sentences)
    return [min(at_once, draws - done) for done in range(0, draws, at_once)]


def spreads(scores: Floats, tokens: NDArray[np.int64], seed: int) -> list[Spread]:
    """The paper's bootstrap for each method, on the same draws."""
    drawn = resample(scores, tokens, TEST_SETS, seed)
    return [Spread(float(each.mean()), float(each.std(ddof=1))) for each in drawn.T]


def gains(scores: Floats, reference: Floats, tokens: NDArray[np.int64], seed: int) -> list[Gain]:
    """Each method against the reference, sentence by sentence."""
    both = np.column_stack([scores, reference])
    seen = perplexities(both.sum(axis=0), tokens.sum(keepdims=True).astype(np.float64))
    drawn = resample(both, tokens, DRAWS, seed)
    low, high = np.percentile(1 - drawn[:, :-1] / drawn[:, -1:], _INTERVAL, axis=0)
    p = sign_flip_test(scores - reference[:, None], FLIPS, seed)
    return [
        Gain(*map(float, each)) for each in zip(1 - seen[:-1] / seen[-1], low, high, p, strict=True)
    ]  # fmt: skip


def sign_flip_test(differences: Floats, flips: int, seed: int) -> Floats:
    """Two-sided p-values: were the methods equal, each sentence's difference could as well have the other sign.

    Of ``flips`` random ways to set the signs, ``b`` give a sum at least as far from 0 as the one seen: p = (b + 1) /
    (flips + 1), which counts what was seen among them.
    """
    random = np.random.default_rng(seed)
    sentences = len(differences)
    total = differences.sum(axis=0)
    bar = np.abs(total) - _ROUNDING * np.abs(differences).sum(axis=0)
    reached = np.zeros(differences.shape[1], np.int64)
    for rows in _batches(flips, sentences):
        words = random.integers(0, 2**64, (rows, -(-sentences // 64)), np.uint64)
        bits = np.unpackbits(words.view(np.uint8), axis=1)[:, :sentences]
        sums = 2 * (bits.astype(np.float64) @ differences) - total
        reached += (np.abs(sums) >= bar).sum(axis=0)
    p: Floats = (reached + 1) / (flips + 1)
    return p
