"""Holding out part of a text."""

from __future__ import annotations

import numpy as np
import pytest

from plre.scratch import Scratch
from plre.text.encode import TextOptions, encode_text
from plre.text.holdout import hold_out
from plre.text.vocabulary import BOS, UNK
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


def test_a_text_too_short() -> None:
    assert hold_out(encode_text(["a b c"] * 5, min_count=1), Scratch()) is None
