"""Writing ARPA files, as KenLM, NeMo, kaldilm and others read them."""

from __future__ import annotations

import contextlib
import gzip
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, cast

import numpy as np
from numpy.typing import NDArray

from plre.errors import PlreError
from plre.exporting import _lines as kernels
from plre.exporting.plain import LogColumns
from plre.progress import Progress
from plre.text.vocabulary import BOS, Vocabulary
from plre.threads import overlapped

#: What stands for the logarithm of 0.
NEVER = -99.0
#: Lines that are made together.
_PIECE = 1 << 16
_POWERS = 10.0 ** np.arange(kernels.MOST_DIGITS + 1)


def write_arpa(
    columns: LogColumns,
    vocab: Vocabulary,
    path: str,
    *,
    left_out: NDArray[np.bool_],
    start: float = NEVER,
    threads: int = 1,
    progress: Progress,
) -> list[int]:
    """Write n-grams to a file, compressed if its name ends in ``.gz``; nobody ever sees half of it.

    ``left_out`` says which words are not even written as unigrams; ``start`` is what stands as log10 P of ``<s>``,
    which is never predicted: most programs write -99, some want 0. Gives how many n-grams there are of each order.
    """
    sizes = [columns.sizes[0] - int(left_out.sum()), *columns.sizes[1:]]
    with _written_whole(path) as out, progress.stage("writing", float(sum(sizes)), "n-grams") as advance:
        out.write(b"\\data\\\n")
        out.writelines(b"ngram %d=%d\n" % (n, size) for n, size in enumerate(sizes, 1))
        for n in range(1, columns.order + 1):
            out.write(b"\n\\%d-grams:\n" % n)
            pieces = _Pieces(columns, vocab, n, left_out, start)
            for (first, last), text in overlapped(pieces.lines, pieces.ranges(), threads):
                out.write(memoryview(text))
                advance(pieces.size(first, last))
        out.write(b"\n\\end\\\n")
    return sizes


@dataclass(frozen=True)
class _Pieces:
    """The lines of one order, some contexts at a time; unigrams have one context, the empty one."""

    columns: LogColumns
    vocab: Vocabulary
    order: int
    left_out: NDArray[np.bool_]
    start: float

    def ranges(self) -> Iterator[tuple[int, int]]:
        """Contexts from the first to the last, with about as many n-grams each."""
        children = self.columns.children(self.order)
        count = len(children) - 1
        first = 0
        while first < count:
            last = int(np.searchsorted(children, children[first] + _PIECE, "right")) - 1
            last = min(max(last, first + 1), count)
            yield first, last
            first = last

    def size(self, first: int, last: int) -> int:
        """N-grams of some contexts."""
        children = self.columns.children(self.order)
        return int(children[last]) - int(children[first])

    def lines(self, part: tuple[int, int]) -> NDArray[np.uint8]:
        """The lines of some contexts."""
        first, last = part
        children = self.columns.children(self.order)[first : last + 1]
        rows = slice(int(children[0]), int(children[-1]))
        words = self.columns.words(self.order)[rows]
        logs = np.maximum(self.columns.logs(self.order)[rows], np.float32(NEVER))
        weights = np.maximum(self.columns.weights(self.order)[rows], np.float32(NEVER))
        if self.order == 1:
            logs = np.where(words == BOS, np.float32(self.start), logs)
            kept = ~self.left_out
            words, logs, weights = words[kept], logs[kept], weights[kept] if len(weights) else weights
            children = np.array([0, len(words)], np.int32)
        contexts = self.columns.contexts(self.order, first, last)
        lengths = np.diff(self.vocab.starts)
        before = (lengths[contexts] + 1).sum(axis=0, dtype=np.int64)
        room = int((before * np.diff(children)).sum()) + int(lengths[words].sum(dtype=np.int64))
        out = np.empty(room + len(words) * (2 * kernels.LONGEST_NUMBER + 3), np.uint8)
        letters, starts = self.vocab.arena, self.vocab.starts
        return out[: kernels.write_lines(contexts, children, words, logs, weights, letters, starts, _POWERS, out)]


@contextlib.contextmanager
def _written_whole(path: str) -> Iterator[IO[bytes]]:
    """A file to write to, which gets its name when it is complete; a pipe or a device is written to as it is."""
    target = os.path.realpath(path)
    plain = not os.path.exists(target) or os.path.isfile(target)
    half = os.path.join(os.path.dirname(target), f".{os.path.basename(target)}.{os.getpid()}") if plain else target
    try:
        with open(half, "wb") as raw:
            if path.endswith(".gz"):
                with gzip.GzipFile("", "wb", 3, raw, mtime=0) as packed:
                    yield cast(IO[bytes], packed)
            else:
                yield raw
        if plain:
            os.replace(half, target)
    except OSError as error:
        raise PlreError(f"{path}: could not be written ({error.strerror or error})") from None
    finally:
        if plain:
            with contextlib.suppress(OSError):
                os.unlink(half)
