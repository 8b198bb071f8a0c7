"""What counting hands on: for each order a table of n-grams, linked to their contexts and suffixes.

An n-gram is known by its number within its order. Order 1 is the vocabulary itself. From order 2 on, n-grams are sorted
by context and then by scrambled word (``text.vocabulary.scrambling``), so those that share a context ``h`` are the
range ``children[h] : children[h + 1]``.

    the cat sat      context: the number of "the cat" (which lists this n-gram among its children)
                     word:    "sat"
                     suffix:  the number of "cat sat"
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from plre.progress import Progress
from plre.scratch import Column, Scratch
from plre.text.encode import EncodedText


@dataclass(frozen=True)
class NgramTable:
    """The n-grams of one order. Columns are arrays of int32, or stand for arrays on disk (``plre.scratch``)."""

    order: int
    #: The last word of each n-gram.
    words: Column
    #: For each (n-1)-gram, where its n-grams start; one entry more than there are (n-1)-grams.
    children: Column
    #: For each n-gram, the (n-1)-gram without its oldest word.
    suffixes: Column
    #: How often each occurs.
    raw: Column
    #: Kneser-Ney's count: the distinct words before it (method.md 2). The highest order's is the raw count.
    adjusted: Column

    def __len__(self) -> int:
        return len(self.words)

    def contexts(self) -> NDArray[np.int32]:
        """The context of every n-gram."""
        return np.repeat(np.arange(len(self.children) - 1, dtype=np.int32), np.diff(self.children))


@dataclass(frozen=True)
class Counts:
    """All orders' tables; ``tables[n - 1]`` is order n."""

    tables: tuple[NgramTable, ...]
    markers: bool
    tokens: int

    @property
    def order(self) -> int:
        """The highest order."""
        return len(self.tables)

    def __getitem__(self, order: int) -> NgramTable:
        return self.tables[order - 1]


class Counter(Protocol):
    """Anything that counts: one machine (``counts.local``), and later a cluster."""

    def __call__(self, text: EncodedText, order: int, *, threads: int, progress: Progress, scratch: Scratch) -> Counts:
        """Count all n-grams up to ``order``."""
        ...
