"""ARPA files as models that answer as KenLM does.

The n-grams of each order are sorted by their words, which gives them their numbers; the number of a context and that of
a suffix are looked up among the n-grams one word shorter. Files that were pruned carelessly lack suffixes: "b c"
although "a b c" is there. KenLM puts them in, with the probability that they have anyway, and so do we.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plre._version import __version__
from plre.counts._sorting import put_symbols
from plre.counts.sorting import Bucket, Windows, sorted_windows
from plre.errors import ModelFileError
from plre.interop import _arpa as kernels
from plre.interop.arpa import MISSING_UNKNOWN, ArpaFile, read_arpa
from plre.model.columns import Columns, Order
from plre.model.component import Component
from plre.model.lm import LanguageModel
from plre.model.logs import LogNgrams
from plre.model.ngrams import assemble
from plre.progress import Advance, Progress
from plre.scratch import Scratch, scratch_within, slices
from plre.text.vocabulary import UNK
from plre.threads import cpu_count, parallel

#: Memory that an n-gram takes: its word, suffix and numbers, and where longer ones start; and more while its order is
#: put in order.
_BYTES_OF_NGRAM, _BYTES_WHILE_SORTED = 20, 40
#: N-grams that are looked at together.
_PIECE = 1 << 18
_NOTHING = (np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.int64))


def import_arpa(
    path: str | os.PathLike[str],
    *,
    threads: int | None = None,
    memory: int | str | None = None,
    tmp: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> LanguageModel:
    """The model in an ARPA file, which may be compressed.

    It answers as KenLM does with the same file. Words keep the order that they have there.

    memory   bytes, or for example "2G": what this may take. What is read goes to files in ``tmp`` if it does not fit;
             putting n-grams in order takes some 20 bytes for each in memory, and is refused if that is more
    tmp      the folder for temporary files
    """
    progress, scratch = progress or Progress(), scratch_within(memory, tmp)
    threads = scratch.threads(threads or cpu_count())
    file = read_arpa(os.fspath(path), threads=threads, progress=progress, scratch=scratch)
    markers = _markers(file)
    if not file.has[UNK]:
        progress.note(f"{file.name}: has no <unk>; words that it does not know get log10 P = {MISSING_UNKNOWN:g}")
    with progress.stage("putting n-grams in order", float(sum(map(len, file.orders))), "n-grams") as advance:
        sorter = _Sorter(file, threads, scratch)
        columns = sorter.columns(advance)
    with progress.stage("assembling"):
        body = assemble(columns, LogNgrams, threads=threads, scratch=scratch)
    about = {"order": 1 + len(file.orders), "method": "arpa", "markers": markers, "version": __version__}
    about["source"] = os.path.basename(file.name)
    return LanguageModel(file.vocab, [Component(body, about={"method": "arpa"})], about)


def _markers(file: ArpaFile) -> bool:
    _, begins, ends = file.has
    if begins != ends:
        missing = "<s>" if ends else "</s>"
        raise ModelFileError(f"{file.name}: has no unigram {missing}; KenLM would refuse it, too")
    return begins


@dataclass(frozen=True)
class _Sorted:
    """The n-grams of an order in the order of their words; ``children`` says where those of each context start."""

    words: NDArray[np.int32]
    children: NDArray[np.int32]
    suffixes: NDArray[np.int32]
    logs: NDArray[np.float32]
    weights: NDArray[np.float32]


class _Sorter:
    """Puts the n-grams of a file in order, from the lowest order up."""

    def __init__(self, file: ArpaFile, threads: int, scratch: Scratch) -> None:
        self.file = file
        self.threads = threads
        self.scratch = scratch
        words = np.arange(len(file.vocab), dtype=np.int32)
        self.made = [_Sorted(words, words[:0], words, file.logs, file.weights)]
        #: Suffixes that the file lacks, of each order from 2 up: ids of their words, a row for each place.
        self.lacking = [np.empty((n, 0), np.int32) for n in range(2, len(file.orders) + 2)]

    def columns(self, advance: Advance) -> Columns:
        """All n-grams as columns of logs."""
        sizes = [len(own) for own in self.file.orders]
        need = _BYTES_OF_NGRAM * sum(sizes) + _BYTES_WHILE_SORTED * max(sizes, default=0)
        self.scratch.check_room(need, "importing", "prune the file first")
        while len(self.made) <= len(self.file.orders):
            n = len(self.made) + 1
            made, lacking = self._sort(n, advance)
            if made is not None:
                self.made.append(made)
            else:
                self.lacking[n - 3] = np.unique(np.concatenate([self.lacking[n - 3], lacking], axis=1), axis=1)
                self.made.pop()
        orders = [
            Order(own.words, own.children, own.logs, None if n == len(self.file.orders) + 1 else own.weights)
            for n, own in enumerate(self.made[1:], 2)
        ]
        return Columns(self.file.logs, self.file.weights, None, orders)

    def _sort(self, n: int, advance: Advance) -> tuple[_Sorted | None, NDArray[np.int32]]:
        """The n-grams of an order; or the suffixes that they lack."""
        own, lacking = self.file.orders[n - 2], self.lacking[n - 2]
        size = len(own) + lacking.shape[1]
        windows = Windows((len(self.file.vocab),) * n + (max(size, 1),))

        def pack(start: int, stop: int) -> NDArray[np.uint64]:
            columns = np.zeros((windows.columns, stop - start), np.uint64)
            for k in range(n):
                more = lacking[k, max(start - len(own), 0) : max(stop - len(own), 0)]
                put_symbols(np.concatenate([own.ids[k][start:stop], more]), k, windows.places, columns)
            put_symbols(np.arange(start, stop, dtype=np.int32), n, windows.places, columns)
            return columns

        def number(bucket: Bucket) -> list[NDArray[Any]]:
            columns, _, _ = bucket
            contexts, *rest = (_symbols(columns, *windows.places[:, k]) for k in range(n + 1))
            for lower, symbols in zip(self.made[1:], rest[:-2], strict=False):
                finer = np.empty(len(contexts), np.int32)
                kernels.find_numbers(contexts, symbols, lower.children, lower.words, finer)
                contexts = finer
            return [contexts, rest[-2], rest[-1].astype(np.int64)]

        parts = [
            part
            for batch in sorted_windows(
                windows, pack, size, threads=self.threads, scratch=self.scratch, advance=advance
            )
            for part in parallel(number, batch, self.threads)
        ]
        contexts, words, numbers = (np.concatenate(each) for each in zip(_NOTHING, *parts, strict=True))
        self._refuse(n, numbers[contexts < 0], "has words before the last that are no n-gram themselves")
        twice = (np.diff(contexts) == 0) & (np.diff(words) == 0)
        self._refuse(n, np.maximum(numbers[1:], numbers[:-1])[twice], "is there twice")
        below = self.made[-1]
        suffixes = words if n == 2 else self._find(below.suffixes[contexts], words, below)
        missing = numbers[suffixes < 0]
        if len(missing):
            return None, self._words(n, missing)
        starts = np.cumsum(np.bincount(contexts, minlength=len(below.words)))
        logs, weights = np.empty(size, np.float32), np.full(size, -0.0, np.float32)
        given = numbers < len(own)
        logs[given], weights[given] = (
            np.asarray(own.logs[:])[numbers[given]],
            np.asarray(own.weights[:])[numbers[given]],
        )
        # What is put in has the probability that it has anyway. (KenLM loses the sign if weights make it more than 1.)
        logs[~given] = -np.abs(below.logs[suffixes[~given]] + below.weights[contexts[~given]])
        return _Sorted(words, np.concatenate([[0], starts]).astype(np.int32), suffixes, logs, weights), words[:0]

    def _find(self, contexts: NDArray[np.int32], words: NDArray[np.int32], order: _Sorted) -> NDArray[np.int32]:
        """The numbers of n-grams of an order, each given by that of its context and its last word; -1 if not there."""
        found = np.empty(len(contexts), np.int32)
        parallel(
            lambda part: kernels.find_numbers(contexts[part], words[part], order.children, order.words, found[part]),
            slices(len(contexts), _PIECE),
            self.threads,
        )
        return found

    def _words(self, n: int, numbers: NDArray[np.int64]) -> NDArray[np.int32]:
        """The ids of the words of some n-grams but the first, a row for each place."""
        lacking = self.lacking[n - 2]
        columns = [np.concatenate([self.file.orders[n - 2].ids[k][:], lacking[k]])[numbers] for k in range(1, n)]
        return np.array(columns, np.int32)

    def _refuse(self, n: int, numbers: NDArray[np.int64], what: str) -> None:
        if len(numbers):
            first = int(numbers.min())
            own = self.file.orders[n - 2]
            shown = " ".join(self.file.vocab.word(int(column[first : first + 1][0])) for column in own.ids)
            raise ModelFileError(f"{self.file.name}:{own.line(first)}: the n-gram {shown!r} {what}")


def _symbols(columns: NDArray[np.uint64], column: int, below: int, bits: int) -> NDArray[np.int32]:
    """The symbols of windows at one place."""
    return (columns[column] >> np.uint64(below) & np.uint64((1 << bits) - 1)).astype(np.int32)
