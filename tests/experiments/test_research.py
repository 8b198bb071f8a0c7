"""The models of experiments.research: word n-grams are those of the package, everything sums to one, EM is EM."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import plre
from experiments.research import _kernels as kernels
from experiments.research import components, corpus, mixture
from experiments.research.components import ClassModel, HybridModel, Setup, SoftClasses, Trained, WordModel
from experiments.research.corpus import Corpus, ExchangeClasses, Feature
from experiments.research.counting import Numbering
from experiments.research.hypotheses import HYPOTHESES, one_sided
from plre.text.vocabulary import BOS

WORDS = [f"w{i}" for i in range(12)]
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
def small(texts: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Corpus:
    for module in (corpus, components):
        monkeypatch.setattr(module, "training_text", lambda name: texts["train"])
        monkeypatch.setattr(module, "held_out", lambda name, text: texts[text])
        monkeypatch.setattr(module, "min_count", lambda name: 2)
    monkeypatch.setattr(corpus, "WORK", tmp_path)
    return Corpus("small")


def third_words(small: Corpus, setup: Setup) -> np.ndarray:
    """The probabilities of the test text's third words (or ends): those of everything after the same context."""
    seen = mixture.events(small, setup, "test")
    weights = mixture.fit(mixture.events(small, setup, "valid"), setup, mixture._base(small, setup))
    gate = seen.gates(setup.gate, weights.leak)
    third = (small.back("test", 3) == BOS) & (small.back("test", 2) != BOS)
    found = []
    for i in np.flatnonzero(third):
        one = mixture.MixtureEvents(
            seen.kept[i : i + 1], seen.rest[i : i + 1], seen.bucket[i : i + 1], seen.finest[i : i + 1], None,
            seen.others[i : i + 1],
        )  # fmt: skip
        found.append(math.exp(mixture._expect(one, gate[i : i + 1], mixture._base(small, setup), weights)[0]))
    return np.array(found)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_word_ngrams_are_those_of_the_package(
    order: int, small: Corpus, texts: dict[str, Path], recwarn: pytest.WarningsRecorder
) -> None:
    lm = plre.train(texts["train"], order=order, method="mkn", min_count=2)
    found = mixture.measure(small, Setup(WordModel(order)))
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
def test_components_sum_to_one(name: str, small: Corpus) -> None:
    alone = Setup(None, (MODELS[name],))
    assert third_words(small, alone).sum() == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize(
    "setup",
    [
        Setup(WordModel(3, discount, fractional), (MODELS["classes"], MODELS["hybrid"]), gate=gate)  # type: ignore[arg-type]
        for discount, fractional, gate in [
            ("Good-Turing", False, "count"),
            ("fitted", True, "rest"),
            ("fitted power", False, "both"),
            ("fitted, 6 steps", True, "nothing"),
        ]
    ],
)
def test_mixtures_sum_to_one(setup: Setup, small: Corpus) -> None:
    assert third_words(small, setup).sum() == pytest.approx(1, abs=1e-5)


def test_models_of_the_package_give_what_they_say(
    small: Corpus, texts: dict[str, Path], recwarn: pytest.WarningsRecorder
) -> None:
    lm = plre.train(texts["train"], order=3, method="mkn", min_count=2)
    found = mixture.measure(small, Setup(None, (Trained("mkn"),)))
    assert found["test"] == pytest.approx(lm.perplexity(texts["test"]))


def test_numbering() -> None:
    keys = np.random.default_rng(0).integers(1, 50, 200).astype(np.uint64)
    known: dict[int, int] = {}
    numbers = [known.setdefault(key, len(known)) for key in keys.tolist()]
    numbering = Numbering(keys)
    assert numbering.found.tolist() == numbers
    assert keys[numbering.first].tolist() == list(known)
    asked = np.arange(1, 80, dtype=np.uint64)
    assert numbering(asked).tolist() == [known.get(key, -1) for key in asked.tolist()]


def test_expect_is_what_a_path_through_the_levels_says() -> None:
    """Each event ends on one of its paths, listed one by one: at what a level keeps, at the base, or at a component."""
    rng = np.random.default_rng(3)
    events, levels, models, base = 40, 3, 2, 0.01
    kept, rest = rng.random((events, levels)) / 2, rng.random((events, levels)) / 2
    bucket = rng.integers(-1, 2, (events, levels))
    kept[bucket < 0], rest[bucket < 0] = 0, 1
    gate, others = rng.integers(0, 3, events), rng.random((events, models)) / 5
    leak, tau = rng.random((levels, 2)), rng.random(3)
    shares = rng.dirichlet(np.ones(models), 3)
    wanted = [np.zeros((levels, 2)), np.zeros((levels, 2)), np.zeros(3), np.zeros(3), np.zeros((3, models))]
    total = 0.0
    for i in range(events):
        g = gate[i]
        paths = [(tau[g] * shares[g, k] * others[i, k], [(2, g), (4, (g, k))]) for k in range(models)]
        weight, passed = 1 - tau[g], []
        for n in range(levels):
            b = bucket[i, n]
            if b < 0:
                continue
            paths.append((weight * kept[i, n], list(passed)))
            given = weight * rest[i, n] * leak[n, b]
            paths += [(given * shares[g, k] * others[i, k], [*passed, (0, (n, b)), (4, (g, k))]) for k in range(models)]
            weight *= rest[i, n] * (1 - leak[n, b])
            passed.append((1, (n, b)))
        paths.append((weight * base, passed))
        p = sum(path[0] for path in paths)
        total += math.log(p)
        wanted[3][g] += 1
        for part, choices in paths:
            for table, place in choices:
                wanted[table][place] += part / p
    found = [np.zeros_like(table) for table in wanted]
    assert kernels.expect(kept, rest, bucket, gate, others, base, leak, tau, shares, *found) == pytest.approx(total)
    for a, b in zip(found, wanted, strict=True):
        assert np.allclose(a, b)


def test_hypotheses_have_names_of_their_own() -> None:
    assert len({h.name for h in HYPOTHESES}) == len(HYPOTHESES)
    assert all("before" not in h.tried for h in HYPOTHESES)
