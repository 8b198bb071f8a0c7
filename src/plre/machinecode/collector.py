"""Python's garbage collector, which rests while kernels are compiled.

Compiling makes millions of objects, and the collector would look through all that numba keeps again and again: up to a
sixth of the time that training takes on a new machine.
"""

from __future__ import annotations

import gc
import threading
from contextlib import ContextDecorator


class _Pause(ContextDecorator):
    """While anybody is inside, in whatever thread, no garbage is collected; afterwards all is as it was."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._was_enabled = False

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._was_enabled = gc.isenabled()
                gc.disable()
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0 and self._was_enabled:
                gc.enable()


collector_paused = _Pause()
