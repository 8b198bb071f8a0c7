"""Reading ARPA files: the n-grams of each order with their log probabilities and weights, as they stand in the file.

    \\data\\
    ngram 1=3
    ngram 2=1

    \\1-grams:
    -0.7	the	-0.3          log10 P, the words, and where longer n-grams begin with them the weight
    ...
    \\end\\

Strict about what is there: a line that makes no sense is named. Tolerant of what tools differ in: comments and empty
lines, spaces for tabs, Windows' line ends, missing weights, a missing ``<unk>``, compression.
"""

from __future__ import annotations

import re
import sys
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from plre.errors import ModelFileError
from plre.interop import _arpa as kernels
from plre.progress import Advance, Progress
from plre.scratch import Column, Growing, Scratch
from plre.text._kernels import hash_words
from plre.text.sources import Block, disk_size, raw_blocks, valid
from plre.text.vocabulary import SPECIAL, UNK, Vocabulary
from plre.threads import overlapped

#: Log10 P of ``<unk>`` where a file has none, as in KenLM.
MISSING_UNKNOWN = np.float32(-100)
_DATA, _END = b"\\data\\", b"\\end\\"
_SIZE = re.compile(rb"ngram\s+(\d+)\s*=\s*(\d+)")
_HEADING = re.compile(rb"\\(\d+)-grams:")
_SPECIAL = tuple(np.frombuffer(word.encode(), np.uint8) for word in (*SPECIAL, "<UNK>"))
_POWERS = 10.0 ** np.arange(300)
_LONGEST = 64
#: Letters of a line that an error shows.
_SHOWN = 60
#: What to say of a line.
_WRONG = {
    kernels.NO_NUMBER: "does not begin with a log probability",
    kernels.TOO_FEW_WORDS: "has fewer words than n-grams of order {n} have",
    kernels.UNKNOWN_WORD: "has a word that is not among the unigrams",
    kernels.TOO_MUCH: "has something after its {n} words that is no back-off weight",
    kernels.ABOVE_ZERO: "has a log probability above 0",
    kernels.NOT_FINITE: "has a back-off weight that is no number",
    kernels.NOT_NEEDED: "has a back-off weight, but nothing is longer",
}


@dataclass(frozen=True)
class ArpaOrder:
    """The n-grams of one order as they stand in the file: ids of the words at each place, logs and weights."""

    ids: list[Column]
    logs: Column
    weights: Column
    #: The first n-gram of each run of lines, and its line.
    places: list[tuple[int, int]]

    def __len__(self) -> int:
        return len(self.logs)

    def line(self, number: int) -> int:
        """The line of an n-gram, if no empty lines are between it and the first of its run."""
        first, line = self.places[bisect_right(self.places, (number, sys.maxsize)) - 1]
        return line + number - first


@dataclass(frozen=True)
class ArpaFile:
    """All that an ARPA file says. Of unigrams ``logs`` and ``weights`` are by the id of the word."""

    name: str
    vocab: Vocabulary
    logs: NDArray[np.float32]
    weights: NDArray[np.float32]
    #: Those from order 2 up.
    orders: list[ArpaOrder]
    #: Whether ``<unk>``, ``<s>`` and ``</s>`` are among the unigrams.
    has: list[bool]


def read_arpa(
    path: str, *, threads: int = 1, progress: Progress | None = None, scratch: Scratch | None = None
) -> ArpaFile:
    """Read a file, compressed or not; everything that is wrong with it names the line."""
    reader = _Reader(path, scratch or Scratch())
    with (progress or Progress()).stage("reading n-grams", disk_size([path]), "B") as advance:
        for part, found in overlapped(reader.parse, reader.parts(advance), threads):
            reader.add(part, found)
    return reader.finish()


@dataclass(frozen=True)
class _Part:
    """Lines of n-grams of one order."""

    data: bytes
    name: str
    line: int
    order: int

    def refuse(self, wrong: int, position: int) -> NoReturn:
        """Name the line at a position, and what is wrong with it."""
        line = self.line + self.data.count(10, 0, position)
        begin = self.data.rfind(b"\n", 0, position) + 1
        shown = self.data[begin : begin + _SHOWN].split(b"\n", 1)[0].decode(errors="replace").strip()
        raise ModelFileError(f"{self.name}:{line}: {_WRONG[wrong].format(n=self.order)}: {shown!r}")


@dataclass
class _Found:
    """What some lines say."""

    ids: NDArray[np.int32]
    logs: NDArray[np.float32]
    weights: NDArray[np.float32]


class _GrowingOrder:
    """The n-grams of an order while they are read."""

    def __init__(self, order: int, scratch: Scratch) -> None:
        self.ids = [Growing(scratch, np.int32) for _ in range(order)]
        self.logs, self.weights = Growing(scratch, np.float32), Growing(scratch, np.float32)
        self.places: list[tuple[int, int]] = []

    def add(self, part: _Part, found: _Found) -> None:
        """Put what some lines say to the rest."""
        self.places.append((self.logs.size, part.line))
        for column, values in zip(
            (*self.ids, self.logs, self.weights), (*found.ids, found.logs, found.weights), strict=True
        ):
            column.append(values)

    def finish(self) -> ArpaOrder:
        """All of them."""
        return ArpaOrder([each.finish() for each in self.ids], self.logs.finish(), self.weights.finish(), self.places)


class _Reader:
    """Goes through a file from its heading to its end."""

    def __init__(self, path: str, scratch: Scratch) -> None:
        self.path = path
        self.scratch = scratch
        #: How many n-grams of each order there should be.
        self.sizes: list[int] = []
        #: What is being read: None before ``\\data\\``, 0 the sizes, then n-grams of an order; -1 after the end.
        self.order: int | None = None
        self.orders: list[_GrowingOrder] = []
        self.vocab: Vocabulary | None = None
        self._words: list[tuple[NDArray[np.int32], NDArray[np.uint8]]] = []

    def parts(self, advance: Advance) -> Iterator[_Part]:
        """The lines of n-grams of order 2 and up, some at a time; everything else is dealt with here."""
        for block in raw_blocks(self.path):
            at = 0
            while at < len(block.data):
                stop = at
                if (self.order or 0) > 0 and block.data[at : at + 1] != b"\\":
                    stop = block.data.find(b"\n\\", at) + 1 or len(block.data)
                    line = block.line + block.data.count(10, 0, at)
                    part = _Part(block.data[at:stop], block.name, line, self.order or 0)
                    if part.order > 1:
                        yield part
                    else:
                        self.add(part, self._parse_words(part))
                if stop == at:
                    stop = block.data.index(b"\n", at) + 1
                    self._read_line(block, at, block.data[at:stop].strip())
                at = stop
            advance(block.read)

    def _read_line(self, block: Block, at: int, line: bytes) -> None:
        """Read a line that is no n-gram."""

        def refuse(what: str) -> NoReturn:
            raise ModelFileError(f"{block.locate(at)}: {what}, not {line[:_SHOWN].decode(errors='replace')!r}")

        if not line or line.startswith(b"#"):
            return
        heading, size = _HEADING.fullmatch(line), _SIZE.fullmatch(line)
        if self.order is None:
            if line != _DATA:
                refuse("an ARPA file begins with \\data\\")
            self.order = 0
        elif self.order == 0 and size:
            self.sizes.append(int(size[2]))
            if int(size[1]) != len(self.sizes) or len(self.sizes) > _LONGEST:
                refuse(f"the number of n-grams of order {len(self.sizes)} comes next")
        elif heading and int(heading[1]) == self.order + 1 and self.order < len(self.sizes):
            self._finish_order()
            self.order += 1
            self.orders.append(_GrowingOrder(self.order, self.scratch))
        elif line == _END and self.order == len(self.sizes) > 0:
            self._finish_order()
            self.order = -1
        else:
            comes = f"\\{self.order + 1}-grams:" if 0 <= self.order < len(self.sizes) else "\\end\\"
            refuse("nothing comes after \\end\\" if self.order < 0 else f"{comes} comes next")

    def _finish_order(self) -> None:
        """After all n-grams of an order were handed out."""
        if self.order == 1:
            self.vocab = self._vocabulary()

    def _parse_words(self, part: _Part) -> _Found:
        valid(Block(part.data, part.name, part.line, 0), "strict")
        count = part.data.count(b"\n") + 1
        ids, starts = np.empty(count, np.int32), np.zeros(count + 1, np.int32)
        logs, weights, letters = (
            np.empty(count, np.float32),
            np.empty(count, np.float32),
            np.empty(len(part.data), np.uint8),
        )
        made, wrong, position, words, size = kernels.read_words(
            part.data, len(self.sizes) > 1, _POWERS, _SPECIAL, starts, letters, 0, ids, logs, weights
        )
        if wrong != kernels.FINE:
            part.refuse(wrong, position)
        self._words.append((np.diff(starts[: words + 1]), letters[:size].copy()))
        return _Found(ids[None, :made], logs[:made], weights[:made])

    def _vocabulary(self) -> Vocabulary:
        """The words in their order in the file, after the special ones."""
        special = Vocabulary.from_words([])
        lengths = np.concatenate([np.diff(special.starts), *(each for each, _ in self._words)])
        letters = np.concatenate([special.arena, *(each for _, each in self._words)])
        if len(letters) >= 2**31:
            raise ModelFileError(f"{self.path}: its words have more than 2 GB of letters")
        starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
        return Vocabulary.from_arena(letters, starts)

    def parse(self, part: _Part) -> _Found:
        """What some lines say."""
        assert self.vocab is not None
        count, n = part.data.count(b"\n") + 1, part.order
        ids, logs, weights = np.empty((n, count), np.int32), np.empty(count, np.float32), np.empty(count, np.float32)
        made, wrong, position = kernels.read_ngrams(
            self.vocab.fields.ctypes.data, part.data, n, n < len(self.sizes), _POWERS, ids, logs, weights
        )
        if wrong != kernels.FINE:
            part.refuse(wrong, position)
        return _Found(ids[:, :made], logs[:made], weights[:made])

    def add(self, part: _Part, found: _Found) -> None:
        """Keep what some lines say."""
        self.orders[part.order - 1].add(part, found)

    def finish(self) -> ArpaFile:
        """All of it, once everything was read."""
        if self.order != -1 or self.vocab is None:
            missing = "\\data\\" if self.order is None else "\\end\\"
            raise ModelFileError(f"{self.path}: ends without {missing}: it was cut off, or is no ARPA file")
        unigrams, *orders = (each.finish() for each in self.orders)
        for n, (size, own) in enumerate(zip(self.sizes, (unigrams, *orders), strict=True), 1):
            if size != len(own):
                raise ModelFileError(
                    f"{self.path}: has {len(own):,} n-grams of order {n}, but says that it has {size:,}"
                )
        ids, words = np.asarray(unigrams.ids[0][:]), len(self.vocab)
        others = ids < 0
        ids = np.where(others, len(SPECIAL) - 1 + np.cumsum(others), ids)
        self._refuse_twice(unigrams, ids)
        logs, weights = np.full(words, -np.inf, np.float32), np.full(words, -0.0, np.float32)
        logs[UNK], weights[UNK] = MISSING_UNKNOWN, 0.0  # which makes it part of states, in KenLM
        logs[ids], weights[ids] = unigrams.logs[:], unigrams.weights[:]
        has = [bool((ids == special).any()) for special in range(len(SPECIAL))]
        return ArpaFile(self.path, self.vocab, logs, weights, orders, has)

    def _refuse_twice(self, unigrams: ArpaOrder, ids: NDArray[np.int32]) -> None:
        """Refuse words that are there twice."""
        assert self.vocab is not None
        hashes = np.empty(len(self.vocab), np.uint64)
        hash_words(self.vocab.arena, self.vocab.starts, hashes)
        own = hashes[ids]
        order = np.argsort(own, kind="stable")
        twice = order[1:][own[order[1:]] == own[order[:-1]]]
        if len(twice):
            word = self.vocab.word(int(ids[twice.min()]))
            raise ModelFileError(f"{self.path}:{unigrams.line(int(twice.min()))}: {word!r} is among the unigrams twice")
