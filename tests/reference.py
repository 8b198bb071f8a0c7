"""The method as one reads it, over dictionaries and dense matrices: the oracle for everything fast.

Nothing here is shared with the product. ``Reference`` is the paper's recursion (method.md 4) with its gammas, not the
telescoped ladder that the product computes.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence

import numpy as np

Gram = tuple[str, ...]
#: Approximates the matrix of one slice; its entries are {(oldest word, predicted word): value}.
Approximate = Callable[[dict[tuple[str, str], float]], Callable[[str, str], float]]


def raw_counts(sentences: Sequence[Sequence[str]], order: int, markers: bool = True) -> list[Counter[Gram]]:
    """Occurrences of all n-grams; ``counts[n]`` is order n."""
    counts: list[Counter[Gram]] = [Counter() for _ in range(order + 1)]
    for words in sentences:
        tokens = ["<s>", *words, "</s>"] if markers else list(words)
        for i in range(int(markers), len(tokens)):
            for n in range(1, min(order, i + 1) + 1):
                counts[n][tuple(tokens[i - n + 1 : i + 1])] += 1
    return counts


def adjusted_counts(raw: list[Counter[Gram]]) -> list[dict[Gram, int]]:
    """Kneser-Ney's counts: distinct predecessors, or the raw count where nothing precedes."""
    adjusted: list[dict[Gram, int]] = [{}]
    for n in range(1, len(raw)):
        predecessors: dict[Gram, set[str]] = defaultdict(set)
        if n + 1 < len(raw):
            for gram in raw[n + 1]:
                predecessors[gram[1:]].add(gram[0])
        adjusted.append({gram: len(predecessors[gram]) or count for gram, count in raw[n].items()})
    return adjusted


def rank_one(entries: dict[tuple[str, str], float]) -> Callable[[str, str], float]:
    """Row sum times column sum over the total."""
    rows: Counter[str] = Counter()
    columns: Counter[str] = Counter()
    for (x, w), value in entries.items():
        columns[x] += value
        rows[w] += value
    total = sum(rows.values())
    return lambda x, w: rows[w] * columns[x] / total


class Reference:
    """P(w | h) by the paper's recursion, for constant discounts and any low rank approximation of the slices."""

    def __init__(
        self,
        sentences: Sequence[Sequence[str]],
        order: int,
        discounts: Sequence[float],
        powers: dict[int, Sequence[float]] | None = None,
        *,
        approximate: Approximate = rank_one,
        continuation: bool = True,
        markers: bool = True,
        uniform: bool = True,
        vocabulary: Sequence[str] | None = None,
    ) -> None:
        raw = raw_counts(sentences, order, markers)
        self.counts = adjusted_counts(raw) if continuation else [dict(c) for c in raw]
        self.order = order
        self.discounts = [0.0, *discounts]
        self.powers = powers or {}
        self.approximate = approximate
        self.uniform = uniform
        seen = {gram[0] for gram in self.counts[1]}
        self.vocabulary = sorted({*seen, "<unk>", *(vocabulary or [])} - {"<s>"})
        self.layers = {n: [self._layer(n, j) for j in range(1, len(p) + 1)] for n, p in self.powers.items()}

    def _rho(self, n: int) -> list[float]:
        return [1.0, *self.powers.get(n, ()), 0.0]

    def _dstar(self, n: int) -> float:
        return self.discounts[n] ** (1 / (len(self.powers.get(n, ())) + 1))

    def _layer(self, n: int, j: int) -> dict[Gram, Callable[[str, str], float]]:
        """Z_j of every slice: the approximation of c^rho_j - d* c^rho_{j+1}."""
        rho, d = self._rho(n), self._dstar(n)
        slices: dict[Gram, dict[tuple[str, str], float]] = defaultdict(dict)
        for gram, c in self.counts[n].items():
            slices[gram[1:-1]][gram[0], gram[-1]] = c ** rho[j] - d * c ** rho[j + 1]
        return {middle: self.approximate(entries) for middle, entries in slices.items()}

    def after(self, h: Gram) -> dict[str, int]:
        """What was seen after a context."""
        n = len(h) + 1
        return {gram[-1]: c for gram, c in self.counts[n].items() if gram[:-1] == h}

    def prob(self, w: str, h: Gram = ()) -> float:
        """P(w | h)."""
        h = h[len(h) - min(len(h), self.order - 1) :]
        if "<s>" in h:
            h = h[len(h) - 1 - h[::-1].index("<s>") :]
        if not h:
            counts = self.after(())
            total, c = sum(counts.values()), counts.get(w, 0)
            if not self.uniform:
                return c / total
            d = self.discounts[1]
            return (c - d * (c > 0)) / total + d * len(counts) / total / len(self.vocabulary)
        counts = self.after(h)
        if not counts:
            return self.prob(w, h[1:])
        n = len(h) + 1
        rho, d = self._rho(n), self._dstar(n)
        sums = [sum(c**r for c in counts.values()) for r in rho]
        gamma = [d * sums[j + 1] / sums[j] for j in range(len(rho) - 1)]
        p = self.prob(w, h[1:])
        for j in range(len(rho) - 2, 0, -1):
            p = self.layers[n][j - 1][h[1:]](h[0], w) / sums[j] + gamma[j] * p
        c = counts.get(w, 0)
        kept = c - d * c ** rho[1] if c else 0.0
        return kept / sums[0] + gamma[0] * p


class Ladder(Reference):
    """The telescoped form (method.md 5), for discounts that depend on the count and powers spaced at will."""

    def __init__(
        self,
        sentences: Sequence[Sequence[str]],
        order: int,
        discount: Callable[[int], float],
        powers: dict[int, Sequence[float]],
    ) -> None:
        self.discount = discount
        super().__init__(sentences, order, [0.0] * order, powers)

    def _bound(self, n: int, j: int, c: int) -> float:
        """f_j(c)."""
        rho = self._rho(n)[j]
        return c**rho * self.discount(c) ** (1 - rho)

    def _layer(self, n: int, j: int) -> dict[Gram, Callable[[str, str], float]]:
        slices: dict[Gram, dict[tuple[str, str], float]] = defaultdict(dict)
        for gram, c in self.counts[n].items():
            slices[gram[1:-1]][gram[0], gram[-1]] = self._bound(n, j, c) - self._bound(n, j + 1, c)
        return {middle: self.approximate(entries) for middle, entries in slices.items()}

    def prob(self, w: str, h: Gram = ()) -> float:
        """P(w | h)."""
        h = h[len(h) - min(len(h), self.order - 1) :]
        counts = self.after(h)
        if not counts:
            return self.prob(w, h[1:])
        n, total = len(h) + 1, sum(counts.values())
        rest = sum(self.discount(c) for c in counts.values()) / total
        if not h:
            c = counts.get(w, 0)
            return (c - self.discount(c) if c else 0) / total + rest / len(self.vocabulary)
        kept = counts[w] - self._bound(n, 1, counts[w]) if w in counts else 0.0
        middle = sum(layer[h[1:]](h[0], w) for layer in self.layers.get(n, ()))
        return (kept + middle) / total + rest * self.prob(w, h[1:])


def start(size: int, seed: int) -> np.ndarray:
    """The random start: splitmix64 mapped to 1/2 ... 3/2."""
    out = np.empty(size)
    mask = 2**64 - 1
    for i in range(size):
        z = (seed + (i + 1) * 0x9E3779B97F4A7C15) & mask
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        z ^= z >> 31
        out[i] = 0.5 + (z >> 11) / 2**53
    return out


def em(x: np.ndarray, rank: int, steps: int, seed: int) -> np.ndarray:
    """Joint EM on a dense matrix in double precision: the approximation after so many steps."""
    rows, columns = x.shape
    u = start(rows * rank, seed).reshape(rows, rank)
    v = start(columns * rank, seed ^ (2**64 - 1)).reshape(columns, rank)
    for _ in range(steps):
        ratio = np.divide(x, u @ v.T, where=x > 0, out=np.zeros_like(x))
        new_u = u * (ratio @ v)
        new_v = v * (ratio.T @ u)
        u, v = new_u, new_v / new_u.sum(axis=0)
    return u @ v.T
