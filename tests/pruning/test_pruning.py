"""Pruning: the kernels against their readable twins, and what must hold for any model and threshold."""

from __future__ import annotations

import math
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import plre
from plre.errors import UsageError
from plre.pruning.entropy import Pruner
from plre.pruning.stationary import low_rank_shares, stationary
from plre.pruning.tables import read_tables, write_tables
from tests.pruning import readable

pytestmark = pytest.mark.filterwarnings("ignore::plre.errors.PlreWarning")

KINDS: dict[str, dict] = {
    "mkn": {"method": "mkn"},
    "bo-kn": {"method": "bo-kn"},
    "jm": {"method": "jm"},
    "plre": {"rungs": ["2:0.5:2", "3:0.5:2", "4:0.5:1"]},
}


def small_text(seed: int, lines: int = 25, words: str = "abcde") -> list[str]:
    draw = random.Random(seed)
    return [" ".join(draw.choices(words, range(1, len(words) + 1), k=draw.randrange(1, 9))) for _ in range(lines)]


def train(kind: str, order: int, text: list[str], **more: object) -> plre.LanguageModel:
    options = dict(KINDS[kind])
    if "rungs" in options:
        options["rungs"] = [rung for rung in options["rungs"] if int(rung[0]) <= order]
    return plre.train(text, order=order, min_count=1, **options, **more)


@pytest.mark.parametrize("kind", list(KINDS))
@pytest.mark.parametrize("order", [2, 3, 4])
def test_tables_there_and_back(kind: str, order: int) -> None:
    lm = train(kind, order, small_text(1))
    body = lm.components[0].body
    tables = read_tables(body)
    for n in range(2, order + 1):
        numbers = {gram: i for i, gram in enumerate(readable.grams_of(body, n - 1))}
        assert tables[n - 1].suffixes.tolist() == [numbers[gram[1:]] for gram in readable.grams_of(body, n)]
    again = write_tables(tables, body, 2)
    assert again.describe() == body.describe()
    assert list(again.tensors) == list(body.tensors)
    for name, tensor in body.tensors.items():
        np.testing.assert_array_equal(again.tensors[name], tensor)


@pytest.mark.parametrize("kind", list(KINDS))
@pytest.mark.parametrize("markers", [True, False])
def test_masses_are_those_of_the_text_that_never_ends(kind: str, markers: bool) -> None:
    lm = train(kind, 3, small_text(2), markers=markers)
    tables = read_tables(lm.components[0].body)
    found = stationary(tables, low_rank_shares(tables, 1), lm.markers, 1e-9)
    twin = readable.Readable(lm)
    expected = readable.masses(twin)
    usage = readable.usages(twin, expected)
    for n in (1, 2):
        grams = twin.grams[n]
        np.testing.assert_allclose(found.mass[n - 1], [expected[g] for g in grams], atol=2e-6)
        np.testing.assert_allclose(found.usage[n - 1], [usage[g] for g in grams], atol=4e-6)
    assert found.words == pytest.approx(usage[()], abs=1e-5)


@pytest.mark.parametrize("kind", list(KINDS))
@pytest.mark.parametrize("order", [2, 3])
@pytest.mark.parametrize("threshold", [1e-4, 1e-3, 1e-2, 1e-1])
def test_pruned_as_one_reads_it(kind: str, order: int, threshold: float) -> None:
    lm = train(kind, order, small_text(3))
    found = plre.prune(lm, threshold=threshold)
    expected = readable.prune(readable.Readable(lm), threshold)
    for n in range(1, order + 1):
        assert readable.words_of(found, n) == expected.grams[n]
    after = [(), *(g for n in range(1, order) for g in readable.words_of(lm, n))]
    for h in after:
        own = [0.0 if w == "<s>" else expected(w, h) for w in lm.vocab]
        np.testing.assert_allclose(found.distribution(h), own, atol=2e-5)
        assert found.distribution(h).sum() == pytest.approx(1, abs=1e-6)


def test_the_cost_of_an_ngram_is_the_relative_entropy() -> None:
    """Without low rank layers, one n-gram less changes all words in one way, and the sum over all is what was said."""
    lm = train("mkn", 3, small_text(4))
    twin = readable.Readable(lm)
    for gram in twin.grams[3][::7]:
        h = gram[:-1]
        before = {w: twin(w, h) for w in lm.vocab if w != "<s>"}
        without = readable.Readable(lm)
        del without.prob[gram]
        without.backoff[h] = 1.0
        seen = sum(without.prob[g] for g in without.children(h))
        without.backoff[h] = (1 - seen) / sum(without(w, h) for w in before if (*h, w) not in without.prob)
        divergence = sum(p * math.log(p / without(w, h)) for w, p in before.items())
        assert readable.cost(twin, gram, 1.0) == pytest.approx(divergence, rel=1e-4, abs=1e-7)


@given(
    st.sampled_from([*KINDS, "class", "mixed", "quantised"]),
    st.integers(1, 4),
    st.integers(0, 1000),
    st.sampled_from([0.0, 1e-5, 1e-4, 1e-3, 1e-2, 1.0]),
)
def test_any_model_at_any_threshold(kind: str, order: int, seed: int, threshold: float) -> None:
    text = small_text(seed, 8, "abcdefgh")
    close = 0.06 if kind == "quantised" else 1e-6
    if kind == "class":
        lm = plre.train(text, order=order, method="class", classes=3, min_count=1)
    elif kind == "mixed":
        lm = plre.mix([train("mkn", order, text), train("plre", order, text)], weights=[0.3, 0.7])
    elif kind == "quantised":
        lm = train("plre", order, text, quantise=8)
    else:
        lm = train(kind, order, text)
    small = plre.prune(lm, threshold=threshold, threads=1)
    assert plre.prune(lm, threshold=threshold, threads=3).digest == small.digest
    draw = random.Random(seed)
    for _ in range(10):
        context = draw.choices([*"abcdefgh", "zzz"], k=draw.randrange(order + 1))
        probs = small.distribution(context)
        assert probs.sum() == pytest.approx(1, abs=close)
        assert (np.delete(probs, 1) > 0).all()
        if threshold == 0:
            np.testing.assert_allclose(probs, lm.distribution(context), atol=close, rtol=10 * close)
    for line in text:
        state, total = small.begin_state(), 0.0
        for word in [*line.split(), "</s>"]:
            step, state = small.advance(state, word)
            total += step
        assert total == pytest.approx(small.score(line), abs=1e-9)
    for part, own in zip(small.components, lm.components, strict=True):
        left = [set(readable.grams_of(part.body, n)) for n in range(1, part.body.reach + 1)]
        for n, grams in enumerate(left, 1):
            assert grams <= set(readable.grams_of(own.body, n))
            assert n == 1 or all(g[1:] in left[n - 2] and g[:-1] in left[n - 2] for g in grams)


def test_a_higher_threshold_leaves_less_and_costs_more(text: list[str], other_text: list[str]) -> None:
    lm = plre.train(text, order=3, preset="paper")
    models = [plre.prune(lm, threshold=t) for t in (0, 1e-6, 1e-5, 1e-4)]
    sizes = [model.nbytes for model in models]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] < sizes[0]
    assert models[0].perplexity(text) == pytest.approx(lm.perplexity(text), rel=1e-6)
    lost = [model.perplexity(text) for model in models]
    assert lost == sorted(lost)


def test_everything_pruned_is_what_the_model_says_of_words(text: list[str]) -> None:
    """Kneser-Ney's unigrams count contexts; if they have to speak alone, they must become frequencies."""
    lm = plre.train(text, order=3, method="mkn")
    alone = plre.prune(lm, threshold=10.0)
    plain = plre.train(text, order=1, method="abs")
    assert alone.info()["ngrams"][1:] == [0, 0]
    assert alone.perplexity(text) == pytest.approx(plain.perplexity(text), rel=0.02)


@pytest.mark.parametrize("kind", ["mkn", "plre", "mixed"])
def test_a_size(kind: str, text: list[str], tmp_path: Path) -> None:
    parts = [plre.train(text, order=3, method=method) for method in ("mkn", "plre")]
    lm = plre.mix(parts, weights=[0.5, 0.5]) if kind == "mixed" else parts[kind == "plre"]
    lm.save(tmp_path / "m.plre")
    whole = (tmp_path / "m.plre").stat().st_size
    for share in (0.5, 0.8):
        small = plre.prune(tmp_path / "m.plre", size=int(whole * share))
        small.save(tmp_path / "small.plre")
        reached = (tmp_path / "small.plre").stat().st_size
        assert whole * share * 0.85 < reached <= whole * share
        again = plre.prune(lm, threshold=small.metadata["pruned"]["threshold"])
        assert again.digest == small.digest
        plre.load(tmp_path / "small.plre").verify()
    assert plre.prune(lm, size="1G") is lm  # it is small enough
    with pytest.raises(UsageError, match=r"cannot be pruned to less than [\d,]+ bytes"):
        plre.prune(lm, size=1000)


def test_what_a_pruned_model_says_of_itself(text: list[str]) -> None:
    lm = plre.train(text, order=3, method="mkn", prune=1e-5)
    before = list(plre.train(text, order=3, method="mkn").info()["ngrams"])
    assert lm.metadata["pruned"] == {"threshold": 1e-5, "before": before, "after": lm.info()["ngrams"]}
    twice = plre.prune(lm, threshold=1e-4)
    assert twice.metadata["pruned"]["before"] == before
    assert sum(twice.info()["ngrams"]) < sum(lm.info()["ngrams"])
    assert "|pruned:1e-05|" in plre.evaluate(lm, text).signature


def test_words_without_probability_stay_so() -> None:
    lm = plre.train(small_text(5), order=3, method="kn", min_count=1, uniform=False)
    small = plre.prune(lm, threshold=0.5)
    assert small.prob("<unk>") == 0
    assert small.distribution("a b").sum() == pytest.approx(1, abs=1e-6)


def test_what_makes_no_sense(text: list[str]) -> None:
    lm = plre.train(text, order=2, method="kn")
    for wrong in ({}, {"size": "1M", "threshold": 1e-8}):
        with pytest.raises(UsageError, match="one of the two"):
            plre.prune(lm, **wrong)  # type: ignore[arg-type]
    for threshold in (-1e-8, math.nan, math.inf):
        with pytest.raises(UsageError, match="from 0 up"):
            plre.prune(lm, threshold=threshold)
    with pytest.raises(UsageError, match="from 0 up"):
        plre.train(text, prune=-1)
    with pytest.raises(UsageError, match="a size is a number and a unit"):
        plre.prune(lm, size="small")


def test_factors_are_counted_as_they_are_kept() -> None:
    lm = train("plre", 4, small_text(6, 60))
    pruner = Pruner(read_tables(lm.components[0].body), lm.markers)
    for threshold in (0.0, 1e-4, 1e-2):
        judged = pruner.judge(threshold)
        left = pruner.pruned(judged)
        for n in (2, 3, 4):
            factors = left[n - 1].factors
            assert factors is not None
            assert pruner.factor_count(judged, n) == len(factors.left) + len(factors.right)
