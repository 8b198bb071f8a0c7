"""The factored softmax against the same sums written out with plain Python numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'plre[neural]'")
pytest.importorskip("safetensors", reason="safetensors is not installed: pip install 'plre[neural]'")

import plre.neural.bands
import plre.neural.network
from plre.neural.bands import Bands
from plre.neural.network import Network
from plre.neural.settings import NeuralSettings

COUNTS = np.array([50, 40, 30, 20, 10, 9, 8, 7, 6, 5, 0])


def network(head: int, **options: object) -> Network:
    return Network(COUNTS, NeuralSettings(context=3, dimensions=4, head=head, **options))  # type: ignore[arg-type]


def by_hand(net: Network, context: list[int]) -> list[float]:
    """P of each word: one softmax for the head, and one within each other band times that of its entry."""
    d, bands = net.positions.shape[1], net.bands
    expected = [0.0] * d
    for i, row in enumerate(context):
        matrix = net.positions[i * d : (i + 1) * d].tolist()
        for k in range(d):
            expected[k] += sum(net.seen[row, j].item() * matrix[j][k] for j in range(d))

    def weight(row: int) -> float:
        return math.exp(sum(x * y for x, y in zip(expected, net.predicted[row].tolist(), strict=True)) + net.bias[row])

    head = sum(weight(row) for row in range(bands.bounds[1]))
    probs = [weight(row) / head for row in range(bands.head)]
    for band in range(1, len(bands.bounds) - 1):
        first, last = bands.bounds[band : band + 2]
        whole = sum(weight(row) for row in range(first, last))
        entry = weight(bands.head + band - 1) / head
        probs += [entry * weight(row) / whole for row in range(first, last)]
    return probs


@pytest.mark.parametrize("head", [0, 1, 2, 5, 100])
@pytest.mark.parametrize("shared", [True, False])
def test_probabilities_by_hand(head: int, shared: bool) -> None:
    net = network(head, shared=shared, seed=3)
    net.bias += torch.randn(net.bias.shape, generator=torch.Generator().manual_seed(1))
    context = [int(net.bands.rows[7]), net.bands.nothing, int(net.bands.rows[1])]
    expected = by_hand(net, context)
    probs = net.distribution(torch.tensor([context])).exp()[0]
    assert probs.tolist() == pytest.approx(expected, rel=1e-5)
    assert probs.sum().item() == pytest.approx(1, abs=1e-12)
    events = torch.tensor([[*context, row] for row in net.bands.rows])
    assert net.log_probs(events).exp().tolist() == pytest.approx(expected, rel=1e-5)


def test_one_band_is_the_plain_softmax() -> None:
    net = network(0)
    context = torch.tensor([[0, 5, 9]])
    scores = net.predict(context) @ net.predicted[: len(COUNTS)].T + net.bias[: len(COUNTS)]
    assert torch.allclose(net.distribution(context), scores.double().log_softmax(1), atol=1e-6)


@pytest.mark.parametrize("head", [0, 2, 3])
def test_starts_with_the_frequencies_of_words(head: int) -> None:
    net = network(head)
    net.positions.zero_()
    probs = net.distribution(torch.zeros(1, 3, dtype=torch.int64)).exp()[0].numpy()
    assert probs == pytest.approx((COUNTS + 1) / (COUNTS + 1).sum(), rel=1e-6)


def test_every_row_is_used_once() -> None:
    for words in (1, 2, 3, 17, 1000):
        for head in (0, 1, 4, 16, 999):
            bands = Bands(words, head)
            entries = range(bands.head, bands.bounds[1])
            assert sorted([*bands.rows, *entries, bands.nothing]) == list(range(bands.nothing + 1))


def test_examples_in_docstrings() -> None:
    import doctest

    for module in (plre.neural.bands, plre.neural.network):
        result = doctest.testmod(module)
        assert result.attempted > 0
        assert result.failed == 0
