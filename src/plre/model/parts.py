"""Which tensors a mixture has: a vocabulary, and for each part a whole model of n-grams.

directory                 the head as in ``layout.py``, with order 0, then a line for each part
vocab.bytes, ...          the words of the mixture
part{k}.symbols           the id that each word has in part k. Missing if it is the word's own
part{k}.shares            how much of the symbol's probability is the word's
part{k}.directory, ...    the tensors of part k (from 1 up), whose places count from the part's first byte
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plre.errors import ModelFileError
from plre.model import layout
from plre.model.file import Shapes, Tensors, data_size
from plre.model.layout import FIRST_PART, PART_WIDTH, Layout, padded_letters, starts_of, whole_lines

_I4 = np.dtype("<i4")
_F4 = np.dtype("<f4")


@dataclass(frozen=True)
class PartLayout:
    """One part: its own layout, its weight, and whether words have symbols of their own in it."""

    layout: Layout
    weight: float
    mapped: bool


@dataclass(frozen=True)
class MixtureLayout:
    """Everything that determines where each byte of a mixture is."""

    words: int
    slots: int
    letters: int
    parts: tuple[PartLayout, ...]

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
        return directory

    @classmethod
    def of(cls, tensors: Tensors) -> MixtureLayout:
        """The layout that tensors have; what is redundant in their directory is not looked at."""
        directory = tensors["directory"]
        room = (len(directory) - FIRST_PART) // PART_WIDTH
        if room < 1 or not 1 <= directory[layout.PARTS] <= room:
            raise ValueError("the directory has the wrong size")
        weights = [
            float(directory[FIRST_PART + k * PART_WIDTH + layout.WEIGHT].view(np.float64))
            for k in range(int(directory[layout.PARTS]))
        ]
        if not all(0 <= weight <= 1 for weight in weights) or abs(sum(weights) - 1) > 1e-6:
            raise ValueError("the weights make no sense")
        parts = tuple(
            PartLayout(Layout.from_directory(tensors[f"part{k}.directory"]), weight, f"part{k}.symbols" in tensors)
            for k, weight in enumerate(weights, 1)
        )
        words = int(directory[layout.VOCABULARY])
        return cls(words, int(directory[layout.SLOT_COUNT]), int(directory[layout.LETTER_COUNT]), parts)


def part_tensors(tensors: Tensors, k: int) -> Tensors:
    """The tensors of one part, by the names that they have in a model of their own."""
    start = f"part{k}."
    own = (f"{start}symbols", f"{start}shares")
    return {name[len(start) :]: t for name, t in tensors.items() if name.startswith(start) and name not in own}


def check(path: str, tensors: Tensors, orders: list[int]) -> None:
    """Refuse a mixture whose tensors do not fit together, or those of any of its parts, which have these orders."""
    layout.the_directory(path, tensors)
    for k, order in enumerate(orders, 1):
        layout.check(path, part_tensors(tensors, k), order)
    try:
        found = MixtureLayout.of(tensors)
        layout.compare(path, tensors, found, found.words)
        if len(found.parts) != len(orders):
            layout.refuse(path, f"it has {len(found.parts)} parts instead of {len(orders)}")
        for k, part in enumerate(found.parts, 1):
            if not part.mapped and part.layout.sizes[0] != found.words:
                layout.refuse(path, f"part {k} has another vocabulary")
    except ModelFileError:
        raise
    except (ValueError, OverflowError, KeyError) as error:
        layout.refuse(path, error)
