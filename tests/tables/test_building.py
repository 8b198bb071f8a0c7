from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plre.scratch import Scratch
from plre.tables import building, reading

SYMBOLS = 50


def make(seed: int, records: int, numbers: int) -> tuple[dict, building.Shape, np.ndarray, np.ndarray, list]:
    """A table with random records: its tensors and shape, and what was put into it."""
    random = np.random.default_rng(seed)
    pairs = np.unique(random.integers(0, SYMBOLS, (records, 2)), axis=0)
    words = pairs[:, 1].astype(np.int32)
    children = np.searchsorted(pairs[:, 0], np.arange(SYMBOLS + 1)).astype(np.int32)
    keys = building.child_keys(children, np.arange(SYMBOLS, dtype=np.uint64), words, 1, Scratch())
    values = [random.random(len(words), np.float32) for _ in range(numbers)]
    placed = building.place(keys, values, threads=2)
    owners = building.Owners(None, SYMBOLS)
    tensors = building.table_tensors("t", placed, words, SYMBOLS, children, owners, Scratch())
    return tensors, placed.shape, words, children, values


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1), st.integers(1, 400), st.integers(1, 3))
def test_what_was_stored_is_found(seed: int, records: int, numbers: int) -> None:
    tensors, shape, words, children, values = make(seed, records, numbers)
    found = reading.check_table(tensors, "t", shape, SYMBOLS, reading.roots(SYMBOLS))
    np.testing.assert_array_equal(found.symbols, words)
    np.testing.assert_array_equal(found.children, children)
    for own, value in zip(found.numbers, values, strict=True):
        np.testing.assert_array_equal(own, value)


@pytest.mark.parametrize(
    ("part", "change", "message"),
    [
        ("symbols", lambda x: np.full_like(x, 255), "is not there"),
        ("ends", lambda x: x * 0, "does not end"),
        ("runs", lambda x: np.full_like(x, 255), "do not fit together"),
        ("lines", lambda x: x * 0, "is not to be found"),
    ],
)
def test_damage_is_found(part: str, change: object, message: str) -> None:
    tensors, shape, *_ = make(1, 300, 2)
    tensors[f"t.{part}"] = change(tensors[f"t.{part}"])  # type: ignore[operator]
    with pytest.raises(ValueError, match=message):
        reading.check_table(tensors, "t", shape, SYMBOLS, reading.roots(SYMBOLS))
