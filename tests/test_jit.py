"""How kernels are compiled: C functions called by address, and machine code that a second process finds on disk."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import plre

KERNELS = """
import numpy as np
from numba.core import event
from plre._jit import c_kernel, direct, kernel
from plre._memory import bytes_at, call_address
from numba import types


class Count(event.Listener):
    compiled = 0

    def on_start(self, event):
        Count.compiled += 1

    def on_end(self, event):
        pass


event.register("numba:compile", Count())


@kernel
def twice(number):
    return number * 2


@c_kernel("int64(int64, int64, int64)")
def add(a, b, c):
    return twice(a) + b + c


@c_kernel("int64(int64, int64, int64, int64, int64)")
def peek(address, size, at, factor, plus):
    return bytes_at(address, size)[at] * factor + plus


@direct(types.int64)
def thrice(number):
    return number * 3


@kernel
def both(first, second, number, address):
    return call_address(first, number, 2, 3) * 1_000_000 + call_address(second, address, 3, 1, number, 10)


data = np.array([5, 7, 11], np.uint8)
print(both(add.address, peek.address, 100, data.ctypes.data), thrice.entry(5))
hits = [compiled._compiled.cache_hits for compiled in (add, peek)]
"""


def test_kernels_called_by_address_come_from_the_cache_in_a_second_process(tmp_path: Path) -> None:
    (tmp_path / "example.py").write_text(KERNELS + "print(Count.compiled, hits)\n")
    source = str(Path(plre.__file__).parent.parent)
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": source}
    lines = [
        subprocess.run(
            [sys.executable, "example.py"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
        ).stdout.splitlines()
        for _ in range(2)
    ]
    assert lines[0] == ["205000710 15", "3 [0, 0]"]
    assert lines[1] == ["205000710 15", "0 [1, 1]"]
