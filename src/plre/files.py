"""Files that results go to: written whole or not at all, and looked at before long work begins."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from plre.errors import UsageError


def write_whole(path: Path, text: str) -> None:
    """Write a file that nobody ever sees half of."""
    half = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        half.write_text(text, encoding="utf-8")
        half.replace(path)
    finally:
        with contextlib.suppress(OSError):
            half.unlink(missing_ok=True)


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise UsageError unless a new file can be made in the folder that ``path`` will lie in, by making one.

    Results get their names by renaming a new file, so what counts is the folder, not a file that is there already.
    Where ``path`` is a pipe or a device nothing is made, and nothing checked.
    """
    target = os.path.realpath(path)
    if os.path.exists(target) and not os.path.isfile(target):
        return
    check_writable_folder(os.path.dirname(target), os.fspath(path))


def check_writable_folder(folder: str | os.PathLike[str], name: str | None = None) -> None:
    """Raise UsageError unless a file can be made in ``folder``; ``name`` is what the message calls it."""
    try:
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".plre-"):
            pass
    except OSError as error:
        raise UsageError(
            f"{name or os.fspath(folder)}: no file can be made in {os.fspath(folder)} ({error.strerror or error}); "
            "choose another place"
        ) from None
