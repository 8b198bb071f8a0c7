"""The marginal constraint (the paper's Theorem 1): training events' probabilities of a word add up to its count."""

from __future__ import annotations

import numpy as np
import pytest

import plre
from plre.model.scoring import score_ids
from tests.conftest import zipf_text


def expected_counts(lm: plre.LanguageModel, events: np.ndarray) -> np.ndarray:
    """Sum over the positions of a text of P(w | what is before), for every word w."""
    total = np.zeros(len(lm.vocab))
    n = lm.order - 1
    contexts, number = np.unique(np.lib.stride_tricks.sliding_window_view(events, n)[:-1], axis=0, return_counts=True)
    for context, times in zip(contexts, number, strict=True):
        total += times * lm.distribution([lm.vocab.word(int(w)) for w in context])
    return total


@pytest.mark.parametrize("order", [2, 3, 4])
@pytest.mark.parametrize("rungs", [[], ["2:0.5:5"], ["2:0.75:9", "2:0.5:4", "2:0.25:1", "3:0.5:2", "4:0.5:1"]])
def test_exact_on_a_circular_text(order: int, rungs: list[str]) -> None:
    words = " ".join(zipf_text(250, words=400)).split()
    circular = [*words, *words[: order - 1]]
    lm = plre.train(
        [" ".join(circular)],
        order=order,
        min_count=1,
        markers=False,
        uniform=False,
        method="plre",
        rungs=[r for r in rungs if int(r[0]) <= order],
    )
    events = np.array([lm.vocab[w] for w in circular], np.int32)
    counts = np.bincount(events[order - 1 :], minlength=len(lm.vocab))
    found = expected_counts(lm, events)
    np.testing.assert_allclose(found[counts > 0], counts[counts > 0], rtol=1e-5)
    assert found[counts == 0].sum() == 0


def test_error_on_text_with_sentences(text: list[str]) -> None:
    """Where the theorem does not apply (sentence starts, uniform base) the marginals are close, not equal."""
    lm = plre.train(text, order=3, min_count=1, preset="paper")
    total = np.zeros(len(lm.vocab))
    counts = np.zeros(len(lm.vocab))
    for line in text:
        history = ["<s>"]
        for word in [*line.split(), "</s>"]:
            total += lm.distribution(history)
            counts[lm.vocab[word]] += 1
            history.append(word)
    assert total.sum() == pytest.approx(counts.sum(), rel=1e-6)
    frequent = counts >= 20
    error = np.abs(total[frequent] / counts[frequent] - 1)
    assert 1e-5 < error.max() < 0.35
    assert np.median(error) < 0.1


def test_probabilities_of_events_are_those_of_the_distribution(text: list[str]) -> None:
    lm = plre.train(text, order=3, min_count=1, preset="paper")
    ids = np.array([1, *(lm.vocab[w] for w in text[0].split()), 2], np.int32)
    scored = score_ids(lm, ids)
    for i in range(1, len(ids)):
        context = [lm.vocab.word(int(w)) for w in ids[:i]]
        assert scored.probs[i] == pytest.approx(lm.distribution(context)[ids[i]], rel=1e-6)
