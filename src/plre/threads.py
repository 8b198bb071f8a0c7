"""Running work on several threads; results never depend on how many there are.

Kernels release the GIL, so Python threads run them side by side.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T")
R = TypeVar("R")


def cpu_count() -> int:
    """The cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def parallel(function: Callable[[T], R], tasks: Iterable[T], threads: int) -> list[R]:
    """Run ``function`` on every task; results in the order of the tasks, whatever the number of threads."""
    items = list(tasks)
    if threads <= 1 or len(items) <= 1:
        return [function(item) for item in items]
    with ThreadPoolExecutor(min(threads, len(items))) as pool:
        return list(pool.map(function, items))


def overlapped(function: Callable[[T], R], items: Iterator[T], threads: int) -> Iterator[tuple[T, R]]:
    """Apply ``function`` to items on several threads while the next are being made; results in order."""
    if threads <= 1:
        for item in items:
            yield item, function(item)
        return
    with ThreadPoolExecutor(threads) as pool:
        waiting: deque[tuple[T, Future[R]]] = deque()
        for item in items:
            waiting.append((item, pool.submit(function, item)))
            if len(waiting) > 2 * threads:
                done, future = waiting.popleft()
                yield done, future.result()
        for done, future in waiting:
            yield done, future.result()


class Team:
    """Threads that stay together for many short tasks; whoever is free takes the next."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._helpers = ThreadPoolExecutor(threads - 1) if threads > 1 else None

    def __enter__(self) -> Team:
        return self

    def __exit__(self, *error: object) -> None:
        if self._helpers:
            self._helpers.shutdown()

    def run(self, function: Callable[[T], R], tasks: Iterable[T]) -> list[R]:
        """The results in the order of the tasks. The calling thread works too: for a single task it wakes no one."""
        waiting = deque(enumerate(tasks))
        results: dict[int, R] = {}

        def work() -> None:
            while True:
                try:
                    number, task = waiting.popleft()
                except IndexError:
                    return
                results[number] = function(task)

        helpers = (
            [self._helpers.submit(work) for _ in range(min(self.threads, len(waiting)) - 1)] if self._helpers else []
        )
        work()
        for helper in helpers:
            if not helper.cancel():  # one that has not woken up has nothing left to do
                helper.result()
        return [results[number] for number in range(len(results))]


def even_ranges(starts: NDArray[Any], first: int, last: int, pieces: int) -> list[tuple[int, int]]:
    """Ranges that cover ``first`` to ``last`` with about equally many entries each; ``starts`` says where those start.

    The pieces do not depend on the number of threads, so neither does anything that is summed up piece by piece.
    """
    wanted = np.ceil(np.linspace(starts[first], starts[last], pieces + 1)).astype(starts.dtype)
    bounds = first + np.searchsorted(starts[first:last], wanted)
    bounds[0], bounds[-1] = first, last
    return list(pairwise(np.unique(bounds).tolist()))
