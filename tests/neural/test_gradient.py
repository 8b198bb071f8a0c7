"""The gradient written by hand against the one that torch derives from the forward pass."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'plre[neural]'")
pytest.importorskip("safetensors", reason="safetensors is not installed: pip install 'plre[neural]'")

from plre.neural.fitting import Course
from plre.neural.gradient import Gradient
from plre.neural.network import Network, windows
from plre.neural.settings import NeuralSettings


def text_and_network(shared: bool, head: int) -> tuple[torch.Tensor, Network]:
    random = np.random.default_rng(0)
    counts = np.sort(random.integers(1, 50, 40))[::-1].copy()
    net = Network(counts, NeuralSettings(context=3, dimensions=6, shared=shared, head=head))
    for weights in net.weights.values():
        weights += 0.3 * torch.randn(weights.shape, generator=torch.Generator().manual_seed(5))
    net.seen[net.bands.nothing] = 0
    rows = torch.from_numpy(net.bands.rows[random.integers(0, 40, 200)])
    return windows(rows, 3, net.bands.nothing), net


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("head", [0, 5])
def test_equals_what_torch_derives(shared: bool, head: int) -> None:
    events, net = text_and_network(shared, head)
    gradient = Gradient(net)
    for _ in range(2):  # nothing of the first batch may be left in the second
        total = gradient.compute(events, 0.0, np.random.default_rng())
    for weights in net.weights.values():
        weights.requires_grad_()
    logs = net.log_probs(events).sum()
    (-logs).backward()
    assert total == pytest.approx(logs.item(), rel=1e-5)
    for name, weights in net.weights.items():
        expected = weights.grad
        assert expected is not None
        if name == "seen":
            expected[net.bands.nothing] = 0  # "no word" stays nothing
        assert torch.allclose(gradient.of[name], expected, atol=1e-4), name


def test_dropout_leaves_the_expectation_and_has_a_seed() -> None:
    events, net = text_and_network(True, 5)
    events = events.repeat(200, 1)
    gradient = Gradient(net)
    totals = [gradient.compute(events, 0.3, np.random.default_rng(seed)) for seed in (1, 1, 2)]
    plain = gradient.compute(events, 0.0, np.random.default_rng())
    assert totals[0] == totals[1] != totals[2]
    assert plain != totals[0] == pytest.approx(plain, rel=0.2)


def test_the_step_is_halved_when_gains_get_small_and_training_ends() -> None:
    course = Course(rate=0.8)
    assert [course.record(p, 99) for p in (100, 90, 89.9)] == [True, True, True]
    assert (course.rate, course.converged) == (0.4, False)
    assert course.record(80, 99)
    assert (course.rate, course.converged) == (0.2, False)
    assert not course.record(81, 99)
    assert course.converged
    assert course.finished(99)
    short = Course(rate=1)
    rates = [short.rate for perplexity in (50, 40, 30, 20, 10) if short.record(perplexity, 5)]
    assert rates == [1, 0.5, 0.25, 0.125, 0.0625]
    assert (short.finished(5), short.finished(6), short.converged) == (True, False, False)
