"""Work on several threads: the same results in the same order, whatever the number of threads."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest

from plre.threads import Team, cpu_count, even_ranges, overlapped, parallel


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_results_come_in_the_order_of_the_tasks(threads: int) -> None:
    squares = [i * i for i in range(40)]
    assert parallel(lambda i: i * i, range(40), threads) == squares
    assert [result for _, result in overlapped(lambda i: i * i, iter(range(40)), threads)] == squares
    assert [item for item, _ in overlapped(lambda i: i * i, iter(range(40)), threads)] == list(range(40))
    with Team(threads) as team:
        for _ in range(3):
            assert team.run(lambda i: i * i, range(40)) == squares
        assert team.run(lambda i: i, []) == []


@pytest.mark.parametrize("threads", [1, 3])
def test_an_error_reaches_the_caller(threads: int) -> None:
    def fail(i: int) -> int:
        if i == 7:
            raise ValueError("seven")
        return i

    with pytest.raises(ValueError, match="seven"):
        parallel(fail, range(20), threads)
    with pytest.raises(ValueError, match="seven"):
        list(overlapped(fail, iter(range(20)), threads))
    with Team(threads) as team, pytest.raises(ValueError, match="seven"):
        team.run(fail, range(20))


def test_only_a_few_items_wait_for_their_turn() -> None:
    made, ready = [], threading.Event()

    def items() -> Iterator[int]:
        for i in range(100):
            made.append(i)
            yield i

    results = overlapped(lambda i: ready.wait() and i, items(), 2)
    ready.set()
    next(results)
    assert len(made) <= 6
    results.close()  # type: ignore[attr-defined]


def test_ranges_cover_everything_evenly() -> None:
    starts = np.cumsum([0, 5, 1, 1, 1, 7, 2, 3])
    ranges = even_ranges(starts, 0, 7, 3)
    assert ranges[0][0] == 0
    assert ranges[-1][1] == 7
    assert all(a[1] == b[0] for a, b in pairwise(ranges))
    assert even_ranges(starts, 2, 2, 3) == []


def test_there_is_a_core() -> None:
    assert cpu_count() >= 1
