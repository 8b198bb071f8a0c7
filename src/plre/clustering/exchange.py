"""Hard classes by the exchange algorithm (Kneser and Ney 1993; Martin, Liermann and Ney 1998; method.md 10).

A clustering is good if the class bigrams of the text are likely:

    sum N(a, b) ln N(a, b)  -  sum N(a, .) ln N(a, .)  -  sum N(., b) ln N(., b)        over classes a, b

Every pair of classes that occurs costs a little: a model that is to be used on other text must discount each of them,
so the fewer the better. Each word in turn moves to the class where all this becomes largest. Moves that only ever gain
soon end in a poor local maximum, so there is annealing, in the form of threshold accepting (Dueck and Scheuer 1990): a
word goes to the best class other than its own even if it loses by it, but never more than a threshold, which falls from
sweep to sweep until only gains are left. The threshold of a word grows with the root of its frequency, so that frequent
words move at all while rare ones settle.

Words are looked at in batches: what the words of a batch want is found side by side, all counts staying as they are,
and then carried out one after the other if it is still good by then. So nothing depends on the number of threads.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plre.clustering import _kernels as kernels
from plre.counts.ngrams import Counts
from plre.errors import TooLargeError, UsageError
from plre.progress import Progress
from plre.scratch import slices
from plre.text.vocabulary import BOS, EOS
from plre.threads import Team, even_ranges, parallel

#: How often every word is offered a move, unless the caller says otherwise.
SWEEPS = 40
#: Annealing: at first a word that occurs n times may lose _THRESHOLD sqrt(n) nats by a move. That falls to nothing,
#: evenly, over this share of the sweeps.
_THRESHOLD = 8.0
_ANNEALED = 0.9
#: In a long text, where words that occur at least so often make up this share, the most frequent ones find their
#: classes first, while the others wait in one; these join them in so many last sweeps. (In a short text, such as
#: WikiText-2, that loses 0.4 % of perplexity; in one of 13 million words nothing.)
_CORE = 0.93
_OFTEN = 100
_WHOLE = 3
#: What a pair of classes costs, in nats.
PRICE = 0.75
#: Batches of a sweep, with about equally many neighbours each, and the pieces of a batch that threads share.
_BATCHES = 64
_PIECES = 8
#: By how much cells grow with up to so many counts is kept beside them.
_KNOWN = 2
#: What fewer counts than this take off by the totals of classes is computed once for all words of a batch.
_FEW = 32
#: So many classes at least of a text of 2^31 words: how often two follow each other is counted with 32 bits.
_FEW_CLASSES = 50
#: Neighbours that are counted together.
_PIECE = 1 << 20
#: n ln n is looked up to here, and computed beyond.
_TABLE = 1 << 20
#: Words of a batch, cut into pieces.
Batch = list[slice]
#: Rows of counts are padded to whole cache lines.
_LINE = 16
#: 2^32 divided by the golden ratio: multiplied by it, numbers that follow each other are spread evenly.
_GOLDEN = 0x9E3779B1


def _mixed_order(starts: NDArray[np.int32], words: NDArray[np.int32], bits: int) -> NDArray[np.int64]:
    """The neighbours of each word in an order that has nothing to do with how frequent they are.

    Gains are added up in single precision: in the order of frequency, rounding would go one way.
    """
    scrambled = (words.astype(np.int64) * (_GOLDEN >> (32 - bits) | 1)) & ((1 << bits) - 1)
    owners = np.repeat(np.arange(len(starts) - 1, dtype=np.int64), np.diff(starts))
    return np.argsort(owners << bits | scrambled)


@dataclass(frozen=True)
class Neighbours:
    """The words after (side 0) and before (side 1) each word, with how often; those of a word stand together."""

    starts: NDArray[np.int64]
    words: NDArray[np.int32]
    counts: NDArray[np.int32]
    #: How often each word has one after it, and one before it.
    times: NDArray[np.int64]

    @classmethod
    def of(cls, counts: Counts, threads: int = 1) -> Neighbours:
        """The neighbours of each word, from the bigrams of a text."""
        if counts.order < 2:
            raise UsageError("words are clustered by their bigrams; count order 2")
        table = counts[2]
        after, size = np.asarray(table.children[:]), len(table)
        words, raw = np.empty((2, 2 * size), np.int32)
        bits = max(1, (len(after) - 2).bit_length())

        def mix(piece: tuple[int, int]) -> None:
            part = slice(*after[list(piece)].tolist())
            own = np.ascontiguousarray(table.words[part])
            mixed = _mixed_order(after[piece[0] : piece[1] + 1], own, bits)
            words[part], raw[part] = own[mixed], table.raw[part][mixed]

        parallel(mix, table.pieces(), threads)
        starts = np.zeros((2, len(after)), np.int64)
        starts[0] = after
        for part in slices(size, _PIECE):
            starts[1, 1:] += np.bincount(words[part], minlength=len(after) - 1)
        starts[1] = np.cumsum(starts[1])
        kernels.fill_predecessors(after, words[:size], raw[:size], starts[1, :-1].copy(), words[size:], raw[size:])
        starts[1] += size
        times = np.empty((2, len(after) - 1), np.int64)
        kernels.sum_neighbours(starts, raw, times)
        return cls(starts, words, raw, times)

    @staticmethod
    def bytes(bigrams: int) -> int:
        """The memory that so many bigrams take."""
        return 2 * 2 * 4 * bigrams

    def batches(self, words: NDArray[np.int32]) -> list[Batch]:
        """Words that are looked at side by side, in pieces: batches and pieces have about equally many neighbours."""
        sizes = (self.starts[:, words + 1] - self.starts[:, words]).sum(axis=0) + 1
        ends = np.concatenate([[0], np.cumsum(sizes)])
        ranges = even_ranges(ends, 0, len(words), _BATCHES)
        return [[slice(*piece) for piece in even_ranges(ends, *whole, _PIECES)] for whole in ranges]

    def arrays(self) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
        """The arrays of the neighbours, in the order of the kernels' arguments."""
        return self.starts, self.words, self.counts


class Partition:
    """Words in classes, and how often classes follow each other.

    ``<s>`` and ``</s>`` have classes of their own, and so have together the words that wait for a class.
    """

    def __init__(self, neighbours: Neighbours, class_of: NDArray[np.int32], classes: int) -> None:
        self.neighbours = neighbours
        self.classes = classes
        self.class_of = class_of.copy()
        self.class_of[BOS], self.class_of[EOS] = classes, classes + 1
        width = self.width(classes)
        self.cells = np.zeros((2, width, width), np.int32)
        self.growths = np.empty((_KNOWN, 2, width, width), np.float32)
        self.values = np.empty((2, width, width), np.float32)
        self.totals = np.zeros((2, width), np.int64)
        self.times = neighbours.times.max(axis=0)
        self.sweeps = 0
        n = np.arange(_TABLE, dtype=np.float64)
        self.table = n * np.log(np.maximum(n, 1)) - PRICE * (n > 0)
        kernels.fill_cells(*neighbours.arrays(), self.class_of, self.cells, self.totals)

    @staticmethod
    def width(classes: int) -> int:
        """Classes, with those of the markers and of words that wait, padded to whole cache lines."""
        return -(-(classes + 3) // _LINE) * _LINE

    @classmethod
    def bytes(cls, classes: int) -> int:
        """The memory that the counts of so many classes take."""
        return 2 * 4 * (2 + _KNOWN) * cls.width(classes) ** 2

    def counted(self) -> tuple[NDArray[Any], ...]:
        """The arrays of neighbours and of counts, in the order of the kernels' arguments."""
        return (*self.neighbours.arrays(), self.class_of, self.table, self.cells, self.totals)

    def valued(self, team: Team) -> tuple[NDArray[Any], ...]:
        """The same, with what cells are worth and what few counts more take off by the totals of classes."""
        values, price = (self.growths, self.values), np.float32(PRICE)
        rows = even_ranges(np.arange(self.cells.shape[1] + 1), 0, self.cells.shape[1], _PIECES)
        team.run(lambda piece: kernels.fill_values(*piece, price, self.cells, *values), rows)
        few = np.empty((2, _FEW, self.totals.shape[1]), np.float32)
        kernels.take_few(self.totals, few)
        return (*self.neighbours.arrays(), self.class_of, self.table, self.cells, *values, self.totals, few)

    def gains(self, word: int) -> NDArray[np.float32]:
        """The gain of moving a word to each class; 0 for its own."""
        gains = np.empty((1, self.classes), np.float32)
        with Team(1) as team:
            kernels.survey_words(np.array([word], np.int32), *self.valued(team), gains)
        return gains[0] - gains[0, self.class_of[word]]

    def likelihood(self) -> float:
        """The likelihood of the class bigrams (the sum at the top of this file), without the price of pairs."""
        return kernels.likelihood(self.table, self.cells[0].ravel(), self.totals.ravel())[0]

    def worth(self) -> float:
        """The objective of the search: the likelihood less the price of pairs."""
        likelihood, pairs = kernels.likelihood(self.table, self.cells[0].ravel(), self.totals.ravel())
        return likelihood - PRICE * pairs

    def assignment(self) -> NDArray[np.int32]:
        """The class of every word; -1 for ``<s>`` and ``</s>``."""
        class_of = self.class_of.copy()
        class_of[[BOS, EOS]] = -1
        return class_of

    def sweep(self, words: NDArray[np.int32], batches: list[Batch], team: Team, threshold: float = 0.0) -> int:
        """Offer every word a move that may lose up to a threshold; returns how many moved."""
        moved = 0
        wanted = np.empty(len(words), np.int32)

        def propose(piece: slice) -> None:
            kernels.propose(words[piece], threshold, self.times, *valued, self.classes, wanted[piece])

        for batch in batches:
            valued = self.valued(team)
            team.run(propose, batch)
            whole = slice(batch[0].start, batch[-1].stop)
            moved += kernels.move(words[whole], wanted[whole], threshold, self.times, *self.counted(), self.classes)[0]
        return moved


def exchange(
    counts: Counts,
    classes: int,
    *,
    sweeps: int = SWEEPS,
    start: NDArray[np.int32] | None = None,
    seed: int = 0,
    threads: int = 1,
    progress: Progress | None = None,
) -> NDArray[np.int32]:
    """The class of every word, 0 to ``classes - 1``; -1 for ``<s>``, ``</s>`` and words that never occur.

    ``counts`` has at least the bigrams of the text. Every word is offered ``sweeps`` moves, fewer if none moves any
    more. ``seed`` is that of the random start. With a ``start``, which has -1 for words that have no class yet, these
    find one, and the others move only if that gains.
    """
    times = np.array(counts[1].raw[:])
    neighbours = Neighbours.of(counts, threads)
    return partition_words(
        neighbours, times, classes, sweeps=sweeps, start=start, seed=seed, threads=threads, progress=progress
    ).assignment()


def partition_words(
    neighbours: Neighbours,
    times: NDArray[np.int32],
    classes: int,
    *,
    sweeps: int,
    start: NDArray[np.int32] | None = None,
    seed: int,
    threads: int,
    progress: Progress | None,
) -> Partition:
    """Partition the words, which occur so many times, into classes, as :func:`exchange` does; the result has the counts
    of the classes, too."""
    if not isinstance(classes, int) or classes < 1:
        raise UsageError(f"there must be at least 1 class, a whole number, not {classes}")
    if not isinstance(seed, int) or seed < 0:
        raise UsageError(f"the seed must be a whole number from 0 up, not {seed}")
    progress, times = progress or Progress(), times.copy()
    if classes < _FEW_CLASSES and int(neighbours.times[0].sum()) >= 2**31:
        raise TooLargeError(
            f"{classes} classes of so long a text would follow each other more often than can be counted; "
            f"ask for at least {_FEW_CLASSES}, or take a part of the text"
        )
    times[[BOS, EOS]] = 0
    words = np.argsort(-times, kind="stable")[: np.count_nonzero(times)].astype(np.int32)
    classes = min(classes, len(words))
    class_of = np.full(len(times), -1, np.int32)
    class_of[words] = np.random.default_rng(seed).permutation(np.arange(len(words)) % classes)
    if start is not None:
        known = words[start[words] >= 0]
        class_of[known] = start[known]
    core = words[: 1 + int(np.searchsorted(np.cumsum(times[words]), _CORE * times[words].sum()))]
    can_move = 1 < classes < len(words)
    if start is not None or sweeps <= _WHOLE or not can_move or times[core[-1]] < _OFTEN:
        core = words
    class_of[words[len(core) :]] = classes + 2
    partition = Partition(neighbours, class_of, classes)
    batches, of_core = neighbours.batches(words), neighbours.batches(core)
    falling = np.maximum(0.0, 1 - np.arange(sweeps) / (_ANNEALED * sweeps))
    thresholds = (0.0 if start is not None else _THRESHOLD) * falling
    with Team(threads) as team, progress.stage(f"exchanging words, {classes} classes", sweeps, "sweeps") as advance:
        for number, threshold in enumerate(thresholds.tolist() if can_move else []):
            whole = number >= sweeps - _WHOLE
            moved = partition.sweep(*((words, batches) if whole else (core, of_core)), team, threshold)
            partition.sweeps += 1
            advance(1)
            if whole and not moved and not threshold:
                break
    return partition
