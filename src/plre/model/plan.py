"""The plan of a model: where its arrays are, for the kernels (``_plan.py`` has the names of its fields).

Sizes of arrays are checked here against each other, so that whatever kernels compute from a plan lies within an array.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plre._jit import CKernel
from plre.model import _compact, _contexts, _ngrams
from plre.model import _plan as p
from plre.model import tables as t
from plre.model.codes import backoff_code
from plre.model.compact import CompactNgrams
from plre.model.component import Component
from plre.model.contexts import WORDS, Contexts
from plre.model.file import Tensors
from plre.model.ngrams import Ngrams
from plre.text._kernels import BATCH
from plre.text.vocabulary import Vocabulary

_NOTHING = np.array([0, 1, 1, 0], np.float32).view(np.int64)  # a record that was not found: backoff 1


_NGRAMS = {
    p.ASK: _ngrams.ask_ngrams,
    p.SINGLE: _ngrams.step_ngrams,
    p.ANSWER: _ngrams.answer_ngrams,
    p.SPREAD: _ngrams.spread_ngrams,
}
_LOW_RANK = {**_NGRAMS, p.ANSWER: _ngrams.answer_low_rank, p.SPREAD: _ngrams.spread_low_rank}
_COMPACT = {
    p.ASK: _compact.ask_compact,
    p.SINGLE: _compact.ask_compact,
    p.ANSWER: _compact.answer_compact,
    p.SPREAD: _compact.spread_compact,
}
_CONTEXTS = {
    p.ASK: _contexts.ask_contexts,
    p.SINGLE: _contexts.step_contexts,
    p.ANSWER: _contexts.answer_contexts,
    p.SPREAD: _contexts.spread_contexts,
}


def _functions(body: Ngrams | CompactNgrams | Contexts) -> dict[int, CKernel]:
    """The compiled functions of a component's kind, by their fields in a plan."""
    if isinstance(body, Contexts):
        return _CONTEXTS
    if isinstance(body, CompactNgrams):
        return _COMPACT
    return _LOW_RANK if body.low_rank else _NGRAMS


@dataclass(frozen=True)
class Room:
    """Memory for questions about the whole vocabulary, one at a time."""

    work: NDArray[np.int64]
    #: Numbers of long runs, once they were asked for; it takes no memory before.
    memo: NDArray[np.uint32]
    #: What each component says of all its symbols.
    buffer: NDArray[np.float64]
    probs: NDArray[np.float64]


class Plan:
    """The plan of a model, and the memory that its questions need."""

    def __init__(self, vocab: Vocabulary, components: Sequence[Component]) -> None:
        self._fields: list[int] = [0] * (p.MODEL_WIDTH + len(components) * p.COMPONENT_WIDTH)
        self._components = components
        self._kept: list[Any] = [vocab]
        self._rooms: list[Room] = []
        self.words = len(vocab)
        self.reach = max(component.body.reach for component in components)
        offset = 0
        self.buffer = self._memo = 0
        for number, component in enumerate(components):
            at = p.MODEL_WIDTH + number * p.COMPONENT_WIDTH
            own = self._describe(component, at)
            own[p.OFFSET], own[p.BUFFER] = 8 * p.COLUMNS * offset, self.buffer
            self._fields[at : at + p.COMPONENT_WIDTH] = [own.get(name, 0) for name in range(p.COMPONENT_WIDTH)]
            offset += p.TABLE_ROWS * (own[p.TABLE_COUNT] + 1) + p.EXTRA_ROWS
            self.buffer += own[p.SYMBOLS] + 1
        head = self._fields
        self._list_lookups()
        head[p.WORDS], head[p.REACH], head[p.COMPONENTS] = self.words, self.reach, len(components)
        head[p.SLOTS], head[p.SLOT_COUNT] = self._address(vocab.slots), len(vocab.slots)
        head[p.STARTS] = self._address(vocab.starts)
        head[p.LETTERS], head[p.LETTER_COUNT] = self._address(vocab.arena), len(vocab.arena)
        head[p.NOWHERE : p.NOWHERE + 2] = _NOTHING.tolist()
        head[p.WINDOW] = 8 * (p.BLOCK_WIDTH + p.COLUMNS * (p.BLOCK_ROWS + offset))
        self._size = head[p.WINDOW] // 8 + self.reach + BATCH + 8 + 3 * BATCH
        self._own_work = self.work_space()
        head[p.WORK] = self._address(self._own_work)
        self.array = np.array(self._fields, np.int64)
        self._start = self._address(self.array)

    def _list_lookups(self) -> None:
        """Add the list of what a single question looks up, and the number of stages that text needs."""
        fields, stages = self._fields, [0]
        of_word, of_context = [], []
        for number in range(len(self._components)):
            at = p.MODEL_WIDTH + number * p.COMPONENT_WIDTH
            for each in range(fields[at + p.TABLE_COUNT]):
                table = fields[at + p.TABLES] + each * p.TABLE_WIDTH
                if fields[table + p.LINES]:
                    row = fields[at + p.OFFSET] + 8 * p.COLUMNS * p.TABLE_ROWS * (each + 1)
                    of_word += [table, row, 2]
                    of_context += [table, row, 1] if fields[table + p.SINCE] == 1 else []
                    stages.append(fields[table + p.STAGE])
        fields[p.STAGES], fields[p.LOOKUPS] = 1 + max(stages), len(fields)
        fields[p.OF_WORD], fields[p.OF_BOTH] = len(of_word) // 3, (len(of_word) + len(of_context)) // 3
        fields += [*of_word, *of_context]

    @cached_property
    def texts(self) -> int:
        """The address of the plan, with what questions about texts need: what nobody asks for is not compiled."""
        return self._with(p.ASK, p.ANSWER)

    @cached_property
    def steps(self) -> int:
        """The address of the plan, with what single questions need."""
        return self._with(p.SINGLE, p.ANSWER)

    @cached_property
    def spreading(self) -> int:
        """The address of the plan, with what questions about the whole vocabulary need."""
        return self._with(p.SINGLE, p.ANSWER, p.SPREAD)

    @cached_property
    def sampling(self) -> int:
        """The address of the plan, with what samples need: also the words of each symbol."""
        for number, component in enumerate(self._components):
            if component.symbols is not None:
                symbols = np.minimum(component.symbols[:-1].view(np.uint32), component.body.symbols)
                at = p.MODEL_WIDTH + number * p.COMPONENT_WIDTH
                words = np.argsort(symbols, kind="stable")
                starts = np.searchsorted(symbols[words], np.arange(component.body.symbols + 1))
                self.array[at + p.MEMBER_WORDS] = self._address(words.astype(np.int64))
                self.array[at + p.MEMBER_STARTS] = self._address(starts.astype(np.int64))
        return self.spreading

    def _with(self, *functions: int) -> int:
        """The address of the plan, once it has these functions of each component's kind."""
        for number, component in enumerate(self._components):
            for function in functions:
                address = _functions(component.body)[function].address
                self.array[p.MODEL_WIDTH + number * p.COMPONENT_WIDTH + function] = address
            if isinstance(component.body, Ngrams) and component.body.missing:
                self.array[p.MODEL_WIDTH + number * p.COMPONENT_WIDTH + p.OPEN] = _ngrams.open_gates.address
        return self._start

    @contextmanager
    def room(self) -> Iterator[Room]:
        """Lend memory for a question, which is kept for the next one: new memory is slow when it is first used."""
        try:
            room = self._rooms.pop()
        except IndexError:
            room = Room(
                self.work_space(), np.zeros(self._memo // 4, np.uint32), np.empty(self.buffer), np.empty(self.words)
            )
            room.work[p.MEMO] = room.memo.ctypes.data
        try:
            yield room
        finally:
            self._rooms.append(room)

    def work_space(self) -> NDArray[np.int64]:
        """Memory for one question at a time: a block that knows where its rows are, and that nothing was asked yet."""
        work = np.empty(self._size, np.int64)
        start = work.ctypes.data
        rows = start + 8 * p.BLOCK_WIDTH
        own = (p.SINCE_START, p.WITHIN, p.OWN, p.ROW, p.LACKING, p.MATCHED, p.TOTAL, p.LONGEST, p.SPACE)
        for number, field in enumerate(own):
            work[field] = rows + 8 * p.COLUMNS * number
        work[p.IDS] = start + self._fields[p.WINDOW]
        work[p.NEEDED], work[p.ORDERS], work[p.GIVEN], work[p.KEPT] = -1, 0, -1, -1
        work[p.BEFORE] = p.FRESH
        return work

    def _address(self, array: NDArray[Any]) -> int:
        self._kept.append(array)
        return int(array.ctypes.data)

    def _describe(self, component: Component, at: int) -> dict[int, int]:
        """The fields of a component."""
        body = component.body
        if isinstance(body, Ngrams):
            own = self._describe_ngrams(body)
        elif isinstance(body, CompactNgrams):
            own = self._describe_compact(body)
        else:
            own = self._describe_contexts(body)
        own[p.WEIGHT] = int(np.float64(component.weight).view(np.int64))
        own[p.SYMBOLS] = body.symbols
        own[p.UNIGRAMS] = self._checked(body.tensors["unigrams"], np.float32, body.symbols + 1)
        if (component.symbols is None) != (component.shares is None):
            raise ValueError("a component has symbols without shares, or shares without symbols")
        if component.symbols is not None:
            own[p.MAP] = self._checked(component.symbols, np.int32, self.words + 1)
        elif body.symbols != self.words:
            raise ValueError("a component has another vocabulary")
        if component.shares is not None:
            own[p.SHARES] = self._checked(component.shares, np.float32, self.words + 1)
        if component.gates is not None:
            own[p.MEMBERS] = component.members
            own[p.GATES] = self._checked(component.gates.table, np.float32, None)
            own[p.ROOT] = int(np.float64(component.gates.root).view(np.int64))
        return own

    @staticmethod
    def _counts(counts: tuple[int, ...]) -> tuple[int, ...]:
        """How many records there are, none of which may be less than none: then a tensor is too short."""
        if min(counts) < 0:
            raise ValueError("a list of records is too short")
        return counts

    def _checked(self, array: NDArray[Any], dtype: Any, size: int | None) -> int:
        """The address of an array that must have this type and size."""
        if array.dtype != dtype or not array.flags.c_contiguous or (size is not None and array.size != size):
            raise ValueError(f"an array has {array.size} entries of type {array.dtype} instead of {size}")
        return self._address(array)

    def _describe_ngrams(self, body: Ngrams) -> dict[int, int]:
        sizes = self._counts(body.sizes)
        first = len(self._fields)
        owners = body.symbols + 1
        # Gates and low rank layers need to know of all orders.
        earliest = 0 if body.missing or body.low_rank or body.order < 4 else body.order - 1
        shapes = [body.shape(n, size) for n, size in enumerate(sizes[1:], 2)]
        slots = [owners, *(shape.slots for shape in shapes)]
        for n, shape in enumerate(shapes, 2):
            own = self._table(body.tensors, f"order{n}", shape, body.symbols, slots[n - 2])
            own[p.SINCE] = 1 if n < body.order else 2
            own[p.STAGE] = abs(n - earliest) if earliest else 0
            if n in body.low_rank:
                factors = body.tensors[f"order{n}.factors"]
                own[p.FACTORS], own[p.FACTOR_COUNT] = self._checked(factors, np.float32, None), len(factors)
                if n == 2:
                    if len(factors) % (2 * body.symbols):
                        raise ValueError("the factors of bigrams have the wrong size")
                    own[p.RANK] = len(factors) // (2 * body.symbols)
                else:
                    own[p.RANKS] = self._checked(body.tensors[f"order{n}.ranks"], np.int32, slots[n - 3])
                    own[p.POINTERS] = self._checked(body.tensors[f"order{n}.pointers"], np.uint32, slots[n - 2])
            self._fields += [own.get(name, 0) for name in range(p.TABLE_WIDTH)]
        return {
            p.LEVELS: body.order,
            p.WEIGHTS: self._checked(body.tensors["weights"], np.float32, 2 * owners),
            p.MISSING: int(body.missing),
            p.TABLES: first,
            p.TABLE_COUNT: len(shapes),
            p.FIRST_ORDER: earliest,
        }

    def _describe_compact(self, body: CompactNgrams) -> dict[int, int]:
        first, sizes, tensors = len(self._fields), self._counts(body.sizes), body.tensors
        weights = backoff_code(body.size)
        for n, records in enumerate(sizes[1:], 2):
            start = body.start_bytes(n)
            stride = body.stride(n, start)
            code, right, left = body.codes[n - 2]
            own = {
                p.LIST: self._checked(
                    tensors[f"order{n}.records"], np.uint8, (records + (n < body.order)) * stride + t.PADDING
                ),
                p.RECORDS: records,
                p.STRIDE: stride,
                p.SYMBOL_BYTES: t.width_of(body.symbols - 1),
                p.NUMBER_BYTES: body.size,
                p.START_BYTES: start,
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
                own[p.RUN_BYTES] = t.width_of(records)
                size = (body.symbols + 2) * own[p.RUN_BYTES] + t.PADDING
                own[p.RUNS] = self._checked(tensors["order2.runs"], np.uint8, size)
            if n in body.low_rank:
                factors = tensors[f"order{n}.factors"]
                own[p.FACTORS] = self._checked(factors, np.uint8, None)
                own[p.FACTOR_COUNT], left_over = divmod(len(factors) - t.PADDING, body.size)
                if own[p.FACTOR_COUNT] < 0 or left_over:
                    raise ValueError("the factors have the wrong size")
                own[p.RANKS] = self._checked(tensors[f"order{n}.ranks"], np.int32, 1 if n == 2 else sizes[n - 3])
                if n > 2:
                    own[p.POINTERS] = self._checked(tensors[f"order{n}.pointers"], np.uint32, sizes[n - 2])
            self._fields += [own.get(name, 0) for name in range(p.TABLE_WIDTH)]
        return {
            p.LEVELS: body.order,
            p.WEIGHTS: self._checked(tensors["weights"], np.float32, 2 * (body.symbols + 1)),
            p.MISSING: int(body.missing),
            p.TABLES: first,
            p.TABLE_COUNT: body.order - 1,
        }

    def _describe_contexts(self, body: Contexts) -> dict[int, int]:
        chain = len(self._fields)
        for number, slot in enumerate(body.chain):
            own = {p.SLOT_DISTANCE: slot.distance, p.SLOT_SYMBOLS: body.slot_symbols(number)}
            if slot.map != WORDS:
                own[p.SLOT_MAP] = self._checked(body.tensors[f"map{slot.map}"], np.int32, self.words + 1)
            self._fields += [own.get(name, 0) for name in range(p.CHAIN_WIDTH)]
        first = len(self._fields)
        owners = 1
        for level, (contexts, events) in enumerate(map(self._counts, body.sizes), 1):
            for kind, size, symbols in (
                ("contexts", contexts, body.slot_symbols(level - 1)),
                ("events", events, body.symbols),
            ):
                shape = body.shape(level, kind, size)
                own = self._table(body.tensors, f"level{level}.{kind}", shape, symbols, owners)
                own[p.SINCE] = 2
                late = len(body.chain) - level
                own[p.STAGE] = max(0, late - 1) if kind == "events" else min(max(1, late), max(1, len(body.chain) - 2))
                self._fields += [own.get(name, 0) for name in range(p.TABLE_WIDTH)]
                if kind == "contexts":
                    owners = shape.slots
        return {
            p.LEVELS: len(body.chain),
            p.CHAIN: chain,
            p.TABLES: first,
            p.TABLE_COUNT: 2 * len(body.chain),
        }

    def _table(self, tensors: Tensors, name: str, shape: t.Shape, symbols: int, owners: int) -> dict[int, int]:
        """The fields of a table."""
        width = t.width_of(shape.records)
        own = {
            p.LINES: self._checked(tensors[f"{name}.lines"], np.int32, shape.shards * shape.height * 16),
            p.SEEDS: self._checked(tensors[f"{name}.seeds"], np.uint8, shape.shards * shape.buckets),
            p.SHARD_BITS: shape.shard_bits,
            p.BUCKETS: shape.shards * shape.buckets,
            p.HEIGHT: shape.height,
            p.LANES: sum(1 << (shape.slot * j) for j in range(shape.per_line)),
            p.PER_LINE: shape.per_line,
            p.INVERSE: -(-256 // shape.slot),
            p.LIST: self._checked(
                tensors[f"{name}.symbols"], np.uint8, shape.records * t.width_of(symbols - 1) + t.PADDING
            ),
            p.LIST_BYTES: t.width_of(symbols - 1),
            p.RECORDS: shape.records,
            p.ENDS: self._checked(tensors[f"{name}.ends"], np.uint64, (shape.records >> 6) + 1),
            p.RUNS: self._checked(tensors[f"{name}.runs"], np.uint8, owners * width + t.PADDING),
            p.RUN_BYTES: width,
            p.OWNERS: owners,
            p.RUN_MEMO: self._memo,
        }
        self._memo += 8 * shape.records
        if own[p.LINES] % 64:
            raise ValueError("its data does not begin at a multiple of 64 bytes")
        return own
