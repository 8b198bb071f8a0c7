"""Opening a model in whatever format it is."""

from __future__ import annotations

import os

from plre.errors import ModelFileError
from plre.model.lm import LanguageModel
from plre.progress import Progress
from plre.tensorfile import looks_like
from plre.text.sources import broken_compression, decompressed

_DATA = b"\\data\\"
#: Before that there may be comments.
_LOOKED_AT = 1 << 16


def open_model(
    path: str | os.PathLike[str], *, threads: int | None = None, progress: Progress | None = None
) -> LanguageModel:
    """The model in a file of plre, which is mapped into memory, or in an ARPA file, which is read."""
    begin, compressed = _begin(path)
    lines = (line.strip() for line in begin.split(b"\n"))
    if next((line for line in lines if line and not line.startswith(b"#")), b"") == _DATA:
        from plre.interop.importing import import_arpa

        return import_arpa(path, threads=threads, progress=progress)
    if compressed:
        raise ModelFileError(f"{os.fspath(path)}: is a compressed file, but no ARPA file; inside {looks_like(begin)}")
    return LanguageModel.load(path)


def _begin(path: str | os.PathLike[str]) -> tuple[bytes, bool]:
    """What a file begins with, and whether it is compressed; nothing of one that cannot be read."""
    broken: tuple[type[Exception], ...] = (OSError, *broken_compression())
    try:
        with open(path, "rb") as raw:
            text = decompressed(raw, raw.peek(8)[:8])
            return text.read(_LOOKED_AT), text is not raw
    except broken as error:
        if isinstance(error, OSError) and error.errno is not None:
            return b"", False  # whoever opens it says why
        name = os.fspath(path)
        raise ModelFileError(f"{name}: compressed data is broken or cut off ({error}); fetch it again") from None
