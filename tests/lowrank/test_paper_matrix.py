"""The paper's worked example: a 3 x 3 matrix of bigram counts, its powers and its low rank approximations."""

from __future__ import annotations

import numpy as np
import pytest

from plre.ensemble.ladder import split
from plre.lowrank.blocks import Blocks
from plre.lowrank.factorise import Stopping, factorise
from plre.smoothing.discounts import Steps
from tests.lowrank.test_factorise import product

#: Rows are predicted words, columns are contexts.
B = np.array([[1, 2, 1], [0, 5, 0], [2, 0, 0]])


def approximate(matrix: np.ndarray, rank: int, seed: int = 0) -> np.ndarray:
    rows, columns = np.nonzero(matrix.T)[1], np.nonzero(matrix.T)[0]
    starts = np.searchsorted(columns, np.arange(4)).astype(np.int32)
    blocks = Blocks(np.array([0, 3], np.int32), np.zeros(3, np.int32), starts, rows.astype(np.int32))
    values = matrix.T[np.nonzero(matrix.T)].astype(np.float32)
    factors = factorise(blocks, values, np.array([rank], np.int32), stopping=Stopping(20_000, 0.0, fresh=0), seed=seed)
    return product(blocks, factors, 0, np.arange(3))


def power(matrix: np.ndarray, rho: float) -> np.ndarray:
    return np.where(matrix > 0, np.maximum(matrix, 1) ** float(rho), 0.0)


def test_powers_move_from_frequency_to_distinct_contexts() -> None:
    np.testing.assert_allclose(power(B, 0.5), [[1, 1.414, 1], [0, 2.236, 0], [1.414, 0, 0]], atol=1e-3)
    np.testing.assert_allclose(power(B, 0), [[1, 1, 1], [0, 1, 0], [1, 0, 0]])
    # The second word is the most frequent, but it follows only one word: its share falls with the power.
    shares = [power(B, rho).sum(axis=1) / power(B, rho).sum() for rho in (1, 0.5, 0)]
    np.testing.assert_allclose(shares[0], [4 / 11, 5 / 11, 2 / 11])
    np.testing.assert_allclose(shares[2], [3 / 5, 1 / 5, 1 / 5])
    assert shares[0][1] > shares[1][1] > shares[2][1]


def test_rank_one_is_the_unigram() -> None:
    """Lemma 1: columns of the rank 1 approximation are the unigram distribution, maximum likelihood at power 1."""
    z = approximate(B, 1)
    for column in z.T:
        np.testing.assert_allclose(column / column.sum(), B.sum(axis=1) / B.sum(), rtol=1e-6)


def test_rank_one_at_power_zero_is_kneser_neys_unigram() -> None:
    """Lemma 2: at power 0 it is the distribution of distinct contexts."""
    z = approximate(power(B, 0), 1)
    for column in z.T:
        np.testing.assert_allclose(column / column.sum(), [3 / 5, 1 / 5, 1 / 5], rtol=1e-6)


@pytest.mark.parametrize("rho", [1.0, 0.5, 0.0])
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_margins_are_kept_at_every_rank_and_power(rho: float, rank: int) -> None:
    z, x = approximate(power(B, rho), rank), power(B, rho)
    np.testing.assert_allclose(z.sum(axis=0), x.sum(axis=0), rtol=1e-6)
    np.testing.assert_allclose(z.sum(axis=1), x.sum(axis=1), rtol=1e-6)


def test_full_rank_is_the_matrix_itself() -> None:
    np.testing.assert_allclose(approximate(B, 3), B, atol=1e-5)


def test_full_rank_at_every_layer_is_maximum_likelihood() -> None:
    layers, rest = split(B.ravel(), Steps(0.6, 0.6, 0.6), [0.75, 0.5, 0.25])
    total = sum(approximate(layer.reshape(3, 3), 3) for layer in layers)
    np.testing.assert_allclose(total + rest.reshape(3, 3), B, atol=1e-4)
