"""Counts as ingredients."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from plre.counts.cut import cut
from plre.counts.local import count_ngrams
from plre.counts.ngrams import Counts
from plre.store import Get, Ingredient, Resources
from plre.text.ingredients import Text


@dataclass(frozen=True)
class CountedText(Ingredient):
    """The n-grams of a text up to an order."""

    kind: ClassVar[str] = "counting"
    pace: ClassVar[float] = 1e-7
    text: Text
    order: int

    def make(self, get: Get, how: Resources) -> Counts:
        """Count them."""
        return count_ngrams(get(self.text), self.order, **how.named)

    def work(self, get: Get) -> float:
        """N-grams of the text, those of each order."""
        return float(len(get(self.text.origin).ids)) * self.order


@dataclass(frozen=True)
class Bigrams(Ingredient):
    """The bigrams of a text, from its counts of any order of 2 or more."""

    counted: CountedText

    def make(self, get: Get, how: Resources) -> Counts:
        """Take the two lowest orders of the counts."""
        counts: Counts = get(self.counted)
        first, second = counts.tables[:2]
        return replace(counts, tables=(first, replace(second, adjusted=second.raw)))


@dataclass(frozen=True)
class CutCounts(Ingredient):
    """Counts without the n-grams of some orders that occur rarely."""

    counted: Ingredient
    least: int
    first: int

    def make(self, get: Get, how: Resources) -> Counts:
        """Leave them out."""
        return cut(get(self.counted), self.least, self.first, threads=how.threads, scratch=how.scratch)
