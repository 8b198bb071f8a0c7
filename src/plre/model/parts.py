"""Which tensors a mixture has: a vocabulary, and for each part a whole model of n-grams.

directory                 the head as in ``layout.py``, with order 0, then a line for each part
vocab.bytes, ...          the words of the mixture
part{k}.symbols           the id that each word has in part k. Missing if it is the word's own
part{k}.shares            how much of the symbol's probability is the word's
part{k}.gates             if part k leads others: the weights by context (``gates.py``), and what its unigrams lack
part{k}.directory, ...    the tensors of part k (from 1 up), whose places count from the part's first byte
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from plre.errors import ModelFileError
from plre.model import layout, tree
from plre.model.file import Shapes, Tensors, data_size
from plre.model.layout import FIRST_PART, GATE_BUCKETS, PART_WIDTH, Layout, padded_letters, starts_of, whole_lines
from plre.model.tree import TreeLayout

_I4 = np.dtype("<i4")
_F4 = np.dtype("<f4")
T = TypeVar("T")


@dataclass(frozen=True)
class PartLayout:
    """One part: its own layout, its weight, whether words have symbols of their own in it, and how many it leads.

    A part that leads others has gates; ``members`` is -1 for one that does not.
    """

    layout: Layout | TreeLayout
    weight: float
    mapped: bool
    members: int = -1

    @property
    def gates(self) -> int:
        """Numbers of the gates: for each length of a context and each bucket, and one for the unigrams."""
        return self.layout.order * GATE_BUCKETS * (1 + self.members) + 1 if self.members > 0 else 0


@dataclass(frozen=True)
class MixtureLayout:
    """Everything that determines where each byte of a mixture is."""

    words: int
    slots: int
    letters: int
    parts: tuple[PartLayout, ...]

    @property
    def order(self) -> int:
        """The order of the mixture: the longest n-gram of any part that is not led by another."""
        members = [part.members for part in self.parts]
        return max(alone([part.layout.order for part in self.parts], members))

    def shapes(self) -> Shapes:
        """All tensors, their types and sizes, in the order in which a file has them."""
        shapes: Shapes = {
            "directory": (np.dtype("<i8"), whole_lines(FIRST_PART + PART_WIDTH * len(self.parts))),
            "vocab.starts": (_I4, self.words + 1),
            "vocab.slots": (_I4, self.slots),
        }
        for k, part in enumerate(self.parts, 1):
            if part.mapped:
                shapes[f"part{k}.symbols"] = (_I4, self.words)
                shapes[f"part{k}.shares"] = (_F4, self.words)
            if part.gates:
                shapes[f"part{k}.gates"] = (_F4, part.gates)
        shapes["vocab.bytes"] = (np.dtype("u1"), padded_letters(data_size(shapes), self.letters))
        for k, part in enumerate(self.parts, 1):
            shapes |= {f"part{k}.{name}": shape for name, shape in part.layout.shapes().items()}
        return shapes

    def directory(self) -> NDArray[np.int64]:
        """The directory, field by field."""
        shapes = self.shapes()
        places = dict(zip(shapes, starts_of([d.itemsize * n for d, n in shapes.values()]), strict=False))
        directory = np.full(shapes["directory"][1], -1, np.int64)
        directory[:FIRST_PART] = [
            0, self.words, max(1, (self.words - 1).bit_length()), 4,
            places["vocab.slots"], self.slots, places["vocab.starts"], places["vocab.bytes"], self.letters,
            len(self.parts), sum(part.layout.order for part in self.parts),
        ]  # fmt: skip
        for k, part in enumerate(self.parts):
            entry = directory[FIRST_PART + k * PART_WIDTH :]
            entry[layout.START] = places[f"part{k + 1}.directory"]
            entry[layout.BYTES] = data_size(part.layout.shapes())
            entry[layout.WEIGHT] = np.float64(part.weight).view(np.int64)
            if part.mapped:
                entry[layout.SYMBOLS] = places[f"part{k + 1}.symbols"]
                entry[layout.SHARES] = places[f"part{k + 1}.shares"]
            if part.gates:
                entry[layout.MEMBERS] = part.members
                entry[layout.GATES] = places[f"part{k + 1}.gates"]
        return directory

    @classmethod
    def of(cls, tensors: Tensors) -> MixtureLayout:
        """The layout that tensors have; what is redundant in their directory is not looked at."""
        directory = tensors["directory"]
        room = (len(directory) - FIRST_PART) // PART_WIDTH
        if room < 1 or not 1 <= directory[layout.PARTS] <= room:
            raise ValueError("the directory has the wrong size")
        entries = directory[FIRST_PART:][: int(directory[layout.PARTS]) * PART_WIDTH].reshape(-1, PART_WIDTH)
        weights = [float(entry[layout.WEIGHT].view(np.float64)) for entry in entries]
        members = [int(entry[layout.MEMBERS]) for entry in entries]
        if not all(0 <= weight <= 1 for weight in weights) or abs(sum(alone(weights, members)) - 1) > 1e-6:
            raise ValueError("the weights make no sense")
        parts = tuple(
            PartLayout(_layout_of(part_tensors(tensors, k)), weight, f"part{k}.symbols" in tensors, led)
            for k, (weight, led) in enumerate(zip(weights, members, strict=True), 1)
        )
        words = int(directory[layout.VOCABULARY])
        return cls(words, int(directory[layout.SLOT_COUNT]), int(directory[layout.LETTER_COUNT]), parts)


def _layout_of(tensors: Tensors) -> Layout | TreeLayout:
    return TreeLayout.of(tensors) if is_tree(tensors) else Layout.from_directory(tensors["directory"])


def is_tree(tensors: Tensors) -> bool:
    """Whether a part is a tree of contexts rather than a model of n-grams."""
    return int(tensors["directory"][layout.ORDER]) == 0


def alone(values: list[T], members: list[int]) -> list[T]:
    """What parts have that no other leads. Refuses members that make no sense.

    >>> alone([0.75, 0.75, 0.25], [1, -1, -1])
    [0.75, 0.25]
    """
    found = []
    k = 0
    while k < len(values):
        found.append(values[k])
        led = max(members[k], 0)
        if members[k] < -1 or members[k] == 0 or any(below != -1 for below in members[k + 1 : k + 1 + led]):
            raise ValueError("the members of a part make no sense")
        if k + led >= len(values):
            raise ValueError("a part leads others that are not there")
        k += 1 + led
    return found


def part_tensors(tensors: Tensors, k: int) -> Tensors:
    """The tensors of one part, by the names that they have in a model of their own."""
    start = f"part{k}."
    own = (f"{start}symbols", f"{start}shares", f"{start}gates")
    return {name[len(start) :]: t for name, t in tensors.items() if name.startswith(start) and name not in own}


def check(path: str, tensors: Tensors, orders: list[int], order: int) -> None:
    """Refuse a mixture of this order whose tensors do not fit together, or those of a part, which have ``orders``."""
    layout.the_directory(path, tensors)
    for k, own in enumerate(orders, 1):
        part_of = part_tensors(tensors, k)
        layout.the_directory(path, part_of)
        if is_tree(part_of):
            tree.check(path, part_of)
        else:
            layout.check(path, part_of, own)
    try:
        found = MixtureLayout.of(tensors)
        layout.compare(path, tensors, found, found.words)
        if len(found.parts) != len(orders):
            layout.refuse(path, f"it has {len(found.parts)} parts instead of {len(orders)}")
        if found.order != order:
            layout.refuse(path, f"order is {order}")
        for k, part in enumerate(found.parts, 1):
            if not part.mapped and part.layout.words != found.words:
                layout.refuse(path, f"part {k} has another vocabulary")
            leads = isinstance(part.layout, Layout) and (part.layout.rest or part.layout.order == 1)
            if part.members > 0 and not leads:
                layout.refuse(path, f"part {k} leads others but does not say what it leaves to them")
    except ModelFileError:
        raise
    except (ValueError, OverflowError, KeyError) as error:
        layout.refuse(path, error)
