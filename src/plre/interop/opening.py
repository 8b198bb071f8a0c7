"""Opening a model in whatever format it is."""

from __future__ import annotations

import os

from plre.model.lm import LanguageModel
from plre.progress import Progress
from plre.text.sources import broken_compression, decompressed

_DATA = b"\\data\\"
#: Before that there may be comments.
_LOOKED_AT = 1 << 16


def open_model(
    path: str | os.PathLike[str], *, threads: int | None = None, progress: Progress | None = None
) -> LanguageModel:
    """The model in a file of plre, which is mapped into memory, or in an ARPA file, which is read."""
    if is_arpa(path):
        from plre.interop.importing import import_arpa

        return import_arpa(path, threads=threads, progress=progress)
    return LanguageModel.load(path)


def is_arpa(path: str | os.PathLike[str]) -> bool:
    """Whether a file looks like an ARPA file, compressed or not."""
    unreadable: tuple[type[Exception], ...] = (OSError, *broken_compression())
    try:
        with open(path, "rb") as raw:
            begin = decompressed(raw, raw.peek(8)[:8]).read(_LOOKED_AT)
    except unreadable:
        return False
    lines = (line.strip() for line in begin.split(b"\n"))
    return next((line for line in lines if line and not line.startswith(b"#")), b"") == _DATA
