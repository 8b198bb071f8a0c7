"""N-grams with numbers of one or two bytes as a component of a model: its tensors, made from plain columns and back.

unigrams, weights       as in ``ngrams.py``
order2.runs             where the bigrams of each symbol begin, with one entry more
order{n}.records        the n-grams of order n, from 2 on (``_compact.py``), and in lower orders one record more
order{n}.ranks          if order n has low rank layers: the rank of each slice, by record of order n - 2 (n = 2: one)
order{n}.pointers       n > 2: where in the factors each (n-1)-gram's are (``_lowrank.py``), by record
order{n}.factors        the factors, as codes
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plre.errors import ModelFileError
from plre.lowrank.blocks import Factors
from plre.model import _lowrank
from plre.model import tables as t
from plre.model.codes import Code, backoff_code
from plre.model.file import Tensors
from plre.model.ngrams import Columns, Ngrams, Order, check_factors, check_names, check_order, unigram_tensors

#: Factors smaller than the largest by this much count as nothing.
_FACTOR_RANGE = 2.0**-32


@dataclass(frozen=True)
class CompactNgrams:
    """A component of n-grams whose numbers take ``size`` bytes each."""

    symbols: int
    order: int
    missing: bool
    size: int
    #: For each order from 2 up the codes of its probabilities, and of its right and left factors.
    codes: tuple[tuple[Code, Code, Code], ...]
    tensors: Tensors

    @property
    def reach(self) -> int:
        """The longest n-gram."""
        return self.order

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many n-grams there are of each order."""
        found = [self.symbols]
        for n in range(2, self.order + 1):
            stride = self.stride(n, self.start_bytes(n))
            found.append((len(self.tensors[f"order{n}.records"]) - t.PADDING) // stride - (n < self.order))
        return tuple(found)

    @property
    def low_rank(self) -> list[int]:
        """The orders that have low rank layers."""
        return [n for n in range(2, self.order + 1) if f"order{n}.factors" in self.tensors]

    def start_bytes(self, n: int) -> int:
        """Bytes of where longer n-grams start, in a record of order n."""
        if n == self.order:
            return 0
        above = self.tensors[f"order{n + 1}.records"]
        return t.width_of((len(above) - t.PADDING) // self.stride(n + 1, self.start_bytes(n + 1)))

    def stride(self, n: int, start_bytes: int) -> int:
        """Bytes of a record of order n."""
        return t.width_of(self.symbols - 1) + (1 if n == self.order else 2 + self.missing) * self.size + start_bytes

    def describe(self) -> dict[str, Any]:
        """What a file's metadata says of it."""
        codes = [[[code.base, code.step] for code in order] for order in self.codes]
        return {
            "kind": "compact", "symbols": self.symbols, "order": self.order, "missing": self.missing,
            "size": self.size, "codes": codes,
        }  # fmt: skip

    @classmethod
    def from_tensors(cls, described: Mapping[str, Any], tensors: Tensors) -> CompactNgrams:
        """The component that was described so."""
        symbols, order, missing, size = (described[name] for name in ("symbols", "order", "missing", "size"))
        if type(symbols) is not int or type(order) is not int or not 1 <= order <= 64 or type(missing) is not bool:
            raise ValueError("a component of n-grams makes no sense")
        codes = tuple(tuple(Code(*code) for code in each) for each in described["codes"])
        numbers = [number for each in codes for code in each for number in (code.base, code.step)]
        if size not in (1, 2) or len(codes) != order - 1 or any(len(each) != 3 for each in codes):
            raise ValueError("the codes of a component make no sense")
        if any(type(number) is not int or abs(number) >= 2**31 for number in numbers):
            raise ValueError("the codes of a component make no sense")
        names = {"unigrams", "weights", *(f"order{n}.records" for n in range(2, order + 1))}
        names |= {"order2.runs"} if order > 1 else set()
        low_rank = [n for n in range(2, order + 1) if f"order{n}.factors" in tensors]
        names |= {f"order{n}.{part}" for n in low_rank for part in ("factors", "ranks")}
        names |= {f"order{n}.pointers" for n in low_rank if n > 2}
        check_names(tensors, names)
        if symbols < 1 or len(tensors["unigrams"]) != symbols + 1:
            raise ValueError("the unigrams have the wrong size")
        return cls(symbols, order, missing, size, codes, tensors)  # type: ignore[arg-type]

    def info(self) -> dict[str, Any]:
        """How many n-grams there are of each order."""
        return {"ngrams": list(self.sizes)}

    def highest_rank(self, n: int) -> int:
        """The highest rank of the slices of order n, which has low rank layers."""
        return int(self.tensors[f"order{n}.ranks"].max())

    order_of = staticmethod(Ngrams.order_of)

    def columns(self, highest: int | None = None) -> Columns:
        """All n-grams as plain columns, up to the order ``highest`` if that is given."""
        weights = self.tensors["weights"].reshape(-1, 2)[:-1]
        prob, missing = self.tensors["unigrams"][:-1], weights[:, 1] if self.missing else None
        columns = Columns(prob, weights[:, 0], missing, [])
        sizes = self.sizes
        for n in range(2, min(self.order, highest or self.order) + 1):
            children = self._children(n, sizes)
            words = self._field(n, sizes, 0, t.width_of(self.symbols - 1)).astype(np.int32)
            check_order(n, words, children, self.symbols)
            found, *own_weights = self._numbers(n, sizes)
            backoff, missing = (*own_weights, None, None)[:2]
            columns.orders.append(Order(words, children, found, backoff, missing))
            if n in self.low_rank:
                columns.orders[-1] = replace(columns.orders[-1], factors=self._factors(n, columns))
        return columns

    def _field(self, n: int, sizes: tuple[int, ...], offset: int, size: int, more: int = 0) -> NDArray[np.int64]:
        """One field of the records of order n, and of so many more."""
        stride = self.stride(n, self.start_bytes(n))
        count = sizes[n - 1] + more
        rows = self.tensors[f"order{n}.records"][: count * stride].reshape(count, stride)
        wide = np.zeros((count, 8), np.uint8)
        wide[:, :size] = rows[:, offset : offset + size]
        return wide.reshape(-1).view(np.int64)

    def _numbers(self, n: int, sizes: tuple[int, ...]) -> list[NDArray[np.float32]]:
        first, weights = t.width_of(self.symbols - 1), backoff_code(self.size)
        codes = [self.codes[n - 2][0], *([weights] * (1 + self.missing) if n < self.order else [])]
        return [code.decode(self._field(n, sizes, first + k * self.size, self.size)) for k, code in enumerate(codes)]

    def _children(self, n: int, sizes: tuple[int, ...]) -> NDArray[np.int32]:
        if n == 2:
            runs = self.tensors["order2.runs"]
            return t.unpack(runs, t.width_of(sizes[1]))[: self.symbols + 1].astype(np.int32)
        offset = t.width_of(self.symbols - 1) + (2 + self.missing) * self.size
        return self._field(n - 1, sizes, offset, self.start_bytes(n - 1), 1).astype(np.int32)

    def _factors(self, n: int, columns: Columns) -> Factors:
        _, right_code, left_code = self.codes[n - 2]
        coded, ranks = t.unpack(self.tensors[f"order{n}.factors"], self.size), self.tensors[f"order{n}.ranks"]
        right_values, left_values = right_code.decode(coded), left_code.decode(coded)
        if n == 2:
            highest = int(ranks[0])
            if len(coded) != 2 * self.symbols * highest:
                raise ModelFileError(
                    "the low rank layers of order 2 do not fit together; check the model with plre verify"
                )
            right = right_values.reshape(self.symbols, 2, highest)[:, 0].reshape(-1)
            left = left_values.reshape(self.symbols, 2, highest)[:, 1].reshape(-1)
            starts = highest * np.arange(self.symbols + 1, dtype=np.int64)
            return Factors(np.array([highest], np.int32), left, starts[[0, -1]], right, starts)
        row_start = columns.orders[n - 3].children
        suffixes, rank = columns.suffixes(n - 1), np.asarray(ranks)
        check_factors(n, (row_start, rank, suffixes, self.tensors[f"order{n}.pointers"]), len(coded))
        left_start = np.concatenate([[0], np.cumsum(np.diff(row_start) * rank.astype(np.int64))])
        right_start = np.concatenate([[0], np.cumsum(rank[suffixes], dtype=np.int64)])
        left, right = np.empty(left_start[-1], np.float32), np.empty(right_start[-1], np.float32)
        pointers = self.tensors[f"order{n}.pointers"]
        arrays = row_start, rank, suffixes, pointers
        other_left, other_right = np.empty_like(left), np.empty_like(right)
        _lowrank.part_factors(*arrays, left_values, left, left_start, other_right, right_start)
        _lowrank.part_factors(*arrays, right_values, other_left, left_start, right, right_start)
        return Factors(rank, left, left_start, right, right_start)


def compress(columns: Columns, bits: int) -> CompactNgrams:
    """A component whose numbers take 8 or 16 bits each."""
    size, order, symbols = bits // 8, 1 + len(columns.orders), len(columns.prob)
    tensors = unigram_tensors(columns)
    codes = []
    for n, own in enumerate(columns.orders, 2):
        words, prob = np.asarray(own.words[:]), np.asarray(own.prob[:])
        code = Code.of(prob, size)
        fields = [(words, t.width_of(symbols - 1)), (code.encode(prob, size), size)]
        if n < order:
            starts = np.asarray(columns.orders[n - 1].children[:])
            weights = [np.asarray(each[:]) for each in (own.backoff, own.missing) if each is not None]
            fields += [(backoff_code(size).encode(each, size), size) for each in weights]
            fields.append((starts, t.width_of(int(starts[-1]))))
        if n == 2:
            runs = np.append(np.asarray(own.children[:]), len(words))
            tensors["order2.runs"] = t.pack(runs, t.width_of(len(words)))
        tensors[f"order{n}.records"] = _records(fields, len(words) + (n < order))
        sides = Code(0, 1), Code(0, 1)
        if own.factors is not None:
            sides = tuple(Code.of(side, size, _FACTOR_RANGE) for side in (own.factors.right, own.factors.left))  # type: ignore[assignment]
            tensors |= _factor_tensors(n, own.factors, columns, size, *sides)
        codes.append((code, *sides))
    return CompactNgrams(symbols, order, columns.missing is not None, size, tuple(codes), tensors)


def size_of(sizes: Sequence[int], missing: bool, size: int, factors: Mapping[int, int]) -> int:
    """Bytes of a component with so many n-grams of each order, and so many numbers of low rank layers by order."""
    total = 12 * (sizes[0] + 1) + size * sum(factors.values())
    for n, records in enumerate(sizes[1:], 2):
        starts = t.width_of(sizes[n]) if n < len(sizes) else 0
        stride = t.width_of(sizes[0] - 1) + (1 if n == len(sizes) else 2 + missing) * size + starts
        total += (records + 1) * stride + t.PADDING
        if n == 2:
            total += t.run_bytes(records, sizes[0] + 2)
        if n in factors:
            total += t.PADDING + 4 * ((sizes[n - 3] + sizes[n - 2]) if n > 2 else 1)
    return total


def _records(fields: list[tuple[NDArray[Any], int]], count: int) -> NDArray[np.uint8]:
    """Records of these fields, each with its number of bytes; fields that are too short end with zeros."""
    stride = sum(size for _, size in fields)
    rows = np.zeros((count, stride), np.uint8)
    at = 0
    for values, size in fields:
        wide = np.ascontiguousarray(values, np.int64).view(np.uint8).reshape(-1, 8)
        rows[: len(values), at : at + size] = wide[:, :size]
        at += size
    return np.append(rows.reshape(-1), np.zeros(t.PADDING, np.uint8))


def _factor_tensors(n: int, f: Factors, columns: Columns, size: int, right_code: Code, left_code: Code) -> Tensors:
    """The low rank layers of order n, as codes."""
    right, left = right_code.encode(f.right, size), left_code.encode(f.left, size)
    if n == 2:
        words = len(columns.prob)
        both = np.stack([right.reshape(words, -1), left.reshape(words, -1)], axis=1).reshape(-1)
        return {"order2.factors": t.pack(both, size), "order2.ranks": f.rank.astype(np.int32)}
    row_start = np.asarray(columns.orders[n - 3].children[:])
    pointers = np.empty(int(row_start[-1]), np.uint32)
    arrays = f.rank, left, f.left_start, right, f.right_start
    both = np.zeros(_lowrank.join_factors(row_start, *arrays, pointers, np.empty(0, np.int64)), np.int64)
    _lowrank.join_factors(row_start, *arrays, pointers, both)
    return {
        f"order{n}.factors": t.pack(both, size),
        f"order{n}.ranks": f.rank.astype(np.int32),
        f"order{n}.pointers": pointers,
    }
