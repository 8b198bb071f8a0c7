"""Kernels of all kinds, run as a program of its own: prints an answer, and how many of them had to be compiled."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from numba import types

from plre._jit import c_kernel, direct, kernel
from plre._memory import bytes_at, call_address
from plre.machinecode import packed
from plre.machinecode.store import store
from plre.machinecode.turns import Turns


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


if __name__ == "__main__":
    if "turns" in sys.argv and store.place:
        store.turns = Turns(store.place.folder)
    elif len(sys.argv) > 1:
        packed.FOLDER = Path(sys.argv[1])
    data = np.array([5, 7, 11], np.uint8)
    print(both(add.address, peek.address, 100, data.ctypes.data), thrice.entry(5))
    print(len(store.compiled))
    print(store.packed.misfit)
