"""pyctcdecode decodes the same with our models as with KenLM's, and unknown words do not win."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import plre
from tests.integrations.emissions import LABELS, emissions

pyctcdecode: Any = pytest.importorskip("pyctcdecode")
kenlm: Any = pytest.importorskip("kenlm")

from plre.integrations.pyctcdecode import PlreLanguageModel, build_decoder, save_processor  # noqa: E402


@pytest.fixture(scope="module")
def model(text: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "m.plre"
    plre.train(text, order=3, preset="best", class_sweeps=2).save(path)
    return path


@pytest.fixture(scope="module")
def arpa(text: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("arpa") / "lm.arpa"
    plre.export_arpa(plre.train(text, order=3, method="mkn"), path)
    return path


def heard(lines: list[str], noise: float) -> list[Any]:
    return [emissions(line, noise, seed) for seed, line in enumerate(lines)]


@pytest.mark.parametrize("boundary", [True, False])
def test_same_as_with_kenlm(arpa: Path, other_text: list[str], boundary: bool) -> None:
    words = [word for word in plre.load(arpa).vocab if not word.startswith("<")]
    options = {"alpha": 0.7, "beta": 0.5, "unk_score_offset": -10.0, "score_boundary": boundary}
    alphabet = pyctcdecode.alphabet.Alphabet.build_alphabet(LABELS)
    theirs = pyctcdecode.BeamSearchDecoderCTC(
        alphabet, pyctcdecode.language_model.LanguageModel(kenlm.Model(str(arpa)), words, **options)
    )
    ours = build_decoder(LABELS, arpa, **options)
    lines = [" ".join(line.split()[:6]) for line in other_text if line][:12]
    differing = 0
    for logits, line in zip(heard(lines, 2.0), lines, strict=True):
        for one, other in zip(
            ours.decode_beams(logits, beam_width=20), theirs.decode_beams(logits, beam_width=20), strict=True
        ):
            assert one[0] == other[0]
            assert one[-1] == pytest.approx(other[-1], rel=1e-4)
        differing += ours.decode(logits, beam_width=20) != line
    assert differing < len(lines)


def test_a_word_has_its_share_of_the_unknown(model: Path) -> None:
    lm = plre.load(model)
    scorer = PlreLanguageModel(lm)
    assert lm.unknown_types is not None
    assert scorer.unk_score_offset == pytest.approx(-math.log10(lm.unknown_types))
    known = lm.vocab.word(3)
    start = scorer.get_start_state()
    assert scorer.score(start, known)[0] > scorer.score(start, "zzzz")[0]
    assert PlreLanguageModel(lm, unknown_types=10).unk_score_offset == -1
    assert scorer.score_partial_token(known[:1]) == 0
    assert scorer.score_partial_token("zzzzzzzzzzzz") == pytest.approx(2 * scorer.unk_score_offset)
    assert scorer.order == lm.reach
    scorer.reset_params(alpha=0.25, unk_score_offset=-3.0)
    assert (scorer.alpha, scorer.unk_score_offset) == (0.25, -3.0)
    with pytest.raises(ValueError, match="alpha must be a float"):
        scorer.reset_params(alpha="much")


def test_a_folder_is_read_back_by_both(model: Path, tmp_path: Path, other_text: list[str]) -> None:
    scorer = PlreLanguageModel(model, alpha=0.6)
    scorer.save_to_dir(str(tmp_path / "lm"))
    again = PlreLanguageModel.load_from_dir(str(tmp_path / "lm"))
    state = scorer.get_start_state()
    for word in [*other_text[0].split(), "zzzz"]:
        one, after = scorer.score(state, word)
        assert again.score(state, word)[0] == pytest.approx(one)
        state = after
    processor = tmp_path / "processor"
    processor.mkdir()
    save_processor(processor, LABELS, model, alpha=0.6)
    line = " ".join(other_text[0].split()[:5])
    wanted = build_decoder(LABELS, model, alpha=0.6).decode(emissions(line, 1.5, 3))
    before, module = sys.modules["kenlm"], sys.modules["pyctcdecode.language_model"]
    try:
        import plre.kenlm

        plre.kenlm.install()
        module.kenlm = plre.kenlm  # type: ignore[attr-defined]  # it was imported before
        loaded = pyctcdecode.BeamSearchDecoderCTC.load_from_dir(str(processor))
        assert loaded.decode(emissions(line, 1.5, 3)) == wanted
    finally:
        sys.modules["kenlm"] = before
        module.kenlm = before  # type: ignore[attr-defined]


def test_states_go_to_other_processes(model: Path) -> None:
    import pickle

    scorer = PlreLanguageModel(model)
    state = scorer.score(scorer.get_start_state(), "w1")[1]
    assert pickle.loads(pickle.dumps(state.get_mp_safe_state())) == state
    assert len({state, scorer.score(scorer.get_start_state(), "w1")[1]}) == 1
    assert np.isfinite(scorer.score(state, "w2", is_last_word=True)[0])
