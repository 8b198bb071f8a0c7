"""Smoothing methods as one reads them, over dictionaries: discounts that may depend on everything, and back-off."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from tests.reference import Gram, Reference, raw_counts

#: What is taken from a count: by the order, the count, and the total of its context.
Discount = Callable[[int, int, int], float]


def by_steps(discounts: Sequence[Sequence[float]]) -> Discount:
    """Three discounts of each order: for counts of 1, of 2, of 3 and more."""
    return lambda n, c, total: discounts[n - 1][min(c, 3) - 1]


def by_share(shares: Sequence[Sequence[float]]) -> Discount:
    """A share of each count, by the order and the logarithm of the context's total."""
    return lambda n, c, total: shares[n - 1][math.floor(math.log2(total))] * c


class Interpolated(Reference):
    """P(w | h) = (c - D) / C(h) + (sum of D / C(h)) P(w | h'), down to the uniform distribution."""

    def __init__(
        self,
        sentences: Sequence[Sequence[str]],
        order: int,
        discount: Discount,
        *,
        continuation: bool = True,
        markers: bool = True,
    ) -> None:
        self.discount = discount
        super().__init__(sentences, order, [0.0] * order, continuation=continuation, markers=markers)
        if not markers:
            self.vocabulary = [w for w in self.vocabulary if w != "</s>"]

    def shared(self, h: Gram) -> tuple[dict[str, float], float]:
        """What every word seen after a context keeps, and the rest."""
        counts = self.after(h)
        total = sum(counts.values())
        kept = {w: (c - self.discount(len(h) + 1, c, total)) / total for w, c in counts.items()}
        return kept, 1 - sum(kept.values())

    def prob(self, w: str, h: Gram = ()) -> float:
        """P(w | h)."""
        h = h[len(h) - min(len(h), self.order - 1) :]
        if not self.after(h):
            return self.prob(w, h[1:])
        kept, rest = self.shared(h)
        below = self.prob(w, h[1:]) if h else 1 / len(self.vocabulary)
        return kept.get(w, 0.0) + rest * below


class BackOff(Interpolated):
    """P(w | h) = (c - D) / C(h) for words that keep anything; the others share the rest as P(w | h') says."""

    def prob(self, w: str, h: Gram = ()) -> float:
        """P(w | h)."""
        h = h[len(h) - min(len(h), self.order - 1) :]
        if not h or not self.after(h):
            return super().prob(w, h)
        kept, rest = self.shared(h)
        others = [v for v in self.vocabulary if kept.get(v, 0.0) <= 0]
        if not others:
            return super().prob(w, h)
        if w not in others:
            return kept[w]
        return rest * self.prob(w, h[1:]) / sum(self.prob(v, h[1:]) for v in others)


def histories(sentences: Sequence[Sequence[str]], order: int) -> Iterator[tuple[str, Gram]]:
    """Every word with what stands before it."""
    for words in sentences:
        tokens = ("<s>", *words, "</s>")
        for i in range(1, len(tokens)):
            yield tokens[i], tokens[max(0, i - order + 1) : i]


def left_out(sentences: Sequence[Sequence[str]], order: int) -> Iterator[list[tuple[int, int]]]:
    """For every word, order by order: its count and its context's total once this occurrence is taken out."""
    raw = raw_counts(sentences, order)
    totals: Counter[Gram] = Counter()
    for counts in raw:
        for gram, c in counts.items():
            totals[gram[:-1]] += c
    for w, h in histories(sentences, order):
        contexts = [h[len(h) - n :] for n in range(len(h) + 1)]
        yield [(raw[len(g) + 1][*g, w] - 1, totals[g] - 1) for g in contexts]
