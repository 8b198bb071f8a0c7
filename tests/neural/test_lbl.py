from __future__ import annotations

import math
import random
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'plre[neural]'")
pytest.importorskip("safetensors", reason="safetensors is not installed: pip install 'plre[neural]'")

import plre
import plre.neural
from plre.progress import Progress

SMALL = {"dimensions": 12, "head": 50, "batch": 64, "epochs": 2}


@pytest.fixture(scope="module")
def lm(text: list[str]) -> plre.neural.LogBilinear:
    return plre.neural.train(text, context=3, **SMALL)


def test_sums_to_one_after_any_context(lm: plre.neural.LogBilinear) -> None:
    for context in ("", "w1", "w1 w2 never w3 w2 w9", ["<unk>", "w4"]):
        probs = lm.distribution(context)
        assert len(probs) == len(lm.vocab)
        assert probs.sum() == pytest.approx(1, abs=1e-12)
        assert (probs > 0).sum() == len(probs) - 2
        assert probs[1] == probs[2] == 0


def test_events_are_those_of_the_n_gram_model(
    lm: plre.neural.LogBilinear, text: list[str], other_text: list[str]
) -> None:
    ngrams = plre.train(text, method="kn", markers=False)
    report = plre.evaluate(ngrams, other_text)
    scores = lm.score_words(other_text)
    assert len(scores) == report.tokens
    assert list(lm.vocab) == list(ngrams.vocab)
    assert lm.perplexity(other_text) == pytest.approx(10 ** (-scores.sum() / report.tokens))


def test_scores_are_the_distribution_of_each_context(lm: plre.neural.LogBilinear, other_text: list[str]) -> None:
    words = " ".join(other_text).split()[:30]
    expected = [math.log10(lm.prob(word, words[:i])) for i, word in enumerate(words)]
    assert lm.score_words([" ".join(words)]).tolist() == pytest.approx(expected, abs=1e-4)


def test_learns_a_text_that_repeats_itself() -> None:
    line = "the cat saw the dog and the dog saw the bird"  # after "the" it takes more than one word to know
    lm = plre.neural.train(
        [line] * 60, context=5, dimensions=16, dropout=0.0, rate=0.02, batch=32, head=0, epochs=40, min_count=1
    )
    assert lm.perplexity([line] * 20) < 1.1


def test_reaches_the_entropy_of_a_chain() -> None:
    """A word is followed by one of two, with chances 3 : 1, whatever came before."""
    draw = random.Random(1)
    words = [0]
    while len(words) < 12_000:
        words.append((2 * words[-1] + (draw.random() < 0.25)) % 8)
    text = [" ".join(f"w{word}" for word in words)]
    lm = plre.neural.train(
        text[:1], context=2, dimensions=16, dropout=0.0, rate=0.01, batch=128, head=3, min_count=1, epochs=15
    )
    entropy = -(0.75 * math.log(0.75) + 0.25 * math.log(0.25))
    assert lm.perplexity(text) == pytest.approx(math.exp(entropy), rel=0.02)


def test_save_and_load(lm: plre.neural.LogBilinear, other_text: list[str], tmp_path: Path) -> None:
    path = tmp_path / "m.lbl"
    lm.save(path)
    again = plre.neural.load(path)
    assert np.array_equal(again.score_words(other_text), lm.score_words(other_text))
    assert (again.settings, again.metadata) == (lm.settings, lm.metadata)
    with pytest.raises(plre.ModelFileError):
        plre.load(path)
    ngrams = tmp_path / "m.plre"
    plre.train(other_text, method="kn").save(ngrams)
    with pytest.raises(plre.ModelFileError, match=r"open it with plre\.load"):
        plre.neural.load(ngrams)


@pytest.mark.parametrize("shared", [True, False])
def test_same_seed_same_numbers_on_any_number_of_threads(text: list[str], shared: bool) -> None:
    options = {**SMALL, "epochs": 1, "shared": shared}
    one, two, other = (
        plre.neural.train(text[:200], context=3, threads=threads, seed=seed, **options).network.weights
        for threads, seed in ((1, 0), (2, 0), (1, 1))
    )
    assert all(torch.equal(one[name], two[name]) for name in one)
    assert not torch.equal(one["seen"], other["seen"])


def test_a_word_of_a_list_that_was_never_seen(text: list[str]) -> None:
    lm = plre.neural.train(text, context=2, vocab=["w1", "never", "w2"], **SMALL)
    assert list(lm.vocab)[3:] == ["w1", "never", "w2"]
    assert 0 < lm.prob("never", "w1") < lm.prob("w2", "w1")


class _Stops(Progress):
    """Ctrl-C after the first epoch."""

    def note(self, message: str) -> None:
        if message.startswith("epoch 2"):
            raise KeyboardInterrupt


def test_goes_on_where_it_stopped(tmp_path: Path) -> None:
    text = [" ".join(f"w{i * i % 101}" for i in range(4000))]
    options = {**SMALL, "context": 3, "epochs": 3, "dev": text}
    whole = plre.neural.train(text, **options)
    path = tmp_path / "training"
    with pytest.raises(KeyboardInterrupt):
        plre.neural.train(text, checkpoint=path, progress=_Stops(), **options)
    resumed = plre.neural.train(text, checkpoint=path, **options)
    assert resumed.metadata["perplexities"] == whole.metadata["perplexities"]
    assert all(torch.equal(resumed.network.weights[name], weights) for name, weights in whole.network.weights.items())
    longer = plre.neural.train(text, checkpoint=path, **{**options, "epochs": 5})
    assert longer.metadata["perplexities"][:3] == whole.metadata["perplexities"]
    assert len(longer.metadata["perplexities"]) == 5
    with pytest.raises(plre.UsageError, match="other options"):
        plre.neural.train(text, checkpoint=path, **{**options, "seed": 5})


def test_the_best_epoch_is_kept(text: list[str], other_text: list[str]) -> None:
    lm = plre.neural.train(text, dev=other_text, context=3, **{**SMALL, "rate": 0.05, "epochs": 6})
    assert lm.perplexity(other_text) == pytest.approx(min(lm.metadata["perplexities"]), rel=1e-6)


@pytest.mark.parametrize(
    "wrong",
    [{"context": 0}, {"dimensions": 0}, {"dropout": 1.0}, {"rate": 0.0}, {"head": -1}, {"threads": 0}, {"seed": -1}],
)
def test_options_that_make_no_sense(wrong: dict[str, float]) -> None:
    with pytest.raises(plre.UsageError, match=next(iter(wrong))):
        plre.neural.train(["a b"], **wrong)
