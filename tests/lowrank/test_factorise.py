from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plre._jit import fast_kernel
from plre._simd import LANES, load_four, log, only, total
from plre.lowrank import factorise as module
from plre.lowrank.blocks import Blocks, Factors, Rank, stack
from plre.lowrank.factorise import Stopping, factorise
from tests.reference import em, start


def block_matrix(
    seed: int, blocks: int = 3, rows: int = 12, columns: int = 10, density: float = 0.5
) -> tuple[Blocks, np.ndarray, list[tuple[np.ndarray, np.ndarray]]]:
    """Random blocks with shuffled columns, their values, and each block as (dense matrix, its columns)."""
    random = np.random.default_rng(seed)
    sizes = random.integers(1, rows + 1, blocks)
    row_start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
    column_block = random.integers(0, blocks, columns * blocks).astype(np.int32)
    column_start, entries, values = [0], [], []
    dense = [np.zeros((size, columns * blocks)) for size in sizes]
    for j, b in enumerate(column_block):
        chosen = np.flatnonzero(random.random(sizes[b]) < density)
        drawn = random.gamma(1.0, size=len(chosen)).astype(np.float32) + np.float32(0.01)
        entries += (chosen + row_start[b]).tolist()
        values += drawn.tolist()
        dense[b][chosen, j] = drawn
        column_start.append(len(entries))
    pattern = Blocks(row_start, column_block, np.array(column_start, np.int32), np.array(entries, np.int32))
    members = [np.flatnonzero(column_block == b) for b in range(blocks)]
    return (
        pattern,
        np.array(values, np.float32),
        [(dense[b][:, members[b]], members[b]) for b in range(blocks)],
    )


def product(blocks: Blocks, factors: Factors, b: int, columns: np.ndarray) -> np.ndarray:
    """One block's approximation, as a dense matrix in double precision."""
    rank = int(factors.rank[b])
    left = factors.left[factors.left_start[b] : factors.left_start[b + 1]].astype(float)
    left = left.reshape(-1, rank) if rank else np.zeros((blocks.row_start[b + 1] - blocks.row_start[b], 0))
    right = np.array([factors.right[factors.right_start[j] : factors.right_start[j + 1]] for j in columns], float)
    return left @ right.reshape(len(columns), rank).T


@fast_kernel
def logarithms(x: np.ndarray) -> np.ndarray:
    """The logarithm that kernels use, of four numbers at a time."""
    found = np.empty(len(x) + LANES, x.dtype)
    for i in range(0, len(x), 4):
        y = log(load_four(x, i, x))
        for lane in range(4):
            found[i + lane] = total(only(y, lane + 1)) - total(only(y, lane))
    return found[: len(x)]


def relative_error(found: np.ndarray, wanted: np.ndarray) -> float:
    return float(np.max(np.abs(found - wanted) / np.where(wanted > 0, wanted, 1.0), initial=0.0))


@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(1, 12))
def test_row_and_column_sums_hold_after_any_number_of_steps(seed: int, rank: int, steps: int) -> None:
    blocks, values, dense = block_matrix(seed)
    ranks = Rank(fixed=rank)(blocks.smaller_side())
    factors = factorise(blocks, values, ranks, stopping=Stopping(steps, 0.0), seed=seed)
    for b, (x, columns) in enumerate(dense):
        z = product(blocks, factors, b, columns)
        assert relative_error(z.sum(axis=0), x.sum(axis=0)) < 1e-6
        assert relative_error(z.sum(axis=1), x.sum(axis=1)) < 1e-6


def halves_in_turn(x: np.ndarray, rank: int, steps: int, seed: int, fresh: int = 0) -> np.ndarray:
    """The multiplicative updates of Lee and Seung in double precision, columns first, and a joint step at the end.

    Before the last ``fresh`` ones, columns and then rows start evenly.
    """
    u = start(x.shape[0] * rank, seed).reshape(-1, rank)
    v = start(x.shape[1] * rank, seed ^ (2**64 - 1)).reshape(-1, rank)

    def ratio() -> np.ndarray:
        return np.divide(x, u @ v.T, where=x > 0, out=np.zeros_like(x))

    for step in range(steps - 1):
        if step == steps - 1 - fresh:
            v = np.ones_like(v)
        v = v * (ratio().T @ u) / u.sum(axis=0)
        if step == steps - 1 - fresh:
            u = np.ones_like(u) * u.sum(axis=0)
        u = u * (ratio() @ v) / v.sum(axis=0)
        u, v = u * v.sum(axis=0), v / v.sum(axis=0)
    new_u = u * (ratio() @ v)
    return new_u @ (v * (ratio().T @ u) / new_u.sum(axis=0)).T


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("rank", [2, 8, 11, 20, 30, 40])
@pytest.mark.parametrize(("steps", "fresh"), [(1, 0), (2, 0), (10, 0), (10, 3), (40, 6)])
def test_steps_equal_their_twin(
    monkeypatch: pytest.MonkeyPatch, steps: int, fresh: int, rank: int, large: bool
) -> None:
    if large:
        monkeypatch.setattr(module, "_LARGE", 0)
    blocks, values, dense = block_matrix(5)
    ranks = np.full(len(blocks), rank, np.int32)
    factors = factorise(blocks, values, ranks, stopping=Stopping(steps, -1.0, fresh), seed=3)
    seeds = np.random.SeedSequence(3).generate_state(len(blocks), np.uint64)
    for b, (x, columns) in enumerate(dense):
        twin = halves_in_turn(x, rank, steps, int(seeds[b]), fresh)
        np.testing.assert_allclose(product(blocks, factors, b, columns), twin, rtol=2e-4, atol=1e-6)
        if steps == 1:
            np.testing.assert_allclose(twin, em(x, rank, 1, int(seeds[b])), rtol=1e-12)


def test_halves_in_turn_end_where_joint_steps_end() -> None:
    x = np.random.default_rng(0).gamma(1.0, size=(6, 5))
    np.testing.assert_allclose(halves_in_turn(x, 2, 3000, 0), em(x, 2, 3000, 0), rtol=1e-6)


@pytest.mark.parametrize("limit", [0, 10**9])
def test_groups_that_fit_into_memory_change_nothing(monkeypatch: pytest.MonkeyPatch, limit: int) -> None:
    monkeypatch.setattr(module, "_LARGE", limit)
    blocks, values, _ = block_matrix(6, blocks=7, rows=60, columns=40)
    ranks = np.array([3, 1, 9, 2, 0, 17, 5], np.int32)
    whole = factorise(blocks, values, ranks)
    used: list[int] = []
    pack = module._pack

    def counted(*arguments: Any) -> Any:
        packed = pack(*arguments)
        sides = (packed.rows, packed.columns)
        used.append(sum(a.nbytes for side in sides for a in (side.others, side.values, side.factor, side.place)))
        return packed

    monkeypatch.setattr(module, "_pack", counted)
    for memory, groups in ((1, 5), (60_000, 2), (10**9, 1)):
        used.clear()
        part = factorise(blocks, values, ranks, memory=memory, threads=2)
        assert part.left.tobytes() == whole.left.tobytes()
        assert part.right.tobytes() == whole.right.tobytes()
        assert len(used) == groups
        assert memory == 1 or max(used) <= memory


def test_logarithm_in_vectors_is_the_logarithm() -> None:
    x = np.array([1e-20, 1e-3, 0.7, 0.7071, 0.7072, 1, 1.4142, 1.4143, 2, 3, 1e7, 1e20], np.float32)
    np.testing.assert_allclose(logarithms(x), np.log(x.astype(float)), rtol=2e-7, atol=5e-8)


def test_rank_one_is_row_sum_times_column_sum() -> None:
    blocks, values, dense = block_matrix(1)
    factors = factorise(blocks, values, np.ones(len(blocks), np.int32))
    for b, (x, columns) in enumerate(dense):
        expected = np.outer(x.sum(axis=1), x.sum(axis=0)) / x.sum()
        np.testing.assert_allclose(product(blocks, factors, b, columns), expected, rtol=1e-6)


def test_em_finds_the_closed_form_for_rank_one() -> None:
    x = np.random.default_rng(0).gamma(1.0, size=(6, 5))
    expected = np.outer(x.sum(axis=1), x.sum(axis=0)) / x.sum()
    np.testing.assert_allclose(em(x, 1, 3, 0), expected, rtol=1e-12)


def test_likelihood_never_falls_and_tolerance_stops() -> None:
    blocks, values, dense = block_matrix(8, blocks=1, rows=40, columns=30)
    x, columns = dense[0]
    likelihoods = []
    for steps in (1, 2, 4, 8, 16, 64, 256):
        factors = factorise(blocks, values, np.array([3], np.int32), stopping=Stopping(steps, 0.0, 0))
        z = product(blocks, factors, 0, columns)
        likelihoods.append(float((x * np.log(np.where(x > 0, z, 1))).sum()))
    assert likelihoods == sorted(likelihoods)
    early = factorise(blocks, values, np.array([3], np.int32), stopping=Stopping(256, 1e-2, 0))
    z = product(blocks, early, 0, columns)
    assert likelihoods[0] < float((x * np.log(np.where(x > 0, z, 1))).sum()) < likelihoods[-1]


def test_large_and_small_paths_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    blocks, values, _ = block_matrix(4, blocks=2, rows=300, columns=200, density=0.1)
    ranks = np.array([4, 7], np.int32)
    small = factorise(blocks, values, ranks, stopping=Stopping(20))
    monkeypatch.setattr(module, "_LARGE", 0)
    large = factorise(blocks, values, ranks, stopping=Stopping(20))
    np.testing.assert_allclose(small.left, large.left, rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(small.right, large.right, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("limit", [0, 10**9])
def test_same_bytes_for_any_number_of_threads(monkeypatch: pytest.MonkeyPatch, limit: int) -> None:
    monkeypatch.setattr(module, "_LARGE", limit)
    blocks, values, _ = block_matrix(6, blocks=6, rows=60, columns=40)
    ranks = Rank(fraction=0.1)(blocks.smaller_side())
    first = factorise(blocks, values, ranks, threads=1)
    for threads in (2, 3):
        again = factorise(blocks, values, ranks, threads=threads)
        assert first.left.tobytes() == again.left.tobytes()
        assert first.right.tobytes() == again.right.tobytes()
    other = factorise(blocks, values, ranks, seed=1)
    assert first.left.tobytes() != other.left.tobytes()


def test_stacked_factors_are_the_sum() -> None:
    blocks, values, dense = block_matrix(9)
    parts = [factorise(blocks, values, np.full(len(blocks), r, np.int32), seed=r) for r in (1, 2, 3)]
    total = stack(blocks, parts)
    assert total.rank.tolist() == [6] * len(blocks)
    for b, (_, columns) in enumerate(dense):
        expected = sum(product(blocks, part, b, columns) for part in parts)
        np.testing.assert_allclose(product(blocks, total, b, columns), expected, rtol=1e-6)


def test_smaller_side_counts_what_is_not_zero() -> None:
    #        block 0: rows 0-2, columns 0, 2      block 1: rows 3-4, column 1 (empty)
    blocks = Blocks(
        np.array([0, 3, 5], np.int32),
        np.array([0, 1, 0], np.int32),
        np.array([0, 2, 2, 3], np.int32),
        np.array([0, 2, 2], np.int32),
    )
    assert blocks.smaller_side().tolist() == [2, 0]
    assert Rank(fixed=5)(blocks.smaller_side()).tolist() == [2, 0]


def test_rank_rules() -> None:
    side = np.array([0, 1, 999, 1000, 5000])
    assert Rank(fraction=1e-3)(side).tolist() == [0, 1, 1, 1, 5]
    assert Rank(fixed=7)(side).tolist() == [0, 1, 7, 7, 7]
    assert (str(Rank(fixed=7)), str(Rank(fraction=5e-4))) == ("7", "0.0005")
