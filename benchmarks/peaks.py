"""What this machine can do at most: arithmetic on numbers in registers, and moving memory.

Speeds of kernels mean little without these: a factorisation's GFLOP/s stand between the two.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numba import njit

from plre._simd import LANES, load, store, times_plus
from plre.threads import cpu_count

#: Sums that a core keeps going side by side: more than latency (4) times units (2).
_SIDE_BY_SIDE = 10
_ROUNDS = 20_000_000
_REPEATS = 3


@njit(nogil=True)
def _multiply(numbers, rounds):  # type: ignore[no-untyped-def]
    """``rounds`` times x b + a for ten vectors x that stay in registers."""
    a, b = load(numbers, 0, numbers), load(numbers, LANES, numbers)
    c = d = e = f = g = h = i = j = k = m = a
    for _ in range(rounds):
        c = times_plus(c, b, a)
        d = times_plus(d, b, a)
        e = times_plus(e, b, a)
        f = times_plus(f, b, a)
        g = times_plus(g, b, a)
        h = times_plus(h, b, a)
        i = times_plus(i, b, a)
        j = times_plus(j, b, a)
        k = times_plus(k, b, a)
        m = times_plus(m, b, a)
    for n, x in enumerate((c, d, e, f, g, h, i, j, k, m)):
        store(numbers, (n + 2) * LANES, x)


def _fastest(task: Callable[[int], object], threads: int) -> float:
    """Seconds that all threads need to do their task side by side, at best."""
    best = float("inf")
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(task, range(threads)))
        for _ in range(_REPEATS):
            start = time.perf_counter()
            list(pool.map(task, range(threads)))
            best = min(best, time.perf_counter() - start)
    return best


def peak_gflops(threads: int = 1) -> float:
    """Multiplications and additions in single precision, in 10^9 a second, of so many threads together."""
    numbers = [np.full((_SIDE_BY_SIDE + 2) * LANES, 0.5 + 0.01 * thread, np.float32) for thread in range(threads)]
    for each in numbers:
        _multiply(each, 1)
    seconds = _fastest(lambda thread: _multiply(numbers[thread], _ROUNDS), threads)
    return 2 * LANES * _SIDE_BY_SIDE * _ROUNDS * threads / seconds / 1e9


def peak_bandwidth(threads: int = 1) -> float:
    """Bytes a second that so many threads together read and write, copying arrays too large for any cache."""
    size = 2**28
    source = [np.ones(size // 8) for _ in range(threads)]
    target = [np.zeros(size // 8) for _ in range(threads)]
    seconds = _fastest(lambda thread: np.copyto(target[thread], source[thread]), threads)
    return 2 * size * threads / seconds


def main() -> None:
    for threads in sorted({1, cpu_count()}):
        print(f"{threads} threads: {peak_gflops(threads):.0f} GFLOP/s, {peak_bandwidth(threads) / 1e9:.1f} GB/s")


if __name__ == "__main__":
    main()
