"""What is said when kernels have to be compiled: one line on standard error, once in a process."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

Say = Callable[[str], None]


def print_notice(message: str) -> None:
    """Print it on standard error, unless ``PLRE_QUIET`` is set."""
    if not os.environ.get("PLRE_QUIET") and sys.stderr is not None:
        print(f"plre: {message}", file=sys.stderr, flush=True)


_say: Say | None = print_notice
_said = False


def announce_compilation(say: Say | None) -> None:
    """Call ``say`` with what there is to say when this process compiles its first kernel; None for nothing.

    Without this it is printed: see :func:`print_notice`.
    """
    global _say
    _say = say


def compiling(kept_in: Callable[[], object | None]) -> None:
    """Say that kernels are compiled, and where they are kept (None: nowhere), if it has not been said."""
    global _said
    if _said:
        return
    _said = True
    if _say is not None:
        place = kept_in()
        _say(
            "compiling for this machine "
            + (f"(once; kept in {place})" if place else "(no folder to keep it in; see 'plre warmup --help')")
        )
