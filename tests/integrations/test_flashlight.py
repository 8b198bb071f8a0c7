"""flashlight-text decodes the same with our models as with KenLM's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import plre
from tests.integrations.emissions import emissions

decoder: Any = pytest.importorskip("flashlight.lib.text.decoder")
dictionary: Any = pytest.importorskip("flashlight.lib.text.dictionary")
kenlm: Any = pytest.importorskip("flashlight.lib.text.decoder.kenlm")

from plre.integrations.flashlight import PlreLM  # noqa: E402

TOKENS = ["", "|", *"abcdefghijklmnopqrstuvwxyz0123456789"]
_BLANK, _SPACE = 0, 1


@pytest.fixture(scope="module")
def arpa(text: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("arpa") / "lm.arpa"
    plre.export_arpa(plre.train(text, order=3, method="mkn"), path)
    return path


def decode(lm: Any, words: list[str], lines: list[str]) -> list[tuple[list[int], float]]:
    """The best words, and their score, of each line."""
    trie = decoder.Trie(len(TOKENS), _SPACE)
    start = lm.start(False)
    for number, word in enumerate(words):
        _, score = lm.score(start, number)
        trie.insert([TOKENS.index(letter) for letter in word] + [_SPACE], number, score)
    trie.smear(decoder.SmearingMode.MAX)
    options = decoder.LexiconDecoderOptions(
        beam_size=50, beam_size_token=20, beam_threshold=50, lm_weight=1.5, word_score=0.0, unk_score=-np.inf,
        sil_score=0.0, log_add=False, criterion_type=decoder.CriterionType.CTC,
    )  # fmt: skip
    search = decoder.LexiconDecoder(options, trie, lm, _SPACE, _BLANK, -1, [], False)
    found = []
    for seed, line in enumerate(lines):
        frames = emissions(line.replace(" ", "|") + "|", 1.5, seed, TOKENS).astype(np.float32)
        best = search.decode(frames.ctypes.data, *frames.shape)[0]
        found.append(([word for word in best.words if word >= 0], best.score))
    return found


def test_same_as_with_kenlm(arpa: Path, other_text: list[str]) -> None:
    words = [word for word in plre.load(arpa).vocab if not word.startswith("<")]
    names = dictionary.Dictionary()
    for word in words:
        names.add_entry(word)
    lines = [" ".join(word for word in line.split()[:6] if word in words) for line in other_text]
    lines = [line for line in lines if line][:10]
    ours = decode(PlreLM(arpa, words), words, lines)
    theirs = decode(kenlm.KenLM(str(arpa), names), words, lines)
    for one, other in zip(ours, theirs, strict=True):
        assert one[0] == other[0]
        assert one[1] == pytest.approx(other[1], rel=1e-4)
    assert sum([words[w] for w in found] == line.split() for (found, _), line in zip(ours, lines, strict=True)) > 0


def test_unknown_words_get_their_share(text: list[str]) -> None:
    lm = plre.train(text, order=2, method="mkn")
    known = lm.vocab.word(3)
    scorer = PlreLM(lm, [known, "zzzz"])
    state = scorer.start(False)
    assert scorer.score(state, 0)[1] > scorer.score(state, 1)[1]
    assert scorer.score(state, 1)[1] == pytest.approx(lm.share_unknown().score("zzzz", eos=False))
    after, _ = scorer.score(state, 0)
    assert scorer.finish(after)[1] == pytest.approx(lm.score(known) - lm.score(known, eos=False))
