"""One file for one model: the safetensors layout, so that any safetensors reader can look inside.

    8 bytes    length of the header, little-endian
    header     JSON: for each tensor its dtype, shape and place; padded with spaces so that data starts on 64 bytes
    data       the tensors end to end, in an order in which each is aligned

Files are opened with mmap (at once, whatever their size) and written to a temporary name, synced and renamed. This is
written by hand because the safetensors library aligns to 8 bytes and neither syncs nor renames.
"""

from __future__ import annotations

import codecs
import contextlib
import json
import mmap
import os
import stat
import sys
import tempfile
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plre.errors import ModelFileError, UsageError
from plre.scratch import Anonymous

_DTYPES: dict[str, np.dtype[Any]] = {
    "U64": np.dtype("<u8"),
    "U32": np.dtype("<u4"),
    "I32": np.dtype("<i4"),
    "F32": np.dtype("<f4"),
    "U16": np.dtype("<u2"),
    "U8": np.dtype("u1"),
}
_NAMES = {dtype: name for name, dtype in _DTYPES.items()}
_ALIGN = 64
_LARGEST_HEADER = 1 << 26
#: Bytes that are written or read at once.
_CHUNK = 1 << 22

Tensors = dict[str, NDArray[Any]]
#: Type and size of each tensor, in the order of the file.
Shapes = dict[str, tuple[np.dtype[Any], int]]


def in_order(tensors: Tensors) -> Tensors:
    """Tensors in the order of a file: cache lines first, then wide types before narrow ones; so all are aligned."""

    def place(item: tuple[str, NDArray[Any]]) -> tuple[bool, int]:
        return not item[0].endswith(".lines"), -item[1].dtype.itemsize

    return dict(sorted(tensors.items(), key=place))


def shapes(tensors: Tensors) -> Shapes:
    """The types and sizes of tensors."""
    return {name: (tensor.dtype, len(tensor)) for name, tensor in tensors.items()}


def header(metadata: dict[str, str], shapes: Shapes) -> bytes:
    """What a file has before its data."""
    entries: dict[str, Any] = {"__metadata__": metadata}
    at = 0
    for name, (dtype, count) in shapes.items():
        size = dtype.itemsize * count
        entries[name] = {"dtype": _NAMES[dtype], "shape": [count], "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(entries, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass")
    text += b" " * (-(8 + len(text)) % _ALIGN)
    return len(text).to_bytes(8, "little") + text


def chunks(tensor: NDArray[Any]) -> list[NDArray[np.uint8]]:
    """The bytes of a tensor, some at a time: whoever has read them should :func:`release` them."""
    data = tensor.view(np.uint8)
    return [data[start : start + _CHUNK] for start in range(0, len(data), _CHUNK)]


def write(path: str, head: bytes, tensors: Iterable[NDArray[Any]]) -> None:
    """Write a model; at no moment is there a half-written file under ``path``."""
    path = os.path.realpath(path)
    temporary = None
    try:
        check_target(path)
        handle, temporary = _new_file(os.path.dirname(path))
        with os.fdopen(handle, "wb") as file:
            file.write(head)
            for tensor in tensors:
                for chunk in chunks(tensor):
                    file.write(memoryview(chunk))
                    release(chunk)
            file.flush()
            os.fsync(file.fileno())
            if temporary is None:
                temporary = _give_name(file.fileno(), os.path.dirname(path))
        os.replace(temporary, path)
    except BaseException as error:
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
        if isinstance(error, OSError):
            why = error.strerror or str(error)
            raise ModelFileError(f"{path}: the model could not be written ({why})") from error
        raise


def _give_name(handle: int, directory: str) -> str:
    """Let an open file without a name appear in a directory."""
    name = f".plre-{os.getpid()}-{handle}.tmp"
    place = os.open(directory, os.O_RDONLY)
    try:
        os.link(f"/proc/self/fd/{handle}", name, dst_dir_fd=place, follow_symlinks=True)
    finally:
        os.close(place)
    return os.path.join(directory, name)


def _new_file(directory: str) -> tuple[int, str | None]:
    """An empty file: on Linux one without a name, which is gone if this process is killed; elsewhere a hidden one."""
    if hasattr(os, "O_TMPFILE") and os.path.isdir("/proc/self/fd"):
        with contextlib.suppress(OSError):  # not every file system has them
            return os.open(directory, os.O_TMPFILE | os.O_WRONLY, 0o666), None
    handle, name = tempfile.mkstemp(dir=directory, prefix=".plre-", suffix=".tmp")
    os.chmod(name, 0o666 & ~_umask())
    return handle, name


def check_target(path: str) -> None:
    """Raise where no model can be written: nowhere, a directory, or something that is no file (such as /dev/null)."""
    target = os.path.realpath(path)
    if not path:
        raise UsageError("the name of the model file is empty")
    if os.path.isdir(target):
        raise UsageError(f"{path}: is a directory; give a file name, for example {os.path.join(path, 'm.plre')}")
    if os.path.exists(target) and not os.path.isfile(target):
        raise UsageError(f"{path}: is a device or a pipe; a model can only be written to a file")
    if not os.path.isdir(os.path.dirname(target)):
        raise UsageError(f"{path}: there is no directory {os.path.dirname(target)}; make it first")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def read(path: str) -> tuple[dict[str, str], Tensors]:
    """Metadata and tensors of a file, memory-mapped."""
    try:
        with open(path, "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise ModelFileError(f"{path}: is a device or a pipe; a model is mapped into memory and must be a file")
            size = status.st_size
            first = file.read(64)
            if size < 16:
                raise ModelFileError(f"{path}: is empty or cut off ({size} bytes); it is not a plre model")
            length = int.from_bytes(first[:8], "little")
            if length > _LARGEST_HEADER or first[8:9] != b"{":
                raise ModelFileError(f"{path}: is not a plre model; {looks_like(first)}")
            if 8 + length > size:
                raise ModelFileError(f"{path}: is cut off within its header; copy or train it again")
            file.seek(8)
            text = file.read(length)
            mapped = _map_privately(file.fileno())
    except IsADirectoryError:
        raise ModelFileError(f"{path}: is a directory; name a model file in it") from None
    except FileNotFoundError:
        raise ModelFileError(f"{path}: no such file; make a model with: plre train TEXT -o {path}") from None
    except OSError as error:
        raise ModelFileError(f"{path}: cannot be opened ({error.strerror or error})") from None
    data = np.frombuffer(mapped, np.uint8)[8 + length :]
    try:
        header = json.loads(text)
        metadata = dict(header.pop("__metadata__"))
        tensors: Tensors = {}
        end = 0
        for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"][0]):
            start, stop = entry["data_offsets"]
            if type(start) is not int or type(stop) is not int or not 0 <= start <= stop < 2**62:
                raise ValueError(f"tensor {name} has impossible offsets")
            dtype = _DTYPES[entry["dtype"]]
            if start != end:
                raise ValueError(f"tensor {name} does not follow the one before it")
            end = stop
            if stop > len(data):
                continue
            if start < 0 or start % dtype.itemsize or stop - start != dtype.itemsize * int(np.prod(entry["shape"])):
                raise ValueError(f"tensor {name} has impossible offsets")
            tensors[name] = data[start:stop].view(dtype).reshape(entry["shape"])
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise ModelFileError(f"{path}: its header is damaged ({error}); copy or train the model again") from None
    if (8 + length) % _ALIGN:
        raise ModelFileError(f"{path}: its data does not begin at a multiple of {_ALIGN} bytes; copy or train it again")
    if "plre" not in metadata:
        raise ModelFileError(f"{path}: is a safetensors file, but not a plre model")
    if end != len(data):
        raise ModelFileError(
            f"{path}: should have {8 + length + end} bytes but has {size}: it is cut off or damaged; "
            "copy or train it again"
        )
    return metadata, tensors


def _map_privately(descriptor: int) -> mmap.mmap:
    """Map a file into memory, copy-on-write: arrays count as writable, the type that the kernels were compiled for."""
    if sys.platform == "linux":
        # Nothing is ever written, so the kernel need not set memory aside for copies of the pages.
        no_reserve = 0x4000
        protection = mmap.PROT_READ | mmap.PROT_WRITE
        return mmap.mmap(descriptor, 0, flags=mmap.MAP_PRIVATE | no_reserve, prot=protection)
    return mmap.mmap(descriptor, 0, access=mmap.ACCESS_COPY)


def release(array: NDArray[Any]) -> None:
    """Let go of the memory of an array, if it is mapped from a file: what is asked for again is read again.

    Nothing may have been written to an array that is mapped copy-on-write, since that would be lost.
    """
    base: Any = array
    while isinstance(base, np.ndarray | memoryview):
        base = base.base if isinstance(base, np.ndarray) else base.obj
    if not isinstance(base, mmap.mmap) or isinstance(base, Anonymous) or not hasattr(mmap, "MADV_DONTNEED"):
        return
    whole = np.frombuffer(base, np.uint8)
    first = array.ctypes.data - whole.ctypes.data
    begin = -(-first // mmap.PAGESIZE) * mmap.PAGESIZE  # pages that other arrays have a part of stay
    size = (first + array.nbytes) // mmap.PAGESIZE * mmap.PAGESIZE - begin
    if size > 0:
        base.madvise(mmap.MADV_DONTNEED, begin, size)


def looks_like(first: bytes) -> str:
    """What a file seems to be that begins with these bytes and is no model, and what can be done with it."""
    if first.startswith(b"mmap lm http://kheafield.com/code"):
        return "it looks like a KenLM binary file, whose source text or ARPA file is needed instead"
    if b"\\data\\" in first:
        return "it looks like an ARPA file: make a model of it with plre import"
    if first.startswith((b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd")):
        return "it looks compressed; decompress it first"
    if first[8:9] == b"{" and int.from_bytes(first[:8], "little") <= _LARGEST_HEADER:
        return "it looks like a model: decompress it first"
    try:
        codecs.utf_8_decode(first)
    except UnicodeDecodeError:
        return "it is some other binary file"
    return "it looks like text; train a model on it with: plre train"
