"""How far the marginal constraint (the paper's Theorem 1) is off on real text: `python -m benchmarks marginals`."""

from __future__ import annotations

import numpy as np

import plre
from benchmarks.common import part, table
from plre.counts.local import count_ngrams
from plre.model.scoring import score_ids
from plre.text.encode import encode_text
from plre.text.vocabulary import BOS, EOS
from plre.threads import cpu_count, parallel

NOTE = (
    "Theorem 1 of the paper says that the probabilities of a word over all training events add up to its count. It is "
    "exact (1e-5, `tests/ensemble/test_marginals.py`) for constant discounts, without sentence boundaries and without "
    "the uniform share of the unigrams. On wikitext2, order 3, there are sentences and the uniform share, and `mkn` "
    "has three discounts: this is the difference between both sides relative to the count, median / largest of 50 "
    "words drawn from each band of frequency."
)
BANDS = [(1, 9), (10, 99), (100, 999), (1000, 10**9)]
WORDS_A_BAND = 50


def run() -> str:
    path = part("wikitext2", "train")
    text = encode_text(path, min_count=1, threads=cpu_count())
    counts = count_ngrams(text, 3)
    events = np.bincount(text.ids, minlength=len(text.vocab))
    events[BOS] = 0
    # Every context of two words, how many events it has, and room for the word that is asked about.
    contexts = np.stack([counts[2].contexts(), counts[2].words, np.zeros(len(counts[2]), np.int32)], axis=1)
    weights = np.add.reduceat(np.append(counts[3].raw, 0), counts[3].children[:-1])
    weights[np.diff(counts[3].children) == 0] = 0

    random = np.random.default_rng(0)
    bands = [np.flatnonzero((events >= low) & (events <= high)) for low, high in BANDS]
    chosen = [random.permutation(band)[:WORDS_A_BAND] for band in bands]
    rows = []
    for method, preset in (("kn", None), ("mkn", None), ("plre", "paper")):
        lm = plre.train(path, order=3, min_count=1, method=method, preset=preset)
        at_start = lm.distribution(["<s>"])

        def off(w: int, lm: plre.LanguageModel = lm, at_start: np.ndarray = at_start) -> float:
            asked = contexts.copy()
            asked[:, 2] = w
            probs = score_ids(lm, asked.ravel()).probs[2::3]
            return float(abs((weights @ probs + events[EOS] * at_start[w]) / events[w] - 1))

        differences = [np.array(parallel(off, words.tolist(), cpu_count())) for words in chosen]
        rows.append([method, *(f"{np.median(d):.2%} / {d.max():.2%}" for d in differences)])
    names = [f"{low:,} - {high:,}" if high < 10**9 else f"{low:,} and more" for low, high in BANDS]
    return table(["method", *(f"words seen {n} times" for n in names)], rows)
