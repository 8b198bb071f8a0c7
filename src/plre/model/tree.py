"""A tree of contexts as a model: which tensors it has, and what can be asked of it.

directory              the head as in ``layout.py``, with order 0 and 0 parts; the rest is described in ``_tree.py``
level{j}.nodes         records of the contexts of the first j slots, in the order of their parents; level 0 is the root
level{j}.events        records of the words seen there, in the order of nodes
level{j}.node_index    leads from a parent and a symbol to the node, as the index of n-grams does
level{j}.event_index   leads from a node and a word to the event
unigrams               the probability of each word without context
map{k}                 the symbol of each word, by map k; none for words themselves

It has words only as ids: it is a part of a mixture, which has the vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plre._jit import parallel
from plre.counts.tree import FARTHEST, Slot, depths
from plre.errors import UsageError
from plre.model import _finding, _tree, layout
from plre.model.file import Shapes, Tensors, data_size, views
from plre.model.layout import LINE, SEGMENT, index_lines, starts_of, whole_lines
from plre.model.lm import digest
from plre.model.state import State
from plre.scratch import slices
from plre.text.vocabulary import BOS, EOS, SPECIAL

_I4 = np.dtype("<i4")
_F4 = np.dtype("<f4")
#: An index is filled in about so many parts; for each all hashes are looked at.
_SEGMENT_GROUPS = 8


#: The number of the map by which words are their own symbols.
WORDS = -1


@dataclass(frozen=True)
class Symbols:
    """What a layout needs to know of a map: how many symbols it has, and which are those of ``<s>`` and ``</s>``."""

    count: int
    start: int
    end: int

    @classmethod
    def of(cls, table: NDArray[np.int32]) -> Symbols:
        """Those of a map."""
        return cls(int(table.max()) + 1, int(table[BOS]), int(table[EOS]))


@dataclass(frozen=True)
class TreeLayout:
    """Everything that determines where each byte of a tree is."""

    words: int
    maps: tuple[Symbols, ...]
    #: The chain; its maps are numbers among ``maps``, or WORDS.
    slots: tuple[Slot, ...]
    #: Nodes and events of each slot's level.
    sizes: tuple[tuple[int, int], ...]

    @property
    def order(self) -> int:
        """One more than the farthest word that the chain looks at."""
        return max(slot.distance for slot in self.slots) + 1

    def symbols(self, number: int) -> Symbols:
        """Those of a map."""
        return Symbols(self.words, BOS, EOS) if number == WORDS else self.maps[number]

    def remembered(self) -> list[int]:
        """For each distance the map by which a state knows the word there.

        It is the only one that is needed there or farther; if several are, it is the word itself.
        """
        needed = [{slot.map for slot in self.slots if slot.distance >= d} for d in range(1, self.order)]
        return [numbers.pop() if len(numbers) == 1 else WORDS for numbers in needed]

    @property
    def states(self) -> int:
        """How many states there are."""
        return math.prod(self.symbols(number).count for number in self.remembered())

    def shapes(self) -> Shapes:
        """All tensors, their types and sizes, in the order in which a file has them; each fills whole cache lines."""
        entries = _tree.LEVELS + (len(self.slots) + 1) * _tree.LEVEL_WIDTH + self.order * _tree.DISTANCE_WIDTH
        shapes: Shapes = {"directory": (np.dtype("<i8"), whole_lines(entries))}
        for level, (nodes, events) in enumerate(self.sizes, 1):
            shapes[f"level{level}.node_index"] = (_I4, index_lines(nodes) * LINE)
            shapes[f"level{level}.event_index"] = (_I4, index_lines(events) * LINE)
        for level, (nodes, events) in enumerate(((1, 0), *self.sizes)):
            shapes[f"level{level}.nodes"] = (_I4, _padded((nodes + 1) * _tree.NODE_BYTES // 4))
            shapes[f"level{level}.events"] = (_I4, _padded(events * _tree.EVENT_BYTES // 4))
        for number in range(len(self.maps)):
            shapes[f"map{number}"] = (_I4, _padded(self.words))
        shapes["unigrams"] = (_F4, _padded(self.words))
        return shapes

    def directory(self) -> NDArray[np.int64]:
        """The directory, field by field."""
        shapes = self.shapes()
        places = dict(zip(shapes, starts_of([d.itemsize * n for d, n in shapes.values()]), strict=False))
        directory = np.full(shapes["directory"][1], -1, np.int64)
        directory[layout.ORDER], directory[layout.VOCABULARY] = 0, self.words
        directory[layout.WORD_BITS], directory[layout.FLOAT] = max(1, (self.words - 1).bit_length()), 4
        directory[layout.PARTS], directory[layout.ROWS] = 0, 0
        directory[_tree.SLOT_COUNT : _tree.LEVELS] = [len(self.slots), self.order - 1, self.states, places["unigrams"]]
        for level, (slot, sizes) in enumerate(zip((None, *self.slots), ((1, 0), *self.sizes), strict=True)):
            entry = directory[_tree.LEVELS + level * _tree.LEVEL_WIDTH :]
            if slot is not None:
                entry[_tree.MAP_NUMBER], entry[_tree.DISTANCE] = slot
                entry[_tree.MAP] = places.get(f"map{slot.map}", -1)
            for name, at, size in (("node", _tree.NODES, sizes[0]), ("event", _tree.EVENTS, sizes[1])):
                table = entry[at:]
                table[_tree.RECORDS], table[_tree.SIZE] = places[f"level{level}.{name}s"], size
                if slot is not None:
                    table[_tree.INDEX], table[_tree.LINES] = places[f"level{level}.{name}_index"], index_lines(size)
                    table[_tree.BITS] = _bits(size)
        start = _tree.LEVELS + (len(self.slots) + 1) * _tree.LEVEL_WIDTH
        by_distance = directory[start : start + self.order * _tree.DISTANCE_WIDTH].reshape(self.order, -1)
        by_distance[:, _tree.DEPTH] = depths(self.slots)[1:]
        for entry, number in zip(by_distance, self.remembered(), strict=False):
            entry[_tree.STATE_MAP] = places.get(f"map{number}", -1)
            entry[_tree.RADIX :] = astuple(self.symbols(number))
        return directory

    @classmethod
    def of(cls, tensors: Tensors) -> TreeLayout:
        """The layout that tensors have; what is redundant in their directory is not looked at."""
        directory = tensors["directory"]
        if len(directory) < _tree.LEVELS or directory[layout.ORDER] != 0 or directory[layout.PARTS] != 0:
            raise ValueError("the directory is not that of a tree")
        words, count = int(directory[layout.VOCABULARY]), int(directory[_tree.SLOT_COUNT])
        levels = directory[_tree.LEVELS + _tree.LEVEL_WIDTH :][: max(count, 0) * _tree.LEVEL_WIDTH]
        if words < len(SPECIAL) or count < 1 or len(levels) < count * _tree.LEVEL_WIDTH:
            raise ValueError("the directory has the wrong size")
        entries = levels.reshape(count, _tree.LEVEL_WIDTH).tolist()
        slots = tuple(Slot(entry[_tree.MAP_NUMBER], entry[_tree.DISTANCE]) for entry in entries)
        sizes = tuple((entry[_tree.NODES + _tree.SIZE], entry[_tree.EVENTS + _tree.SIZE]) for entry in entries)
        maps = [tensors[f"map{number}"][:words] for number in range(max(slot.map for slot in slots) + 1)]
        sensible = all(slot.map >= WORDS and 1 <= slot.distance <= FARTHEST for slot in slots)
        if not sensible or any(not 0 <= size < 2**31 for pair in sizes for size in pair) or not all(map(len, maps)):
            raise ValueError("the directory makes no sense")
        return cls(words, tuple(map(Symbols.of, maps)), slots, sizes)


@dataclass(frozen=True)
class TreeLevel:
    """What a tree keeps of one level: nodes in the order of parents, events in the order of nodes."""

    symbols: NDArray[np.int32]
    backoff: NDArray[np.float32]
    #: Where the children of each node start on the next level, and its events on this one, with one entry more.
    children: NDArray[np.int32]
    events: NDArray[np.int32]
    words: NDArray[np.int32]
    probs: NDArray[np.float32]


class TreeModel:
    """P(w | context) from a tree of contexts; :func:`assemble` makes one."""

    def __init__(self, metadata: Mapping[str, Any], tensors: Tensors, data: NDArray[np.uint8]) -> None:
        self.metadata = metadata
        self.tensors = tensors
        #: What the kernels work on: the whole model, as bytes.
        self.memory = data
        self._address, self._size = data.ctypes.data, data.nbytes
        self._words = int(tensors["directory"][layout.VOCABULARY])

    @cached_property
    def layout(self) -> TreeLayout:
        """Where each byte is."""
        return TreeLayout.of(self.tensors)

    @property
    def order(self) -> int:
        """One more than the farthest word that counts."""
        return self.layout.order

    def info(self) -> dict[str, Any]:
        """How it was made, and how many contexts and words in them each level has."""
        return {
            **self.metadata,
            "nodes": [nodes for nodes, _ in self.layout.sizes],
            "events": [events for _, events in self.layout.sizes],
            "bytes": {"contexts": self._size},
        }

    def score_ids(self, ids: NDArray[np.int32]) -> NDArray[np.float64]:
        """The probability of each position of a text given those before it; 1 for ``<s>``."""
        probs = np.empty(len(ids))
        _tree.score_tree(self.memory, ids, 0, len(ids), probs)
        return probs

    def distribution(self, ids: Sequence[int]) -> NDArray[np.float64]:
        """P(w | context) of all words; a context is ids, oldest first."""
        probs = np.empty(self._words)
        _tree.spread_tree(self.memory, np.array(ids, np.int32), probs)
        return probs

    # --- states ------------------------------------------------------------------------------------------------------

    def begin_state(self) -> int:
        """The state at the start of a sentence."""
        return self.step(0, BOS)[1]

    def null_state(self) -> int:
        """The state that knows nothing of what came before."""
        return 0

    @cached_property
    def _step(self) -> Callable[..., tuple[float, int]]:
        return _tree.step.entry

    def step(self, state: State, w: int) -> tuple[float, int]:
        """log10 P(w | state), and the state after the word, which is given by its id."""
        if not 0 <= w < self._words:
            raise UsageError(f"{w} is not the id of a word: the vocabulary has {self._words} words")
        try:
            return self._step(self._address, self._size, state, w)
        except (ValueError, TypeError, OverflowError):
            raise UsageError(f"{state!r} is not a state of this model") from None


def assemble(
    maps: Sequence[NDArray[np.int32]],
    slots: Sequence[Slot],
    levels: Sequence[TreeLevel],
    unigrams: NDArray[np.float32],
    metadata: Mapping[str, Any],
    threads: int = 1,
) -> TreeModel:
    """A tree of these levels, the root first; the maps of slots are numbers of ``maps``, or WORDS."""
    sizes = tuple((len(level.symbols), len(level.words)) for level in levels[1:])
    where = TreeLayout(len(unigrams), tuple(map(Symbols.of, maps)), tuple(slots), sizes)
    if where.states >= 2**62:
        raise UsageError("a state of this chain does not fit into a number; let it look at fewer words, or at classes")
    shapes = where.shapes()
    data = np.zeros(data_size(shapes), np.uint8)
    tensors = views(shapes, data)
    tensors["directory"][:] = where.directory()
    tensors["unigrams"][: len(unigrams)] = unigrams
    for number, table in enumerate(maps):
        tensors[f"map{number}"][: len(table)] = table
    for number, level in enumerate(levels):
        count = len(level.symbols)
        nodes = tensors[f"level{number}.nodes"][: 4 * (count + 1)].reshape(-1, 4)
        nodes[:-1, 0], nodes[:-1, 1] = level.symbols, level.backoff.view(np.int32)
        nodes[:, 2], nodes[:, 3] = level.children, level.events
        events = tensors[f"level{number}.events"][: 2 * len(level.words)].reshape(-1, 2)
        events[:, 0], events[:, 1] = level.words, level.probs.view(np.int32)
        if number:
            _fill_index(tensors[f"level{number}.node_index"], levels[number - 1].children, level.symbols, threads)
            _fill_index(tensors[f"level{number}.event_index"], level.events, level.words, threads)
    about = {"format": layout.FORMAT, **metadata, "order": where.order, "digest": digest(data)}
    return TreeModel(about, tensors, data)


def _fill_index(out: NDArray[np.int32], starts: NDArray[np.int32], symbols: NDArray[np.int32], threads: int) -> None:
    """Enter pairs of an owner and a symbol; ``starts`` says where those of each owner start."""
    hashes = np.empty(len(symbols), np.uint64)
    _finding.hash_piece(0, starts, symbols, hashes)
    lines = len(out) // LINE
    step = -(-lines // _SEGMENT_GROUPS // SEGMENT) * SEGMENT if lines > SEGMENT else lines

    def run(part: slice) -> None:
        own = out[part.start * LINE : part.stop * LINE]
        _finding.fill_index(part.start, part.stop, hashes, 0, own, lines, _bits(len(symbols)))

    parallel(run, slices(lines, step), threads)


def check(path: str, tensors: Tensors) -> None:
    """Refuse a tree whose tensors do not fit together. Of the data it reads only maps and ends."""
    directory = layout.the_directory(path, tensors)
    try:
        found = TreeLayout.of(tensors)
        shapes = found.shapes()
        if list(shapes) != list(tensors) or any((t.dtype, len(t)) != shapes[name] for name, t in tensors.items()):
            raise ValueError("tensors of a tree of contexts are missing or have the wrong size")
        if not np.array_equal(found.directory(), directory):
            raise ValueError("the directory does not fit the tensors")
        for level, ((nodes, events), (children, _)) in enumerate(pairwise([(1, 0), *found.sizes, (0, 0)])):
            if tensors[f"level{level}.nodes"][4 * nodes + 2 : 4 * nodes + 4].tolist() != [children, events]:
                raise ValueError(f"the nodes of level {level} do not cover what they point to")
    except (ValueError, OverflowError, KeyError) as error:
        layout.refuse(path, error)


def _padded(numbers: int) -> int:
    """Numbers of 4 bytes that fill whole lines of the cache."""
    return max(1, -(-numbers // LINE)) * LINE


def _bits(count: int) -> int:
    """Bits of a number up to ``count``."""
    return max(1, count.bit_length())
