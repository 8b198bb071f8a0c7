"""Which tensors a model has, how an n-gram is packed into bytes, and the directory by which kernels find everything.

The n-grams of order n, in a model of order N, are records of ``order{n}.grams``, all of the same number of bytes:

    word        n >= 2        the last word. N-grams are sorted by context, and by scrambled word within a context
    prob                      P(w | h), all orders and layers included
    backoff     n < N         as a context: the weight of the shorter context
    rest        n < N         as a context, in a model that leads others (``parts.py``): what P(w | h) lacks to sum to
                              one, which is theirs. 0 where nothing was seen after it
    children    n < N         as a context: where its (n+1)-grams start; they end where the next record's start
    suffix      3 <= n < N    the (n-1)-gram without the oldest word (of a bigram it is the word itself)

A number takes as many bytes as the largest needs; a probability takes 4, or 2 or 1 if the model was quantised. A model
that was not has for each order from 2 on a hash table, ``order{n}.index``, that leads from a context and a word to the
n-gram: lines of 16 slots of 4 bytes, in each the n-gram's number + 1 (0 is free) and above it some bits of its hash. If
order n has low rank layers there are also

    order{n}.rank             the rank of each slice
    order{n}.left_start       where the factors of a slice start in order{n}.left; its rows are (n-1)-grams
    order{n}.right_start      where the factors of a context start in order{n}.right

and for the vocabulary ``vocab.bytes``, ``vocab.starts``, ``vocab.slots``. The tensor ``directory`` comes first and says
where the others are: a kernel gets the whole model as one array of bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

from plre.errors import ModelFileError
from plre.model.file import Shapes, Tensors
from plre.text.vocabulary import SPECIAL

FORMAT = 4

#: The directory: first these about the whole model ...
HEAD = ("order", "words", "word_bits", "size", "slots", "slot_count", "starts", "letters", "letter_count")
ORDER, VOCABULARY, WORD_BITS, FLOAT, SLOTS, SLOT_COUNT, STARTS, LETTERS, LETTER_COUNT = range(len(HEAD))
#: ... then these for each order. Places are in bytes from the start of the model or of a record; -1 where there is no
#: such thing. FIRST is the number of the order's first n-gram among all states.
FIELDS = (
    "grams", "stride", "size", "first", "prob", "prob_base", "prob_step", "backoff", "backoff_base", "backoff_step",
    "word_mask", "children", "children_mask", "suffix", "suffix_mask", "index", "lines", "gram_bits",
    "rank", "left_start", "left", "left_count", "left_base", "left_step",
    "right_start", "right", "right_count", "right_base", "right_step", "rest",
)  # fmt: skip
(GRAMS, STRIDE, SIZE, FIRST, PROB, PROB_BASE, PROB_STEP, BACKOFF, BACKOFF_BASE, BACKOFF_STEP,
 WORD_MASK, CHILDREN, CHILDREN_MASK, SUFFIX, SUFFIX_MASK, INDEX, LINES, GRAM_BITS,
 RANK, LEFT_START, LEFT, LEFT_COUNT, LEFT_BASE, LEFT_STEP,
 RIGHT_START, RIGHT, RIGHT_COUNT, RIGHT_BASE, RIGHT_STEP, REST) = range(len(HEAD), len(HEAD) + len(FIELDS))  # fmt: skip
WIDTH = len(FIELDS)

#: A mixture's directory (``parts.py``) has the same head, with an order of 0, then how many parts it has and how many
#: orders they have together, and for each part: where it starts, its bytes, its weight (a float), where the symbols of
#: the words and their shares are (-1: words are symbols), how many parts after it it leads, and where its gates are.
PARTS, ROWS = range(len(HEAD), len(HEAD) + 2)
FIRST_PART = len(HEAD) + 2
PART_FIELDS = ("start", "bytes", "weight", "symbols", "shares", "members", "gates")
START, BYTES, WEIGHT, SYMBOLS, SHARES, MEMBERS, GATES = range(len(PART_FIELDS))
PART_WIDTH = len(PART_FIELDS)
#: Gates have this many rows for each length of a context: by half octaves of what its probabilities lack.
GATE_BUCKETS = 16

#: Slots of a line of an index, which is a cache line, and lines of a segment: what finds no room in one line goes to
#: the next, and from the last of a segment to its first.
LINE = 16
SEGMENT = 4096
#: At most this share of an index is filled.
_FULL = 0.85

_FLOATS: dict[int, np.dtype[Any]] = {4: np.dtype("<f4"), 2: np.dtype("<u2"), 1: np.dtype("u1")}
_I4 = np.dtype("<i4")


@dataclass(frozen=True)
class Code:
    """How positive numbers become codes of 1 or 2 bytes: evenly spaced bit patterns of floats.

    ``value = float with the bits (base + code * step)``, and code 0 is 0. With 4 bytes a code is the float itself.
    The relative error is about the same for large and small numbers.
    """

    base: int = 0
    step: int = 1

    @classmethod
    def between(cls, low: float, high: float, size: int) -> Code:
        """Codes of ``size`` bytes for numbers from ``low`` to ``high``."""
        if size == 4:
            return cls()
        first, last = (int(np.float32(x).view(np.int32)) for x in (low, max(low, high)))
        step = max(1, -(-(last - first) // (256**size - 2)))
        return cls(first - step, step)

    def encode(self, values: NDArray[np.float32], size: int) -> NDArray[np.int32]:
        """The nearest codes; what is less than half of the smallest becomes 0."""
        patterns = np.ascontiguousarray(values, np.float32).view(np.int32)
        if size == 4:
            return patterns
        low = np.int32(self.base + self.step).view(np.float32)
        codes = np.clip((patterns.astype(np.int64) - self.base + self.step // 2) // self.step, 1, 256**size - 1)
        return np.where(values < low / 2, 0, codes).astype(np.int32)

    def decode(self, codes: NDArray[Any]) -> NDArray[np.float32]:
        """The numbers that codes stand for."""
        wide = codes.astype(np.int64)
        return np.where(wide == 0, 0, self.base + wide * self.step).astype(np.int32).view(np.float32)


#: Backoff weights are shares; below this one nothing is lost by calling it nothing. The back-off forms have some above
#: 1, where hardly any word is unseen: few are above 4, and one byte has no codes to spare for those.
_SMALLEST_BACKOFF = 2.0**-20
_LARGEST_BACKOFF = {1: 4.0, 2: 2.0**20, 4: 1.0}


def backoff_code(size: int) -> Code:
    """Codes of backoff weights."""
    return Code.between(_SMALLEST_BACKOFF, _LARGEST_BACKOFF[size], size)


@dataclass(frozen=True)
class LowRank:
    """The size of one order's factors, and their codes."""

    left: int
    right: int
    left_code: Code = field(default_factory=Code)
    right_code: Code = field(default_factory=Code)


@dataclass(frozen=True)
class Layout:
    """Everything that determines where each byte of a model is."""

    #: N-grams of each order; of order 1 it is the vocabulary.
    sizes: tuple[int, ...]
    #: Slots of the vocabulary's hash table, and bytes of its words.
    slots: int
    letters: int
    #: Bytes of a probability, of a weight, of a factor: 4, 2 or 1.
    size: int
    prob_codes: tuple[Code, ...]
    low_rank: Mapping[int, LowRank]
    #: Contexts say what their probabilities lack to sum to one.
    rest: bool = False

    @property
    def order(self) -> int:
        """The highest order."""
        return len(self.sizes)

    @property
    def words(self) -> int:
        """The vocabulary."""
        return self.sizes[0]

    @property
    def word_bits(self) -> int:
        """Bits of a word's id."""
        return max(1, (self.sizes[0] - 1).bit_length())

    def places(self, n: int) -> tuple[dict[str, tuple[int, int]], int]:
        """Of each field of a record of order n its first byte and its bytes; and the bytes of a record."""
        fields = {"word": _bytes(self.sizes[0] - 1)} if n > 1 else {}
        fields["prob"] = self.size
        if n < self.order:
            fields["backoff"] = self.size
            if self.rest:
                fields["rest"] = self.size
            fields["children"] = _bytes(self.sizes[n])
            if n > 2:
                fields["suffix"] = _bytes(self.sizes[n - 2] - 1)
        ends = starts_of(list(fields.values()))
        return {name: (start, size) for (name, size), start in zip(fields.items(), ends, strict=False)}, ends[-1]

    def records(self, n: int) -> int:
        """Records of order n: one more than n-grams where they have children, to say where the last one's end."""
        return self.sizes[n - 1] + (n < self.order)

    def lines(self, n: int) -> int:
        """Lines of the index of order n; 0 if it has none."""
        return 0 if n == 1 or self.size < 4 else index_lines(self.sizes[n - 1])

    def shapes(self) -> Shapes:
        """All tensors, their types and sizes, in the order in which a file has them: wider types first."""
        vocab = self.sizes[0]
        shapes: Shapes = {"directory": (np.dtype("<i8"), whole_lines(len(HEAD) + WIDTH * self.order))}
        for n in range(2, self.order + 1):
            if self.lines(n):
                shapes[f"order{n}.index"] = (_I4, self.lines(n) * LINE)
        for n in range(1, self.order + 1):
            # Kernels read 8 bytes at a time: 8 bytes at the end keep them inside.
            shapes[f"order{n}.grams"] = (_I4, -(-self.records(n) * self.places(n)[1] // 4) + 2)
        for n, factors in self.low_rank.items():
            before, shorter = self.sizes[n - 3] if n > 2 else 1, self.sizes[n - 2]
            shapes[f"order{n}.rank"] = (_I4, before)
            shapes[f"order{n}.left_start"] = (_I4, before)
            shapes[f"order{n}.right_start"] = (_I4, shorter)
            shapes[f"order{n}.left"] = (_FLOATS[self.size], factors.left)
            shapes[f"order{n}.right"] = (_FLOATS[self.size], factors.right)
        shapes["vocab.starts"] = (_I4, vocab + 1)
        shapes["vocab.slots"] = (_I4, self.slots)
        shapes = dict(sorted(shapes.items(), key=lambda item: -item[1][0].itemsize))
        size = sum(dtype.itemsize * count for dtype, count in shapes.values())
        shapes["vocab.bytes"] = (np.dtype("u1"), padded_letters(size, self.letters))
        return shapes

    def directory(self) -> NDArray[np.int64]:
        """The directory, field by field."""
        shapes = self.shapes()
        offsets = dict(zip(shapes, starts_of([d.itemsize * count for d, count in shapes.values()]), strict=False))
        places = np.full(shapes["directory"][1], -1, np.int64)
        places[: len(HEAD)] = [
            self.order, self.sizes[0], self.word_bits, self.size,
            offsets["vocab.slots"], self.slots, offsets["vocab.starts"], offsets["vocab.bytes"], self.letters,
        ]  # fmt: skip
        first = 1
        for n in range(1, self.order + 1):
            order = places[(n - 1) * WIDTH :]
            at, order[STRIDE] = self.places(n)
            order[GRAMS], order[SIZE], order[FIRST] = offsets[f"order{n}.grams"], self.sizes[n - 1], first
            first += self.sizes[n - 1]
            code = self.prob_codes[n - 1]
            order[PROB], order[PROB_BASE], order[PROB_STEP] = at["prob"][0], code.base, code.step
            if "word" in at:
                order[WORD_MASK] = _mask(at["word"][1])
            if "backoff" in at:
                code = backoff_code(self.size)
                order[BACKOFF], order[BACKOFF_BASE], order[BACKOFF_STEP] = at["backoff"][0], code.base, code.step
                order[CHILDREN], order[CHILDREN_MASK] = at["children"][0], _mask(at["children"][1])
            if "rest" in at:
                order[REST] = at["rest"][0]
            if "suffix" in at:
                order[SUFFIX], order[SUFFIX_MASK] = at["suffix"][0], _mask(at["suffix"][1])
            if self.lines(n):
                order[INDEX], order[LINES] = offsets[f"order{n}.index"], self.lines(n)
                order[GRAM_BITS] = max(1, self.sizes[n - 1].bit_length())
            if n in self.low_rank:
                factors = self.low_rank[n]
                for name, start, place in (
                    ("rank", RANK, None),
                    ("left", LEFT_START, LEFT),
                    ("right", RIGHT_START, RIGHT),
                ):
                    order[start] = offsets[f"order{n}.{name}" + ("" if place is None else "_start")]
                    if place is not None:
                        order[place] = offsets[f"order{n}.{name}"]
                order[LEFT_COUNT], order[LEFT_BASE], order[LEFT_STEP] = (
                    factors.left, factors.left_code.base, factors.left_code.step)  # fmt: skip
                order[RIGHT_COUNT], order[RIGHT_BASE], order[RIGHT_STEP] = (
                    factors.right, factors.right_code.base, factors.right_code.step)  # fmt: skip
        return places

    @classmethod
    def from_directory(cls, directory: NDArray[np.int64]) -> Layout:
        """The layout that a directory describes; what is redundant in it is not looked at."""
        order = int(directory[ORDER])
        if not 1 <= order <= 64 or len(directory) != whole_lines(len(HEAD) + WIDTH * order):
            raise ValueError("the directory has the wrong size")
        tables = [[int(x) for x in directory[(n - 1) * WIDTH :][: len(HEAD) + WIDTH]] for n in range(1, order + 1)]
        if directory[FLOAT] not in _FLOATS or any(not 0 <= table[SIZE] < 2**31 for table in tables):
            raise ValueError("the directory makes no sense")
        size = int(directory[FLOAT])

        def code(table: list[int], base: int) -> Code:
            """A code, of which the directory has the base and after it the step."""
            found = Code(table[base], table[base + 1])
            sensible = found == Code() if size == 4 else abs(found.base) < 2**31 and 1 <= found.step < 2**31
            if not sensible:
                raise ValueError("the directory makes no sense")
            return found

        return cls(
            tuple(table[SIZE] for table in tables),
            int(directory[SLOT_COUNT]),
            int(directory[LETTER_COUNT]),
            size,
            tuple(code(table, PROB_BASE) for table in tables),
            {
                n: LowRank(
                    table[LEFT_COUNT],
                    table[RIGHT_COUNT],
                    code(table, LEFT_BASE),
                    code(table, RIGHT_BASE),
                )
                for n, table in enumerate(tables, 1)
                if table[RANK] >= 0
            },
            tables[0][REST] >= 0,
        )


def index_lines(entries: int) -> int:
    """Lines of an index with room for so many entries."""
    wanted = int(entries / (_FULL * LINE)) + 1
    return 1 << (wanted - 1).bit_length() if wanted <= SEGMENT else -(-wanted // SEGMENT) * SEGMENT


def whole_lines(entries: int) -> int:
    """The size of a directory of so many entries: whole lines of the cache, so that what follows begins with one."""
    return -(-entries // 8) * 8


def padded_letters(before: int, letters: int) -> int:
    """Bytes of the vocabulary's letters, with zeros that make the whole a multiple of a cache line.

    Kernels read 8 bytes at a time: 8 bytes at the end keep them inside.
    """
    return letters + 8 + -(before + letters + 8) % 64


def _bytes(largest: int) -> int:
    return max(1, -(-largest.bit_length() // 8))


def _mask(size: int) -> int:
    return (1 << 8 * size) - 1


def starts_of(sizes: list[int]) -> list[int]:
    """Where things of these sizes start, one after the other, and where the last ends."""
    return [0, *np.cumsum(sizes).tolist()]


def check_metadata(about: Any) -> None:
    """Raise ValueError, KeyError or TypeError where what a file says about its model cannot be used."""
    for key, kind in {"format": int, "order": int, "markers": bool, "method": str, "digest": str}.items():
        if type(about[key]) is not kind:
            raise ValueError(f"{key} is {about[key]!r}")


def check(path: str, tensors: Tensors, order: int) -> None:
    """Refuse a file whose tensors do not fit together. Looks only at shapes and ends, so it takes no time."""
    directory = the_directory(path, tensors)
    try:
        layout = Layout.from_directory(directory)
        if layout.order != order:
            refuse(path, f"it has {layout.order} orders instead of {order}")
        compare(path, tensors, layout, layout.sizes[0])
    except ModelFileError:
        raise
    except (ValueError, OverflowError) as error:
        refuse(path, error)


class AnyLayout(Protocol):
    """What the layouts of models of n-grams and of mixtures have in common."""

    @property
    def slots(self) -> int:
        """Slots of the vocabulary's hash table."""
        ...

    @property
    def letters(self) -> int:
        """Bytes of its words."""
        ...

    def shapes(self) -> Shapes:
        """All tensors, their types and sizes."""
        ...

    def directory(self) -> NDArray[np.int64]:
        """The directory, field by field."""
        ...


def refuse(path: str, why: object) -> NoReturn:
    """Raise the error of a damaged file."""
    raise ModelFileError(f"{path}: is damaged ({why}); copy or train the model again")


def the_directory(path: str, tensors: Tensors) -> NDArray[np.int64]:
    """The directory of a file, if it has one."""
    directory = tensors.get("directory")
    if directory is None or directory.dtype != np.int64 or directory.ndim != 1 or len(directory) < len(HEAD):
        refuse(path, "the tensor directory is missing")
    return directory


def compare(path: str, tensors: Tensors, layout: AnyLayout, words: int) -> None:
    """Refuse tensors that are not just those of a layout, for a vocabulary of so many words."""
    slots = layout.slots
    if words < len(SPECIAL) or slots < 1 or slots & (slots - 1) or slots <= 2 * words:
        refuse(path, "the vocabulary has the wrong size")
    shapes = layout.shapes()
    for name, (dtype, size) in shapes.items():
        tensor = tensors.get(name)
        if tensor is None:
            refuse(path, f"the tensor {name} is missing")
        if tensor.dtype != dtype or tensor.ndim != 1:
            refuse(path, f"the tensor {name} has the wrong type or shape")
        if len(tensor) != size:
            refuse(path, f"the tensor {name} has {len(tensor)} entries instead of {size}")
    if unknown := set(tensors) - set(shapes):
        refuse(path, f"it has a tensor {min(unknown)} that such a model does not have")
    if list(shapes) != list(tensors) or not np.array_equal(layout.directory(), tensors["directory"]):
        refuse(path, "the directory does not fit the tensors")
    starts = tensors["vocab.starts"]
    if starts[0] != 0 or starts[-1] != layout.letters:
        refuse(path, "the tensor vocab.starts does not cover what it points to")
