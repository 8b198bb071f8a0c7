"""ARPA files made up by chance, with everything that files of other programs may have."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

Gram = tuple[str, ...]


@dataclass(frozen=True)
class Made:
    """What a file has: log10 P and weight of each n-gram, by order; and its text."""

    orders: list[dict[Gram, tuple[float, float]]]
    words: list[str]

    def lines(self) -> Iterator[str]:
        """The file, line by line."""
        yield "\\data\\"
        for n, grams in enumerate(self.orders, 1):
            yield f"ngram {n}={len(grams)}"
        for n, grams in enumerate(self.orders, 1):
            yield ""
            yield f"\\{n}-grams:"
            for gram, (log, weight) in grams.items():
                shown = f"\t{weight:.6g}" if n < len(self.orders) and weight else ""
                yield f"{log:.7g}\t{' '.join(gram)}{shown}"
        yield ""
        yield "\\end\\"
        yield ""

    @property
    def text(self) -> str:
        """The file as one string."""
        return "\n".join(self.lines())


def make_arpa(
    seed: int, order: int, *, unknown: bool = True, closed: bool = True, start: float = 0.0, words: int = 40
) -> Made:
    """A file of this order. ``closed``: all n-grams have their suffixes; ``start`` is log10 P of ``<s>``."""
    rng = np.random.default_rng(seed)
    names = [f"w{k}" for k in range(words - 2)] + ["Zürich", "日本"]

    def numbers() -> tuple[float, float]:
        weight = 0.0 if rng.random() < 0.2 else float(rng.normal(-0.3, 0.1))
        return -float(rng.exponential(2.0)) - 0.01, weight

    first = {(word,): numbers() for word in [*(["<unk>"] if unknown else []), *names, "</s>"]}
    first[("<s>",)] = start, numbers()[1]
    orders = [first]
    for n in range(2, order + 1):
        grams: dict[Gram, tuple[float, float]] = {}
        contexts = [gram for gram in orders[-1] if gram[-1] != "</s>"]
        for _ in range(words * 5 * n):
            context = contexts[rng.integers(len(contexts))]
            word = [*names, "</s>"][int(len(names) * rng.random() ** 2)]
            if n > 2 and (*context[1:], word) not in orders[-1] and (closed or rng.random() < 0.99):
                continue
            grams[(*context, word)] = numbers()
        listed = list(grams.items())
        orders.append({listed[i][0]: listed[i][1] for i in rng.permutation(len(listed))})
    return Made(orders, names)
