"""The plan of a model: where its arrays are, for the kernels (``_plan.py`` has the names of its fields).

Sizes of arrays are checked here against each other, so that whatever kernels compute from a plan lies within an array.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plre.model import _plan as p
from plre.model.component import Component
from plre.tables import building as t
from plre.tables.packing import bits_of, packed_bytes
from plre.tensorfile import Tensors
from plre.text._kernels import BATCH
from plre.text.vocabulary import Vocabulary

_NOTHING = np.array([0, 1, 1, 0], np.float32).view(np.int64)  # a record that was not found: backoff 1


class Room:
    """Memory for questions, one at a time; what only those about the whole vocabulary need is made for the first."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self.work = plan.work_space()

    @cached_property
    def buffer(self) -> NDArray[np.float64]:
        """What each component says of all its symbols; then numbers of long runs can be remembered, too."""
        self._memo = np.zeros(self._plan.memo // 4, np.uint32)  # takes no memory before it is used
        self.work[p.MEMO] = self._memo.ctypes.data
        return np.empty(self._plan.buffer)

    @cached_property
    def probs(self) -> NDArray[np.float64]:
        """The probability of each word."""
        return np.empty(self._plan.words)


class PlanDraft:
    """The fields of a plan while it is made: components add theirs, and have their arrays checked."""

    def __init__(self, words: int, components: int) -> None:
        self.words = words
        self.fields = [0] * (p.MODEL_WIDTH + components * p.COMPONENT_WIDTH)
        #: Arrays to which the plan has addresses, and must outlive it.
        self.kept: list[Any] = []
        #: Bytes in which numbers of runs can be remembered.
        self.memo = 0

    @property
    def next_field(self) -> int:
        """Where what is added next will be."""
        return len(self.fields)

    def add(self, own: Mapping[int, int], width: int) -> None:
        """Add fields, of which there are so many; those that are not named are 0."""
        self.fields += [own.get(name, 0) for name in range(width)]

    def address(self, array: NDArray[Any]) -> int:
        """The address of an array, which is kept."""
        self.kept.append(array)
        return int(array.ctypes.data)

    def checked(self, array: NDArray[Any], dtype: Any, size: int | None) -> int:
        """The address of an array that must have this type and size."""
        if array.dtype != dtype or not array.flags.c_contiguous or (size is not None and array.size != size):
            raise ValueError(f"an array has {array.size} entries of type {array.dtype} instead of {size}")
        return self.address(array)

    def component(self, component: Component) -> dict[int, int]:
        """The fields of a component."""
        body = component.body
        own = body.fields(self)
        own[p.WEIGHT] = int(np.float64(component.weight).view(np.int64))
        own[p.SYMBOLS] = body.symbols
        own[p.UNIGRAMS] = self.checked(body.tensors["unigrams"], np.float32, body.symbols + 1)
        if (component.symbols is None) != (component.shares is None):
            raise ValueError("a component has symbols without shares, or shares without symbols")
        if component.symbols is not None and component.shares is not None:
            own[p.MAP] = self.checked(component.symbols, np.int32, self.words + 1)
            own[p.SHARES] = self.checked(component.shares, np.float32, self.words + 1)
        elif body.symbols != self.words:
            raise ValueError("a component has another vocabulary")
        if component.gates is not None:
            own[p.MEMBERS] = component.members
            own[p.GATES] = self.checked(component.gates.table, np.float32, None)
            own[p.ROOT] = int(np.float64(component.gates.root).view(np.int64))
        return own

    def table(
        self, tensors: Tensors, name: str, shape: t.Shape, symbols: int, owners: int, memo: int
    ) -> dict[int, int]:
        """The fields of a table, of each of whose records so many bytes can be remembered."""
        if shape.records > shape.slots:
            raise ValueError("a table has more records than room for them")
        bits, run_bits = bits_of(symbols - 1), bits_of(shape.records)
        listed = packed_bytes(shape.records, bits)
        own = {
            p.LINES: self.checked(tensors[f"{name}.lines"], np.int32, shape.shards * shape.height * 16),
            p.SEEDS: self.checked(tensors[f"{name}.seeds"], np.uint8, shape.shards * shape.buckets),
            p.SHARD_BITS: shape.shard_bits,
            p.BUCKETS: shape.shards * shape.buckets,
            p.HEIGHT: shape.height,
            p.LANES: sum(1 << (shape.slot * j) for j in range(shape.per_line)),
            p.PER_LINE: shape.per_line,
            p.INVERSE: -(-256 // shape.slot),
            p.LIST: self.checked(tensors[f"{name}.symbols"], np.uint8, listed),
            p.LIST_BITS: bits,
            p.RECORDS: shape.records,
            p.ENDS: self.checked(tensors[f"{name}.ends"], np.uint64, (shape.records >> 6) + 1),
            p.RUNS: self.checked(tensors[f"{name}.runs"], np.uint8, packed_bytes(owners, run_bits)),
            p.RUN_BITS: run_bits,
            p.OWNERS: owners,
            p.RUN_MEMO: self.memo,
        }
        if own[p.LINES] % 64:
            raise ValueError("its data does not begin at a multiple of 64 bytes")
        self.memo += memo * shape.records
        return own


class Plan:
    """The plan of a model, and the memory that its questions need."""

    def __init__(self, vocab: Vocabulary, components: Sequence[Component]) -> None:
        draft = PlanDraft(len(vocab), len(components))
        self._vocab, self._components = vocab, components  # whose arrays are used as long as there is a plan
        self._rooms: list[Room] = []
        self.words = len(vocab)
        self.reach = max(component.body.reach for component in components)
        offset = self.buffer = 0
        for number, component in enumerate(components):
            own = draft.component(component)
            own[p.OFFSET], own[p.BUFFER] = 8 * p.COLUMNS * offset, self.buffer
            at = p.MODEL_WIDTH + number * p.COMPONENT_WIDTH
            draft.fields[at : at + p.COMPONENT_WIDTH] = [own.get(name, 0) for name in range(p.COMPONENT_WIDTH)]
            offset += p.TABLE_ROWS * (own[p.TABLE_COUNT] + 1) + p.EXTRA_ROWS
            self.buffer += own[p.SYMBOLS] + 1
        head = draft.fields
        self._list_lookups(head)
        head[: p.VOCABULARY_WIDTH] = vocab.fields.tolist()
        head[p.REACH], head[p.COMPONENTS] = self.reach, len(components)
        head[p.NOWHERE : p.NOWHERE + 2] = _NOTHING.tolist()
        self._window = 8 * (p.BLOCK_WIDTH + p.COLUMNS * (p.BLOCK_ROWS + offset))
        self._size = self._window // 8 + self.reach + BATCH + 8 + 3 * BATCH
        #: Bytes in which numbers of runs can be remembered.
        self.memo = draft.memo
        head[p.WORK] = draft.address(self.work_space())
        self.array = np.array(head, np.int64)
        self._start = draft.address(self.array)
        self._draft = draft

    def _list_lookups(self, fields: list[int]) -> None:
        """Add the list of what a single question looks up, and the number of stages that text needs."""
        stages, of_word, of_context = [0], [], []
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
                self.array[at + p.MEMBER_WORDS] = self._draft.address(words.astype(np.int64))
                self.array[at + p.MEMBER_STARTS] = self._draft.address(starts.astype(np.int64))
        return self.spreading

    def _with(self, *functions: int) -> int:
        """The address of the plan, once it has these functions of each component's kind."""
        for number, component in enumerate(self._components):
            kernels = component.body.kernels
            for function in (*functions, p.LAYERS, p.OPEN, p.DIVIDE):
                if function in kernels:
                    self.array[p.MODEL_WIDTH + number * p.COMPONENT_WIDTH + function] = kernels[function].address
        return self._start

    @contextmanager
    def room(self) -> Iterator[Room]:
        """Lend memory for a question, which is kept for the next one: new memory is slow when it is first used."""
        try:
            room = self._rooms.pop()
        except IndexError:
            room = Room(self)
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
        work[p.IDS] = start + self._window
        work[p.NEEDED], work[p.ORDERS], work[p.GIVEN], work[p.KEPT] = -1, 0, -1, -1
        work[p.BEFORE], work[p.MEMO] = p.FRESH, 0
        return work
