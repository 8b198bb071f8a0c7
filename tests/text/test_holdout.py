"""Holding out part of a text."""

from __future__ import annotations

import numpy as np
import pytest

import plre
from plre.progress import Progress
from plre.scratch import Scratch
from plre.text import holdout
from plre.text.encode import TextOptions, encode_text
from plre.text.holdout import hold_out
from plre.text.vocabulary import BOS, EOS, UNK
from tests.conftest import zipf_text


@pytest.mark.parametrize("lines", [1000, 3000])
def test_nothing_is_lost_and_nothing_is_seen_twice(lines: int) -> None:
    text = encode_text(zipf_text(lines), min_count=1)
    parts = hold_out(text, Scratch())
    assert parts is not None
    kept, held = parts
    assert len(kept.ids) + len(held) == len(text.ids)
    assert 0.02 < len(held) / len(text.ids) < 0.2
    assert held[0] == kept.ids[0] == BOS
    assert kept.sentences == np.sum(kept.ids[:] == BOS) == text.sentences - np.sum(held == BOS)
    counted = np.bincount(kept.ids[:], minlength=len(text.vocab)) + np.bincount(held, minlength=len(text.vocab))
    changed = np.flatnonzero(counted != np.bincount(text.ids[:], minlength=len(text.vocab)))
    # Words that only the held-out part has are unknown there.
    assert np.all(np.bincount(kept.ids[:], minlength=len(text.vocab))[changed[changed != UNK]] == 0)


def test_a_stream() -> None:
    stream = encode_text(zipf_text(1000), min_count=1, options=TextOptions(markers=False))
    parts = hold_out(stream, Scratch())
    assert parts is not None
    kept, held = parts
    assert len(kept.ids) + np.sum(held != BOS) == len(stream.ids)


class Notes(Progress):
    def __init__(self) -> None:
        super().__init__()
        self.said: list[str] = []

    def note(self, message: str) -> None:
        self.said.append(message)


@pytest.mark.parametrize("lines", [1, 2, 3, 5, 30])
def test_lines_too_long_to_be_held_out(lines: int) -> None:
    """Parts of them are held out; nothing is lost, and what is left is sentences still."""
    words = " ".join(zipf_text(1500)).split()[:6000]
    length = len(words) // lines
    text = encode_text([" ".join(words[i : i + length]) for i in range(0, len(words), length)], min_count=1)
    notes = Notes()
    parts = hold_out(text, Scratch(), notes)
    assert parts is not None
    kept, held = parts
    assert len(notes.said) == 1
    assert "too long" in notes.said[0]
    assert 0.03 < len(held) / len(text.ids) < 0.07
    assert len(kept.ids) + len(held) == len(text.ids) + 16  # each piece begins with an <s> of its own
    ids = np.asarray(kept.ids[:])
    markers = ids[(ids == BOS) | (ids == EOS)].tolist()
    assert markers == [BOS, EOS] * kept.sentences
    assert (ids[0], ids[-1], held[0]) == (BOS, EOS, BOS)


def test_lines_of_usual_length_are_held_out_whole_without_a_note() -> None:
    notes = Notes()
    hold_out(encode_text(zipf_text(1000), min_count=1), Scratch(), notes)
    hold_out(encode_text(zipf_text(1000), min_count=1, options=TextOptions(markers=False)), Scratch(), notes)
    assert notes.said == []


@pytest.mark.filterwarnings("ignore::plre.errors.PlreWarning")
def test_weights_are_fitted_to_a_sample_of_a_very_long_text(monkeypatch: pytest.MonkeyPatch) -> None:
    text, dev = zipf_text(800), zipf_text(400, seed=3)
    notes = Notes()
    monkeypatch.setattr(holdout, "MOST_HELD_OUT", 1000)
    lm = plre.train(text, preset="fast", dev=dev, progress=notes)
    assert [said for said in notes.said if said.startswith("the held-out text is long: ")]
    sample = holdout.held_out_ids(encode_text(dev, vocab=lm.vocab), Progress())
    assert 500 < len(sample) <= 1000
    assert sample[0] == BOS
    assert lm.metadata["dev_perplexity"] == pytest.approx(
        plre.train(text, preset="fast", dev=dev).metadata["dev_perplexity"]
    )
    mixed = plre.mix([lm, plre.train(text, method="mkn")], dev=dev, memory="200M", progress=notes)
    assert len([said for said in notes.said if said.startswith("the held-out text is long: ")]) == 2
    assert sum(mixed.metadata["weights"]) == pytest.approx(1)


def test_a_text_too_short() -> None:
    assert hold_out(encode_text(["a b c"] * 5, min_count=1), Scratch()) is None


@pytest.mark.filterwarnings("ignore::plre.errors.PlreWarning")
def test_one_long_line_is_enough_for_the_default_model() -> None:
    words = " ".join(zipf_text(1500)).split()[:6000]
    notes = Notes()
    lm = plre.train([" ".join(words)], progress=notes)
    assert lm.distribution("w1 w2").sum() == pytest.approx(1, abs=1e-4)
    assert sum("held out" in said for said in notes.said) == 2
