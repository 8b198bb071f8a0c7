"""N-grams that stand for a model which is more than that."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import plre
from plre.cli.main import run
from plre.errors import UsageError
from plre.exporting import _project as kernels
from plre.exporting.export import export_arpa
from tests.exporting.test_arpa import check_rules


@pytest.fixture(scope="module")
def best(text: list[str]) -> plre.LanguageModel:
    return plre.train(text, order=3, preset="best", class_sweeps=3)


@pytest.fixture(scope="module")
def kneser_ney(text: list[str]) -> plre.LanguageModel:
    return plre.train(text, order=3, method="mkn")


def sums(lm: plre.LanguageModel) -> float:
    rng = np.random.default_rng(0)
    words = rng.integers(0, len(lm.vocab), (200, 3))
    contexts = [(), (1,), *([int(a)] for a in words[:50, 0]), *(list(map(int, row)) for row in words)]
    return float(np.abs(lm.distributions(contexts).sum(axis=1) - 1).max())


@pytest.mark.parametrize("times", [0.5, 1, 3])
@pytest.mark.parametrize("order", [2, 3, 4])
def test_it_sums_to_one_within_its_budget(
    best: plre.LanguageModel, kneser_ney: plre.LanguageModel, times: float, order: int, tmp_path: Path
) -> None:
    budget = int(times * sum(kneser_ney.info()["ngrams"]))
    made = export_arpa(best, tmp_path / "a.arpa", ngrams=budget, order=order)
    check_rules(tmp_path / "a.arpa")
    assert not made.exact
    assert sum(made.ngrams) <= budget
    assert sum(made.ngrams) > 0.7 * budget
    assert sums(made.model) < 1e-5


def test_more_ngrams_are_better_and_better_than_kneser_ney(
    best: plre.LanguageModel, kneser_ney: plre.LanguageModel, tmp_path: Path
) -> None:
    """On what the model itself says, which is what n-grams are chosen for."""
    own = sum(kneser_ney.info()["ngrams"])
    said = [best.sample(seed=k) for k in range(2000)]
    found = [
        export_arpa(best, tmp_path / "a.arpa", ngrams=int(times * own)).model.perplexity(said) for times in (0.5, 1, 3)
    ]
    assert found[0] > found[1] > found[2] > best.perplexity(said)
    assert found[1] < kneser_ney.perplexity(said)


def test_kenlm_says_what_the_projection_says(best: plre.LanguageModel, other_text: list[str], tmp_path: Path) -> None:
    made = export_arpa(best, tmp_path / "a.arpa")
    kenlm = pytest.importorskip("kenlm")
    real = kenlm.Model(str(tmp_path / "a.arpa"))
    for line in other_text[:100]:
        assert real.score(line) == pytest.approx(made.model.score(line), rel=1e-5, abs=1e-5)


def test_threads_change_nothing(best: plre.LanguageModel, tmp_path: Path) -> None:
    files = [tmp_path / "one.arpa", tmp_path / "many.arpa"]
    for path, threads in zip(files, (1, 3), strict=True):
        export_arpa(best, path, threads=threads)
    assert files[0].read_bytes() == files[1].read_bytes()


@pytest.mark.parametrize("options", [{"preset": "paper"}, {"method": "class", "classes": 30}])
def test_other_kinds_of_models(options: dict[str, Any], text: list[str], tmp_path: Path) -> None:
    lm = plre.train(text, order=3, **options)
    made = export_arpa(lm, tmp_path / "a.arpa", ngrams=20_000, order=2 if "classes" in options else None)
    assert sums(made.model) < 1e-5
    assert made.model.perplexity(text) < 2 * lm.perplexity(text)


def cost(chosen: list[int], row: np.ndarray, lower: np.ndarray, price: float) -> float:
    """What some words cost as n-grams, and what is lost by backing off with all others."""
    others = [w for w in range(len(row)) if w not in chosen]
    if not others:
        return price * len(row)
    weight = row[others].sum() / lower[others].sum()
    return price * len(chosen) + float(np.sum(row[others] * np.log(row[others] / (weight * lower[others]))))


@pytest.mark.parametrize("seed", range(20))
def test_a_choice_is_nearly_the_best_of_all(seed: int) -> None:
    rng, price = np.random.default_rng(seed), 0.05
    row, lower = (rng.dirichlet(np.full(7, 0.5)) for _ in range(2))
    words, gains = np.empty(7, np.int32), np.empty(7, np.float32)
    offer = np.arange(7, dtype=np.int32), np.full(7, price)
    count, kept = kernels.choose(row, 1.0, lower, *offer, words, gains)
    assert kept == pytest.approx(row[words[:count]].sum())
    every = [[w for w in range(7) if bits >> w & 1] for bits in range(1 << 7)]
    lowest = min(cost(each, row, lower, price) for each in every)
    assert cost(words[:count].tolist(), row, lower, price) <= lowest + 2 * price


def test_em_finds_what_is_likeliest() -> None:
    """The maximum by hand of a case with one longer context."""
    rng = np.random.default_rng(2)
    counts, rest = rng.uniform(1, 5, 4), 3.0
    starts, places, left = np.array([0, 2]), np.array([0, 3], np.int32), np.array([4.0])

    def likelihood(p: np.ndarray) -> float:
        return float(counts @ np.log(p) + rest * np.log(1 - p.sum()) - left[0] * np.log(1 - p[[0, 3]].sum()))

    probs = counts / (counts.sum() + rest)
    kernels.maximise(counts, starts, places, left, rest, 500, 1e-12, probs)
    best = likelihood(probs)
    for _ in range(300):
        near = probs * np.exp(rng.normal(0, 0.01, 4))
        if near.sum() < 1:
            assert likelihood(near) <= best + 1e-9


def test_bad_budgets(best: plre.LanguageModel, tmp_path: Path) -> None:
    for options, message in (
        ({"ngrams": 5}, "there must be as many n-grams at least"),
        ({"ngrams": 10, "size": "5M"}, "one of the two"),
        ({"order": 99}, "not 99"),
        ({"ngrams": 0}, "must be 1 or more"),
    ):
        with pytest.raises(UsageError, match=message):
            export_arpa(best, tmp_path / "a.arpa", **options)  # type: ignore[arg-type]


def test_the_command(
    best: plre.LanguageModel, text: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, arpa, words = tmp_path / "m.plre", tmp_path / "m.arpa.gz", tmp_path / "text"
    best.save(model)
    words.write_text("\n".join(text[:50]) + "\n")
    assert run(["export", str(model), "-o", str(arpa), "--size", "300K", "--eval", str(words)]) == 0
    out, err = capsys.readouterr()
    assert "as well as so many can" in err
    before, after = out.split("perplexity ")[1].split(" -> ")
    assert float(before) == pytest.approx(best.perplexity(text[:50]), abs=0.01)
    assert float(after) == pytest.approx(plre.load(arpa).perplexity(text[:50]), rel=1e-3)
    assert run(["export", str(model), "-o", str(model)]) == 2


def test_words_alone(best: plre.LanguageModel, tmp_path: Path) -> None:
    for options in ({"order": 1}, {"ngrams": len(best.vocab)}):
        made = export_arpa(best, tmp_path / "a.arpa", **options)  # type: ignore[arg-type]
        assert made.ngrams == [len(best.vocab)]
        assert sums(made.model) < 1e-5


@pytest.mark.parametrize("below", ["raise", "drop"])
def test_nothing_is_more_than_certain(best: plre.LanguageModel, below: Any, tmp_path: Path) -> None:
    export_arpa(best, tmp_path / "a.arpa", below=below)
    check_rules(tmp_path / "a.arpa")
    assert plre.load(tmp_path / "a.arpa").score("w1 w2") < 0


def test_options_that_make_no_sense(best: plre.LanguageModel, tmp_path: Path) -> None:
    for options in ({"start": float("nan")}, {"start": 5.0}, {"below": "foo"}, {"spelling": "foo"}):
        with pytest.raises(UsageError):
            export_arpa(best, tmp_path / "a.arpa", **options)  # type: ignore[arg-type]
