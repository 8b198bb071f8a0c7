"""The share of ``<unk>`` that an unknown word gets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import plre
from plre.errors import UsageError

MODELS: list[dict[str, Any]] = [
    {"method": "mkn"},
    {"preset": "best", "class_sweeps": 2},
    {"method": "mkn", "quantise": 8},
]


@pytest.fixture(scope="module", params=MODELS, ids=["mkn", "best", "quantised"])
def lm(request: pytest.FixtureRequest, text: list[str]) -> plre.LanguageModel:
    return plre.train(text, order=3, **request.param)


def test_the_number_of_unknown_words_is_estimated(text: list[str], lm: plre.LanguageModel) -> None:
    counts: dict[str, int] = {}
    for word in " ".join(text).split():
        counts[word] = counts.get(word, 0) + 1
    once, twice = (sum(count == k for count in counts.values()) for k in (1, 2))
    assert lm.unknown_types == once + once * (once - 1) // (2 * (twice + 1))


def test_all_words_but_the_unknown_stay_as_they_are(lm: plre.LanguageModel) -> None:
    shared = lm.share_unknown(1000)
    words = [lm.vocab.word(w) for w in (3, 5, 17)]
    for context in ([], words[:1], words[:2], ["nobody-knows-this"], ["<s>"]):
        before, after = lm.distribution(context), shared.distribution(context)
        np.testing.assert_array_equal(before[1:], after[1:])
        assert after[0] == pytest.approx(before[0] / 1000, rel=1e-6)
        assert shared.prob("nobody-knows-this", context) == pytest.approx(before[0] / 1000, rel=1e-6)
    line = " ".join([*words, "nobody-knows-this", words[0]])
    assert shared.score(line) == pytest.approx(lm.score(line) - 3, abs=1e-6)
    assert shared.score_lines([line])[0] == pytest.approx(lm.score(line) - 3, abs=1e-6)
    state = lm.advance(lm.begin_state(), words[0])[1]
    assert shared.advance(state, "zzzz")[0] == pytest.approx(lm.advance(state, "zzzz")[0] - 3, abs=1e-6)
    assert shared.sample(seed=1).split()


def test_unknown_words_do_not_win(lm: plre.LanguageModel) -> None:
    frequent = lm.vocab.word(3)
    shared = lm.share_unknown()
    assert shared.prob("zzzz") < shared.prob(frequent)
    assert shared.unknown_types == 1
    assert shared.share_unknown().score("zzzz") == shared.score("zzzz")


def test_models_that_do_not_know_are_told() -> None:
    lm = plre.train(["a b <unk> c", "b <unk>"], order=1, method="jm", min_count=1)
    assert lm.unknown_types is None
    with pytest.raises(UsageError, match="does not say how many words <unk> stands for"):
        lm.share_unknown()
    assert lm.share_unknown(10).prob("zzz") == pytest.approx(lm.prob("zzz") / 10, rel=1e-6)
    with pytest.raises(UsageError, match="types must be a whole number"):
        lm.share_unknown(2.5)  # type: ignore[arg-type]


def test_shared_models_are_saved_and_sound(lm: plre.LanguageModel, tmp_path: Path) -> None:
    lm.save(tmp_path / "a.plre")
    shared = plre.load(tmp_path / "a.plre").share_unknown(10)
    assert shared.digest != lm.digest
    shared.save(tmp_path / "b.plre")
    again = plre.load(tmp_path / "b.plre")
    again.verify()
    assert again.score("zzzz") == shared.score("zzzz")
    assert again.share_unknown(5).metadata["unknown_shared"] == 50
    with pytest.raises(UsageError, match="from 1 up"):
        lm.share_unknown(0)
