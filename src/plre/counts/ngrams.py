"""The result of counting: for each order a table of n-grams, linked to their contexts and suffixes.

An n-gram is known by its number within its order. Order 1 is the vocabulary itself. From order 2 on, n-grams are sorted
by context and then by word, so those that share a context ``h`` are the range ``children[h] : children[h + 1]``.

    the cat sat      context: the number of "the cat" (which lists this n-gram among its children)
                     word:    "sat"
                     suffix:  the number of "cat sat"
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from plre.scratch import Column, slices
from plre.threads import even_ranges

#: N-grams of a piece, and the fewest pieces an order is cut into. A piece starts at a multiple of so many contexts: to
#: find out where, only these are looked at.
_PIECE = 1 << 20
_PIECES = 64
_ALIGN = 32


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

    def pieces(self) -> Iterator[tuple[int, int]]:
        """Ranges of contexts with about equally many n-grams, small enough to be read one after the other."""
        contexts = len(self.children) - 1
        sampled = [self.children[part][::_ALIGN].copy() for part in slices(contexts, _PIECE)]
        starts = np.concatenate([*sampled, self.children[contexts : contexts + 1]])
        wanted = max(_PIECES, len(self) // _PIECE)
        for first, last in even_ranges(starts, 0, len(starts) - 1, wanted):
            yield first * _ALIGN, min(last * _ALIGN, contexts)


@dataclass(frozen=True)
class Counts:
    """All orders' tables; ``tables[n - 1]`` is order n."""

    tables: tuple[NgramTable, ...]
    markers: bool
    tokens: int
    #: If rare n-grams were left out: for each order that lost any, what each context lost, in adjusted counts.
    lost: Mapping[int, Column] = field(default_factory=dict)

    @property
    def order(self) -> int:
        """The highest order."""
        return len(self.tables)

    def __getitem__(self, order: int) -> NgramTable:
        return self.tables[order - 1]
