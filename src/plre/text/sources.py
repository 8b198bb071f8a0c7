"""Sources of text: files, globs, standard input, strings; plain or compressed; read in blocks of whole lines."""

from __future__ import annotations

import bz2
import codecs
import contextlib
import glob
import gzip
import io
import lzma
import os
import sys
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import IO, Any, Literal, cast

from plre.errors import TextError, UsageError

#: A path or glob, ``"-"`` for standard input; or an iterable of ``Path`` (files) or of ``str`` (sentences).
Source = str | os.PathLike[str] | Iterable[str] | Iterable[os.PathLike[str]]
Errors = Literal["strict", "replace"]

BLOCK_BYTES = 1 << 22
#: So many bytes without white space are no word.
_LONGEST_WORD = 1 << 20
_SPACES = b" \t\n\r\v\f"
#: Bytes that are decoded together.
_DECODED = 1 << 16
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Block:
    """A piece of text that ends between two lines (or, in a stream, between two words)."""

    data: bytes
    name: str
    line: int
    #: How far this block moved in the file on disk, for progress.
    read: int

    def locate(self, position: int) -> str:
        """``file:line`` of a byte of this block."""
        return f"{self.name}:{self.line + self.data.count(10, 0, position)}"


def expand(source: Source) -> list[str] | Iterator[str]:
    """The paths that a source names, or its sentences as an iterator."""
    if isinstance(source, str | os.PathLike):
        return _expand_path(str(os.fspath(source)))
    if not isinstance(source, Iterable):
        raise UsageError(f"text must be a path or an iterable of strings, not {type(source).__name__}")
    items: Iterator[Any] = iter(source)
    first: Any = next(items, None)
    rest: Iterator[Any] = chain([first], items) if first is not None else iter(())
    if isinstance(first, os.PathLike):
        paths = [path for item in rest for path in _expand_path(os.fspath(item))]
        if paths.count("-") > 1:
            raise UsageError("standard input (-) can be read only once")
        return paths
    if isinstance(first, str) and os.path.isfile(first):
        raise UsageError(
            f"strings in a list are sentences, but {first!r} is a file; for files give pathlib.Path objects"
        )
    return (_as_line(item) for item in rest)


def _as_line(item: object) -> str:
    if not isinstance(item, str):
        raise UsageError(
            f"text must be a path, or an iterable of strings or of pathlib.Path; it has a {type(item).__name__}"
        )
    return item


def _expand_path(path: str) -> list[str]:
    if path == "-" or os.path.exists(path):
        if os.path.isdir(path):
            raise TextError(f"{path}: is a directory; name its files, for example '{path}/*.txt'")
        return [path]
    matches = glob.glob(path, recursive=True)
    found = sorted(name for name in matches if not os.path.isdir(name))
    if not found:
        if matches:
            raise TextError(f"{path}: matches only directories; name their files, for example '{path}/*.txt'")
        if glob.has_magic(path):
            raise TextError(f"{path}: no file matches this pattern")
        hint = "" if Path(path).parent.exists() else f" (there is no directory {Path(path).parent})"
        raise TextError(f"{path}: no such file{hint}")
    return found


def sized(source: Source) -> tuple[Source, int | None]:
    """A source with its patterns resolved, and its size on disk if that is known."""
    expanded = expand(source)
    if isinstance(expanded, list):
        return [Path(path) for path in expanded], disk_size(expanded)
    return expanded, None


def disk_size(paths: list[str]) -> int | None:
    """Bytes on disk of all files, or None where one is no regular file (a pipe, standard input)."""
    if not all(os.path.isfile(path) for path in paths):
        return None
    return sum(os.path.getsize(path) for path in paths)


def read_blocks(source: Source, *, stream: bool = False, errors: Errors = "strict") -> Iterator[Block]:
    """Valid UTF-8 blocks of a text."""
    return (valid(block, errors) for block in raw_blocks(source, stream=stream))


def raw_blocks(source: Source, *, stream: bool = False) -> Iterator[Block]:
    """Blocks of about 4 MB that end with a newline, not yet :func:`valid` (whoever works on them may check them).

    With ``stream`` a block may end at any white space, so that a file of one huge line needs no more memory.
    """
    expanded = expand(source)
    if isinstance(expanded, list):
        cuts = _SPACES if stream else b"\n"
        return chain.from_iterable(_file_blocks(path, cuts) for path in expanded)
    return _string_blocks(expanded)


def _file_blocks(path: str, cuts: bytes) -> Iterator[Block]:
    """A file's blocks, each cut after the last of the bytes ``cuts`` in what was read."""
    name = "<stdin>" if path == "-" else path
    line = 1
    position = 0
    tail: list[bytes] = []
    unbroken = 0
    try:
        with _opened(path) as (raw, text):
            first = True
            while True:
                # From a pipe, take what is there: whoever writes to it may be waiting for an answer.
                data = text.read(BLOCK_BYTES) if raw.seekable() else cast(Any, text).read1(BLOCK_BYTES)
                if first:
                    data = data.removeprefix(_BOM)
                    first = False
                if not data:
                    break
                cut = max(data.rfind(cuts[i : i + 1]) for i in range(len(cuts))) + 1
                if not cut:
                    space = max(data.rfind(_SPACES[i : i + 1]) for i in range(len(_SPACES)))
                    unbroken = len(data) - space - 1 + (unbroken if space < 0 else 0)
                    if unbroken > _LONGEST_WORD:
                        raise TextError(
                            f"{name}:{line}: more than {_LONGEST_WORD / 1e6:.0f} MB without white space: this is no "
                            "text of words; plre reads words that are separated by spaces, a sentence a line"
                        )
                    tail.append(data)
                    continue
                unbroken = 0
                body = b"".join((*tail, data[:cut]))
                tail = [data[cut:]]
                here = raw.tell() if raw.seekable() else position + len(body)
                yield Block(body, name, line, here - position)
                line += body.count(b"\n")
                position = here
    except PermissionError:
        raise TextError(f"{name}: no permission to read it") from None
    except broken_compression() as error:
        where = f", after line {line - 1:,} or later" if line > 1 else ""
        raise TextError(f"{name}: compressed data is broken or cut off{where} ({error}); fetch it again") from None
    except OSError as error:
        if error.errno is None:  # bz2 says so
            raise TextError(f"{name}:{line}: compressed data is broken ({error}); fetch it again") from None
        raise TextError(f"{name}:{line}: cannot be read ({error.strerror or error})") from None
    last = b"".join(tail)
    if last:
        yield Block(last + b"\n", name, line, len(last))


@contextlib.contextmanager
def _opened(path: str) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
    """The raw file (for progress) and the text in it, by what its first bytes say it is."""
    if path != "-":
        with open(path, "rb") as raw:
            yield raw, decompressed(raw, raw.peek(8)[:8])
    elif sys.stdin is None:
        raise TextError("standard input is closed; name a file")
    else:
        stdin = cast(io.BufferedReader, sys.stdin.buffer)
        yield stdin, decompressed(stdin, stdin.peek(8)[:8])


def decompressed(raw: IO[bytes], first: bytes) -> IO[bytes]:
    """The text in a file whose first bytes are ``first``: gz, bz2, xz, zst or plain."""
    if first.startswith(b"\x1f\x8b"):
        return cast(IO[bytes], gzip.GzipFile(fileobj=raw))
    if first.startswith(b"BZh"):
        return bz2.BZ2File(raw)
    if first.startswith(b"\xfd7zXZ\x00"):
        return lzma.LZMAFile(raw)
    if first.startswith(b"\x28\xb5\x2f\xfd"):
        opened: IO[bytes] = _zstd().ZstdFile(raw)
        return opened
    return raw


def _zstd() -> Any:
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return zstd


def broken_compression() -> tuple[type[Exception], ...]:
    """The exceptions that decompressors raise for broken data."""
    return (EOFError, lzma.LZMAError, zlib.error, gzip.BadGzipFile, _zstd().ZstdError)


def _string_blocks(lines: Iterator[str]) -> Iterator[Block]:
    """Sentences given as strings; a newline inside one is white space, so that one string is one sentence."""
    parts: list[bytes] = []
    size = 0
    first = 1
    for number, line in enumerate(lines, 1):
        parts.append(line.replace("\n", " ").encode("utf-8", "surrogatepass"))
        size += len(line) + 1
        if size > BLOCK_BYTES:
            yield Block(b"\n".join((*parts, b"")), "<strings>", first, size)
            parts, size, first = [], 0, number + 1
    if parts:
        yield Block(b"\n".join((*parts, b"")), "<strings>", first, size)


def _check_utf8(data: bytes) -> None:
    """Decode some bytes at a time, which stay in a cache, and forget them; all at once if something is wrong."""
    view, at = memoryview(data), 0
    try:
        while at < len(data):
            at += codecs.utf_8_decode(view[at : at + _DECODED], "strict", at + _DECODED >= len(data))[1]
    except UnicodeDecodeError:
        data.decode("utf-8")


def valid(block: Block, errors: Errors) -> Block:
    """The block, checked: UTF-8 without NUL, or made so."""
    data = block.data
    nul = data.find(b"\0")
    if nul < 0 and data.isascii():
        return block
    if errors == "replace":
        data = data.decode("utf-8", "replace").replace("\0", " ").encode()
        return Block(data, block.name, block.line, block.read)
    try:
        _check_utf8(data)
    except UnicodeDecodeError as error:
        if nul < 0 or b"\n" in data[error.start : nul]:  # in a line before that of the NUL, if there is one
            bad = data[error.start : error.end].hex(" ")
            raise TextError(
                f"{block.locate(error.start)}: not valid UTF-8 (byte {bad}); convert the file "
                "(for example: iconv -f LATIN1 -t UTF-8), or go on with --errors replace"
            ) from None
    if nul >= 0:
        raise TextError(
            f"{block.locate(nul)}: a NUL byte: this looks like binary data or UTF-16 "
            "(convert it with: iconv -f UTF-16 -t UTF-8); --errors replace makes it white space"
        )
    return block
