"""Hard classes by the exchange algorithm (Kneser and Ney 1993; Martin, Liermann and Ney 1998; method.md 10).

A clustering is good if the class bigrams of the text are likely:

    sum N(a, b) ln N(a, b)  -  sum N(a, .) ln N(a, .)  -  sum N(., b) ln N(., b)        over classes a, b

Each word in turn moves to the class where that sum becomes largest, until no word wants to move. Words are looked at in
batches: what the words of a batch want is found side by side, all counts staying as they are, and then carried out
one after the other if it is still a gain by then. So the result does not depend on the number of threads.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plre._jit import Team, even_ranges
from plre.clustering import _kernels as kernels
from plre.counts.ngrams import Counts
from plre.errors import UsageError
from plre.progress import Progress
from plre.text.vocabulary import BOS, EOS

#: How often every word is offered a move, unless told.
SWEEPS = 30
#: Batches of a sweep, with about equally many neighbours each, and the pieces of a batch that threads share.
_BATCHES = 64
_PIECES = 4
#: n ln n is looked up to here, and computed beyond.
_TABLE = 1 << 20
#: Rows of counts are padded to whole cache lines.
_LINE = 16


@dataclass(frozen=True)
class Neighbours:
    """The words after (side 0) and before (side 1) each word, with how often; those of a word stand together."""

    starts: NDArray[np.int64]
    words: NDArray[np.int32]
    counts: NDArray[np.int32]

    @classmethod
    def of(cls, counts: Counts) -> Neighbours:
        """From the bigrams of a text."""
        table = counts[2]
        after, words, raw = (np.asarray(column[:]) for column in (table.children, table.words, table.raw))
        starts = np.zeros((2, len(after)), np.int64)
        starts[0] = after
        np.cumsum(np.bincount(words, minlength=len(after) - 1), out=starts[1, 1:])
        before = np.empty((2, len(words)), np.int32)
        kernels.transpose(after, words, raw, starts[1, :-1].copy(), *before)
        starts[1] += len(words)
        return cls(starts, np.concatenate([words, before[0]]), np.concatenate([raw, before[1]]))

    def predicted(self) -> NDArray[np.int64]:
        """How often each word follows another one."""
        return np.add.reduceat(np.append(self.counts, 0), self.starts[1, :-1]) * (np.diff(self.starts[1]) > 0)

    def arrays(self) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
        """As kernels take them."""
        return self.starts, self.words, self.counts


class Partition:
    """Words in classes, and how often classes follow each other. ``<s>`` and ``</s>`` have classes of their own."""

    def __init__(self, neighbours: Neighbours, class_of: NDArray[np.int32], classes: int) -> None:
        self.neighbours = neighbours
        self.classes = classes
        self.class_of = class_of.copy()
        self.class_of[BOS], self.class_of[EOS] = classes, classes + 1
        width = -(-(classes + 2) // _LINE) * _LINE
        self.cells = np.zeros((2, width, width), np.int32)
        self.ones = np.empty((2, width, width), np.float32)
        self.totals = np.zeros((2, width), np.int64)
        self.table = entropies()
        kernels.fill_cells(*neighbours.arrays(), self.class_of, self.cells, self.totals)
        kernels.fill_ones(self.table, self.cells.ravel(), self.ones.ravel())

    def arrays(self) -> tuple[NDArray[Any], ...]:
        """As kernels take them."""
        return (*self.neighbours.arrays(), self.class_of, self.table, self.cells, self.ones, self.totals)

    def gains(self, word: int) -> NDArray[np.float32]:
        """What it would gain that a word moves, for each class; its own: 0."""
        gains = np.empty((1, self.classes), np.float32)
        kernels.survey_words(np.array([word], np.int32), *self.arrays(), gains)
        return gains[0] - gains[0, self.class_of[word]]

    def likelihood(self) -> float:
        """The sum that is to become large."""
        return kernels.likelihood(self.table, self.cells[0].ravel(), self.totals.ravel())

    def sweep(
        self, batches: list[NDArray[np.int32]], team: Team, heat: float = 0.0, seed: int = 0
    ) -> tuple[int, float]:
        """Offer every word a move; gives how many moved and the sum of their gains.

        With heat a word draws its class, the likelier the more it gains there; without, it takes the best.
        """
        moved, gained = 0, 0.0
        state = self.arrays()
        for batch in batches:
            wanted = np.empty(len(batch), np.int32)
            pieces = zip(np.array_split(batch, _PIECES), np.array_split(wanted, _PIECES), strict=True)
            team.run(lambda piece: kernels.propose(piece[0], heat, seed, *state, self.classes, piece[1]), pieces)
            done, gain = kernels.move(batch, wanted, 1e-6 if heat == 0 else -8 * heat, *state)
            moved += done
            gained += gain
        return moved, gained


def entropies() -> NDArray[np.float64]:
    """The numbers n ln n from 0 on."""
    n = np.arange(_TABLE, dtype=np.float64)
    return n * np.log(np.maximum(n, 1))


def exchange(
    counts: Counts,
    classes: int,
    *,
    sweeps: int = SWEEPS,
    seed: int = 0,
    threads: int = 1,
    progress: Progress | None = None,
) -> NDArray[np.int32]:
    """The class of every word, 0 to ``classes - 1``; -1 for ``<s>``, ``</s>`` and words that never occur.

    ``counts`` has at least the bigrams of the text.
    """
    if classes < 1:
        raise UsageError(f"there must be at least 1 class, not {classes}")
    if counts.order < 2:
        raise UsageError("words are clustered by their bigrams; count order 2")
    progress = progress or Progress()
    occurs = np.array(counts[1].raw[:])
    occurs[[BOS, EOS]] = 0
    words = np.argsort(-occurs, kind="stable")[: np.count_nonzero(occurs)].astype(np.int32)
    classes = min(classes, len(words))
    class_of = np.full(len(occurs), -1, np.int32)
    class_of[words] = np.arange(len(words)) % classes
    neighbours = Neighbours.of(counts)
    partition = Partition(neighbours, class_of, classes)
    size = neighbours.starts[:, words + 1] - neighbours.starts[:, words]
    ends = np.concatenate([[0], np.cumsum(size.sum(axis=0) + 1)])
    batches = [words[first:last] for first, last in even_ranges(ends, 0, len(words), _BATCHES)]
    with Team(threads) as team, progress.stage("exchanging words", sweeps, "sweeps") as advance:
        for _ in range(sweeps):
            moved, _gained = partition.sweep(batches, team)
            advance(1)
            if not moved:
                break
    class_of[words] = partition.class_of[words]
    return class_of
