"""N-grams as a component of a model: its tensors, made from plain columns and turned back into them.

unigrams               P(s) of each symbol, and 0 for "not known", the symbol after the last one
weights                of each symbol as a context: backoff and missing mass; of "not known": 1 and 0
order{n}.lines, ...    the table of order n, from 2 on (``tables/building.py``); an n-gram's owner is its context
order{n}.ranks         if order n has low rank layers and n > 2: the rank of each slice, by slot of order n - 2, or by
                       symbol
order{n}.pointers      n > 2: where in the factors each (n-1)-gram's are, by slot (``_lowrank.py``)
order{n}.factors       the factors
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from plre._jit import CKernel
from plre.lowrank.blocks import Factors
from plre.model import _gates, _lowrank, _ngrams
from plre.model import _plan as p
from plre.model.columns import Columns, Order, check_order, join_factors, part_bigrams, part_factors
from plre.scratch import Column, Growing, Scratch, slices
from plre.tables import building as t
from plre.tables import reading
from plre.tensorfile import Tensors

if TYPE_CHECKING:
    from plre.model.plan import PlanDraft

#: The backoff of a context that has something to say is never exactly 1, which is how it is told from others.
_ALMOST_ONE = np.nextafter(np.float32(1), np.float32(0))
_ONE = np.float32(1)
#: No backoff weight is larger: those of the back-off forms are where hardly any word was left unseen.
_LARGEST_WEIGHT = 1e6
#: Contexts that are looked at together.
_PIECE = 1 << 20
#: Nobody needs longer n-grams; a file that claims to have some is damaged.
_LONGEST = 64


def check_names(tensors: Tensors, names: set[str]) -> None:
    """Refuse tensors that are not just these."""
    if missing := names - set(tensors):
        raise ValueError(f"the tensor {min(missing)} is missing")
    if unknown := set(tensors) - names:
        raise ValueError(f"it has a tensor {min(unknown)} that such a model does not have")


@dataclass(frozen=True)
class NgramBody(ABC):
    """What components of n-grams have in common, whatever their tensors."""

    #: How many n-grams there are of each order; those of order 1 are the symbols.
    sizes: tuple[int, ...]
    #: Whether contexts say what their probabilities lack.
    missing: bool
    tensors: Tensors

    @property
    def symbols(self) -> int:
        """How many symbols are predicted."""
        return self.sizes[0]

    @property
    def order(self) -> int:
        """The longest n-gram."""
        return len(self.sizes)

    reach = order

    @property
    def low_rank(self) -> list[int]:
        """The orders that have low rank layers."""
        return [n for n in range(2, self.order + 1) if f"order{n}.factors" in self.tensors]

    def renumbered(self, ids: NDArray[np.int32]) -> NgramBody:
        """Itself: its component's symbols say what words are, in contexts too."""
        return self

    def ngrams(self) -> NgramBody:
        """Itself, since it consists of n-grams."""
        return self

    def info(self) -> dict[str, Any]:
        """How many n-grams there are of each order."""
        return {"ngrams": list(self.sizes)}

    @staticmethod
    def order_of(name: str) -> int:
        """The order that a tensor is of.

        >>> NgramBody.order_of("order3.lines"), NgramBody.order_of("weights")
        (3, 1)
        """
        first = name.partition(".")[0]
        return int(first.removeprefix("order")) if first.startswith("order") else 1

    def describe(self) -> dict[str, Any]:
        """What a file's metadata says of it."""
        return {"sizes": list(self.sizes), "missing": self.missing}

    @staticmethod
    def read_description(described: Mapping[str, Any]) -> tuple[tuple[int, ...], bool]:
        """The sizes of a component that was described so, and whether contexts say what they lack."""
        sizes, missing = tuple(described["sizes"]), described["missing"]
        if (
            type(missing) is not bool
            or not 1 <= len(sizes) <= _LONGEST
            or not reading.are_counts(sizes)
            or sizes[0] < 1
        ):
            raise ValueError("a component of n-grams makes no sense")
        return sizes, missing

    def weight_fields(self, plan: PlanDraft) -> dict[int, int]:
        """The fields of a plan that do not depend on how n-grams are stored."""
        weights = plan.checked(self.tensors["weights"], np.float32, 2 * (self.symbols + 1))
        return {p.LEVELS: self.order, p.WEIGHTS: weights, p.MISSING: int(self.missing), p.TABLE_COUNT: self.order - 1}

    def check(self) -> None:
        """Raise :class:`ValueError` if something in it does not fit together."""
        columns = self.columns()
        self.check_numbers(columns)
        for n, own in enumerate(columns.orders, 2):
            children, words = np.asarray(own.children), np.asarray(own.words)
            contexts = np.repeat(np.arange(len(children) - 1), np.diff(children))
            reading.expect(not np.any((np.diff(contexts) == 0) & (np.diff(words) <= 0)), "n-grams are not sorted")
            if n > 2:
                suffixes, below = columns.suffixes(n), columns.orders[n - 3]
                reading.expect(np.all(suffixes < len(below)), "an n-gram has no suffix")
                reading.expect(np.array_equal(below.words[suffixes], words), "an n-gram has no suffix")

    def check_numbers(self, columns: Columns) -> None:
        """Raise :class:`ValueError` if something is no probability, or no weight."""
        weights = self.tensors["weights"]
        reading.check_numbers(self.tensors["unigrams"], 1.0)
        reading.check_numbers(weights[::2], _LARGEST_WEIGHT)
        reading.check_numbers(weights[1::2], 1.0)
        reading.expect(weights[-2] == 1 and weights[-1] == 0, "what is not known has a weight")
        for own in columns.orders:
            for values, most in ((own.prob, 1.0), (own.backoff, _LARGEST_WEIGHT), (own.missing, 1.0)):
                if values is not None:
                    reading.check_numbers(np.asarray(values), most)

    @property
    @abstractmethod
    def kernels(self) -> Mapping[int, CKernel]:
        """Its compiled functions, by their fields in a plan."""

    @abstractmethod
    def fields(self, plan: PlanDraft) -> dict[int, int]:
        """What a plan says of it."""

    @abstractmethod
    def columns(self, highest: int | None = None) -> Columns:
        """All n-grams as plain columns, up to the order ``highest`` if that is given."""

    @abstractmethod
    def highest_rank(self, n: int) -> int:
        """The highest rank of the slices of order n, which has low rank layers."""

    @abstractmethod
    def remade(self, columns: Columns, threads: int) -> NgramBody:
        """A component of the same kind that has these n-grams."""

    @abstractmethod
    def planned_size(self, sizes: Sequence[int], factors: Mapping[int, int]) -> int:
        """Bytes of such a component with so many n-grams of each order, and so many factors by order."""


@dataclass(frozen=True)
class Ngrams(NgramBody):
    """A component of n-grams in hash tables."""

    #: Of each order from 2 up: the bits that choose a shard of its table.
    shard_bits: tuple[int, ...]
    #: What stands for impossible, and for the weight of a context that nothing depends on.
    IMPOSSIBLE: ClassVar[float] = 0.0
    NO_WEIGHT: ClassVar[float] = 1.0

    @property
    def kernels(self) -> Mapping[int, CKernel]:
        """Its compiled functions, by their fields in a plan."""
        own = {
            p.ASK: _ngrams.ask_ngrams,
            p.SINGLE: _ngrams.step_ngrams,
            p.ANSWER: _ngrams.answer_ngrams,
            p.SPREAD: _ngrams.spread_low_rank if self.low_rank else _ngrams.spread_ngrams,
        }
        own |= {p.LAYERS: _lowrank.add_low_rank} if self.low_rank else {}
        return own | ({p.OPEN: _ngrams.open_gates, p.DIVIDE: _gates.divide} if self.missing else {})

    @staticmethod
    def told_apart(backoff: NDArray[np.float32], seen: NDArray[np.bool_]) -> NDArray[np.float32]:
        """Weights that are NO_WEIGHT only where nothing was seen after a context."""
        return np.where(seen & (backoff == _ONE), _ALMOST_ONE, backoff)

    def describe(self) -> dict[str, Any]:
        """What a file's metadata says of it."""
        return {"kind": "ngrams", **super().describe(), "shards": list(self.shard_bits)}

    @classmethod
    def from_tensors(cls, described: Mapping[str, Any], tensors: Tensors) -> Self:
        """The component that was described so."""
        (sizes, missing), shards = cls.read_description(described), tuple(described["shards"])
        made = cls(sizes, missing, tensors, shards)
        parts = ("lines", "seeds", "symbols", "ends", "runs")
        names = {"unigrams", "weights", *(f"order{n}.{part}" for n in range(2, made.order + 1) for part in parts)}
        names |= {f"order{n}.factors" for n in made.low_rank}
        names |= {f"order{n}.{part}" for n in made.low_rank if n > 2 for part in ("ranks", "pointers")}
        check_names(tensors, names)
        if len(shards) != made.order - 1:
            raise ValueError("a component of n-grams makes no sense")
        return made

    def fields(self, plan: PlanDraft) -> dict[int, int]:
        """What a plan says of it."""
        # Gates and low rank layers need to know of all orders.
        earliest = 0 if self.missing or self.low_rank or self.order < 4 else self.order - 1
        shapes = [self.shape(n) for n in range(2, self.order + 1)]
        slots = [self.symbols + 1, *(shape.slots for shape in shapes)]
        own = {**self.weight_fields(plan), p.FIRST_ORDER: earliest, p.TABLES: plan.next_field}
        for n, shape in enumerate(shapes, 2):
            memo = 8 if n + 1 in self.low_rank else 4
            table = plan.table(self.tensors, f"order{n}", shape, self.symbols, slots[n - 2], memo)
            table[p.SINCE] = 1 if n < self.order else 2
            table[p.STAGE] = abs(n - earliest) if earliest else 0
            if n in self.low_rank:
                factors = self.tensors[f"order{n}.factors"]
                table[p.FACTORS], table[p.FACTOR_COUNT] = plan.checked(factors, np.float32, None), len(factors)
                if n == 2:
                    table[p.RANK], left_over = divmod(len(factors), 2 * self.symbols)
                    reading.expect(left_over == 0, "the factors of bigrams have the wrong size")
                else:
                    table[p.RANKS] = plan.checked(self.tensors[f"order{n}.ranks"], np.int32, slots[n - 3])
                    table[p.POINTERS] = plan.checked(self.tensors[f"order{n}.pointers"], np.uint32, slots[n - 2])
            plan.add(table, p.TABLE_WIDTH)
        return own

    def check(self) -> None:
        """Raise :class:`ValueError` if something in it does not fit together."""
        found = reading.roots(self.symbols)
        for n in range(2, self.order + 1):
            found = reading.check_table(self.tensors, f"order{n}", self.shape(n), self.symbols, found)
            if n in self.low_rank:
                reading.check_numbers(self.tensors[f"order{n}.factors"])
        super().check()

    def highest_rank(self, n: int) -> int:
        """The highest rank of the slices of order n, which has low rank layers."""
        if n == 2:
            return len(self.tensors["order2.factors"]) // (2 * self.symbols)
        return int(self.tensors[f"order{n}.ranks"].max(initial=0))

    def columns(self, highest: int | None = None) -> Columns:
        """All n-grams as plain columns, up to the order ``highest`` if that is given."""
        weights = self.tensors["weights"].reshape(-1, 2)[:-1]
        columns = Columns(self.tensors["unigrams"][:-1], weights[:, 0], weights[:, 1] if self.missing else None, [])
        #: For each order: its records as they were found.
        found = [reading.roots(self.symbols)]
        for n in range(2, min(self.order, highest or self.order) + 1):
            own = reading.read_table(self.tensors, f"order{n}", self.shape(n), self.symbols, found[-1])
            check_order(n, own.symbols, own.children, self.symbols)
            found.append(own)
            factors = self._factors(n, columns, found) if n in self.low_rank else None
            prob, backoff, missing = (*own.numbers, None, None)[:3]
            columns.orders.append(Order(own.symbols, own.children, prob, backoff, missing, factors))
        return columns

    def _factors(self, n: int, columns: Columns, found: Sequence[reading.ReadTable]) -> Factors:
        both = self.tensors[f"order{n}.factors"]
        if n == 2:
            return part_bigrams(both, both, self.symbols, self.highest_rank(2))
        ranks, pointers = self.tensors[f"order{n}.ranks"], self.tensors[f"order{n}.pointers"]
        return part_factors(n, columns, ranks[found[n - 3].slots], pointers[found[n - 2].slots], both, both)

    def remade(self, columns: Columns, threads: int) -> Ngrams:
        """A component of the same kind that has these n-grams."""
        return assemble(columns, threads=threads)

    def planned_size(self, sizes: Sequence[int], factors: Mapping[int, int]) -> int:
        """Bytes of such a component with so many n-grams of each order, and so many factors by order."""
        shapes = [t.Shape.planned(size, slot_of(n, len(sizes), self.missing)) for n, size in enumerate(sizes[1:], 2)]
        slots = [sizes[0] + 1, *(shape.slots for shape in shapes)]
        size = 12 * slots[0] + 4 * sum(factors.values())
        for n, shape in enumerate(shapes, 2):
            size += shape.nbytes + t.list_bytes(shape.records, sizes[0]) + t.run_bytes(shape.records, slots[n - 2])
            if n > 2 and n in factors:
                size += 4 * (slots[n - 3] + slots[n - 2])
        return size

    def shape(self, n: int) -> t.Shape:
        """The shape of the table of order n."""
        lines, seeds = self.tensors[f"order{n}.lines"], self.tensors[f"order{n}.seeds"]
        slot = slot_of(n, self.order, self.missing)
        return t.Shape.found(self.sizes[n - 1], slot, self.shard_bits[n - 2], lines, seeds)


def slot_of(n: int, order: int, missing: bool) -> int:
    """Words of 4 bytes in a slot of order n: check and probability, and what a context has."""
    return 2 if n == order else 4 if missing else 3


def unigram_tensors(columns: Columns, kind: type[Ngrams] = Ngrams) -> Tensors:
    """The tensors of unigrams."""
    weights = np.zeros((len(columns.prob) + 1, 2), np.float32)
    weights[:, 0] = kind.NO_WEIGHT
    if columns.orders:
        weights[:-1, 0] = _told_apart(kind, columns.backoff, columns.orders[0].children, Scratch())
    if columns.missing is not None:
        weights[:-1, 1] = columns.missing
    return {"unigrams": np.append(columns.prob, np.float32(kind.IMPOSSIBLE)), "weights": weights.reshape(-1)}


def assemble(
    columns: Columns, kind: type[Ngrams] = Ngrams, *, threads: int = 1, scratch: Scratch | None = None
) -> Ngrams:
    """A component from its columns."""
    scratch = scratch or Scratch()
    orders = columns.orders
    symbols, order = len(columns.prob), 1 + len(orders)
    tensors = unigram_tensors(columns, kind)
    keys: Column = np.arange(symbols, dtype=np.uint64)
    places, shards = [t.Owners(None, symbols + 1)], []
    for n, own in enumerate(orders, 2):
        highest = n == order
        keys = t.child_keys(own.children, keys, own.words, threads, scratch)
        values = [own.prob]
        if not highest:
            assert own.backoff is not None
            values.append(_told_apart(kind, own.backoff, orders[n - 1].children, scratch))
            if own.missing is not None:
                values.append(own.missing)
        placed = t.place(keys, values, with_slots=not highest, threads=threads, scratch=scratch)
        tensors |= t.table_tensors(f"order{n}", placed, own.words, symbols, own.children, places[-1], scratch)
        if own.factors is not None:
            tensors |= _factor_tensors(n, own.factors, orders, places, scratch)
        scratch.tidy()
        shards.append(placed.shape.shard_bits)
        places.append(t.Owners(placed.slots, placed.shape.slots))
    sizes = symbols, *map(len, orders)
    return kind(sizes, columns.missing is not None, tensors, tuple(shards))


def _told_apart(kind: type[Ngrams], backoff: Column, children: Column, scratch: Scratch) -> Column:
    """Weights that are ``kind.NO_WEIGHT`` only where nothing was seen after a context."""
    made = Growing(scratch, np.float32)
    for part in slices(len(backoff), _PIECE):
        seen = np.diff(children[part.start : part.stop + 1]) > 0
        made.append(kind.told_apart(backoff[part], seen))
    return made.finish()


def _factor_tensors(
    n: int, f: Factors, orders: Sequence[Order], places: Sequence[t.Owners], scratch: Scratch
) -> Tensors:
    """The low rank layers of order n; ``places`` has the slots of the orders below it."""
    if n == 2:
        both = np.stack(
            [np.asarray(f.right[:]).reshape(places[0].count - 1, -1), f.left.reshape(places[0].count - 1, -1)], axis=1
        )
        return {"order2.factors": both.reshape(-1)}
    made = partial(t.room, dtype=np.float32, scratch=scratch)
    pointers, factors = join_factors(orders[n - 3].children, f, f.right, f.left, made)
    return {
        f"order{n}.ranks": places[n - 3].spread(f.rank.astype(np.int32), scratch),
        f"order{n}.pointers": places[n - 2].spread(pointers, scratch),
        f"order{n}.factors": factors,
    }
