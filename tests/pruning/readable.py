"""Relative entropy pruning as one reads it, over dictionaries of n-grams: the oracle for the arrays and kernels.

Nothing here is shared with the product but the numbers in the model that is pruned.
"""

from __future__ import annotations

import math
from collections import defaultdict

import numpy as np

import plre
from plre.lowrank.blocks import Factors
from plre.model.columns import Columns
from plre.model.ngrams import NgramBody

Gram = tuple[str, ...]


def grams_of(body: NgramBody, n: int) -> list[tuple[int, ...]]:
    """All n-grams, as symbols, in the order of their numbers."""
    return _grams(body.columns(), n)


def _grams(columns: Columns, n: int) -> list[tuple[int, ...]]:
    if n == 1:
        return [(s,) for s in range(len(columns.prob))]
    order = columns.orders[n - 2]
    return [
        (*h, int(order.words[e]))
        for i, h in enumerate(_grams(columns, n - 1))
        for e in range(order.children[i], order.children[i + 1])
    ]


def words_of(lm: plre.LanguageModel, n: int) -> list[Gram]:
    """All n-grams of a model of one component of words, in the order of their numbers."""
    body = lm.components[0].body
    return [tuple(lm.vocab.word(s) for s in gram) for gram in grams_of(body, n)]  # type: ignore[arg-type]


class Readable:
    """A model as dictionaries: stored probabilities, back-off weights, and the low rank layers of every pair."""

    def __init__(self, lm: plre.LanguageModel) -> None:
        self.order, self.markers, self.vocab = lm.order, lm.markers, list(lm.vocab)
        self.grams = [[()], *(words_of(lm, n) for n in range(1, lm.order + 1))]
        self.prob: dict[Gram, float] = {}
        self.backoff: dict[Gram, float] = {}
        self.low: dict[Gram, float] = defaultdict(float)
        columns = lm.components[0].body.columns()  # type: ignore[union-attr]
        self.prob |= zip(self.grams[1], columns.prob.astype(float), strict=True)
        if lm.order > 1:
            self.backoff |= zip(self.grams[1], columns.backoff.astype(float), strict=True)
        for n, order in enumerate(columns.orders, 2):
            self.prob |= zip(self.grams[n], order.prob.astype(float), strict=True)
            if n < lm.order:
                self.backoff |= zip(self.grams[n], order.backoff.astype(float), strict=True)
            if order.factors is not None:
                self._layers(order.factors, n)

    def _layers(self, factors: Factors, n: int) -> None:
        left, right, rank = factors.left, factors.right, factors.rank
        left_start, right_start = factors.left_start, factors.right_start
        rows: dict[Gram, list[Gram]] = defaultdict(list)
        for gram in self.grams[n - 1]:
            rows[gram[:-1]].append(gram)
        number = {gram: i for i, gram in enumerate(self.grams[n - 2])}
        for i, h in enumerate(self.grams[n - 1]):
            m = number[h[1:]]
            column = right[right_start[i] : right_start[i] + rank[m]].astype(float)
            for j, row in enumerate(rows[h[1:]]):
                at = left_start[m] + j * rank[m]
                self.low[(*h, row[-1])] = float(left[at : at + rank[m]].astype(float) @ column)

    def __call__(self, w: str, h: Gram) -> float:
        """P(w | h)."""
        if (*h, w) in self.prob:
            return self.prob[*h, w]
        if h not in self.backoff:
            return self(w, h[1:])
        return self.low.get((*h, w), 0.0) + self.backoff[h] * self(w, h[1:])

    def children(self, h: Gram) -> list[Gram]:
        """The n-grams after a context."""
        return [(*h, w) for w in self.vocab if (*h, w) in self.prob]


def masses(lm: Readable) -> dict[Gram, float]:
    """How often each context is met in the model's own text: the stationary state of the chain of whole histories."""
    n = lm.order - 1
    start: Gram = ("<s>",) if lm.markers else ()
    states, seen = [start], {start}
    moves = []
    for state in states:
        for w in lm.vocab:
            if w == "<s>" or lm(w, state) == 0:
                continue
            after = start if w == "</s>" and lm.markers else (*state, w)[-n:]
            moves.append((state, after, w, lm(w, state)))
            if after not in seen:
                seen.add(after)
                states.append(after)
    number = {state: i for i, state in enumerate(states)}
    matrix = np.zeros((len(states), len(states)))
    for state, after, _, p in moves:
        matrix[number[state], number[after]] += p
    share = np.full(len(states), 1 / len(states))
    for _ in range(3000):
        share = share @ (0.5 * matrix + 0.5 * np.eye(len(states)))
        share /= share.sum()
    found: dict[Gram, float] = defaultdict(float)
    for state, after, w, p in moves:
        met = (*state, w)[-n:]
        for k in range(len(met)):
            found[met[k:]] += share[number[state]] * p
        if w == "</s>" and lm.markers:
            found[after] += share[number[state]] * p
    return found


def usages(lm: Readable, mass: dict[Gram, float]) -> dict[Gram, float]:
    """How often each context is asked; that of () is the share of unigrams."""
    usage = {h: mass[h] for n in range(1, lm.order) for h in lm.grams[n]}
    for n in range(lm.order - 1, 0, -1):
        for g in lm.grams[n]:
            if g[-1] == "</s>":
                usage[g] = 0.0
            elif n > 1:
                usage[g[1:]] += usage[g] * lm.backoff[g] - mass[g]
    usage[()] = sum(usage[h] * lm.backoff[h] for h in lm.grams[1])
    return usage


def cost(lm: Readable, gram: Gram, mass: float) -> float:
    """What it costs to lose one n-gram: the words after its context that have none of their own are one word."""
    h, w = gram[:-1], gram[-1]
    p, low, lower = lm.prob[gram], lm.low.get(gram, 0.0), lm(w, h[1:])
    unseen = [v for v in lm.vocab if (*h, v) not in lm.prob and v != "<s>"]
    free = sum(lm(v, h[1:]) for v in unseen)
    others = sum(lm(v, h) for v in unseen)
    weight = (lm.backoff[h] * free + p - low) / (free + lower)
    after = low + weight * lower
    rest = others * math.log(others / (others + p - after)) if others > 0 else 0.0
    return mass * (p * math.log(p / after) + rest)


def prune(lm: Readable, threshold: float) -> Readable:
    """The model without the n-grams that are worth no more than the threshold; changes ``lm`` itself."""
    mass = masses(lm)
    usage = usages(lm, mass)
    original = dict(lm.prob)
    totals = {h: sum(lm(w, h) for w in lm.vocab if w != "<s>") for n in range(lm.order) for h in lm.grams[n]}
    needed: set[Gram] = set()
    gone: set[Gram] = set()
    received: dict[Gram, float] = defaultdict(float)
    for n in range(lm.order, 1, -1):
        mixed = {}
        for h in lm.grams[n - 1]:
            more = sum(received[g] for g in lm.children(h))
            if not more:
                continue
            old = usage[h] / (usage[h] + more)
            for w in lm.vocab:
                if (*h, w) in lm.low:
                    lm.low[*h, w] *= old
            for g in lm.children(h):
                mixed[g] = old * lm.prob[g] + received[g] / (usage[h] + more)
            lm.backoff[h] *= old
            totals[h] = old * totals[h] + 1 - old
            usage[h] += more
        lm.prob |= mixed
        going = [g for g in lm.grams[n] if g not in needed and cost(lm, g, mass[g[:-1]]) <= threshold]
        needed |= {part for g in set(lm.grams[n]) - set(going) for part in (g[:-1], g[1:])}
        for g in going:
            h = g[:-1]
            above = lm.prob[g] - lm.low.get(g, 0.0) - lm.backoff[h] * original[g[1:]]
            received[g[1:]] += usage[h] * above
        gone |= set(going)
    more = sum(received[w] for w in lm.grams[1])
    for w in lm.grams[1]:
        lm.prob[w] = (usage[()] * lm.prob[w] + received[w]) / (usage[()] + more)
    for g in gone:
        del lm.prob[g]
    for g in [g for g in lm.low if g[1:] in gone or g[:-1] in gone]:
        del lm.low[g]
    lm.grams = [[g for g in grams if g not in gone] for grams in lm.grams]
    for n in range(1, lm.order):
        for h in lm.grams[n]:
            seen = lm.children(h)
            free = sum(lm(v, h[1:]) for v in lm.vocab if (*h, v) not in lm.prob and v != "<s>")
            layers = sum(lm.low.get((*h, v), 0.0) for v in lm.vocab if (*h, v) not in lm.prob)
            if free > 1e-9:
                lm.backoff[h] = (totals[h] - sum(lm.prob[g] for g in seen) - layers) / free
    for g in gone:
        lm.backoff.pop(g, None)
    return lm
