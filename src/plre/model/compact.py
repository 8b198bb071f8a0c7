"""N-grams with numbers of 8 or 16 bits as a component of a model: its tensors, made from plain columns and back.

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
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from plre._jit import CKernel
from plre.errors import ModelFileError
from plre.lowrank.blocks import Factors
from plre.model import _compact, _gates
from plre.model import _plan as p
from plre.model.codes import Code, backoff_code
from plre.model.columns import Columns, Order, check_order, join_factors, part_bigrams, part_factors
from plre.model.ngrams import NgramBody, check_names, unigram_tensors
from plre.scratch import Column, Scratch, slices
from plre.tables import building as t
from plre.tables import reading
from plre.tables.packing import PADDING, bits_of, pack, pack_records, packed_bytes, unpack
from plre.tensorfile import Tensors

if TYPE_CHECKING:
    from plre.model.plan import PlanDraft

#: Factors smaller than the largest by this much count as nothing.
_FACTOR_RANGE = 2.0**-32
#: N-grams that are encoded together; a multiple of 8.
_PIECE = 1 << 20


@dataclass(frozen=True)
class CompactNgrams(NgramBody):
    """A component of n-grams whose numbers take so many bits each."""

    bits: int
    #: For each order from 2 up the codes of its probabilities, and of its right and left factors.
    codes: tuple[tuple[Code, Code, Code], ...]

    @property
    def kernels(self) -> Mapping[int, CKernel]:
        """Its compiled functions, by their fields in a plan."""
        own = {
            p.ASK: _compact.ask_compact,
            p.SINGLE: _compact.ask_compact,
            p.ANSWER: _compact.answer_compact,
            p.SPREAD: _compact.spread_compact,
        }
        return own | ({p.DIVIDE: _gates.divide} if self.missing else {})

    def describe(self) -> dict[str, Any]:
        """What a file's metadata says of it."""
        codes = [[[code.base, code.step] for code in order] for order in self.codes]
        return {"kind": "compact", **super().describe(), "bits": self.bits, "codes": codes}

    @classmethod
    def from_tensors(cls, described: Mapping[str, Any], tensors: Tensors) -> CompactNgrams:
        """The component that was described so."""
        (sizes, missing), bits = cls.read_description(described), described["bits"]
        codes = tuple(tuple(Code(*code) for code in each) for each in described["codes"])
        numbers = [number for each in codes for code in each for number in (code.base, code.step)]
        if (
            type(bits) is not int
            or bits not in (8, 16)
            or len(codes) != len(sizes) - 1
            or any(len(each) != 3 for each in codes)
        ):
            raise ValueError("the codes of a component make no sense")
        if any(type(number) is not int or abs(number) >= 2**31 for number in numbers):
            raise ValueError("the codes of a component make no sense")
        made = cls(sizes, missing, tensors, bits, codes)  # type: ignore[arg-type]
        names = {"unigrams", "weights", *(f"order{n}.records" for n in range(2, made.order + 1))}
        names |= {"order2.runs"} if made.order > 1 else set()
        names |= {f"order{n}.{part}" for n in made.low_rank for part in ("factors", "ranks")}
        check_names(tensors, names | {f"order{n}.pointers" for n in made.low_rank if n > 2})
        return made

    def widths(self, n: int) -> list[int]:
        """Bits of the fields of a record of order n: symbol, numbers, and where longer n-grams start."""
        return _widths(self.sizes, n, self.missing, self.bits)

    def fields(self, plan: PlanDraft) -> dict[int, int]:
        """What a plan says of it."""
        own = {**self.weight_fields(plan), p.TABLES: plan.next_field}
        weights, tensors = backoff_code(self.bits), self.tensors
        for n, records in enumerate(self.sizes[1:], 2):
            widths = self.widths(n)
            (code, right, left), size = self.codes[n - 2], packed_bytes(records + (n < self.order), sum(widths))
            table = {
                p.LIST: plan.checked(tensors[f"order{n}.records"], np.uint8, size),
                p.RECORDS: records,
                p.STRIDE: sum(widths),
                p.SYMBOL_BITS: widths[0],
                p.NUMBER_BITS: self.bits,
                p.START_BITS: widths[-1] if n < self.order else 0,
                p.PROB_BASE: code.base,
                p.PROB_STEP: code.step,
                p.WEIGHT_BASE: weights.base,
                p.WEIGHT_STEP: weights.step,
                p.RIGHT_BASE: right.base,
                p.RIGHT_STEP: right.step,
                p.LEFT_BASE: left.base,
                p.LEFT_STEP: left.step,
            }
            if n == 2:
                table[p.RUN_BITS] = bits_of(records)
                size = packed_bytes(self.symbols + 2, table[p.RUN_BITS])
                table[p.RUNS] = plan.checked(tensors["order2.runs"], np.uint8, size)
            if n in self.low_rank:
                factors = tensors[f"order{n}.factors"]
                table[p.FACTORS] = plan.checked(factors, np.uint8, None)
                table[p.FACTOR_COUNT], left_over = divmod(8 * (len(factors) - PADDING), self.bits)
                reading.expect(table[p.FACTOR_COUNT] >= 0 and left_over == 0, "the factors have the wrong size")
                ranks = tensors[f"order{n}.ranks"]
                table[p.RANKS] = plan.checked(ranks, np.int32, 1 if n == 2 else self.sizes[n - 3])
                if n == 2:
                    table[p.RANK], left_over = divmod(table[p.FACTOR_COUNT], 2 * self.symbols)
                    fits = left_over == 0 and table[p.RANK] == ranks[0]
                    reading.expect(fits, "the factors of bigrams have the wrong size")
                else:
                    table[p.POINTERS] = plan.checked(tensors[f"order{n}.pointers"], np.uint32, self.sizes[n - 2])
            plan.add(table, p.TABLE_WIDTH)
        return own

    def highest_rank(self, n: int) -> int:
        """The highest rank of the slices of order n, which has low rank layers."""
        return int(self.tensors[f"order{n}.ranks"].max(initial=0))

    def columns(self, highest: int | None = None) -> Columns:
        """All n-grams as plain columns, up to the order ``highest`` if that is given."""
        weights = self.tensors["weights"].reshape(-1, 2)[:-1]
        columns = Columns(self.tensors["unigrams"][:-1], weights[:, 0], weights[:, 1] if self.missing else None, [])
        for n in range(2, min(self.order, highest or self.order) + 1):
            words, *numbers = (self._field(n, k) for k in range(len(self.widths(n)) - (n < self.order)))
            if n == 2:
                children = unpack(self.tensors["order2.runs"], self.symbols + 1, bits_of(self.sizes[1]))
            else:
                children = self._field(n - 1, -1, more=1)
            check_order(n, words.astype(np.int32), children.astype(np.int32), self.symbols)
            codes = self.codes[n - 2][0], *[backoff_code(self.bits)] * 2
            decoded = [code.decode(each) for code, each in zip(codes, numbers, strict=False)]
            prob, backoff, missing = (*decoded, None, None)[:3]
            own = Order(words.astype(np.int32), children.astype(np.int32), prob, backoff, missing)
            columns.orders.append(own)
            if n in self.low_rank:
                columns.orders[-1] = replace(own, factors=self._factors(n, columns))
        return columns

    def _field(self, n: int, which: int, more: int = 0) -> NDArray[np.int64]:
        """One field of the records of order n, and of so many more."""
        widths = self.widths(n)
        which %= len(widths)
        packed, count = self.tensors[f"order{n}.records"], self.sizes[n - 1] + more
        return unpack(packed, count, widths[which], sum(widths[:which]), sum(widths))

    def _factors(self, n: int, columns: Columns) -> Factors:
        packed, ranks = self.tensors[f"order{n}.factors"], self.tensors[f"order{n}.ranks"]
        coded = unpack(packed, 8 * (len(packed) - PADDING) // self.bits, self.bits)
        rights, lefts = (code.decode(coded) for code in self.codes[n - 2][1:])
        if n > 2:
            return part_factors(n, columns, ranks, self.tensors[f"order{n}.pointers"], rights, lefts)
        if len(coded) != 2 * self.symbols * int(ranks[0]):
            raise ModelFileError("the low rank layers of order 2 do not fit together; check the model with plre verify")
        return part_bigrams(rights, lefts, self.symbols, int(ranks[0]))

    def remade(self, columns: Columns, threads: int) -> CompactNgrams:
        """A component of the same kind that has these n-grams."""
        return compress(columns, self.bits)

    def planned_size(self, sizes: Sequence[int], factors: Mapping[int, int]) -> int:
        """Bytes of such a component with so many n-grams of each order, and so many factors by order."""
        total = 12 * (sizes[0] + 1) + self.bits // 8 * sum(factors.values())
        for n, records in enumerate(sizes[1:], 2):
            total += packed_bytes(records + 1, sum(_widths(sizes, n, self.missing, self.bits)))
            if n == 2:
                total += t.run_bytes(records, sizes[0] + 2)
            if n in factors:
                total += PADDING + 4 * ((sizes[n - 3] + sizes[n - 2]) if n > 2 else 1)
        return total


def _widths(sizes: Sequence[int], n: int, missing: bool, bits: int) -> list[int]:
    """Bits of the fields of a record of order n, of n-grams with these sizes."""
    if n == len(sizes):
        return [bits_of(sizes[0] - 1), bits]
    return [bits_of(sizes[0] - 1), *[bits] * (2 + missing), bits_of(sizes[n])]


def compress(columns: Columns, bits: int, *, scratch: Scratch | None = None) -> CompactNgrams:
    """A component whose numbers take 8 or 16 bits each."""
    scratch = scratch or Scratch()
    sizes = len(columns.prob), *map(len, columns.orders)
    missing = columns.missing is not None
    tensors = unigram_tensors(columns)
    codes = []
    for n, own in enumerate(columns.orders, 2):
        code = Code.of((own.prob[part] for part in slices(len(own), _PIECE)), bits)
        if n == 2:
            tensors["order2.runs"] = pack(np.append(np.asarray(own.children[:]), len(own)), bits_of(len(own)))
        widths, longer = _widths(sizes, n, missing, bits), columns.orders[n - 1 :]
        tensors[f"order{n}.records"] = _records(own, longer[0].children if longer else None, code, widths, scratch)
        sides = Code(0, 1), Code(0, 1)
        if own.factors is not None:
            given = np.asarray(own.factors.right[:]), own.factors.left
            sides = tuple(Code.of([side], bits, _FACTOR_RANGE) for side in given)  # type: ignore[assignment]
            tensors |= _factor_tensors(n, own.factors, columns, bits, *sides)
        codes.append((code, *sides))
    return CompactNgrams(sizes, missing, tensors, bits, tuple(codes))


def _records(own: Order, children: Column, code: Code, widths: list[int], scratch: Scratch) -> NDArray[np.uint8]:
    """The n-grams of an order as records with fields of these widths; ``children`` says where longer ones start."""
    count, stride, bits = len(own) + (children is not None), sum(widths), widths[1]
    draft = t.ArrayDraft(packed_bytes(count, stride), np.uint8, scratch)
    for part in slices(count, _PIECE):  # each begins with a byte of its own
        fields = [own.words[part], code.encode(own.prob[part], bits)]
        if children is not None:
            weights = [each[part] for each in (own.backoff, own.missing) if each is not None]
            fields += [*(backoff_code(bits).encode(each, bits) for each in weights), children[part]]
        packed = pack_records(list(zip(fields, widths, strict=True)), part.stop - part.start)
        draft.put(part.start * stride // 8, packed[:-PADDING])
    return draft.finish()


def _factor_tensors(n: int, f: Factors, columns: Columns, bits: int, right_code: Code, left_code: Code) -> Tensors:
    """The low rank layers of order n, as codes."""
    right, left = right_code.encode(np.asarray(f.right[:]), bits), left_code.encode(f.left, bits)
    if n == 2:
        words = len(columns.prob)
        both = np.stack([right.reshape(words, -1), left.reshape(words, -1)], axis=1).reshape(-1)
        return {"order2.factors": pack(both, bits), "order2.ranks": f.rank.astype(np.int32)}
    pointers, both = join_factors(
        columns.orders[n - 3].children, f, right, left, lambda count: np.zeros(count, np.int64)
    )
    return {
        f"order{n}.factors": pack(both, bits),
        f"order{n}.ranks": f.rank.astype(np.int32),
        f"order{n}.pointers": pointers,
    }
