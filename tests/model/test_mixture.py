"""Mixtures: weighted sums of models, over the same words or different ones."""

from __future__ import annotations

import copy
import math
import pickle
from pathlib import Path

import numpy as np
import pytest

import plre
from plre.ensemble.combine import combine
from plre.ensemble.mixing import best_weights
from plre.errors import ModelFileError, UsageError
from tests.model.test_file import about, rewritten

pytestmark = pytest.mark.filterwarnings("ignore::plre.errors.PlreWarning")


@pytest.fixture(scope="module")
def models(text: list[str]) -> list[plre.LanguageModel]:
    return [
        plre.train(text, order=3, method="mkn"),
        plre.train(text, order=2, method="plre", rungs=["2:0.5:4"]),
        plre.train(text, order=4, method="kn"),
    ]


@pytest.fixture(scope="module")
def mixed(models: list[plre.LanguageModel]) -> plre.LanguageModel:
    return plre.mix(models, weights=[0.5, 0.2, 0.3])


CONTEXTS = [[], ["w1"], ["<s>"], ["<s>", "w2"], ["w1", "w2", "w3"], ["w70", "w71", "w72"], ["zzz"]]


@pytest.mark.parametrize("context", CONTEXTS, ids=" ".join)
def test_a_mixture_is_the_weighted_sum(
    mixed: plre.LanguageModel, models: list[plre.LanguageModel], context: list[str]
) -> None:
    expected = sum(w * lm.distribution(context) for w, lm in zip([0.5, 0.2, 0.3], models, strict=True))
    np.testing.assert_allclose(mixed.distribution(context), expected, rtol=1e-12)
    assert mixed.prob("w5", context) == pytest.approx(expected[mixed.vocab["w5"]])


def test_every_way_of_asking_agrees(mixed: plre.LanguageModel, other_text: list[str], tmp_path: Path) -> None:
    mixed.save(tmp_path / "m.plre")
    again = plre.load(tmp_path / "m.plre")
    lines = [*other_text, "", "never seen words"]
    scores = mixed.score_lines(lines)
    np.testing.assert_array_equal(again.score_lines(lines), scores)
    for line, score in zip(lines, scores, strict=True):
        assert again.score(line) == pytest.approx(score, abs=1e-9)
        state, total = again.begin_state(), 0.0
        for word in [*line.split(), "</s>"]:
            step, state = again.advance(state, word)
            total += step
        assert total == pytest.approx(score, abs=1e-9)
    assert again.perplexity(lines) == pytest.approx(10 ** (-scores.sum() / sum(len(x.split()) + 1 for x in lines)))
    again.verify()
    assert pickle.loads(pickle.dumps(again)).score("w1 w2") == mixed.score("w1 w2")


def test_states_are_values(mixed: plre.LanguageModel) -> None:
    _, state = mixed.advance(mixed.begin_state(), "w1")
    assert hash(state) == hash(copy.copy(state))
    assert pickle.loads(pickle.dumps(state)) == state
    assert mixed.context(state) == ["<s>", "w1"]
    assert mixed.context(mixed.null_state()) == []
    for wrong in (0, (0,), b"12345", b"\xff\xff\xff\x7f"):
        with pytest.raises(UsageError, match="is not a state of this model"):
            mixed.advance(wrong, "w1")
    assert mixed.advance(state, "<s>")[0] == -math.inf


def test_mixing_mixtures_is_flat(mixed: plre.LanguageModel, models: list[plre.LanguageModel]) -> None:
    twice = plre.mix([mixed, models[0]], weights=[1, 3])
    assert [component.weight for component in twice.components] == pytest.approx([0.125, 0.05, 0.075, 0.75])
    expected = 0.25 * mixed.distribution(["w1"]) + 0.75 * models[0].distribution(["w1"])
    np.testing.assert_allclose(twice.distribution(["w1"]), expected, rtol=1e-12)


def test_different_words_share_unk() -> None:
    one = plre.train(["a b c", "a b d"] * 5, order=2, method="kn", min_count=1)
    other = plre.train(["a x y", "b x z"] * 5, order=3, method="mkn", min_count=1)
    lm = plre.mix([one, other], weights=[0.5, 0.5])
    assert set(lm.vocab) == {"<unk>", "<s>", "</s>", *"abcdxyz"}
    for context in ([], ["a"], ["a", "x"], ["c"], ["<s>", "nothing"]):
        assert lm.distribution(context).sum() == pytest.approx(1, abs=1e-6)
    # x, y, z and <unk> share the probability that the first model gives to <unk>.
    expected = 0.5 * one.prob("<unk>", ["b"]) / 4 + 0.5 * other.prob("x", ["b"])
    assert lm.prob("x", ["b"]) == pytest.approx(expected)
    assert lm.prob("c", ["x"]) == pytest.approx(0.5 * one.prob("c", ["<unk>"]) + 0.5 * other.prob("<unk>", ["x"]) / 3)


def test_weights_by_em_are_the_best(models: list[plre.LanguageModel], other_text: list[str]) -> None:
    lm = plre.mix(models, dev=other_text)
    best = lm.perplexity(other_text)
    assert lm.metadata["dev_perplexity"] == pytest.approx(best, rel=1e-6)
    assert best <= min(model.perplexity(other_text) for model in models) * (1 + 1e-6)
    for step in np.eye(3) - 1 / 3:
        near = np.clip(np.array(lm.metadata["weights"]) + 0.02 * step, 0, 1)
        assert plre.mix(models, weights=near.tolist()).perplexity(other_text) >= best * (1 - 1e-6)


def test_em_against_a_grid() -> None:
    random = np.random.default_rng(3)
    probs = random.random((2, 500)) ** 3
    grid = np.linspace(0, 1, 2001)
    likelihood = np.log(grid[:, None] * probs[0] + (1 - grid[:, None]) * probs[1]).mean(axis=1)
    assert best_weights(probs)[0] == pytest.approx(grid[likelihood.argmax()], abs=1e-3)


def test_weights_near_zero_are_found_in_few_steps() -> None:
    random = np.random.default_rng(4)
    probs = random.random((2, 1000))
    probs[1] *= 0.6  # hardly ever better: its best weight is small, and plain EM takes thousands of steps to get there
    weights = best_weights(probs)
    slopes = (probs / (weights @ probs)).mean(axis=1)
    assert slopes.max() - 1 < 1e-5
    assert weights.sum() == pytest.approx(1)


def test_dev_text_of_other_words() -> None:
    one = plre.train(["a b c", "a b d"] * 5, order=2, method="kn", min_count=1)
    other = plre.train(["a x y", "b x z"] * 5, order=3, method="mkn", min_count=1)
    lm = plre.mix([one, other], dev=["a x z", "b x y"])
    assert lm.metadata["weights"][1] > 0.9
    assert lm.perplexity(["a x z", "b x y"]) == pytest.approx(lm.metadata["dev_perplexity"], rel=1e-6)


def test_what_cannot_be_mixed(models: list[plre.LanguageModel], text: list[str]) -> None:
    stream = plre.train(text, order=2, method="kn", markers=False)
    with pytest.raises(UsageError, match="with and without sentence markers"):
        plre.mix([models[0], stream], weights=[1, 1])
    with pytest.raises(UsageError, match="not both"):
        plre.mix(models, weights=[1, 1, 1], dev=text)
    with pytest.raises(UsageError, match="not both"):
        plre.mix(models)
    with pytest.raises(UsageError, match="two models or more"):
        plre.mix(models[:1], weights=[1])
    with pytest.raises(UsageError, match="3 models but 2 weights"):
        plre.mix(models, weights=[1, 1])
    for wrong in ([1, -1, 1], [0, 0, 0], [1e308, 1e308, 1e308], [1, float("nan"), 1]):
        with pytest.raises(UsageError, match="from 0 up"):
            plre.mix(models, weights=wrong)
    with pytest.raises(UsageError, match="list of numbers"):
        plre.mix(models, weights=["a", "b", "c"])  # type: ignore[list-item]


def test_numpy_weights_can_be_saved(models: list[plre.LanguageModel], tmp_path: Path) -> None:
    lm = plre.mix(models, weights=np.array([1, 1, 2], np.float32))
    lm.save(tmp_path / "m.plre")
    assert [component.weight for component in plre.load(tmp_path / "m.plre").components] == [0.25, 0.25, 0.5]


def test_impossible_words_of_the_dev_text_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    class Notes(plre.Progress):
        def note(self, message: str) -> None:
            print(message)

    text = ["a b c", "a b a"] * 4
    models = [plre.train(text, method=m, order=2, min_count=1, uniform=False) for m in ("kn", "mkn")]
    plre.mix(models, dev=["a b unheard"], progress=Notes())
    assert "1 words of the dev text are impossible" in capsys.readouterr().out


def test_neighbours_and_ngrams(mixed: plre.LanguageModel, models: list[plre.LanguageModel]) -> None:
    """They are those of the first component of word n-grams."""
    assert mixed.neighbours("w1") == models[0].neighbours("w1")
    assert mixed.neighbours(mixed.vocab["w1"]) == mixed.neighbours("w1")
    with pytest.raises(UsageError, match="does not know the word"):
        mixed.neighbours("zzz")
    assert list(mixed.ngrams(3)) == list(models[0].ngrams(3))
    assert plre.mix(models[1:], weights=[1, 1]).neighbours("w1") == models[1].neighbours("w1")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (about(components=[]), "no components"),
        (about(components=5), "no components"),
        (about(order=1), "the order is 1"),
        (about(components=[{}]), "damaged"),
        (lambda h: h.update(more=h.pop("3.order4.lines")), "a tensor more that such a model does not have"),
    ],
)
def test_damaged_files(mixed: plre.LanguageModel, tmp_path: Path, change: object, message: str) -> None:
    mixed.save(tmp_path / "m.plre")
    with pytest.raises(ModelFileError, match=message):
        plre.load(rewritten(tmp_path / "m.plre", tmp_path / "bad.plre", change))


def test_weights_of_zero(models: list[plre.LanguageModel]) -> None:
    lm = combine(models, [1.0, 0.0, 0.0], {"method": "first"})
    np.testing.assert_array_equal(lm.distribution(["w1"]), models[0].distribution(["w1"]))
