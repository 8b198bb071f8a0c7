"""Kernels of all kinds, run as a program of its own: prints an answer, and how many of them had to be compiled."""

from __future__ import annotations

import sys
from pathlib import Path

from numba import types

from plre._jit import c_kernel, direct, kernel
from plre._memory import call_address
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
def weigh(a, b, c, d, e):
    return a + 2 * b + 3 * c + 4 * d + 5 * e


@direct(types.int64)
def thrice(number):
    return number * 3


@kernel
def both(first, second, number):
    return call_address(first, number, 2, 3) * 1_000 + call_address(second, 1, 2, 3, 4, number)


if __name__ == "__main__":
    if "turns" in sys.argv and store.place:
        store.turns = Turns(store.place.folder)
    elif len(sys.argv) > 1:
        packed.FOLDER = Path(sys.argv[1])
    empty = store.is_empty
    print(both(add.address, weigh.address, 100), thrice.entry(5))
    print(len(store.compiled))
    print(store.packed.misfit)
    print(empty)
