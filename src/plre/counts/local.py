"""Counting on one machine, in memory or, for what does not fit, on disk.

The windows of the text, each as long as the highest order, are sorted once (``sorting.py``). What windows begin with
are the n-grams of all orders, in the order of their contexts and then of their words: as tables have them. An n-gram's
suffix is looked for among the n-grams that follow the suffix of its context.

Windows and tables are kept in a :class:`Scratch`, so the text may be larger than memory. What must fit is 8 bytes for
each n-gram of the second highest order.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from plre.counts import _kernels as kernels
from plre.counts import _sorting
from plre.counts.ngrams import Counts, NgramTable
from plre.counts.sorting import Bucket, Windows, sorted_windows
from plre.errors import TooLargeError
from plre.progress import Advance, Progress
from plre.scratch import Column, Growing, Scratch, slices
from plre.text.encode import EncodedText
from plre.text.vocabulary import BOS
from plre.threads import overlapped, parallel

#: Positions or n-grams that are looked at together.
_PIECE = 1 << 20
#: N-grams of an order are numbered by 32 bits, and so are the slots of their tables, of which there are some more.
MOST = 1_900_000_000


def count_ngrams(
    text: EncodedText,
    order: int,
    *,
    threads: int = 1,
    progress: Progress | None = None,
    scratch: Scratch | None = None,
) -> Counts:
    """All n-grams of ``text`` up to ``order`` with raw and adjusted counts.

    ``<s>`` is only ever context. Nothing reaches across a sentence's start; without markers the text is one stream.
    """
    progress = progress or Progress()
    scratch = scratch or Scratch()
    words, size = len(text.vocab), len(text.ids)
    # Looking for suffixes takes about a fifth of the time.
    last = 0.2 * size / (order - 2) if order > 2 else 0.0
    with progress.stage("counting n-grams", size, "words") as advance:
        occurrences = np.zeros(words, np.int64)
        for piece in slices(size, _PIECE):
            kernels.add_words(text.ids[piece], occurrences)
        occurrences[BOS] = 0  # never predicted
        if occurrences.max() >= 2**31:
            raise TooLargeError("a word occurs more than 2^31 times; train on a part of the text")
        raw = occurrences.astype(np.int32)
        root = np.array([0, words], np.int32)
        tables = [NgramTable(1, np.arange(words, dtype=np.int32), root, np.zeros(words, np.int32), raw, raw)]
        if order > 1:
            windows = Windows((words,) * order)
            growing = _GrowingTables(windows, scratch)
            for batch in sorted_windows(
                windows, partial(_pack, windows, text.ids), size, threads=threads, scratch=scratch,
                advance=lambda amount: advance(0.8 * amount if last else amount),
            ):  # fmt: skip
                growing.add(batch, threads)
            found = growing.finish()
            largest = max((len(ending) for ending, _, _ in found[:-1]), default=0)
            scratch.check_room(8 * largest, "counting", "use a lower --order, a higher --min-count or less text")
            for n, (ending, children, own) in enumerate(found, 2):
                suffixes = ending
                if n > 2:
                    suffixes = _suffixes(
                        tables[-1], children, ending, threads, scratch, lambda share: advance(share * last)
                    )
                tables.append(NgramTable(n, ending, children, suffixes, own, own))

        def adjust(n: int) -> NgramTable:
            return _adjusted(tables[n - 1], tables[n], scratch)

        adjusted = parallel(adjust, range(1, order), threads if scratch.memory is None else 1)
    return Counts((*adjusted, tables[-1]), text.markers, len(text.ids) - text.sentences)


def _pack(windows: Windows, ids: Column, start: int, stop: int) -> NDArray[np.uint64]:
    """The windows that begin at some positions of a text."""
    columns = np.empty((windows.columns, stop - start), np.uint64)
    own = ids[start : stop + windows.order - 1]
    bits, words = int(windows.bits[0]), windows.sizes[0]
    return columns[:, _sorting.pack_windows(own, stop - start, bits, windows.widths, words, BOS, columns) :]


class _GrowingTables:
    """Words, children and raw counts of all orders from 2 up, made of windows in rising order."""

    def __init__(self, windows: Windows, scratch: Scratch) -> None:
        self.windows = windows
        self.orders = windows.order - 1
        self._words = [Growing(scratch, np.int32) for _ in range(self.orders)]
        self._raw = [Growing(scratch, np.int32) for _ in range(self.orders)]
        #: Where the n-grams of each context start: of order 3 and up, each among those of its order.
        self._children = [Growing(scratch, np.int32) for _ in range(self.orders - 1)]
        #: Of bigrams: how many each word has as its first.
        self._bigrams = np.zeros(windows.sizes[0], np.int64)
        #: The counts of the newest n-grams, of which the last may occur again.
        self._open = [np.empty(0, np.int32) for _ in range(self.orders)]

    def add(self, buckets: list[Bucket], threads: int) -> None:
        """Go on with some buckets of windows."""

        def make(bucket: Bucket) -> list[NDArray[np.int32]]:
            columns, counts, before = bucket
            made = np.empty((3, self.orders, len(counts)), np.int32)
            firsts = np.empty(len(counts), np.int32)
            sizes, carried = np.empty((2, self.orders), np.int64)
            _sorting.add_tables(
                columns, counts, self.windows.places, self.windows.sizes[0], before,
                *made, firsts, sizes, carried,
            )  # fmt: skip
            parts = [made[k, n, :size].copy() for n, size in enumerate(sizes) for k in range(3)]
            return [*parts, firsts[: sizes[0]].copy(), carried.astype(np.int32)]

        for *parts, firsts, carried in parallel(make, buckets, threads):
            kernels.add_words(firsts, self._bigrams)
            totals = [words.size for words in self._words]
            for n in range(self.orders):
                words, raw, starts = parts[3 * n : 3 * n + 3]
                if carried[n]:
                    self._open[n][-1] += carried[n]
                if len(words):
                    self._raw[n].append(self._open[n])
                    self._open[n] = raw
                    self._words[n].append(words)
                    if n + 1 < self.orders:
                        self._children[n].append(starts + np.int32(totals[n + 1]))
        if max(words.size for words in self._words) > MOST:
            raise TooLargeError(
                "there are some 2^31 n-grams of one order, more than can be numbered; use a lower --order"
            )

    def finish(self) -> list[tuple[Column, Column, Column]]:
        """Of each order the words, the children of contexts, and the raw counts."""
        bigrams = np.concatenate([[0], np.cumsum(self._bigrams)])
        found: list[tuple[Column, Column, Column]] = []
        for n in range(self.orders):
            self._raw[n].append(self._open[n])
            children: Column = bigrams.astype(np.int32)
            if n > 0:
                self._children[n - 1].append(np.array([self._words[n].size], np.int32))
                children = self._children[n - 1].finish()
            found.append((self._words[n].finish(), children, self._raw[n].finish()))
        return found


def _suffixes(
    contexts: NgramTable, children: Column, words: Column, threads: int, scratch: Scratch, advance: Advance
) -> Column:
    """The suffixes of n-grams with these contexts, which are of the order below, as suffixes are."""
    lower_children, lower_words = np.asarray(contexts.children[:]), np.asarray(contexts.words[:])

    def find(piece: slice) -> NDArray[np.int32]:
        bounds = children[piece.start : piece.stop + 1]
        own = words[int(bounds[0]) : int(bounds[-1])]
        found = np.empty(len(own), np.int32)
        kernels.find_suffixes(contexts.suffixes[piece], bounds, own, lower_children, lower_words, found)
        return found

    suffixes = Growing(scratch, np.int32)
    for piece, found in overlapped(find, slices(len(contexts), _PIECE // 4), threads):
        suffixes.append(found)
        advance((piece.stop - piece.start) / len(contexts))
    return suffixes.finish()


def _adjusted(table: NgramTable, longer: NgramTable, scratch: Scratch) -> NgramTable:
    adjusted = np.zeros(len(table), np.int32)
    for part in slices(len(longer), _PIECE):
        kernels.count_predecessors(longer.suffixes[part], adjusted)
    for part in slices(len(table), _PIECE):
        kernels.keep_raw(table.raw[part], adjusted[part])
    column = Growing(scratch, np.int32)
    column.append(adjusted)
    return NgramTable(table.order, table.words, table.children, table.suffixes, table.raw, column.finish())
