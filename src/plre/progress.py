"""Progress of long work for the person who waits: one line or bar for each stage.

The library only knows :class:`Progress`; what is drawn is decided by the command line.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator

Advance = Callable[[float], None]


class Progress:
    """Says nothing, but keeps the seconds that each stage took; subclasses draw."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def stage(self, name: str, total: float | None = None, unit: str = "") -> Iterator[Advance]:
        """Enter a stage; call what it yields with how much was done since the last call.

        Threads may be in stages of their own at the same time.
        """
        start = time.perf_counter()
        try:
            with self.draw(name, total, unit) as advance:
                yield advance
        finally:
            with self._lock:
                self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start

    @contextlib.contextmanager
    def draw(self, name: str, total: float | None, unit: str) -> Iterator[Advance]:
        """Show the stage; overridden where there is a screen."""
        yield lambda amount: None

    def note(self, message: str) -> None:
        """Say one thing that is worth knowing; overridden where there is a screen."""
