"""Counting equal windows of a text by sorting them, in memory or, for what does not fit, on disk.

A window is a few words that follow each other, packed into one number (or a few, where there are many words).

    text, piece by piece     windows are packed and sorted; a piece leaves one run
    bucket by bucket         its part of every run is sorted again, together, and equal windows are counted

The bounds of buckets are found on a sample of the text, so that buckets are about equally large whatever the text is.
Nothing in the result depends on where they are. (numpy sorts numbers by vector instructions, faster than they could be
dealt out to buckets one by one.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plre.counts import _sorting as kernels
from plre.errors import TooLargeError
from plre.progress import Advance
from plre.scratch import Runs, Scratch, slices
from plre.threads import even_ranges, overlapped

#: Positions of a piece of text, and of a bucket.
_PIECE_BITS = 20
_PIECE = 1 << _PIECE_BITS
_BUCKET = 1 << 17
#: Buckets that are read together, and windows, if these are far more than is usual.
_BATCH = 16
_TOGETHER = 1 << 22
#: Places of a sample, the positions at each, and how many windows of it a bucket should have at least.
_PLACES = 256
_AT_EACH = 4096
_SAMPLED = 64


@dataclass(frozen=True)
class Windows:
    """How windows are packed: how many different symbols there are at each place.

    One number more than these stands for what is not there. Symbols stand in numbers of 64 bits, as many as fit, the
    first in the highest bits: five words of 20 bits are

        column 0    0000 [ word 1 ] [ word 2 ] [ word 3 ]
        column 1    000000000000000 [ word 4 ] [ word 5 ]

    So windows sort as their first numbers do, then as their second ones. While a piece is sorted, the place of each
    window has to fit into the same 64 bits as its first number, whose lowest bits are left out; so pieces are sorted
    but for these, the bounds of buckets do without them, too, and only within a bucket is everything compared.

    >>> Windows((1_000_000,) * 5).places.tolist()  # column, bits below, bits
    [[0, 0, 0, 1, 1], [40, 20, 0, 20, 0], [20, 20, 20, 20, 20]]
    """

    sizes: tuple[int, ...]

    @property
    def order(self) -> int:
        """Symbols of a window."""
        return len(self.sizes)

    @cached_property
    def bits(self) -> NDArray[np.int64]:
        """Bits of each symbol."""
        return np.array([size.bit_length() for size in self.sizes])

    @cached_property
    def places(self) -> NDArray[np.int64]:
        """For each symbol the number that it is in, how many bits are below it, and how many it has."""
        columns, filled = [0], 0
        for bits in self.bits.tolist():
            columns.append(columns[-1] + (filled + bits > 64))
            filled = bits if filled + bits > 64 else filled + bits
        column = np.array(columns[1:])
        below = np.cumsum(self.bits[::-1])[::-1] - self.bits
        after = np.array([self.bits[column > which].sum() for which in column])
        return np.array([column, below - after, self.bits])

    @cached_property
    def widths(self) -> NDArray[np.int64]:
        """The bits of each number that a window takes."""
        return np.bincount(self.places[0], weights=self.bits).astype(np.int64)

    @property
    def together(self) -> int:
        """Windows of a bucket that are counted together, at most: with more, a place, a rank and a symbol might not
        fit into one number (see :func:`count_windows`). A run's part, of up to a piece, comes on top of it."""
        return max(1, (1 << (64 - int(self.bits.max())) // 2) - _PIECE)

    @property
    def columns(self) -> int:
        """Numbers that a window takes."""
        return len(self.widths)

    @property
    def _drop(self) -> int:
        """Bits of a window's first number that decide nothing while its place has to fit beside the others."""
        return max(0, int(self.widths[0]) + _PIECE_BITS - 64) if self.columns > 1 else 0

    def roughly_sorted(self, columns: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """The windows of a piece, sorted by the highest bits of their first numbers (all bits, if that is all)."""
        if self.columns == 1:
            return np.sort(columns)
        keys, out = np.empty(columns.shape[1], np.uint64), np.empty_like(columns)
        kernels.index_first(columns, self._drop, _PIECE_BITS, keys)
        keys.sort()
        kernels.put_in_order(columns, keys, _PIECE_BITS, out)
        return out

    def bound(self, numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """First numbers of windows without the bits that do not decide."""
        return numbers >> np.uint64(self._drop) << np.uint64(self._drop)


#: Different windows in columns, sorted, and how often each occurs.
Counted = tuple[NDArray[np.uint64], NDArray[np.int64]]
#: The same of a bucket, with the last window before it (no column has any, if it is the first).
Bucket = tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.uint64]]


#: Packs the windows that belong to a range of positions of a text.
Pack = Callable[[int, int], NDArray[np.uint64]]


def sorted_windows(
    windows: Windows, pack: Pack, size: int, *, threads: int, scratch: Scratch, advance: Advance
) -> Iterator[list[Bucket]]:
    """All windows of a text with so many positions in rising order, some buckets at a time.

    ``advance`` is told of each position twice, of a half of it: when its window is packed and when it is counted.
    """
    bounds = _bounds(windows, pack, size)
    runs = [Runs(scratch, np.uint32 if width <= 32 else np.uint64) for width in windows.widths]
    starts: list[NDArray[np.int32]] = []

    def run(number: int) -> tuple[NDArray[np.int32], list[NDArray[np.unsignedinteger[Any]]]]:
        start = number * _PIECE
        out = windows.roughly_sorted(pack(start, min(start + _PIECE, size)))
        begin = np.concatenate([[0], np.searchsorted(out[0], bounds), [out.shape[1]]]).astype(np.int32)
        # A column of several would keep all of them in memory.
        own = [values.astype(column.dtype, copy=len(out) > 1) for column, values in zip(runs, out, strict=True)]
        return begin, own

    for number, (begin, own) in overlapped(run, iter(range(-(-size // _PIECE))), threads):
        starts.append(begin)
        for column, values in zip(runs, own, strict=True):
            column.append(values)
        advance(min(_PIECE, size - number * _PIECE) / 2)

    if not starts:
        return

    def count_some(buckets: slice, some: slice) -> list[Counted]:
        """Count the windows of some buckets in some of the runs."""
        numbers = range(some.start, some.stop)
        parts = [(int(begin[buckets.start]), int(begin[buckets.stop])) for begin in starts[some]]
        read = [[column.read(number, *part) for number, part in zip(numbers, parts, strict=True)] for column in runs]
        counted = []
        for bucket in range(buckets.start, buckets.stop):
            own = [slice(*(begin[bucket : bucket + 2] - begin[buckets.start]).tolist()) for begin in starts[some]]
            columns = [np.concatenate([part[one] for part, one in zip(each, own, strict=True)]) for each in read]
            counted.append(count_windows(np.array(columns, np.uint64), windows))
        return counted

    def count(buckets: slice) -> list[Counted]:
        # Windows that begin alike are one bucket, however many there are (such as those of a full stop that ends a
        # sentence): where there are too many for one go, a few runs are counted at a time.
        sizes = np.array([begin[buckets.stop] - begin[buckets.start] for begin in starts], np.int64)
        ends = np.concatenate([[0], np.cumsum(sizes)])
        wholes = np.array([begin[buckets.start : buckets.stop + 1] for begin in starts], np.int64).sum(axis=0)
        largest = int(np.diff(wholes).max())
        parts = 1 + max(int(ends[-1]) // _TOGETHER, largest // windows.together)
        groups = even_ranges(ends, 0, len(starts), parts)
        found = [count_some(buckets, slice(*group)) for group in groups]
        return found[0] if len(found) == 1 else [merge_counted(each) for each in zip(*found, strict=True)]

    before = np.empty((windows.columns, 0), np.uint64)
    for buckets, counted in overlapped(count, slices(len(bounds) + 1, _BATCH), threads):
        found = []
        advance(size / 2 * (buckets.stop - buckets.start) / (len(bounds) + 1))
        for columns, counts in counted:
            if len(counts):
                found.append((columns, counts, before))
                before = columns[:, -1:]
        yield found


def count_windows(columns: NDArray[np.uint64], windows: Windows) -> Counted:
    """Sort windows, and count equal ones."""
    size = columns.shape[1]
    if not size:
        return columns, np.empty(0, np.int64)
    lowest, highest = int(columns[0].min()), int(columns[0].max())
    if (highest - lowest).bit_length() + int(windows.widths[1:].sum()) <= 64:
        base, keys = np.uint64(lowest), np.empty(size, np.uint64)
        kernels.narrow(columns, base, windows.widths, keys)
        keys.sort()
        distinct, counts = np.empty(size, np.uint64), np.empty(size, np.int64)
        n = kernels.count_equal(keys, distinct, counts)
        found = np.empty((windows.columns, n), np.uint64)
        kernels.widen(distinct[:n], base, windows.widths, found)
        return found, counts[:n].copy()
    # Places are kept in the lowest bits of what is sorted, so symbols come in a few at a time, as there is room.
    index_bits, shift = (size - 1).bit_length(), int(windows.places[1, 0])
    least = lowest >> shift
    bits = [((highest >> shift) - least).bit_length(), *windows.bits[1:].tolist()]
    ranks, keys = np.zeros(size, np.int64), np.empty(size, np.uint64)
    first, n = 0, 1
    while True:
        room = 64 - index_bits - (n - 1).bit_length()
        last = first + int(np.searchsorted(np.cumsum(bits[first:]), room, "right"))
        if last == first:
            raise TooLargeError("so many words cannot be counted; use a smaller vocabulary (--min-count)")
        kernels.rank_keys(columns, ranks, first, last, windows.places, least, index_bits, keys)
        keys.sort()
        if last == windows.order:
            break
        n = kernels.rank_places(keys, index_bits, ranks)
        first = last
    distinct, counts = np.empty_like(columns), np.empty(size, np.int64)
    n = kernels.count_ranked(columns, keys, index_bits, distinct, counts)
    return distinct[:, :n].copy(), counts[:n].copy()


def merge_counted(parts: Sequence[Counted]) -> Counted:
    """Windows that were counted in parts, counted together."""
    columns, counts = np.concatenate([part[0] for part in parts], axis=1), np.concatenate([part[1] for part in parts])
    if not len(counts):
        return columns, counts
    order = np.lexsort(columns[::-1])
    columns = columns[:, order]
    first = np.flatnonzero(np.concatenate([[True], np.any(columns[:, 1:] != columns[:, :-1], axis=0)]))
    return columns[:, first], np.add.reduceat(counts[order], first)


def _bounds(windows: Windows, pack: Pack, size: int) -> NDArray[np.uint64]:
    """Bounds that cut windows, by their first numbers, into buckets of about equal size."""
    buckets = min(size // _BUCKET, _PLACES * _AT_EACH // _SAMPLED)
    if buckets < 2:
        return np.empty(0, np.uint64)
    places = np.linspace(0, max(size - _AT_EACH, 0), _PLACES).astype(np.int64)
    sample = np.concatenate([pack(place, min(place + _AT_EACH, size))[0] for place in places.tolist()])
    sample.sort()
    return np.unique(windows.bound(sample[np.arange(1, buckets) * len(sample) // buckets]))
