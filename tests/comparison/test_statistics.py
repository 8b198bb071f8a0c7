from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from plre.comparison.statistics import FLIPS, gains, perplexities, resample, sign_flip_test, spreads

TOKENS = np.array([3, 5, 2, 8, 4, 6])


def scores(methods: int, seed: int = 3) -> np.ndarray:
    random = np.random.default_rng(seed)
    return -random.uniform(1.5, 2.5, (len(TOKENS), methods)) * TOKENS[:, None]


def test_perplexity_by_hand() -> None:
    """Two sentences of log10 probability -2 and -4 with 3 tokens together: 10^(6/3)."""
    assert perplexities(np.array([-6.0]), np.array([3.0])) == pytest.approx([100.0])


def test_drawn_test_sets_one_by_one() -> None:
    given = scores(2)
    random = np.random.default_rng(5)
    expected = []
    for _ in range(4):
        drawn = [int(i) for i in random.integers(0, len(TOKENS), len(TOKENS))]
        tokens = sum(int(TOKENS[i]) for i in drawn)
        expected.append([10 ** (-sum(given[i, m] for i in drawn) / tokens) for m in range(2)])
    np.testing.assert_allclose(resample(given, TOKENS, 4, 5), expected, rtol=1e-12)


def test_the_spread_is_over_ten_test_sets() -> None:
    given = scores(3)
    drawn = resample(given, TOKENS, 10, 0)
    for spread, column in zip(spreads(given, TOKENS, 0), drawn.T, strict=True):
        mean = sum(column) / 10
        assert spread.mean == pytest.approx(mean)
        assert spread.deviation == pytest.approx((sum((x - mean) ** 2 for x in column) / 9) ** 0.5)


def test_all_methods_see_the_same_draws() -> None:
    """Whoever else is compared, and in what column, a method's numbers stay the same."""
    given = scores(3)
    alone = gains(given[:, 1:2], given[:, 0], TOKENS, 0)[0]
    among = gains(given, given[:, 0], TOKENS, 0)[1]
    for name in ("value", "low", "high", "p"):
        assert getattr(among, name) == pytest.approx(getattr(alone, name), rel=1e-12)


def test_a_constant_gain_has_no_width() -> None:
    """A method that is better by the same factor on every token gains the same on every draw."""
    reference = scores(1)[:, 0]
    gain = gains((reference + 0.1 * TOKENS)[:, None], reference, TOKENS, 0)[0]
    exact = 1 - 10**-0.1
    assert (gain.value, gain.low, gain.high) == pytest.approx((exact, exact, exact))


def test_the_interval_holds_the_middle_of_the_draws() -> None:
    given = scores(2)
    gain = gains(given[:, :1], given[:, 1], TOKENS, 0)[0]
    drawn = resample(given, TOKENS, 1000, 0)
    shares = 1 - drawn[:, 0] / drawn[:, 1]
    assert ((shares >= gain.low) & (shares <= gain.high)).mean() == pytest.approx(0.95, abs=0.005)
    assert gain.low <= gain.value <= gain.high


@pytest.mark.parametrize("differences", [[0.3, -0.1, 0.2, 0.4, 0.05], [1.0, 1.0, 1.0, -1.0], [0.5], [2.0, -2.0]])
def test_sign_flips_against_all_of_them(differences: list[float]) -> None:
    seen = abs(sum(differences))
    ways = list(product((1, -1), repeat=len(differences)))
    exact = np.mean([abs(sum(s * d for s, d in zip(way, differences, strict=True))) >= seen - 1e-9 for way in ways])
    p = sign_flip_test(np.array(differences)[:, None], 20_000, 1)[0]
    assert p == pytest.approx(exact, abs=0.015)


def test_what_was_seen_counts_among_the_flips() -> None:
    """So p is never 0, however clear the difference, and 1 where there is none."""
    clear, none = np.full(200, 0.1), np.zeros(200)
    p = sign_flip_test(np.column_stack([clear, none]), FLIPS, 0)
    assert p == pytest.approx([1 / (FLIPS + 1), 1.0])


def test_nothing_depends_on_how_much_is_held_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    differences = np.random.default_rng(2).normal(0.02, 0.1, (40, 2))
    whole = sign_flip_test(differences, 999, 4)
    drawn = resample(differences, np.ones(40, np.int64), 50, 4)
    monkeypatch.setattr("plre.comparison.statistics._HELD", 40 * 111)
    np.testing.assert_array_equal(sign_flip_test(differences, 999, 4), whole)
    monkeypatch.setattr("plre.comparison.statistics._HELD", 40 * 7)
    np.testing.assert_allclose(resample(differences, np.ones(40, np.int64), 50, 4), drawn, rtol=1e-12)


def test_p_is_uniform_where_nothing_differs() -> None:
    """With no true difference, one test in twenty is below 0.05."""
    noise = np.random.default_rng(0).normal(0, 1, (60, 400))
    p = sign_flip_test(noise, 999, 7)
    assert (p <= 0.05).mean() == pytest.approx(0.05, abs=0.03)
    assert p.mean() == pytest.approx(0.5, abs=0.05)
