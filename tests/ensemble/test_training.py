from __future__ import annotations

from pathlib import Path

import pytest

import plre
from plre.ensemble import build, recipe
from plre.lowrank import blocks
from tests.conftest import zipf_text


def test_ranks_are_chosen_on_dev_and_nothing_is_factorised_twice(
    monkeypatch: pytest.MonkeyPatch, other_text: list[str]
) -> None:
    calls = []
    original = build.factorise

    def counted(*arguments: object, **options: object) -> object:
        calls.append(1)
        return original(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(build, "factorise", counted)
    text = zipf_text(3000, words=4000)
    lm = plre.train(text, order=4, preset="paper", dev=iter(other_text))
    assert len(calls) == 6
    trials = lm.metadata["trials"]
    assert len(trials) == 9
    best = min(trials, key=lambda trial: trial["perplexity"])
    assert lm.perplexity(other_text) == pytest.approx(best["perplexity"], rel=1e-9)
    chosen = {n: float(rungs[0][1]) for n, rungs in lm.metadata["rungs"].items()}
    assert chosen == best["fractions"]


def test_dev_text_without_anything_to_choose_is_noted(text: list[str], other_text: list[str]) -> None:
    class Notes(plre.Progress):
        said = ""

        def note(self, message: str) -> None:
            self.said += message

    notes = Notes()
    plre.train(text, method="mkn", dev=other_text, progress=notes)
    assert "not used" in notes.said
    assert {"reading text", "counting n-grams", "assembling"} <= set(notes.seconds)


def test_files_and_strings_give_the_same_model(tmp_path: Path, text: list[str]) -> None:
    path = tmp_path / "text"
    path.write_text("\n".join(text))
    digests = {
        plre.train(source, order=3).digest
        for source in (str(path), path, [path], text, iter(text), str(tmp_path / "te*t"))
    }
    assert len(digests) == 1


@pytest.mark.filterwarnings("ignore::plre.errors.PlreWarning")
def test_a_given_vocabulary(tmp_path: Path, text: list[str]) -> None:
    words = tmp_path / "words"
    words.write_text("w1\nw2\nunheard\n")
    lm = plre.train(text, vocab=words, method="mkn")
    assert list(lm.vocab)[3:] == ["w1", "w2", "unheard"]
    assert lm.prob("unheard", ["w1"]) > 0
    assert lm.distribution(["w1"]).sum() == pytest.approx(1, abs=1e-6)


def test_bad_options(text: list[str]) -> None:
    with pytest.raises(plre.UsageError, match="min_count"):
        plre.train(text, min_count=0)
    with pytest.raises(plre.UsageError, match="threads must be"):
        plre.train(text, threads=0)
    with pytest.raises(plre.UsageError, match="whole number between 1 and 64"):
        plre.train(text, order=2.5)  # type: ignore[arg-type]
    with pytest.raises(plre.UsageError, match="whole number from 0"):
        plre.train(text, seed=None)  # type: ignore[arg-type]
    with pytest.raises(plre.UsageError, match="rungs is a list"):
        plre.train(text, rungs="2:0.5:20")
    with pytest.raises(plre.UsageError, match="strict"):
        plre.train(text, errors="ignore")  # type: ignore[arg-type]


def test_ranks_too_high_for_a_model_are_refused_before_the_work(
    monkeypatch: pytest.MonkeyPatch, text: list[str], other_text: list[str]
) -> None:
    """With dev text, the combinations that fit are still tried."""
    monkeypatch.setattr(blocks, "LARGEST", 2000)
    with pytest.raises(plre.UsageError, match="ranks up to 50 would have"):
        plre.train(text, rungs=["2:0.5:50"])
    notes: list[str] = []

    class Notes(plre.Progress):
        def note(self, message: str) -> None:
            notes.append(message)

    monkeypatch.setitem(recipe.PRESETS["paper"], "grids", {2: (0.002, 0.5)})
    lm = plre.train(text, order=2, preset="paper", dev=other_text, progress=Notes())
    assert [note.split(":")[1].split(";")[0] for note in notes][1] == " left out"
    assert len(lm.metadata["trials"]) == 1


@pytest.mark.filterwarnings("ignore::plre.errors.PlreWarning")
def test_a_vocabulary_as_a_list(text: list[str]) -> None:
    assert list(plre.train(text, vocab=["w1", "w2"], method="kn").vocab)[3:] == ["w1", "w2"]


@pytest.mark.filterwarnings("ignore:no discounts")
def test_a_text_of_unknown_words_is_warned_about() -> None:
    with pytest.warns(plre.PlreWarning, match="no word of it is in the vocabulary"):
        plre.train(["each word once only"], method="abs", order=1)


def test_rungs_as_objects(text: list[str]) -> None:
    a = plre.train(text, rungs={2: [plre.Rung(0.3, plre.Rank(fixed=2)), plre.Rung(0.5, plre.Rank(fixed=4))]})
    b = plre.train(text, rungs=["2:0.5:4", "2:0.3:2"])
    assert a.metadata == b.metadata
