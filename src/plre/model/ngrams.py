"""N-grams as a component of a model: its tensors, made from plain columns and turned back into them.

unigrams               P(s) of each symbol, and 0 for "not known", the symbol after the last one
weights                of each symbol as a context: backoff and missing mass; of "not known": 1 and 0
order{n}.lines, ...    the table of order n, from 2 on (``tables.py``); an n-gram's owner is its context
order{n}.ranks         if order n has low rank layers and n > 2: the rank of each slice, by slot of order n - 2, or by
                       symbol
order{n}.pointers      n > 2: where in the factors each (n-1)-gram's are, by slot (``_lowrank.py``)
order{n}.factors       the factors
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plre.errors import ModelFileError
from plre.lowrank.blocks import Factors
from plre.model import _lowrank
from plre.model import tables as t
from plre.model.file import Tensors
from plre.scratch import Column, Scratch
from plre.text.vocabulary import BOS, Vocabulary

#: The backoff of a context that has something to say is never exactly 1, which is how it is told from others.
_ALMOST_ONE = np.nextafter(np.float32(1), np.float32(0))
_ONE = np.float32(1)


@dataclass(frozen=True)
class Order:
    """The n-grams of one order as plain columns, sorted by context and then by word.

    ``children`` says for each (n-1)-gram where its n-grams start, with one entry more; ``backoff`` and ``missing`` are
    of n-grams as contexts. ``factors`` are the low rank layers: slices are of order n - 2, rows and columns n - 1.
    """

    words: Column
    children: Column
    prob: Column
    backoff: Column | None = None
    missing: Column | None = None
    factors: Factors | None = None

    def __len__(self) -> int:
        return len(self.words)


def check_names(tensors: Tensors, names: set[str]) -> None:
    """Refuse tensors that are not just these."""
    if missing := names - set(tensors):
        raise ValueError(f"the tensor {min(missing)} is missing")
    if unknown := set(tensors) - names:
        raise ValueError(f"it has a tensor {min(unknown)} that such a model does not have")


def check_order(n: int, words: NDArray[np.int32], children: NDArray[np.int32], symbols: int) -> None:
    """Refuse an order whose symbols are not there, or whose runs do not cover its list one after the other."""
    fits = len(children) and children[0] == 0 and children[-1] == len(words) and np.all(np.diff(children) >= 0)
    if not fits or np.any((words < 0) | (words >= symbols)):
        raise ModelFileError(f"the n-grams of order {n} do not fit together; check the model with plre verify")


def check_factors(n: int, f: tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]], count: int) -> None:
    """Refuse low rank layers of order n that lead out of ``count`` factors, or have more of them than there are.

    Given are where the rows of each slice start, its rank, the slice of which each row is a column, and its pointer.
    """
    row_start, rank, slices, pointers = f
    if not np.any(rank < 0) and not np.any((slices < 0) | (slices >= len(rank))):
        left, right = np.repeat(rank, np.diff(row_start)).astype(np.int64), rank[slices].astype(np.int64)
        at = pointers.astype(np.int64)
        if np.all((at >= right) & (at + left <= count)) and int(left.sum() + right.sum()) <= count:
            return
    raise ModelFileError(f"the low rank layers of order {n} do not fit together; check the model with plre verify")


@dataclass(frozen=True)
class Ngrams:
    """A component of n-grams over so many symbols; ``missing`` if contexts say what their probabilities lack."""

    symbols: int
    order: int
    missing: bool
    #: Of each order from 2 up: the bits that choose a shard of its table.
    shard_bits: tuple[int, ...]
    tensors: Tensors

    @property
    def reach(self) -> int:
        """The longest n-gram."""
        return self.order

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many n-grams there are of each order."""
        width = t.width_of(self.symbols - 1)
        return self.symbols, *(
            (len(self.tensors[f"order{n}.symbols"]) - t.PADDING) // width for n in range(2, self.order + 1)
        )

    @property
    def low_rank(self) -> list[int]:
        """The orders that have low rank layers."""
        return [n for n in range(2, self.order + 1) if f"order{n}.factors" in self.tensors]

    def highest_rank(self, n: int) -> int:
        """The highest rank of the slices of order n, which has low rank layers."""
        if n == 2:
            return len(self.tensors["order2.factors"]) // (2 * self.symbols)
        return int(self.tensors[f"order{n}.ranks"].max())

    @staticmethod
    def order_of(name: str) -> int:
        """The order that a tensor is of.

        >>> Ngrams.order_of("order3.lines"), Ngrams.order_of("weights")
        (3, 1)
        """
        first = name.partition(".")[0]
        return int(first.removeprefix("order")) if first.startswith("order") else 1

    def describe(self) -> dict[str, Any]:
        """What a file's metadata says of it."""
        shards = list(self.shard_bits)
        return {
            "kind": "ngrams", "symbols": self.symbols, "order": self.order, "missing": self.missing, "shards": shards,
        }  # fmt: skip

    @classmethod
    def from_tensors(cls, described: Mapping[str, Any], tensors: Tensors) -> Ngrams:
        """The component that was described so."""
        symbols, order, missing = described["symbols"], described["order"], described["missing"]
        if type(symbols) is not int or type(order) is not int or not 1 <= order <= 64 or type(missing) is not bool:
            raise ValueError("a component of n-grams makes no sense")
        parts = ("lines", "seeds", "symbols", "ends", "runs")
        names = {"unigrams", "weights", *(f"order{n}.{part}" for n in range(2, order + 1) for part in parts)}
        low_rank = [n for n in range(2, order + 1) if f"order{n}.factors" in tensors]
        names |= {f"order{n}.factors" for n in low_rank}
        names |= {f"order{n}.{part}" for n in low_rank if n > 2 for part in ("ranks", "pointers")}
        check_names(tensors, names)
        if symbols < 1 or len(tensors["unigrams"]) != symbols + 1:
            raise ValueError("the unigrams have the wrong size")
        shards = tuple(described["shards"])
        if len(shards) != order - 1:
            raise ValueError("a component of n-grams makes no sense")
        return cls(symbols, order, missing, shards, tensors)

    def info(self) -> dict[str, Any]:
        """How many n-grams there are of each order."""
        return {"ngrams": list(self.sizes)}

    def columns(self, highest: int | None = None) -> Columns:
        """All n-grams as plain columns, up to the order ``highest`` if that is given."""
        return _Reader(self, min(self.order, highest or self.order)).columns

    def shape(self, n: int, records: int) -> t.Shape:
        """The shape of the table of order n, which has so many records."""
        lines, seeds = self.tensors[f"order{n}.lines"], self.tensors[f"order{n}.seeds"]
        return t.Shape.found(records, self.slot(n), self.shard_bits[n - 2], lines, seeds)

    def slot(self, n: int) -> int:
        """Words of 4 bytes in a slot of order n: check and probability, and what a context has."""
        return slot_of(n, self.order, self.missing)


def slot_of(n: int, order: int, missing: bool) -> int:
    """Words of 4 bytes in a slot of order n of a component of this order."""
    return 2 if n == order else 4 if missing else 3


def unigram_tensors(columns: Columns) -> Tensors:
    """The tensors of unigrams."""
    weights = np.zeros((len(columns.prob) + 1, 2), np.float32)
    weights[:, 0] = 1
    if columns.orders:
        weights[:-1, 0] = _told_apart(columns.backoff, columns.orders[0].children)
    if columns.missing is not None:
        weights[:-1, 1] = columns.missing
    return {"unigrams": np.append(columns.prob, np.float32(0)), "weights": weights.reshape(-1)}


def assemble(columns: Columns, *, threads: int = 1, scratch: Scratch | None = None) -> Ngrams:
    """A component from its columns."""
    scratch = scratch or Scratch()
    orders = columns.orders
    symbols, order = len(columns.prob), 1 + len(orders)
    tensors = unigram_tensors(columns)
    keys: Column = np.arange(symbols, dtype=np.uint64)
    places, shards = [_Places(None, symbols + 1)], []
    for n, own in enumerate(orders, 2):
        highest = n == order
        keys = t.child_keys(own.children, keys, own.words, scratch)
        values = [own.prob]
        if not highest:
            assert own.backoff is not None
            values.append(_told_apart(np.asarray(own.backoff[:]), orders[n - 1].children))
            if own.missing is not None:
                values.append(own.missing)
        placed = t.place(keys, values, with_slots=not highest, threads=threads, scratch=scratch)
        tensors[f"order{n}.lines"], tensors[f"order{n}.seeds"] = placed.lines, placed.seeds
        tensors[f"order{n}.symbols"] = t.list_symbols(own.words, symbols, scratch)
        tensors[f"order{n}.ends"] = t.end_runs(own.children)
        tensors[f"order{n}.runs"] = t.start_runs(own.children, places[-1].slots, places[-1].count)
        if own.factors is not None:
            tensors |= _factor_tensors(n, own.factors, orders, places, scratch)
        shards.append(placed.shape.shard_bits)
        places.append(_Places(placed.slots, placed.shape.slots))
    return Ngrams(symbols, order, columns.missing is not None, tuple(shards), tensors)


def _told_apart(backoff: NDArray[np.float32], children: Column) -> NDArray[np.float32]:
    """Weights that are 1 only where nothing was seen after a context."""
    seen = np.diff(np.asarray(children[:])) > 0
    return np.where(seen & (backoff == _ONE), _ALMOST_ONE, backoff)


@dataclass(frozen=True)
class _Places:
    """The slots of an order's records, out of so many; None: the records are symbols, and their own slots."""

    slots: NDArray[np.int32] | None
    count: int

    def spread(self, values: NDArray[Any]) -> NDArray[Any]:
        """Values of records, by slot."""
        out = np.zeros(self.count, values.dtype)
        if self.slots is None:
            out[: len(values)] = values
        else:
            out[self.slots[self.slots >= 0]] = values[self.slots >= 0]
        return out


def _factor_tensors(
    n: int, f: Factors, orders: Sequence[Order], places: Sequence[_Places], scratch: Scratch
) -> Tensors:
    """The low rank layers of order n; ``places`` has the slots of the orders below it."""
    if n == 2:
        both = np.stack([f.right.reshape(places[0].count - 1, -1), f.left.reshape(places[0].count - 1, -1)], axis=1)
        return {"order2.factors": both.reshape(-1)}
    row_start = np.asarray(orders[n - 3].children[:])
    pointers = np.empty(int(row_start[-1]), np.uint32)
    arrays = f.rank, f.left, f.left_start, f.right, f.right_start
    count = _lowrank.join_factors(row_start, *arrays, pointers, np.empty(0, np.float32))
    factors = t.ArrayDraft(max(count, 1), np.float32, scratch).finish()
    _lowrank.join_factors(row_start, *arrays, pointers, factors)
    return {
        f"order{n}.ranks": places[n - 3].spread(f.rank.astype(np.int32)),
        f"order{n}.pointers": places[n - 2].spread(pointers),
        f"order{n}.factors": factors,
    }


def size_of(sizes: Sequence[int], missing: bool, factors: Mapping[int, int]) -> int:
    """Bytes of a component with so many n-grams of each order, and so many numbers of low rank layers by order."""
    shapes = [t.Shape.planned(size, slot_of(n, len(sizes), missing)) for n, size in enumerate(sizes[1:], 2)]
    slots = [sizes[0] + 1, *(shape.slots for shape in shapes)]
    size = 12 * slots[0] + 4 * sum(factors.values())
    for n, shape in enumerate(shapes, 2):
        size += shape.nbytes + t.list_bytes(shape.records, sizes[0]) + t.run_bytes(shape.records, slots[n - 2])
        if n > 2 and n in factors:
            size += 4 * (slots[n - 3] + slots[n - 2])
    return size


@dataclass(frozen=True)
class Columns:
    """A component's unigrams and its orders from 2 up, as plain columns: what :func:`assemble` makes one of."""

    prob: NDArray[np.float32]
    backoff: NDArray[np.float32]
    missing: NDArray[np.float32] | None
    orders: list[Order]

    def ngrams(self, n: int, vocab: Vocabulary) -> Iterator[tuple[tuple[str, ...], float]]:
        """All n-grams of one order, with P(last word | the others)."""
        if n == 1:
            yield from (((vocab.word(w),), float(self.prob[w])) for w in range(len(self.prob)) if w != BOS)
            return

        def below(prefix: tuple[str, ...], owner: int) -> Iterator[tuple[tuple[str, ...], float]]:
            order = self.orders[len(prefix) - 1]
            for i in range(int(order.children[owner]), int(order.children[owner + 1])):
                gram = (*prefix, vocab.word(int(order.words[i])))
                if len(gram) < n:
                    yield from below(gram, i)
                else:
                    yield gram, float(order.prob[i])

        for w in range(len(self.prob)):
            yield from below((vocab.word(w),), w)

    def suffixes(self, n: int) -> NDArray[np.int32]:
        """The number of each n-gram without its oldest word, among those of order n - 1."""
        if n == 2:
            return np.asarray(self.orders[0].words)
        own, below = self.orders[n - 2], self.orders[n - 3]
        contexts = np.repeat(self.suffixes(n - 1), np.diff(own.children))
        # A pair of context and word is known by its place in the list of the order below, which is sorted by both.
        keys = _pairs(np.repeat(np.arange(len(below.children) - 1), np.diff(below.children)), below.words)
        return np.searchsorted(keys, _pairs(contexts, own.words)).astype(np.int32)


class _Reader:
    """Reads the columns of a component, order by order up to ``highest``."""

    def __init__(self, body: Ngrams, highest: int) -> None:
        self.body = body
        weights = body.tensors["weights"].reshape(-1, 2)[:-1]
        self.orders: list[Order] = []
        self.columns = Columns(
            body.tensors["unigrams"][:-1], weights[:, 0], weights[:, 1] if body.missing else None, self.orders
        )
        #: For each order: the slots of its records; None for symbols.
        self._slots: list[NDArray[np.int64] | None] = [None]
        self._keys: list[NDArray[np.uint64]] = [np.arange(body.symbols, dtype=np.uint64)]
        for n in range(2, highest + 1):
            self._read(n)

    def _read(self, n: int) -> None:
        body, tensors = self.body, self.body.tensors
        words = t.unpack(tensors[f"order{n}.symbols"], t.width_of(body.symbols - 1)).astype(np.int32)
        owners = self._slots[-1]
        starts = t.unpack(tensors[f"order{n}.runs"], t.width_of(len(words)))
        starts = starts[: body.symbols] if owners is None else starts[owners]
        children = np.append(np.where(starts < len(words), starts, len(words)), len(words))
        children = np.minimum.accumulate(children[::-1])[::-1].astype(np.int32)
        children[0] = 0
        check_order(n, words, children, body.symbols)
        keys = np.asarray(t.child_keys(children, self._keys[-1], words, Scratch()))
        shape = body.shape(n, len(words))
        slots, values = t.read_slots(keys, tensors[f"order{n}.lines"], tensors[f"order{n}.seeds"], shape)
        self._slots.append(slots)
        self._keys.append(keys)
        contexts = n < body.order
        factors = self._factors(n) if f"order{n}.factors" in tensors else None
        self.orders.append(
            Order(
                words, children, values[0], values[1] if contexts else None,
                values[2] if contexts and body.missing else None, factors,
            )
        )  # fmt: skip

    def _factors(self, n: int) -> Factors:
        tensors, count = self.body.tensors, self.body.symbols
        both = tensors[f"order{n}.factors"]
        if n == 2:
            highest = self.body.highest_rank(2)
            right, left = np.moveaxis(both.reshape(count, 2, highest), 1, 0)
            starts = highest * np.arange(count + 1, dtype=np.int64)
            return Factors(np.array([highest], np.int32), left.reshape(-1), starts[[0, -1]], right.reshape(-1), starts)
        slices, grams = self._slots[n - 3], self._slots[n - 2]
        ranks, pointers = tensors[f"order{n}.ranks"], tensors[f"order{n}.pointers"]
        rank = (ranks[:count] if slices is None else ranks[slices]).astype(np.int32)
        row_start = self.orders[n - 3].children
        suffixes = self.columns.suffixes(n - 1)
        check_factors(n, (row_start, rank, suffixes, pointers[grams]), len(both))
        left_start = np.concatenate([[0], np.cumsum(np.diff(row_start) * rank.astype(np.int64))])
        right_start = np.concatenate([[0], np.cumsum(rank[suffixes], dtype=np.int64)])
        left, right = np.empty(left_start[-1], np.float32), np.empty(right_start[-1], np.float32)
        _lowrank.part_factors(row_start, rank, suffixes, pointers[grams], both, left, left_start, right, right_start)
        return Factors(rank, left, left_start, right, right_start)


def _pairs(contexts: NDArray[np.integer], words: NDArray[np.integer]) -> NDArray[np.int64]:
    return contexts.astype(np.int64) << 32 | words.astype(np.int64)
