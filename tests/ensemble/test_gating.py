"""A model of words that leads others: weights by context, fitted to held-out text."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import plre
from plre.ensemble import gating
from plre.ensemble.gating import HeldOut, Weights, fit_weights
from plre.ensemble.ingredients import FittedWeights, WordsSay
from plre.ensemble.recipe import PRESETS, Members, Recipe, Rung, make_recipe, parse_rank
from plre.lowrank.blocks import Rank
from plre.model._plan import GATE_BUCKETS
from plre.model.scoring import score_ids
from plre.text.encode import TextOptions, encode_text
from plre.text.vocabulary import BOS
from tests.component_models import alone, in_symbols, planned, trained
from tests.conftest import zipf_text

pytestmark = pytest.mark.filterwarnings("ignore::plre.errors.PlreWarning")


RUNGS = {2: (Rung(0.6, Rank(fixed=8)), Rung(0.3, Rank(fixed=3))), 4: (Rung(0.5, Rank(fixed=2)),)}


def bucket(rest: float) -> int:
    """Half octaves: by the exponent of a float and the first bit after it."""
    bits = int(np.float32(rest).view(np.int32))
    return min(max((0x3F800000 - bits) >> 22, 0), GATE_BUCKETS - 1)


def by_hand(lm: plre.LanguageModel, context: list[str]) -> NDArray[np.float64]:
    """P(w | context) from the components, as ``model/gates.py`` has it."""
    leader, *members = lm.components
    context = [lm.vocab.word(lm.vocab[w]) for w in context]
    assert leader.gates is not None
    words = alone(leader, lm.vocab)
    own = words.distribution(context)
    rest = 1 - own.sum()
    length = 0
    for n in range(min(len(context), words.order - 1), 0, -1):
        grams = dict(words.ngrams(n + 1))
        if any(gram[:-1] == tuple(context[-n:]) for gram in grams):
            length = n
            break
    keep, *shares = leader.gates.table[length * GATE_BUCKETS + (bucket(rest) if length else 0)]
    total = keep * own
    for share, member in zip(shares, members, strict=True):
        if member.symbols is not None:
            assert member.shares is not None
            symbols = member.symbols[:-1]
            of_symbols = in_symbols(member).distribution([int(symbols[lm.vocab[w]]) for w in context])
            probs = of_symbols[symbols] * member.shares[:-1]
        else:
            probs = alone(member, lm.vocab).distribution(context)
        total = total + (1 - keep * (1 - rest)) * share * probs
    return total


@pytest.mark.parametrize("preset", ["fast", "best"])
def test_a_model_is_its_components(preset: str, text: list[str], other_text: list[str]) -> None:
    lm = plre.train(text, order=3, preset=preset, dev=other_text)
    for context in (["<s>", "w1"], ["w1", "w2"], ["w2"], ["w300", "w77"], []):
        np.testing.assert_allclose(lm.distribution(context), by_hand(lm, context), rtol=2e-4, atol=1e-9)


def events(text: list[str], other: list[str], order: int = 3) -> tuple[HeldOut, Recipe]:
    encoded = encode_text(text)
    dev = encode_text(other, vocab=encoded.vocab)
    recipe = Recipe(order, discount="mkn", members=Members((8, 20)))
    store, plan = planned(encoded, recipe, dev)
    store.get(plan.weights)
    assert isinstance(plan.weights, FittedWeights)
    said = np.stack([store.known(each) for each in plan.weights.members], axis=1).astype(np.float32)
    return replace(store.known(plan.weights.words), others=said), recipe


def test_expectations_are_those_of_a_readable_twin(text: list[str], other_text: list[str]) -> None:
    held, _ = events(text, other_text)
    weights = Weights.unknown(3, 2)
    likelihood, leaked, gated = gating._expect(held, weights, 1)
    total = 0.0
    came = np.zeros(len(weights.table))
    for i in range(len(held)):
        p, rest, top = float(held.unigram[i]), 0.0, 0
        for n in range(3):
            if held.bucket[i, n] >= 0:
                leak = weights.leaks[n, held.bucket[i, n]]
                p = held.kept[i, n] + held.passed[i, n] * (1 - leak) * p
                rest = held.passed[i, n] * (leak + (1 - leak) * rest)
                top = n
        row = top * GATE_BUCKETS + (bucket(rest) if top else 0)
        keep, *shares = weights.table[row]
        total += np.log(keep * p + (1 - keep * (1 - rest)) * (shares @ held.others[i]))
        came[row] += 1
    assert likelihood == pytest.approx(total, rel=1e-6)
    np.testing.assert_array_equal(gated[:, 0], came)
    # What is expected of an event adds up to one event: leaked, from the others at once, or kept.
    assert np.all(leaked[..., 0] <= leaked[..., 1] + 1e-9)
    assert gated[:, 2:].sum() == pytest.approx(gated[:, 1].sum() + leaked[..., 0].sum())


def test_expected_leaks_are_the_slope_of_the_likelihood(text: list[str], other_text: list[str]) -> None:
    held, _ = events(text, other_text)
    weights = Weights.unknown(3, 2)
    # All rows alike, so that the bucket of a context does not matter.
    _, leaked, _ = gating._expect(held, weights, 1)
    for n in range(3):
        b = int(np.argmax(leaked[n, :, 1]))
        step = 1e-4
        around = []
        for sign in (1, -1):
            leaks = weights.leaks.copy()
            leaks[n, b] += sign * step
            around.append(gating._expect(held, Weights(leaks, weights.table), 1)[0])
        leak = weights.leaks[n, b]
        slope = leaked[n, b, 0] / leak - (leaked[n, b, 1] - leaked[n, b, 0]) / (1 - leak)
        assert (around[0] - around[1]) / (2 * step) == pytest.approx(slope, rel=1e-3, abs=1e-3)


def test_fitting_finds_better_weights_and_the_model_has_that_perplexity(text: list[str], other_text: list[str]) -> None:
    held, _ = events(text, other_text)
    start = gating._expect(held, Weights.unknown(3, 2), 1)[0]
    weights, perplexity = fit_weights(held)
    assert perplexity < np.exp(-start / len(held))
    again, same = fit_weights(held, threads=2)
    assert same == perplexity
    np.testing.assert_array_equal(weights.table, again.table)
    lm = plre.train(text, order=3, discounts=["mkn"], classes=[8, 20], dev=other_text)
    assert lm.metadata["dev_perplexity"] == pytest.approx(perplexity, rel=1e-9)
    assert lm.perplexity(other_text) == pytest.approx(perplexity, rel=1e-3)


@pytest.mark.parametrize("method", [{"method": "mkn"}, {"method": "abs"}, {"preset": "paper"}, {"rungs": RUNGS}])
@pytest.mark.parametrize("markers", [True, False])
def test_what_words_say_is_what_their_model_says(
    method: dict[str, Any], markers: bool, text: list[str], other_text: list[str]
) -> None:
    options = TextOptions(markers)
    encoded = encode_text(text, options=options)
    dev = encode_text(other_text, vocab=encoded.vocab, options=options)
    recipe = make_recipe(4, method.get("method", "plre"), method.get("preset"), method.get("rungs"), 0)
    store, plan = planned(encoded, recipe, dev)
    assert plan.fitted_to
    said: HeldOut = store.get(WordsSay(plan.parts, plan.fitted_to))
    lm = trained(encoded, recipe)
    ids = np.asarray(dev.ids[:])
    predicted = np.flatnonzero(ids != BOS)
    probs = said.unigram.astype(np.float64)
    for n in range(1, 4):
        probs = np.where(said.bucket[:, n] >= 0, said.kept[:, n] + said.passed[:, n] * probs, probs)
        for event, at in list(enumerate(predicted))[:: len(predicted) // 200 + 1]:
            begin = np.flatnonzero(ids[: at + 1] == BOS)[-1:].tolist()
            context = ids[max([at - n, 0, *begin]) : at].tolist()
            assert probs[event] == pytest.approx(lm.distribution(context)[ids[at]], rel=2e-5)
    np.testing.assert_allclose(probs, score_ids(lm, ids).probs[predicted], rtol=2e-5)
    assert said.perplexity() == pytest.approx(lm.perplexity(other_text), rel=1e-6)


def test_without_dev_part_of_the_text_is_held_out() -> None:
    notes: list[str] = []

    class Notes(plre.Progress):
        def note(self, message: str) -> None:
            notes.append(message)

    lm = plre.train(zipf_text(2000), order=2, preset="fast", progress=Notes())
    assert any("held out; training on the whole text" in note for note in notes)
    assert lm.metadata["tokens"] == plre.train(zipf_text(2000), order=2, method="mkn").metadata["tokens"]
    plre.train(["a b", "b a"] * 3, preset="fast", progress=Notes())
    assert "too short to hold out" in notes[-1]


def test_options_replace_what_a_preset_has() -> None:
    best = make_recipe(3, "plre", None, None, 0)
    assert best.preset == "best"
    assert best.leads
    assert set(best.rungs) <= {2, 3}
    other = make_recipe(3, "plre", "best", {}, 0, classes=[7], class_order=4, class_least=1, starts=3)
    assert other.rungs == {}
    assert other.members == Members((7,), order=4, least=1)
    assert other.starts == 3
    assert not make_recipe(3, "plre", None, {}, 0).leads
    kinds = make_recipe(4, "plre", None, None, 0, discounts=["mkn", "kn"]).smoothing.discounts
    assert kinds == ("mkn", "kn", "kn", "kn")
    assert {n: str(rank) for n, rank in enumerate((parse_rank("sqrt/16"), parse_rank("7")))} == {0: "sqrt/16", 1: "7"}
    assert set(PRESETS) == {"paper", "best", "fast"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"classes": [0]}, "from 1 up"),
        ({"classes": 2.5}, "list of whole numbers"),
        ({"classes": [5], "contexts": ["2:1"]}, "which clustering"),
        ({"classes": [5], "contexts": ["x"]}, "is written like"),
        ({"starts": 0}, "1 to 64"),
        ({"preset": "best", "uniform": False}, "uniform=False"),
        ({"method": "mkn", "starts": 2}, "no presets or rungs"),
    ],
)
def test_bad_options(text: list[str], options: dict, message: str) -> None:
    with pytest.raises(plre.UsageError, match=message):
        plre.train(text, **options)
