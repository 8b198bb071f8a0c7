"""What counting hands on: for each order a table of n-grams, linked to their contexts and suffixes.

An n-gram is known by its number within its order. Order 1 is the vocabulary itself. From order 2 on, n-grams are sorted
by context and then by word, so those that share a context ``h`` are the range ``children[h] : children[h + 1]``.

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
from plre.text.encode import EncodedText


@dataclass(frozen=True)
class NgramTable:
    """The n-grams of one order."""

    order: int
    #: The last word of each n-gram.
    words: NDArray[np.int32]
    #: For each (n-1)-gram, where its n-grams start; one entry more than there are (n-1)-grams.
    children: NDArray[np.int32]
    #: For each n-gram, the (n-1)-gram without its oldest word.
    suffixes: NDArray[np.int32]
    #: How often each occurs.
    raw: NDArray[np.int32]
    #: Kneser-Ney's count: the distinct words before it (method.md 2). The highest order's is the raw count.
    adjusted: NDArray[np.int32]

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
    """Anything that counts: in memory (``counts.local``), and later on disk or on a cluster."""

    def __call__(self, text: EncodedText, order: int, *, threads: int, progress: Progress) -> Counts:
        """Count all n-grams up to ``order``."""
        ...
