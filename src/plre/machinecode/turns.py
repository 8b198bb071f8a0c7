"""Several processes that compile the same kernels take turns: one compiles, the others wait and load what it made.

A kernel is a byte of a file without content; who has locked that byte compiles. The system gives a lock back when its
process ends, however that happens. A kernel is locked while those it calls are compiled; since no kernel calls
itself through others, nobody waits for someone who waits for him.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

try:
    import fcntl
except ImportError:  # not on this system: everyone compiles for himself
    fcntl = None  # type: ignore[assignment]


class Turns:
    """The turns of the processes that share a folder."""

    def __init__(self, folder: Path) -> None:
        self._file = os.open(folder / "turns", os.O_RDWR | os.O_CREAT, 0o600)

    def begin(self, name: str) -> None:
        """Wait until nobody else compiles this kernel."""
        if fcntl is not None:
            fcntl.lockf(self._file, fcntl.LOCK_EX, 1, _place(name))

    def end(self, name: str) -> None:
        """Let the others have what was compiled."""
        if fcntl is not None:
            fcntl.lockf(self._file, fcntl.LOCK_UN, 1, _place(name))


def _place(name: str) -> int:
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=7).digest(), "little")
