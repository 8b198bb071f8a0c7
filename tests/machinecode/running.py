"""Run the example in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import plre

EXAMPLE = Path(__file__).with_name("example.py")
#: All kernels of the example: four that are called from Python, and one that another calls.
KERNELS = 5


@dataclass(frozen=True)
class Run:
    """What the example printed."""

    compiled: int
    misfit: str
    #: Whether there was no machine code at all before.
    empty: bool
    errors: str


def run_example(*arguments: str, source: Path | None = None, **environment: str) -> Run:
    """Run it with these variables; kernels come from the package in ``source``."""
    names = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA", "PLRE", "XDG"))}
    names |= {"PYTHONPATH": str(source or Path(plre.__file__).parents[1]), **environment}
    done = subprocess.run(
        [sys.executable, str(EXAMPLE), *arguments], env=names, capture_output=True, text=True, check=True
    )
    answer, compiled, misfit, empty = done.stdout.splitlines()
    assert answer == "205530 15"
    return Run(int(compiled), misfit, empty == "True", done.stderr)
