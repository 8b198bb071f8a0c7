"""A word model and components put together as the package does it: weights by context, by EM on the valid text.

Without a word model this is a linear mixture. Without components the word model stands alone.
"""

from __future__ import annotations

import numpy as np

from experiments.research.components import Setup, WordModel, probabilities
from experiments.research.corpus import TEXTS, Corpus
from plre.ensemble.gating import HeldOut, Weights, fit_weights
from plre.ensemble.mixing import best_weights
from plre.smoothing._kernels import BUCKETS
from plre.threads import cpu_count


def measure(corpus: Corpus, setup: Setup) -> dict[str, float]:
    """The perplexity of each text, weights being fitted on the valid one."""
    if setup.word is None:
        made = {text: np.array([found[text] for found in probabilities(corpus, setup.components)]) for text in TEXTS}
        shares = best_weights(made["valid"])
        return {text: float(np.exp(-np.log(shares @ made[text]).mean())) for text in TEXTS}
    weights = fit(corpus, setup)
    return {text: events(corpus, setup, text).perplexity(weights, threads=cpu_count()) for text in TEXTS}


def fit(corpus: Corpus, setup: Setup) -> Weights | None:
    """The weights of a setup that has a word model; None if it has nothing else."""
    return fit_weights(events(corpus, setup, "valid"), threads=cpu_count())[0] if setup.components else None


def events(corpus: Corpus, setup: Setup, text: str) -> HeldOut:
    """All that the mixture needs of a text, level by level from words without context up."""
    word = setup.word or WordModel()
    unigrams, *levels = [level[text] for level in reversed(word.evidence(corpus))]
    made = [found[text] for found in probabilities(corpus, setup.components)]
    size = len(unigrams.kept)
    first = np.zeros(size), np.ones(size), np.zeros(size)
    kept, passed, bucket = (
        np.stack(columns, axis=1)
        for columns in zip(
            first, *((e.kept, np.where(e.total > 0, e.rest, 0), _bucket(e.total)) for e in levels), strict=True
        )
    )
    others = np.stack(made, axis=1) if made else np.empty((size, 0))
    return HeldOut(
        kept.astype(np.float32),
        passed.astype(np.float32),
        bucket.astype(np.int8),
        (unigrams.kept + unigrams.rest * word.base(corpus)).astype(np.float32),
        others.astype(np.float32),
    )


def _bucket(total: np.ndarray) -> np.ndarray:
    """log2 of the counts of contexts, -1 where a context was never seen."""
    return np.where(total > 0, np.log2(np.maximum(total, 1)).astype(np.int64), -1).clip(max=BUCKETS - 1)
