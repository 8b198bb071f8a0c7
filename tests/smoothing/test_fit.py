from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize

from plre.counts.local import count_ngrams
from plre.counts.lookup import Events, look_up
from plre.smoothing import fit
from plre.smoothing.discounts import Steps
from plre.smoothing.fit import fit_steps
from plre.text.encode import encode_text
from tests.conftest import zipf_text
from tests.reference_smoothing import Interpolated, by_steps, histories

START = Steps(0.5, 1.0, 1.5)


def events_of(train: list[str], dev: list[str], order: int) -> tuple[Events, float]:
    encoded = encode_text(train, min_count=1)
    other = encode_text(dev, vocab=encoded.vocab)
    return look_up(count_ngrams(encoded, order), other.ids, adjusted=True), 1 / (len(encoded.vocab) - 1)


def test_likelihood_equals_its_twin() -> None:
    """The recursion over dictionaries, and its slopes by small differences."""
    train, dev = zipf_text(30, words=12), zipf_text(10, words=15, seed=5)
    events, uniform = events_of(train, dev, 3)
    place = np.array([0.4, 0.9, 1.3, 0.6, 1.2, 1.9, 0.8, 0.7, 2.2])

    def twin(discounts: np.ndarray) -> float:
        reference = Interpolated([line.split() for line in train], 3, by_steps(discounts.reshape(3, 3).tolist()))
        words = [[w if w in reference.vocabulary else "<unk>" for w in line.split()] for line in dev]
        logs = [math.log(reference.prob(w, h)) for w, h in histories(words, 3)]
        assert len(logs) == len(events)
        return sum(logs) / len(logs)

    value, gradient, _ = fit._differentiate(events, place, uniform, 1)
    assert value == pytest.approx(twin(place), rel=1e-12)
    for k, slope in enumerate(gradient):
        small = np.zeros(9)
        small[k] = 1e-5
        assert slope == pytest.approx((twin(place + small) - twin(place - small)) / 2e-5, rel=1e-5, abs=1e-9)


@pytest.mark.parametrize("order", [1, 2, 3, 5])
def test_newton_finds_the_optimum(order: int) -> None:
    events, uniform = events_of(zipf_text(400), zipf_text(80, seed=5), order)

    def cost(place: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient, _ = fit._differentiate(events, place, uniform, 1)
        return -value, -gradient

    start = np.tile(START.describe(), order)
    bounds = [(1e-6, high) for _ in range(order) for high in (1, 2, 3)]
    best = minimize(cost, start, jac=True, bounds=bounds, options={"ftol": 1e-14, "gtol": 1e-9})
    fitted = fit_steps(events, [START] * order, uniform, threads=2)
    ours = np.array([steps.describe() for steps in fitted]).ravel()
    assert all(0 < value <= high for value, (_, high) in zip(ours, bounds, strict=True))
    assert cost(ours)[0] <= cost(start)[0]
    assert cost(ours)[0] == pytest.approx(best.fun, abs=1e-7)


def test_never_worse_than_the_start_and_the_same_for_any_number_of_threads() -> None:
    events, uniform = events_of(zipf_text(400), zipf_text(2, seed=8), 4)
    for start in (START, Steps(1.0, 2.0, 3.0), Steps(1e-6, 1e-6, 1e-6)):
        fitted = [fit_steps(events, [start] * 4, uniform, threads=threads) for threads in (1, 3)]
        assert fitted[0] == fitted[1]
        values = [
            fit._differentiate(events, np.ravel([s.describe() for s in steps]), uniform, 1)[0]
            for steps in ([start] * 4, fitted[0])
        ]
        assert values[1] >= values[0]


def test_text_that_says_nothing_changes_nothing() -> None:
    """No context of order 3 is known to the dev text: its discounts stay."""
    events, uniform = events_of(["a b c", "a b", "c a"], ["b"], 3)
    events.found[2] = 0
    assert fit_steps(events, [START] * 3, uniform)[2] == START
