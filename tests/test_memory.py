"""Vector code that numba has no words for, beside the same in numpy."""

from __future__ import annotations

import numpy as np
import pytest

from plre._jit import kernel
from plre._memory import add_gathered, address_of, dot_product


@kernel
def gathered(sums, weight, numbers, limit, table, shares, groups):
    add_gathered(
        address_of(sums), weight, address_of(numbers), limit, address_of(table), address_of(shares), np.int64(groups)
    )


@kernel
def dot(one, other, count):
    return dot_product(address_of(one), address_of(other), np.int64(count))


def test_gathering_adds_what_the_table_points_to_and_no_more() -> None:
    random = np.random.default_rng(1)
    size, limit, groups = 100, 30, 11
    numbers, shares = random.random(limit + 1), random.random(size).astype(np.float32)
    table = random.integers(0, limit + 1, size).astype(np.int32)
    table[[3, 40]] = -1, 2**31 - 1  # as a damaged file may have it: what stands at the limit counts
    before = random.random(size)
    expected = before + 0.3 * numbers[np.where((table < 0) | (table > limit), limit, table)] * shares
    expected[8 * groups :] = before[8 * groups :]
    sums = before.copy()
    gathered(sums, 0.3, numbers, limit, table, shares, groups)
    np.testing.assert_allclose(sums, expected, rtol=1e-15)


@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 40])
def test_products_of_any_length(count: int) -> None:
    random = np.random.default_rng(count)
    one, other = (random.random(64).astype(np.float32) for _ in range(2))
    expected = one[:count].astype(np.float64) @ other[:count].astype(np.float64)
    assert dot(one, other, count) == pytest.approx(expected, rel=1e-14)
