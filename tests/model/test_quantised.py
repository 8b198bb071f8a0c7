"""Probabilities of one or two bytes: close to the model they come from, in a smaller file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import plre
from plre.errors import UsageError
from plre.model.codes import Code

OPTIONS = {"order": 4, "rungs": ["2:0.5:6", "3:0.5:2"]}


@pytest.fixture(scope="module")
def exact(text: list[str]) -> plre.LanguageModel:
    return plre.train(text, **OPTIONS)  # type: ignore[arg-type]


@given(st.lists(st.floats(2.0**-30, 1.0, width=32), min_size=1), st.sampled_from([8, 16]))
def test_codes_are_close(numbers: list[float], bits: int) -> None:
    values = np.array(numbers, np.float32)
    code = Code.between(float(values.min()), float(values.max()), bits)
    again = code.decode(code.encode(values, bits))
    step = max(np.log2(values.max() / values.min()), 2.0**-10) / (2**bits - 2)
    np.testing.assert_allclose(again, values, rtol=float(1.1 * step))


def test_codes_of_nothing() -> None:
    code = Code.between(1e-3, 1.0, 8)
    np.testing.assert_array_equal(code.decode(code.encode(np.array([0, 1e-9], np.float32), 8)), [0, 0])


@pytest.mark.parametrize(("bits", "cost", "sums"), [(8, 0.01, 0.05), (16, 1e-4, 5e-4)])
def test_what_is_lost(
    tmp_path: Path,
    text: list[str],
    other_text: list[str],
    exact: plre.LanguageModel,
    bits: int,
    cost: float,
    sums: float,
) -> None:
    said: list[str] = []

    class Notes(plre.Progress):
        def note(self, message: str) -> None:
            said.append(message)

    lm = plre.train(text, quantise=bits, dev=None, progress=Notes(), **OPTIONS)  # type: ignore[arg-type]
    assert f"{bits} bits a number" in said[0]
    assert "words of the training text" in said[0]
    lm.save(tmp_path / "m.plre")
    lm = plre.load(tmp_path / "m.plre")
    lm.verify()
    assert lm.nbytes < exact.nbytes * (0.5 if bits == 8 else 0.75)
    assert lm.perplexity(other_text) == pytest.approx(exact.perplexity(other_text), rel=cost)
    for line in other_text[:20]:
        pairs = zip(lm.full_scores(line), exact.full_scores(line), strict=True)
        assert all(a[1:] == b[1:] and a[0] == pytest.approx(b[0], abs=0.1) for a, b in pairs)
        state, total = lm.begin_state(), 0.0
        for word in [*line.split(), "</s>"]:
            logprob, state = lm.advance(state, word)
            total += logprob
        assert total == pytest.approx(lm.score(line))
    for context in ("", "<s>", "w1", "w1 w2", "w9 w4 w1"):
        assert lm.distribution(context).sum() == pytest.approx(1, abs=sums)
    assert {word for word, _ in lm.neighbours("w2", 5)} & {word for word, _ in exact.neighbours("w2", 10)}
    assert {gram for gram, _ in lm.ngrams(3)} == {gram for gram, _ in exact.ngrams(3)}


def test_only_some_sizes(text: list[str]) -> None:
    with pytest.raises(UsageError, match="8 or 16 bits"):
        plre.train(text, quantise=4)
