"""The models of experiments.research: word n-grams are those of the package, everything sums to one, EM is EM."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import plre
from experiments.research import components, corpus, mixture
from experiments.research.components import (
    ClassModel,
    HybridModel,
    Said,
    Setup,
    SoftClasses,
    Trained,
    WordModel,
)
from experiments.research.corpus import CorpusTexts, ExchangeClasses, Feature
from experiments.research.counting import Numbering
from experiments.research.hypotheses import HYPOTHESES, one_sided
from plre.store import Resources, Store
from plre.text.vocabulary import BOS

WORDS = [f"w{i}" for i in range(12)]
TEXTS = CorpusTexts("small")
SMALL = ExchangeClasses(4, 1)
#: Contexts that end in these two words are asked for every word; the third word is seldom seen after them.
ASKED = WORDS[3], WORDS[5]


def sentences(seed: int, number: int) -> list[str]:
    rng = np.random.default_rng(seed)
    odds = 1 / np.arange(1, len(WORDS) + 1)
    out = []
    for _ in range(number):
        words = [WORDS[0]]
        for _ in range(rng.integers(1, 9)):
            turned = np.roll(odds, WORDS.index(words[-1]))
            words.append(WORDS[rng.choice(len(WORDS), p=turned / turned.sum())])
        out.append(" ".join(words))
    return out


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("research")
    # After the same two words: every word of the vocabulary, an unknown one, and the end of the sentence.
    every = [" ".join([*ASKED, word]) for word in [*WORDS, "unknown", ""]]
    lines = {"train": [*sentences(1, 150), "once"], "valid": sentences(2, 40), "test": every}
    found = {}
    for name, text in lines.items():
        found[name] = folder / f"{name}.txt"
        found[name].write_text("".join(f"{line.strip()}\n" for line in text))
    return found


@pytest.fixture
def small(texts: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> Store:
    for module in (corpus, components):
        monkeypatch.setattr(module, "training_text", lambda name: texts["train"])
        monkeypatch.setattr(module, "held_out", lambda name, text: texts[text])
        monkeypatch.setattr(module, "min_count", lambda name: 2)
    return Store(Resources(2))


def third_words(small: Store, setup: Setup) -> np.ndarray:
    """The probabilities of the test text's third words (or ends): those of everything after the same context."""
    corpus = small.get(TEXTS)
    third = np.flatnonzero((corpus.back("test", 3) == BOS) & (corpus.back("test", 2) != BOS))
    if setup.word is None:
        return small.get(Said(TEXTS, setup.components[0]))["test"][third]
    seen, weights = mixture.events(small, "small", setup, "test"), mixture.fit(small, "small", setup)
    return np.array([1 / seen.part([slice(i, i + 1)]).perplexity(weights) for i in third])


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_word_ngrams_are_those_of_the_package(
    order: int, small: Store, texts: dict[str, Path], recwarn: pytest.WarningsRecorder
) -> None:
    lm = plre.train(texts["train"], order=order, method="mkn", min_count=2)
    found = mixture.measure(small, "small", Setup(WordModel(order)))
    for text in ("valid", "test"):
        assert found[text] == pytest.approx(lm.perplexity(texts[text]), rel=1e-5)


MODELS = {
    "classes": ClassModel(SMALL, 4),
    "fitted": ClassModel(SMALL, 3, "fitted"),
    "power": ClassModel(SMALL, 3, "fitted power"),
    "cut": ClassModel(SMALL, 5, "singletons cut from order 3"),
    "one-sided": one_sided(SMALL, 3),
    "skip": ClassModel(SMALL._replace(role="skip"), 3),
    "shares": ClassModel(SMALL, 3, shares=((Feature(1, SMALL),), ())),
    "hybrid": HybridModel(((Feature(1), Feature(2, SMALL)), (Feature(1),), (Feature(1, SMALL),), ())),
    "soft": SoftClasses(1, 3),
}


@pytest.mark.parametrize("name", MODELS)
def test_components_sum_to_one(name: str, small: Store) -> None:
    alone = Setup(None, (MODELS[name],))
    assert third_words(small, alone).sum() == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize(
    "word",
    [
        WordModel(3),
        WordModel(3, "fitted", True),
        WordModel(2, "fitted power"),
        WordModel(3, "fitted, 6 steps", True),
        WordModel(1),
    ],
)
def test_mixtures_sum_to_one(word: WordModel, small: Store) -> None:
    setup = Setup(word, (MODELS["classes"], MODELS["hybrid"]))
    assert third_words(small, setup).sum() == pytest.approx(1, abs=1e-5)


def test_models_of_the_package_give_what_they_say(
    small: Store, texts: dict[str, Path], recwarn: pytest.WarningsRecorder
) -> None:
    lm = plre.train(texts["train"], order=3, method="mkn", min_count=2)
    found = mixture.measure(small, "small", Setup(None, (Trained("mkn"),)))
    assert found["test"] == pytest.approx(lm.perplexity(texts["test"]))


def test_numbering() -> None:
    keys = np.random.default_rng(0).integers(1, 50, 200).astype(np.uint64)
    numbering = Numbering(keys)
    assert numbering.first.tolist() == [keys.tolist().index(key) for key in keys[numbering.first].tolist()]
    assert keys[numbering.first[numbering.found]].tolist() == keys.tolist()
    known = {key: number for number, key in enumerate(keys[numbering.first].tolist())}
    asked = np.arange(1, 80, dtype=np.uint64)
    assert numbering(asked).tolist() == [known.get(key, -1) for key in asked.tolist()]


def test_hypotheses_have_names_of_their_own() -> None:
    assert len({h.name for h in HYPOTHESES}) == len(HYPOTHESES)
    assert all("before" not in h.tried for h in HYPOTHESES)
