"""The surface of KenLM's module: the same calls to the real one give the same answers."""

from __future__ import annotations

import copy
import gzip
import math
import os
import pickle
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import plre
from plre import kenlm as ours
from tests.interop.arpa_files import Made, make_arpa

real: Any = pytest.importorskip("kenlm")

#: Options of files; KenLM itself reads none of order 1.
FILES: dict[str, dict[str, Any]] = {
    "order 2": {"order": 2},
    "order 3": {"order": 3},
    "order 3 without <unk>": {"order": 3, "unknown": False, "start": -99.0},
    "order 4 without suffixes": {"order": 4, "closed": False},
    "order 5": {"order": 5, "words": 20},
    "order 5 without suffixes, without <unk>": {"order": 5, "closed": False, "unknown": False, "words": 30},
}
ANSWERS = 10_000


class Pair:
    """A model of ours and KenLM's, of the same file; counts what was compared."""

    def __init__(self, made: Made, path: Path) -> None:
        self.made = made
        self.path = path
        self.ours: Any = ours.Model(str(path))
        self.real: Any = real.Model(str(path))
        self.compared = 0

    def same(self, one: Any, other: Any, *about: Any) -> None:
        """Whether two answers are the same; numbers to single precision."""
        self.compared += 1
        if isinstance(one, float):
            assert one == pytest.approx(other, rel=1e-6, abs=2e-6), about
        else:
            assert one == other, about


@pytest.fixture(scope="module", params=FILES)
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Pair:
    made = make_arpa(7, **FILES[request.param])
    path = tmp_path_factory.mktemp("arpa") / "lm.arpa"
    path.write_text(made.text, encoding="utf-8")
    return Pair(made, path)


def sentences(made: Made, count: int, seed: int) -> Iterator[str]:
    """Sentences of the file's words, with others among them, and all kinds of white space."""
    rng = np.random.default_rng(seed)
    grams = [gram for grams in made.orders[1:] for gram in grams]
    spaces = [" "] * 20 + ["  ", "\t", "\n", "\v", "\f", "\r", " \u00a0 ", "\u2003"]
    for _ in range(count):
        words: list[str] = []
        for _ in range(rng.integers(0, 6)):
            if rng.random() < 0.6:
                words += [word for word in grams[rng.integers(len(grams))] if word != "<s>"]
            else:
                others = [*made.words, "unknown", "", "<unk>", "<s>", "</s>", "\u00a0", "ü" * 50]
                words.append(others[rng.integers(len(others))])
        yield "".join(word + spaces[rng.integers(len(spaces))] for word in words)


def test_scores_of_sentences(pair: Pair) -> None:
    for sentence in sentences(pair.made, 800, 1):
        for bos in (True, False):
            for eos in (True, False):
                one, other = (model.score(sentence, bos=bos, eos=eos) for model in (pair.ours, pair.real))
                pair.same(one, other, sentence, bos, eos)
                full = [list(model.full_scores(sentence, bos, eos)) for model in (pair.ours, pair.real)]
                pair.same(len(full[0]), len(full[1]), sentence)
                for mine, theirs in zip(*full, strict=True):
                    pair.same(mine[0], theirs[0], sentence, bos, eos)
                    pair.same(mine[1:], theirs[1:], sentence, bos, eos)
        assert pair.ours.perplexity(sentence) == pytest.approx(pair.real.perplexity(sentence), rel=1e-5)
        pair.same(pair.ours.score(sentence.encode()), pair.real.score(sentence.encode()), sentence)
    assert pair.compared > ANSWERS


def test_a_whole_sentence_ends_at_a_nul(pair: Pair) -> None:
    for sentence in ("w1 w2\0 w3", "\0", "w1\0w2"):
        pair.same(pair.ours.score(sentence), pair.real.score(sentence), sentence)


def test_states(pair: Pair) -> None:
    """Step by step: probabilities, and which states are the same."""
    rng = np.random.default_rng(2)
    words = [*pair.made.words, "unknown", "</s>", "<s>", "<unk>", "w1 w2", ""]
    mine, theirs = ours.State(), real.State()
    pair.ours.BeginSentenceWrite(mine)
    pair.real.BeginSentenceWrite(theirs)
    kept = [(copy.copy(mine), copy.copy(theirs))]
    grams = [gram for grams in pair.made.orders[1:] for gram in grams]
    waiting: list[str] = []
    for step in range(4000):
        if not waiting:
            waiting = list(grams[rng.integers(len(grams))]) if rng.random() < 0.7 else []
            waiting.append(words[rng.integers(len(words))])
        word = waiting.pop(0)
        out = ours.State(), real.State()
        if step % 2:
            pair.same(pair.ours.BaseScore(mine, word, out[0]), pair.real.BaseScore(theirs, word, out[1]), word)
        else:
            full = pair.ours.BaseFullScore(mine, word, out[0]), pair.real.BaseFullScore(theirs, word, out[1])
            pair.same(full[0].log_prob, full[1].log_prob, word)
            pair.same((full[0].ngram_length, full[0].oov), (full[1].ngram_length, full[1].oov), word)
        mine, theirs = out
        for other in [kept[i] for i in rng.integers(len(kept), size=4)]:
            pair.same(mine == other[0], theirs == other[1], word)
            pair.same(mine != other[0], theirs != other[1], word)
            if mine == other[0]:
                assert hash(mine) == hash(other[0])
                assert not mine < other[0]
            else:
                assert (mine < other[0]) != (mine > other[0])
        if step % 3 == 0:
            kept.append((copy.copy(mine), copy.copy(theirs)))
        if step % 97 == 0:
            pair.ours.NullContextWrite(mine)
            pair.real.NullContextWrite(theirs)


def test_words_and_names(pair: Pair) -> None:
    for word in [*pair.made.words, "unknown", "<unk>", "<UNK>", "<s>", "</s>", "", "w1 w2", b"w1"]:
        pair.same(word in pair.ours, word in pair.real, word)
    for name in ("order", "path"):
        pair.same(getattr(pair.ours, name), getattr(pair.real, name))
    pair.same(repr(pair.ours), repr(pair.real))
    full = pair.ours.BaseFullScore(ours.State(), "w1", ours.State())
    assert repr(full).startswith("FullScoreReturn(-")
    for model in (pair.ours, pair.real):
        with pytest.raises(TypeError):
            3 in model  # noqa: B015
        with pytest.raises(TypeError):
            model.score(3)


def test_the_same_names_are_there() -> None:
    def public(module: ModuleType) -> set[str]:
        return {name for name in dir(module) if isinstance(getattr(module, name), type)}

    assert public(real) <= public(ours)
    for name in public(real):
        theirs = {each for each in dir(getattr(real, name)) if not each.startswith("_")}
        made = (
            ours.Config()
            if name == "Config"
            else ours.FullScoreReturn(0, 1, True)
            if "Full" in name
            else getattr(ours, name)
        )
        assert theirs <= set(dir(made)) | {"order", "path"}, name
    for kind in ("LoadMethod", "ARPALoadComplain"):
        for name in [each for each in dir(getattr(real, kind)) if each.isupper()]:
            assert getattr(getattr(ours, kind), name) == getattr(getattr(real, kind), name)
    config = real.Config()
    for name in ("load_method", "show_progress", "arpa_complain"):
        assert getattr(ours.Config(), name) == getattr(config, name)


def test_copies_and_pickles(pair: Pair) -> None:
    state = ours.State()
    pair.ours.BaseScore(state, "w1", state)
    for made in (copy.copy(state), copy.deepcopy(state), pickle.loads(pickle.dumps(state))):
        assert made == state
        assert made is not state
    again = pickle.loads(pickle.dumps(pair.ours))
    assert again.score("w1 w2") == pair.ours.score("w1 w2")
    assert isinstance(ours.LanguageModel(str(pair.path)), ours.Model)


def test_what_cannot_be_read(tmp_path: Path) -> None:
    bad = tmp_path / "bad.arpa"
    bad.write_text("\\data\\\nngram 1=1\n\n\\1-grams:\nnothing\n\\end\\\n")
    for module in (ours, real):
        with pytest.raises(OSError, match="Cannot read model"):
            module.Model(str(tmp_path / "none.arpa"))
        with pytest.raises(OSError, match="Cannot read model"):
            module.Model(str(bad))


def test_compressed_files_and_files_of_plre(pair: Pair, tmp_path: Path) -> None:
    packed, model = tmp_path / "lm.arpa.gz", tmp_path / "lm.plre"
    packed.write_bytes(gzip.compress(pair.path.read_bytes()))
    plre.import_arpa(packed).save(model)
    plre.load(model).verify()
    for path in (packed, model):
        other = ours.Model(os.fspath(path))
        for sentence in sentences(pair.made, 50, 3):
            assert other.score(sentence) == pair.ours.score(sentence)


def test_models_of_plre_have_the_surface(tmp_path: Path, text: list[str]) -> None:
    path = tmp_path / "m.plre"
    lm = plre.train(text, method="mkn", min_count=1)
    lm.save(path)
    model = ours.Model(str(path))
    assert model.score(text[0]) == pytest.approx(lm.score(text[0]))
    state, out = ours.State(), ours.State()
    model.NullContextWrite(state)
    assert model.BaseScore(state, "<s>", out) == 0.0
    begin = ours.State()
    model.BeginSentenceWrite(begin)
    assert out == begin
    assert math.isclose(model.BaseScore(out, "w1", state), math.log10(lm.prob("w1", ["<s>"])))


def test_it_can_stand_for_kenlm() -> None:
    before = sys.modules["kenlm"]
    try:
        ours.install()
        import kenlm

        assert kenlm is ours
    finally:
        sys.modules["kenlm"] = before
