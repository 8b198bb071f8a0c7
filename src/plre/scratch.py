"""Long arrays in memory while there is room, and on disk when there is not.

A :class:`Scratch` knows how much memory its arrays may take in all, and where its files go. Those have no name, so the
system removes them when the process ends, however it ends. It also knows how much memory all work may take: what has to
be in memory as a whole is refused if that is more.
"""

from __future__ import annotations

import math
import mmap
import os
import re
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from plre.errors import NoRoomError, PlreError, UsageError
from plre.memory_limit import give_back, usable_memory

#: Ends the counting of an array.
Release = Callable[[], Any]
#: The same things can be asked of both: ``len``, and slices, which are arrays.
Column = Any

#: Nothing can be done with less.
SMALLEST_MEMORY = 200_000_000
#: What a process takes beside that: the interpreter, its libraries, compiled code.
OF_PROCESS = 300_000_000
#: What work on pieces of long arrays takes, whatever their length: of one thing that is made, and of each thread.
_WORK = 600_000_000
_OF_THREAD = 60_000_000
#: Bytes that a growing column has at first; pages that nothing was written to take no memory.
_FIRST_ROOM = 1 << 20
#: From this size on memory comes in large pages.
_LARGE = 1 << 25


class Scratch:
    """Room for arrays: up to ``memory`` bytes (no limit if None), then files in the folder ``tmp``.

    ``limit`` is what everything may take together, arrays and work on them.
    """

    def __init__(self, memory: int | None = None, tmp: str | None = None, limit: int | None = None) -> None:
        self.memory = memory
        self.limit = limit
        self.folder = tmp or tempfile.gettempdir()
        self.held = 0
        #: Whether some array did not fit: from then on memory is short.
        self.is_short = False
        self._lock = threading.RLock()  # the garbage collector may release an array within it
        if tmp is not None and not os.path.isdir(tmp):
            raise UsageError(f"{tmp}: is not a directory; --tmp names the one for temporary files")

    def hold(self, array: NDArray[Any]) -> Release | None:
        """Count an array until nobody has it any more, or until what this gives is called; None if there is no room."""
        return weakref.finalize(array, self.give_up, array.nbytes) if self.take(array.nbytes) else None

    def column(self, array: NDArray[Any]) -> Column:
        """An array as a column: itself, or in a file if there is no room."""
        if self.hold(array):
            return array
        file = self.file()
        file.write(array)
        return Stored(file, array.dtype, len(array))

    def count(self, *arrays: NDArray[Any]) -> None:
        """Count arrays that are in memory whether there is room or not: others have less."""
        for array in arrays:
            with self._lock:
                self.held += array.nbytes
            weakref.finalize(array, self.give_up, array.nbytes)

    def take(self, size: int) -> bool:
        """Count so many bytes, if there is room for them."""
        with self._lock:
            fits = self.memory is None or self.held + size <= self.memory
            self.is_short |= not fits
            self.held += size if fits else 0
        return fits

    def give_up(self, size: int) -> None:
        """Count so many bytes no more."""
        with self._lock:
            self.held -= size

    @property
    def side_by_side(self) -> float:
        """How many things may be made side by side: each takes memory for work on pieces, beside its arrays."""
        if self.is_short:
            return 1
        return math.inf if self.limit is None else max(1, self.free // _WORK)

    def threads(self, wanted: int) -> int:
        """How many threads, of those that are wanted, have memory to work with."""
        return wanted if self.limit is None else max(1, min(wanted, self.free // _OF_THREAD))

    @property
    def free(self) -> int:
        """What is left for work on arrays."""
        return (self.limit or 0) - (self.memory or 0)

    def check_room(self, need: int, what: str, remedy: str) -> None:
        """Refuse work that needs so many bytes of memory at once, if that is more than there is beside the arrays."""
        if self.limit is not None and need > self.free:
            raise NoRoomError(
                f"{what} would take {need / 1e9:.1f} GB of memory; of the {self.limit / 1e9:.1f} GB that may be used, "
                f"{self.free / 1e9:.1f} GB are for such work. Allow more --memory, or {remedy}"
            )

    def tidy(self) -> None:
        """Where memory is short, give what was freed back to the system; elsewhere it is soon taken again."""
        if self.is_short:
            give_back()

    def file(self) -> _File:
        """A new file without a name."""
        return _File(self.folder)


class _File:
    def __init__(self, folder: str) -> None:
        self.folder = folder
        try:
            self.file: IO[bytes] = tempfile.TemporaryFile(dir=folder, prefix="plre-", buffering=0)  # noqa: SIM115
        except OSError as error:
            raise PlreError(
                f"{folder}: no temporary file can be made there ({error.strerror}); choose another folder with --tmp"
            ) from None
        weakref.finalize(self, self.file.close)
        self.size = 0

    def write(self, array: NDArray[Any], at: int | None = None) -> int:
        """Write an array to a place, or to the end; gives the place."""
        place = self.size if at is None else at
        data = memoryview(np.ascontiguousarray(array).view(np.uint8).data)
        done = 0
        while done < len(data):
            try:
                done += os.pwrite(self.file.fileno(), data[done:], place + done)
            except OSError as error:
                raise PlreError(
                    f"{self.folder}: temporary data could not be written ({error.strerror}); "
                    "make room there, choose another folder with --tmp, or allow more --memory"
                ) from None
        self.size = max(self.size, place + len(data))
        return place

    def read(self, dtype: np.dtype[Any], at: int, count: int) -> NDArray[Any]:
        """``count`` numbers from a place on."""
        array = np.empty(count, dtype)
        data = memoryview(array.view(np.uint8).data)
        done = 0
        while done < len(data):
            more = os.preadv(self.file.fileno(), [data[done:]], at + done)
            if more <= 0:
                raise PlreError(f"{self.folder}: temporary data is missing")
            done += more
        return array

    def map(self, dtype: np.dtype[Any], count: int) -> NDArray[Any]:
        """The first ``count`` numbers as an array that is mapped into memory; what is written to it is in the file."""
        return np.frombuffer(mmap.mmap(self.file.fileno(), self.size), dtype, count)


class Stored:
    """An array in a file. A slice of it is read when it is asked for."""

    def __init__(self, file: _File, dtype: np.dtype[Any], size: int) -> None:
        self.file = file
        self.dtype = dtype
        self.size = size

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, part: slice) -> NDArray[Any]:
        start, stop, step = part.indices(self.size)
        if step != 1:
            raise IndexError("only whole ranges can be read")
        return self.file.read(self.dtype, start * self.dtype.itemsize, max(0, stop - start))


class Mapped:
    """What a table says of each number of a column; nothing is kept."""

    def __init__(self, column: Column, table: NDArray[Any]) -> None:
        self.column = column
        self.table = table

    def __len__(self) -> int:
        return len(self.column)

    def __getitem__(self, part: slice) -> NDArray[Any]:
        found: NDArray[Any] = self.table[self.column[part]]
        return found


class _Counted:
    """Bytes that count as memory until nobody has this any more."""

    def __init__(self, scratch: Scratch) -> None:
        self.scratch = scratch
        self.size = 0

    def add(self, size: int) -> bool:
        """Count more, if there is room for them."""
        fits = self.scratch.take(size)
        self.size += size if fits else 0
        return fits

    def __del__(self) -> None:
        self.scratch.give_up(self.size)


class Anonymous(mmap.mmap):
    """Memory that grows where it is; pages that nothing was written to take none."""

    counted: _Counted

    @staticmethod
    def of(counted: _Counted, size: int) -> Anonymous:
        """Memory for so many bytes."""
        private = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_PRIVATE") else {}
        made = Anonymous(-1, size, **private)
        made.counted = counted
        return made

    def grown(self, size: int) -> Anonymous:
        """The same with room for so many bytes."""
        try:
            self.resize(size)
        except SystemError:  # not every system can do that
            other = Anonymous.of(self.counted, size)
            other[: len(self)] = self[:]
            return other
        if size > _LARGE and hasattr(mmap, "MADV_HUGEPAGE"):  # of which the last one is half empty, on average
            self.madvise(mmap.MADV_HUGEPAGE)
        return self


class Growing:
    """A column that is made from its beginning to its end."""

    def __init__(self, scratch: Scratch, dtype: Any) -> None:
        self.scratch = scratch
        self.dtype = np.dtype(dtype)
        self.size = 0
        self._room = Anonymous.of(_Counted(scratch), _FIRST_ROOM)
        self._file: _File | None = None

    def append(self, array: NDArray[Any]) -> None:
        """Put an array at the end."""
        data = np.ascontiguousarray(array, self.dtype)
        if self._file is None and not self._room.counted.add(data.nbytes):
            self._file = self.scratch.file()
            self._file.write(np.frombuffer(self._room, self.dtype, self.size))
            self._room = Anonymous.of(_Counted(self.scratch), _FIRST_ROOM)
        if self._file is not None:
            self._file.write(data)
        else:
            begin = self.size * self.dtype.itemsize
            if begin + data.nbytes > len(self._room):
                self._room = self._room.grown(max(begin + data.nbytes, 4 * len(self._room)))
            np.frombuffer(self._room, np.uint8)[begin : begin + data.nbytes] = data.view(np.uint8)
        self.size += len(data)

    def finish(self) -> Column:
        """The whole column: an array, or a :class:`Stored` one."""
        if self._file is not None:
            return Stored(self._file, self.dtype, self.size)
        return np.frombuffer(self._room, self.dtype, self.size)


class Runs:
    """Many arrays of one type, each in memory or on disk; parts of them can be read."""

    def __init__(self, scratch: Scratch, dtype: Any) -> None:
        self.scratch = scratch
        self.dtype = np.dtype(dtype)
        #: Those in memory, each with what ends its being counted, and the places of those on disk.
        self._runs: list[tuple[NDArray[Any], Release] | tuple[int, int]] = []
        self._file: _File | None = None

    def append(self, array: NDArray[Any]) -> None:
        """Add an array."""
        if (release := self.scratch.hold(array)) is not None:
            self._runs.append((array, release))
            return
        self._file = self._file or self.scratch.file()
        self._runs.append((self._file.write(array), len(array)))

    def read(self, run: int, start: int, stop: int) -> NDArray[Any]:
        """A part of an array."""
        where, _ = self._runs[run]
        if isinstance(where, int):
            assert self._file is not None
            return self._file.read(self.dtype, where + start * self.dtype.itemsize, stop - start)
        return where[start:stop]

    def take(self, run: int) -> NDArray[Any]:
        """A whole array, for the last time: it is the caller's now."""
        where, rest = self._runs[run]
        if isinstance(where, int):
            assert isinstance(rest, int)
            return self.read(run, 0, rest)
        self._runs[run] = (0, 0)
        assert callable(rest)
        rest()
        return where


def scratch_within(memory: int | str | None, tmp: str | os.PathLike[str] | None, *, ensemble: bool = False) -> Scratch:
    """A third of the memory is for long arrays, the rest for work on them; less where an ensemble is made, which takes
    more work."""
    size = memory_size(memory)
    part = max(size // 8, (size - _WORK) // 3) if ensemble else size // 3
    return Scratch(part, None if tmp is None else os.fspath(tmp), size)


def memory_size(memory: int | str | None) -> int:
    """The bytes of memory that may be used: what was said, or four fifths of what the machine or the container has."""
    size = usable_memory() * 4 // 5 if memory is None else parse_size(str(memory))
    if size < SMALLEST_MEMORY:
        raise UsageError(
            f"this needs at least {SMALLEST_MEMORY // 10**6}M of memory, not {memory} (bytes, or such as 2G)"
        )
    return size


def parse_size(text: str) -> int:
    """Bytes from what a person writes.

    >>> parse_size("2G"), parse_size("1.5 GB"), parse_size("500m"), parse_size("4096")
    (2000000000, 1500000000, 500000000, 4096)
    """
    match = re.fullmatch(r"\s*([\d.]+)\s*([kmgt]?)i?b?\s*", text.lower())
    try:
        if match is None:
            raise ValueError
        size = int(float(match[1]) * 1000 ** " kmgt".index(match[2] or " "))
    except ValueError:
        raise UsageError(f"a size is a number and a unit, for example 500M or 2G, not {text!r}") from None
    return size


def slices(size: int, step: int) -> Iterator[slice]:
    """Consecutive slices of at most ``step``."""
    return (slice(start, min(start + step, size)) for start in range(0, size, step))
