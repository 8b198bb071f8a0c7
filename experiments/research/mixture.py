"""A word model and components put together as the package does it: weights by context, by EM on the valid text.

Without a word model this is a linear mixture. Without components the word model stands alone.
"""

from __future__ import annotations

import numpy as np

from experiments.research.components import Said, Setup, WordModel
from experiments.research.corpus import TEXTS, CorpusTexts
from plre.ensemble.gating import HeldOut, Weights, fit_weights
from plre.ensemble.mixing import best_weights
from plre.smoothing._kernels import BUCKETS
from plre.store import Store


def measure(store: Store, corpus: str, setup: Setup) -> dict[str, float]:
    """The perplexity of each text, weights being fitted on the valid one."""
    if setup.word is None:
        said = store.get_all([Said(CorpusTexts(corpus), each) for each in setup.components])
        made = {text: np.array([found[text] for found in said]) for text in TEXTS}
        shares = best_weights(made["valid"])
        return {text: float(np.exp(-np.log(shares @ made[text]).mean())) for text in TEXTS}
    weights = fit(store, corpus, setup)
    return {text: events(store, corpus, setup, text).perplexity(weights, threads=store.how.threads) for text in TEXTS}


def fit(store: Store, corpus: str, setup: Setup) -> Weights | None:
    """The weights of a setup that has a word model; None if it has nothing else."""
    if not setup.components:
        return None
    return fit_weights(events(store, corpus, setup, "valid"), threads=store.how.threads)[0]


def events(store: Store, corpus: str, setup: Setup, text: str) -> HeldOut:
    """All that the mixture needs of a text, level by level from words without context up."""
    texts, word = CorpusTexts(corpus), setup.word or WordModel()
    evidence, *said = store.get_all([Said(texts, each) for each in (word, *setup.components)])
    base, unigrams, *levels = [level[text] for level in reversed(evidence)]
    made = [found[text] for found in said]
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
        (unigrams.kept + unigrams.rest * base.kept).astype(np.float32),
        others.astype(np.float32),
    )


def _bucket(total: np.ndarray) -> np.ndarray:
    """log2 of the counts of contexts, -1 where a context was never seen."""
    return np.where(total > 0, np.log2(np.maximum(total, 1)).astype(np.int64), -1).clip(max=BUCKETS - 1)
