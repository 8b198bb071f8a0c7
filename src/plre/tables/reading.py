"""Reading tables back as plain arrays, and checking them (``building.py`` makes them)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plre.scratch import Scratch
from plre.tables import _placing as kernels
from plre.tables.building import Shape, child_keys
from plre.tables.packing import bits_of, unpack
from plre.tensorfile import Tensors


@dataclass(frozen=True)
class ReadTable:
    """The records of a table in the order of its list: symbols, keys, slots (-1: none) and numbers.

    ``children`` says where those of each owner start, with one entry more.
    """

    symbols: NDArray[np.int32]
    children: NDArray[np.int32]
    keys: NDArray[np.uint64]
    slots: NDArray[np.int64]
    numbers: list[NDArray[np.float32]]


def read_table(tensors: Tensors, name: str, shape: Shape, symbols: int, owners: ReadTable) -> ReadTable:
    """Read a table of so many symbols, whose owners are the records of another one."""
    listed = unpack(tensors[f"{name}.symbols"], shape.records, bits_of(symbols - 1))
    starts = _starts(tensors, name, shape, owners)
    children = np.append(np.where(starts < len(listed), starts, len(listed)), len(listed))
    children = np.minimum.accumulate(children[::-1])[::-1].astype(np.int32)
    children[0] = 0
    keys = np.asarray(child_keys(children, owners.keys, listed.astype(np.int32), 1, Scratch()))
    slots, lines = np.empty(len(keys), np.int64), tensors[f"{name}.lines"]
    kernels.locate(
        keys, lines, tensors[f"{name}.seeds"], shape.shard_bits, shape.height, shape.slot, shape.per_line, slots
    )
    places = slots // shape.per_line * 16 + slots % shape.per_line * shape.slot
    numbers = [np.where(slots < 0, np.float32(0), lines.view(np.float32)[places + k]) for k in range(1, shape.slot)]
    return ReadTable(listed.astype(np.int32), children, keys, slots, numbers)


def _starts(tensors: Tensors, name: str, shape: Shape, owners: ReadTable) -> NDArray[np.int64]:
    """Where the run of each owner starts."""
    bits, runs = bits_of(shape.records), tensors[f"{name}.runs"]
    return unpack(runs, int(owners.slots.max(initial=0)) + 1, bits)[owners.slots]


def roots(count: int, keys: NDArray[np.uint64] | None = None) -> ReadTable:
    """Owners that are in no table: so many symbols, which are their own keys and slots."""
    own = np.arange(count)
    keys = own.astype(np.uint64) if keys is None else keys
    return ReadTable(own.astype(np.int32), np.zeros(0, np.int32), keys, own, [])


def check_table(tensors: Tensors, name: str, shape: Shape, symbols: int, owners: ReadTable) -> ReadTable:
    """Read a table and check it against its list: everything listed must be found, with an owner and a symbol."""
    found = read_table(tensors, name, shape, symbols, owners)
    starts, count = _starts(tensors, name, shape, owners), len(found.symbols)
    expect(np.all((found.symbols >= 0) & (found.symbols < symbols)), "a listed symbol is not there")
    ends = np.unpackbits(tensors[f"{name}.ends"].view(np.uint8), bitorder="little")[:count]
    expect(count == 0 or ends[-1] == 1, "the last run of a list does not end")
    after_end = np.concatenate([[0], np.flatnonzero(ends) + 1])[: int(ends.sum())]
    expect(np.array_equal(starts[starts < count], after_end), "runs of a list do not fit together")
    inner = np.diff(found.symbols) <= 0
    expect(not np.any(inner & ~ends[:-1].astype(bool)), "a list is not sorted")
    expect(np.all(found.slots >= 0), "a listed record is not to be found")
    expect(len(np.unique(found.slots)) == count, "two listed records share a slot")
    return found


def are_counts(values: Sequence[Any]) -> bool:
    """Whether values that a file has are numbers of things; records are counted with 31 bits everywhere."""
    return all(type(value) is int and 0 <= value < 1 << 31 for value in values)


def expect(holds: bool | np.bool_, what: str) -> None:
    """Raise a :class:`ValueError` unless something holds."""
    if not holds:
        raise ValueError(what)


def check_numbers(values: NDArray[np.float32], most: float = np.inf) -> None:
    """Numbers must be finite and not negative; probabilities are at most 1, to rounding."""
    expect(np.all((values >= 0) & (values <= most * (1 + 1e-5))) and np.all(np.isfinite(values)), "a number is none")
