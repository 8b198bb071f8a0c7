from __future__ import annotations

import warnings

import numpy as np
import pytest

from plre.errors import PlreWarning
from plre.smoothing.discounts import FALLBACK, Steps, counts_of_counts, estimate, good_turing


def test_counts_of_counts() -> None:
    assert counts_of_counts(np.array([0, 1, 1, 2, 3, 4, 5, 900], np.int32)) == [2, 1, 1, 1]


def test_good_turing_by_hand() -> None:
    # Y = 100 / (100 + 2 * 40) = 5/9
    assert good_turing([100, 40, 20, 10], "kn") == Steps(*[pytest.approx(5 / 9)] * 3)
    assert good_turing([100, 40, 20, 10], "mkn") == Steps(
        pytest.approx(1 - 2 * 5 / 9 * 40 / 100),
        pytest.approx(2 - 3 * 5 / 9 * 20 / 40),
        pytest.approx(3 - 4 * 5 / 9 * 10 / 20),
    )


@pytest.mark.parametrize("n", [(0, 0, 0, 0), (5, 0, 0, 0), (0, 5, 1, 1), (5, 5, 0, 1), (5, 5, 50, 900)])
def test_what_makes_no_sense_falls_back_with_one_warning(n: tuple[int, ...]) -> None:
    with pytest.warns(PlreWarning, match="order 1, 2 .*; using the fixed values 0.5/1/1.5") as caught:
        assert estimate([n, n], ["mkn", "mkn"]) == [FALLBACK["mkn"]] * 2
    assert len(caught) == 1


def test_sound_counts_do_not_warn() -> None:
    counts = np.repeat([1, 2, 3, 4, 5], [100, 40, 20, 10, 7]).astype(np.int32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        estimate([counts_of_counts(counts)], ["mkn"])


def test_discounts_as_functions() -> None:
    counts = np.array([0, 1, 2, 3, 7])
    assert Steps(0.1, 0.2, 0.3)(counts).tolist() == [0, 0.1, 0.2, 0.3, 0.3]
