"""Tables of records, each known by its owner and its symbol: how they are built (``_hashing.py``: how they work).

A table is five arrays: ``lines`` with the numbers of all records, in cache lines; ``seeds``, by which a record's line
is found; ``symbols``, a list of all records in the order of their owners; ``ends``, a bit for the last record of each
owner; and ``runs``, where the records of each owner start in that list. An owner is known by the number of its slot in
its own table, or is a word. The list is for going through what an owner has; the numbers are always looked up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plre.scratch import Column, Growing, Scratch, slices
from plre.tables import _placing as kernels
from plre.tables.packing import PADDING, bits_of, pack, packed_bytes
from plre.tensorfile import Tensors, release
from plre.threads import overlapped, parallel

#: Keys of a shard and of a bucket, about.
_SHARD = 1 << 18
_BUCKET = 3
#: The share of slots that are filled, by the words of 4 bytes that a slot has: building hardly ever fails so.
_FILL = {2: 0.955, 3: 0.945, 4: 0.935}
#: Orders in which seeds are tried before a table gets more lines.
_ATTEMPTS = 16
#: Keys that are looked at together, and records that are placed before the next are looked at, at most.
_PIECE = 1 << 20
_GROUP = 1 << 23


@dataclass(frozen=True)
class Shape:
    """The sizes of a table's hash part: records, words of 4 bytes in a slot, and those of its shards.

    Shards are parts of a table that are built by themselves; so many bits of a hash choose one. Each has as many
    buckets, with a seed each, and as many lines (its height) as the others.
    """

    records: int
    slot: int
    shard_bits: int
    buckets: int
    height: int

    @classmethod
    def planned(cls, records: int, slot: int) -> Shape:
        """The shape of a new table."""
        shard_bits = (records // _SHARD).bit_length()
        share = records / (1 << shard_bits)
        # Some lines more, for shards that get more than their share of keys.
        spread = 3 * np.sqrt(share) if shard_bits else 0.0
        height = int((share + spread) / (_FILL[slot] * (16 // slot))) + 1
        return cls(records, slot, shard_bits, int(share) // _BUCKET + 1, height)

    @classmethod
    def found(cls, records: int, slot: int, shard_bits: int, lines: NDArray[Any], seeds: NDArray[Any]) -> Shape:
        """The shape of a table that has these lines and seeds, whoever planned it."""
        if type(shard_bits) is not int or not 0 <= shard_bits <= 32:
            raise ValueError("a table has too many shards")
        buckets, height = len(seeds) >> shard_bits, len(lines) // 16 >> shard_bits
        if (
            buckets < 1
            or height < 1
            or buckets << shard_bits != len(seeds)
            or (height << shard_bits) * 16 != len(lines)
        ):
            raise ValueError("the lines and seeds of a table have the wrong size")
        return cls(records, slot, shard_bits, buckets, height)

    @property
    def shards(self) -> int:
        """How many shards there are."""
        return 1 << self.shard_bits

    @property
    def per_line(self) -> int:
        """Slots of a line."""
        return 16 // self.slot

    @property
    def slots(self) -> int:
        """Slots of the whole table."""
        return self.shards * self.height * self.per_line

    @property
    def nbytes(self) -> int:
        """Bytes of lines and seeds."""
        return self.shards * (64 * self.height + self.buckets)


def list_bytes(records: int, symbols: int) -> int:
    """Bytes of the list of a table with so many records, of so many symbols, and of the bits that end runs."""
    return packed_bytes(records, bits_of(symbols - 1)) + 8 * ((records >> 6) + 1)


def run_bytes(records: int, owners: int) -> int:
    """Bytes of where the runs of so many owners start in a list of so many records."""
    return packed_bytes(owners, bits_of(records))


class ArrayDraft:
    """An array that is being made, at the start of a cache line: in memory, or in a file if there is no room."""

    def __init__(self, count: int, dtype: Any, scratch: Scratch) -> None:
        self.count, self.dtype = count, np.dtype(dtype)
        size = count * self.dtype.itemsize
        self._array: NDArray[Any] | None = None
        whole = np.zeros(size + 64, np.uint8)  # takes no memory until it is written to
        if scratch.hold(whole):
            skip = -whole.ctypes.data % 64
            self._array = whole[skip : skip + size].view(self.dtype)
        self._file = None if self._array is not None else scratch.file()
        if self._file is not None:
            self._file.write(np.zeros(1, np.uint8), max(size - 1, 0))

    def put(self, at: int, values: NDArray[Any]) -> None:
        """Put values at a place; threads may put different things at the same time."""
        if self._array is not None:
            self._array[at : at + len(values)] = values
        elif self._file is not None:
            self._file.write(np.ascontiguousarray(values, self.dtype), at * self.dtype.itemsize)

    def finish(self) -> NDArray[Any]:
        """The array."""
        if self._array is not None:
            return self._array
        assert self._file is not None
        return self._file.map(self.dtype, self.count)


def room(count: int, dtype: Any, scratch: Scratch) -> NDArray[Any]:
    """An array of zeros to be filled: in memory, or mapped from a file if there is no room."""
    return ArrayDraft(max(count, 1), dtype, scratch).finish()


@dataclass(frozen=True)
class Placed:
    """Records in their lines: the hash part of a table, and the slot of each record if it was asked for."""

    shape: Shape
    lines: NDArray[np.int32]
    seeds: NDArray[np.uint8]
    slots: NDArray[np.int32]


def place(
    keys: Column, values: Sequence[Column], *, with_slots: bool = True, threads: int = 1, scratch: Scratch | None = None
) -> Placed:
    """Put records with these keys and numbers into lines. The same records give the same bytes."""
    shape = Shape.planned(len(keys), 1 + len(values))
    scratch = scratch or Scratch()
    while (placed := _place_all(keys, values, shape, with_slots, threads, scratch)) is None:
        shape = replace(shape, height=shape.height + shape.height // 50 + 1)
    return placed


def _place_all(
    keys: Column, values: Sequence[Column], shape: Shape, with_slots: bool, threads: int, scratch: Scratch
) -> Placed | None:
    """Place records in a table of this shape; None if some find no room, which hardly ever happens."""
    lines = ArrayDraft(shape.shards * shape.height * 16, np.int32, scratch)
    seeds = np.zeros(shape.shards * shape.buckets, np.uint8)
    scratch.count(seeds)
    slots = np.empty(shape.records if with_slots else 0, np.int32)
    counts = np.zeros((-(-shape.records // _PIECE), shape.shards), np.int32)
    parallel(
        lambda piece: kernels.count_shards(keys[piece], shape.shard_bits, counts[piece.start // _PIECE]),
        slices(shape.records, _PIECE),
        threads,
    )
    together = _GROUP if scratch.memory is None else min(_GROUP, scratch.memory // (2 * (16 + 4 * len(values))))
    for group in slices(shape.shards, max(1, together // _SHARD)):
        if not _place_group(keys, values, shape, group, counts[:, group], lines, seeds, slots, threads):
            return None
    return Placed(shape, lines.finish(), seeds, slots)


def _place_group(
    keys: Column,
    values: Sequence[Column],
    shape: Shape,
    group: slice,
    counts: NDArray[np.int32],
    lines: ArrayDraft,
    seeds: NDArray[np.uint8],
    slots: NDArray[np.int32],
    threads: int,
) -> bool:
    """Place the records of some shards, of which each piece has so many; False if some find no room."""
    starts = np.concatenate([[0], np.cumsum(counts.sum(axis=0, dtype=np.int64))])
    size, places = int(starts[-1]), np.cumsum(counts, axis=0, dtype=np.int64) - counts + starts[:-1]
    hashes, records = np.empty(size, np.uint64), np.empty(size, np.int32)
    numbers = np.empty((len(values), size), np.int32)

    def sort(piece: slice) -> None:
        own, at = np.array([column[piece].view(np.int32) for column in values]), places[piece.start // _PIECE]
        kernels.sort_shards(
            keys[piece], own, piece.start, shape.shard_bits, group.start, group.stop, at, hashes, numbers, records
        )

    parallel(sort, slices(shape.records, _PIECE), threads)

    def run(shard: int) -> bool:
        part = slice(*starts[shard - group.start : shard - group.start + 2].tolist())
        made = np.zeros(shape.height * 16, np.int32)
        found = np.empty(part.stop - part.start, np.int32)
        own_seeds = seeds[shard * shape.buckets : (shard + 1) * shape.buckets]
        if not _place_shard(hashes[part], numbers[:, part], shape, shard, own_seeds, made, found):
            return False
        lines.put(shard * shape.height * 16, made)
        if len(slots):
            slots[records[part]] = np.where(found < 0, -1, found + shard * shape.height * shape.per_line)
        return True

    return all(parallel(run, range(group.start, group.stop), threads))


def _place_shard(
    hashes: NDArray[np.uint64],
    values: NDArray[np.int32],
    shape: Shape,
    shard: int,
    seeds: NDArray[np.uint8],
    lines: NDArray[np.int32],
    found: NDArray[np.int32],
) -> bool:
    """Place the records of one shard, trying seeds in other orders until all find room; False if they do not."""
    order, starts = np.empty(len(hashes), np.int32), np.empty(shape.buckets + 1, np.int64)
    largest = kernels.sort_buckets(hashes, shard * shape.buckets, shape.shards * shape.buckets, order, starts)
    for attempt in range(_ATTEMPTS):
        if kernels.place_records(
            hashes, order, starts, largest, values, shape.slot, shape.per_line, attempt, seeds, lines, found
        ):
            return True
        lines[:] = 0
    return False


def child_keys(children: Column, owners: Column, symbols: Column, threads: int, scratch: Scratch) -> Column:
    """The keys of records from those of their owners; ``children`` says where the records of each owner start."""

    def find(part: slice) -> NDArray[np.uint64]:
        bounds = children[part.start : part.stop + 1]
        out = np.empty(int(bounds[-1]) - int(bounds[0]), np.uint64)
        kernels.child_keys(bounds, owners[part], symbols[int(bounds[0]) : int(bounds[-1])], out)
        return out

    keys = Growing(scratch, np.uint64)
    for _, out in overlapped(find, slices(len(children) - 1, _PIECE // 4), threads):
        keys.append(out)
    return keys.finish()


def list_symbols(symbols: Column, count: int, scratch: Scratch) -> NDArray[np.uint8]:
    """The list of a table: the symbols of its records, of which there are ``count`` different ones."""
    bits = bits_of(count - 1)
    draft = ArrayDraft(packed_bytes(len(symbols), bits), np.uint8, scratch)
    for part in slices(len(symbols), _PIECE):  # each begins with a byte of its own
        draft.put(part.start * bits // 8, pack(symbols[part], bits)[:-PADDING])
    return draft.finish()


def end_runs(children: Column) -> NDArray[np.uint64]:
    """The bits that end runs: set for the last record of each owner."""
    ends = np.zeros((int(children[len(children) - 1 :][0]) >> 6) + 1, np.uint64)
    for part in slices(len(children) - 1, _PIECE):
        kernels.end_runs(children[part.start : part.stop + 1], ends)
    return ends


def start_runs(children: Column, owners: Column | None, slots: int, scratch: Scratch) -> NDArray[np.uint8]:
    """Where the run of each owner starts, by its slot (None: by its own number); all bits set: nowhere."""
    bits = bits_of(int(children[len(children) - 1 :][0]))
    runs = room(packed_bytes(slots, bits), np.uint8, scratch)
    runs[:] = 255
    for part in slices(len(children) - 1, _PIECE):
        numbers = np.arange(part.start, part.stop, dtype=np.int32) if owners is None else owners[part]
        kernels.start_runs(children[part.start : part.stop + 1], numbers, bits, runs)
    release(runs)
    return runs


def table_tensors(
    name: str, placed: Placed, symbols: Column, count: int, children: Column, owners: Owners, scratch: Scratch
) -> Tensors:
    """The tensors of a table, whose records have these symbols, out of so many, and start where children say."""
    return {
        f"{name}.lines": placed.lines,
        f"{name}.seeds": placed.seeds,
        f"{name}.symbols": list_symbols(symbols, count, scratch),
        f"{name}.ends": end_runs(children),
        f"{name}.runs": start_runs(children, owners.slots, owners.count, scratch),
    }


@dataclass(frozen=True)
class Owners:
    """The slots of a table's owners, out of so many; None: they are their own slots."""

    slots: NDArray[np.int32] | None
    count: int

    def spread(self, values: NDArray[Any], scratch: Scratch) -> NDArray[Any]:
        """Values of owners, by slot."""
        out = room(self.count, values.dtype, scratch)
        for part in slices(len(values), _PIECE):
            if self.slots is None:
                out[part] = values[part]
            else:
                own = self.slots[part]
                out[own[own >= 0]] = values[part][own >= 0]
        release(out)
        return out
