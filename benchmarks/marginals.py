"""How far the marginal constraint (the paper's Theorem 1) is off on real text: `python -m benchmarks marginals`."""

from __future__ import annotations

import numpy as np

import plre
from benchmarks.common import part, table
from plre._jit import cpu_count, parallel
from plre.counts.local import count_ngrams
from plre.text.encode import encode_training_text

BANDS = [(1, 9), (10, 99), (100, 999), (1000, 10**9)]


def run() -> str:
    path = part("wikitext2", "train")
    text = encode_training_text(path, min_count=1, threads=cpu_count())
    counts = count_ngrams(text, 3)
    events = np.bincount(text.ids, minlength=len(text.vocab)).astype(float)
    events[1] = 0
    words = [text.vocab.word(i) for i in range(len(text.vocab))]
    # Each distinct context, and how many events it has: (w1, w2), or <s> alone.
    bigrams, starts = counts[2].contexts(), int(events[2])
    weights = [
        float(counts[3].raw[a:b].sum()) for a, b in zip(counts[3].children[:-1], counts[3].children[1:], strict=True)
    ]
    contexts = [[words[x], words[w]] for x, w in zip(bigrams, counts[2].words, strict=True)]
    pairs = [(context, weight) for context, weight in zip(contexts, weights, strict=True) if weight]
    pairs.append((["<s>"], float(starts)))

    rows = []
    for method in ("kn", "mkn", "plre"):
        lm = plre.train(path, order=3, min_count=1, method=method)

        def add(chunk: list[tuple[list[str], float]], lm: plre.LanguageModel = lm) -> np.ndarray:
            total = np.zeros(len(lm.vocab))
            for context, weight in chunk:
                total += weight * lm.distribution(context)
            return total

        pieces = [pairs[i : i + 5000] for i in range(0, len(pairs), 5000)]
        found = np.sum(parallel(add, pieces, cpu_count()), axis=0)
        off = np.abs(found - events)
        row = [method, f"{off.sum() / events.sum():.2%}"]
        for low, high in BANDS:
            band = (events >= low) & (events <= high)
            row.append(f"{np.median(off[band] / events[band]):.2%}")
        rows.append(row)
    names = [f"seen {low:,}-{high:,} times" if high < 10**9 else f"{low:,} and more" for low, high in BANDS]
    return table(["method", "all words: sum of differences over sum of counts", *(f"median, {n}" for n in names)], rows)
