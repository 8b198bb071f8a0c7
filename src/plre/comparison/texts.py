"""The three texts, read once before anything runs: they must be usable, and their checksums decide what is new."""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plre.errors import TextError, UsageError
from plre.text.encode import refuse_marker
from plre.text.sources import Errors, expand, read_blocks

#: Sentence markers; those that are there after the texts were checked are to be treated as white space.
_MARKER = re.compile(rb"(?<!\S)</?s>(?!\S)")

TextPath = str | os.PathLike[str]


@dataclass(frozen=True)
class TextFiles:
    """A text as it was given, its files, and what identifies it wherever it lies: size and checksum, unpacked."""

    given: str
    paths: tuple[str, ...]
    size: int
    digest: str

    def sources(self) -> list[Path]:
        """The files of the text as the library takes them."""
        return [Path(path) for path in self.paths]

    def identity(self) -> dict[str, Any]:
        """Size and checksum, which have to be the same for a result to hold."""
        return {"bytes": self.size, "digest": self.digest}


def read_text(given: TextPath, *, skip_markers: bool = False, errors: Errors = "strict") -> TextFiles:
    """Check that a text can be used: files (not a stream: every job reads them) of UTF-8 with at least one word."""
    name = os.fspath(given)
    paths = [os.path.abspath(path) if path != "-" else path for path in expand(name)]
    for path in paths:
        if not os.path.isfile(path):
            raise UsageError(f"{path}: every method reads the texts again, so they must be files, not pipes")
    digest = hashlib.blake2b(digest_size=16)
    size = 0
    words = False
    for block in read_blocks([Path(path) for path in paths], errors=errors):
        if not skip_markers and (marker := _MARKER.search(block.data)):
            refuse_marker(block, marker.start())
        digest.update(block.data)
        size += len(block.data)
        words = words or not block.data.isspace()
    if not words:
        raise TextError(f"{name}: holds no words; there is nothing to compare on")
    return TextFiles(name, tuple(paths), size, digest.hexdigest())


def sentence_tokens(text: TextFiles, errors: Errors = "strict") -> NDArray[np.int64]:
    """For each sentence of a text its words and ``</s>``, counted: what a perplexity divides by."""
    blocks = read_blocks(text.sources(), errors=errors)
    lines = (_MARKER.sub(b" ", line) for block in blocks for line in block.data.split(b"\n")[:-1])
    return np.array([len(line.split()) + 1 for line in lines], np.int64)
