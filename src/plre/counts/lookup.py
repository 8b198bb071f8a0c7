"""Looking up another text in counts: for each of its words, how often it was seen after what stands before it.

Smoothing needs no more of held-out text than this to find its discounts and weights.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plre.counts import _kernels as kernels
from plre.counts.ngrams import Counts, NgramTable
from plre.scratch import Column
from plre.text.vocabulary import BOS
from plre.threads import overlapped


@dataclass(frozen=True)
class Events:
    """The words of a text and what was counted for them; ``found[n - 1]`` is about the context of n - 1 words.

    ``found[n - 1, i]`` has five numbers: the count of event i's n-gram, the total of its context (0: never seen), and
    how many n-grams of that context have a count of 1, of 2, of 3 or more.
    """

    found: NDArray[np.int64]
    #: The number of each event's n-gram, by order, and that of the n-gram that ends before it; -1: there is none.
    grams: NDArray[np.int32]
    before: NDArray[np.int32]

    def __len__(self) -> int:
        return self.found.shape[1]

    @property
    def order(self) -> int:
        """The highest order."""
        return len(self.found)


def look_up(counts: Counts, ids: NDArray[np.int32], *, adjusted: bool, threads: int = 1) -> Events:
    """Look up every word of a text, ``<s>`` excepted, in adjusted or raw counts.

    Nothing reaches back over ``<s>``. Positions are looked up in the order of their contexts, so that tables on disk
    are read once from their beginning to their end.
    """
    columns = [table.adjusted if adjusted else table.raw for table in counts.tables]
    events = np.flatnonzero(ids != BOS)
    numbers = np.cumsum(ids != BOS, dtype=np.int32) - np.int32(1)
    found = np.zeros((counts.order, len(events), 5), np.int64)
    unigrams = np.asarray(columns[0][:])
    found[0, :, 0] = unigrams[ids[events]]
    found[0, :, 1] = unigrams.sum(dtype=np.int64)
    found[0, :, 2:] = [np.sum(unigrams == 1), np.sum(unigrams == 2), np.sum(unigrams > 2)]
    grams = [ids]
    for n in range(2, counts.order + 1):
        grams.append(_look_up_order(counts[n], columns[n - 1], ids, grams[-1], numbers, found[n - 1], threads))
    own, before = (np.stack([each[at] for each in grams]) for at in (events, events - 1))
    return Events(found, own, before)


def _look_up_order(
    table: NgramTable,
    column: Column,
    ids: NDArray[np.int32],
    shorter: NDArray[np.int32],
    numbers: NDArray[np.int32],
    found: NDArray[np.int64],
    threads: int,
) -> NDArray[np.int32]:
    """Fill in ``found`` for one order; gives the n-gram that ends at each position, or -1.

    ``shorter`` has the (n-1)-grams that end there, ``numbers`` which event the word there is; ``<s>`` is none.
    """
    known = np.flatnonzero((ids[1:] != BOS) & (shorter[:-1] >= 0))
    # Contexts with their places in one number: numpy sorts those by vector instructions.
    keys = shorter[known].astype(np.uint64) << np.uint64(32) | known.astype(np.uint64)
    keys.sort()
    contexts, places = (keys >> np.uint64(32)).astype(np.int32), (keys & np.uint64(2**32 - 1)).astype(np.int64) + 1
    grams = np.full(len(ids), -1, np.int32)

    def run(piece: tuple[int, int]) -> None:
        own = slice(*np.searchsorted(contexts, piece))
        at = places[own]
        if not len(at):
            return
        children = table.children[piece[0] : piece[1] + 1]
        part = slice(int(children[0]), int(children[-1]))
        own_grams = np.empty(len(at), np.int32)
        own_found = np.empty((len(at), 5), np.int64)
        kernels.find_pairs(
            piece[0], children, table.words[part], column[part], contexts[own], ids[at], own_grams, own_found
        )
        grams[at] = np.where(own_grams < 0, -1, own_grams + part.start)
        found[numbers[at]] = own_found

    for _ in overlapped(run, table.pieces(), threads):
        pass
    return grams
