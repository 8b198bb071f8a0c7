"""The fast ladder against the paper's recursion, and every special case against the simpler method."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import plre
from plre.ensemble.ladder import split
from plre.ensemble.recipe import Recipe, Rung, make_recipe, parse_rungs
from plre.errors import UsageError
from plre.lowrank.blocks import Rank
from plre.smoothing.discounts import Steps
from plre.smoothing.jelinek_mercer import Shares
from plre.text.encode import TextOptions, encode_text
from tests.component_models import trained
from tests.reference import Ladder, Reference

sentences = st.lists(st.lists(st.sampled_from("abcd"), max_size=6), min_size=2, max_size=8).filter(any)
ONE = Rank(fixed=1)


def build(
    text: list[list[str]], recipe: Recipe, discounts: list | None = None, markers: bool = True
) -> plre.LanguageModel:
    encoded = encode_text([" ".join(s) for s in text], min_count=1, options=TextOptions(markers=markers))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", plre.PlreWarning)
        return trained(encoded, recipe, discounts)


def contexts(vocabulary: list[str], order: int, markers: bool = True) -> list[tuple[str, ...]]:
    """Every context up to the order, seen or not, and those at the start of a sentence."""
    plain = [c for n in range(order) for c in itertools.product(vocabulary, repeat=n)]
    return plain + ([("<s>", *c) for c in plain if len(c) < order - 1] if markers else [])


def assert_equal(lm: plre.LanguageModel, reference: Reference, order: int, markers: bool = True) -> None:
    words = [w for w in reference.vocabulary if w in lm.vocab]
    chosen = contexts([w for w in words if w not in ("</s>", "<unk>")], order, markers)
    for h in chosen[:: max(1, len(chosen) // 40)]:
        expected = [reference.prob(w, h) for w in words]
        np.testing.assert_allclose(lm.distribution(h)[[lm.vocab[w] for w in words]], expected, rtol=2e-5, atol=1e-9)


@settings(max_examples=25)
@given(sentences, st.integers(1, 4), st.booleans(), st.booleans())
def test_kneser_ney_and_absolute_discounting(
    text: list[list[str]], order: int, continuation: bool, markers: bool
) -> None:
    """No rungs: Kneser-Ney with continuation counts below, absolute discounting with raw counts."""
    d = [0.6, 0.7, 0.75, 0.8][:order]
    lm = build(text, Recipe(order, continuation=continuation), [Steps(x, x, x) for x in d], markers)
    stream = text if markers else [[w for s in text for w in s]]
    reference = Reference(stream, order, d, continuation=continuation, markers=markers)
    if not markers:
        reference.vocabulary = [w for w in reference.vocabulary if w != "</s>"]
    assert_equal(lm, reference, order, markers)


@settings(max_examples=25)
@given(sentences, st.integers(2, 4), st.integers(1, 3))
def test_ladder_equals_the_papers_recursion(text: list[list[str]], order: int, eta: int) -> None:
    """Rank 1 at equally spaced powers: the telescoped form and the gammas agree at all orders."""
    powers = [1 - j / (eta + 1) for j in range(1, eta + 1)]
    d = [0.6, 0.7, 0.75, 0.8][:order]
    rungs = {n: tuple(Rung(p, ONE) for p in powers) for n in range(2, order + 1)}
    lm = build(text, Recipe(order, rungs=rungs), [Steps(x, x, x) for x in d])
    reference = Reference(text, order, d, dict.fromkeys(range(2, order + 1), powers))
    assert_equal(lm, reference, order)


@settings(max_examples=25)
@given(
    sentences, st.integers(1, 4), st.lists(st.sampled_from([0.9, 0.75, 0.6, 0.5, 0.3, 0.1]), unique=True, max_size=3)
)
def test_modified_discounts_and_any_powers(text: list[list[str]], order: int, powers: list[float]) -> None:
    powers = sorted(powers, reverse=True)
    steps = Steps(0.6, 1.1, 1.4)
    rungs = {n: tuple(Rung(p, ONE) for p in powers) for n in range(2, order + 1)}
    lm = build(text, Recipe(order, discount="mkn", rungs=rungs), [steps] * order)
    discount = {1: 0.6, 2: 1.1}
    reference = Ladder(text, order, lambda c: discount.get(c, 1.4), dict.fromkeys(range(2, order + 1), powers))
    assert_equal(lm, reference, order)


def test_jelinek_mercer_is_a_discount_in_proportion() -> None:
    """f_1 = lambda c: the count is shared between this order and the lower one in fixed proportion."""
    text = [list("abcab"), list("abd"), list("bcaab")]
    lm = build(text, Recipe(2), [Steps(0.5, 0.5, 0.5), Shares((0.3,) * 32)])
    reference = Reference(text, 2, [0.5, 0.0])
    for h, w in itertools.product(["a", "b", "c", "<s>"], ["a", "b", "c", "d", "</s>", "<unk>"]):
        after = reference.after((h,))
        expected = 0.7 * after.get(w, 0) / sum(after.values()) + 0.3 * reference.prob(w)
        assert lm.prob(w, [h]) == pytest.approx(expected, rel=1e-6)


def test_a_rung_of_rank_one_near_power_zero_is_the_lower_order() -> None:
    """In the limit of power 0, a rank 1 layer and the lower order are the same, so the rung changes nothing (Lemma 2).

    The layer c^rho D^(1-rho) - D vanishes with rho, and what it takes it takes from the lower order's share.
    """
    text = [list("abcab"), list("abd"), list("bcaab")]
    d = [Steps(0.5, 0.5, 0.5), Steps(0.75, 0.75, 0.75)]
    plain = build(text, Recipe(2), d)
    rung = build(text, Recipe(2, rungs={2: (Rung(1e-6, ONE),)}), d)
    for h in "abcd":
        np.testing.assert_allclose(rung.distribution([h]), plain.distribution([h]), atol=1e-5)


def test_layers_that_vanish_do_no_harm() -> None:
    """Powers so close that a layer rounds to nothing give zeros, not NaN."""
    text = [list("abcab"), list("abd"), list("bcaab")]
    for powers in ([0.999999999999, 1e-300], [np.nextafter(0.5, 1), 0.5]):
        rungs = {n: tuple(Rung(float(p), Rank(fixed=r)) for p in powers) for n, r in ((2, 2), (3, 1))}
        lm = build(text, Recipe(3, rungs=rungs))
        for context in ("", "a", "a b", "<s>"):
            assert lm.distribution(context).sum() == pytest.approx(1, abs=1e-6)


def test_rank_one_at_power_zero_is_the_lower_order() -> None:
    """A rank 1 layer whose values are constant adds what Kneser-Ney's lower order would (Lemma 2), by the reference."""
    text = [list("abcab"), list("abd"), list("bcaab")]
    d = 0.75
    counts = Reference(text, 2, [0.5, d])
    seen = set(counts.counts[2])
    distinct = {w: len({g for g in seen if g[1] == w}) for w in "abcd"}
    kn = Reference(text, 2, [0.5, d], uniform=False)
    for h in ("a", "b", "c"):
        after = counts.after((h,))
        for w in "abcd":
            # Rank 1 of the matrix that is d wherever a bigram was seen.
            layer = d * distinct[w] * len(after) / len(seen)
            kept = max(after.get(w, 0) - d, 0)
            assert (kept + layer) / sum(after.values()) == pytest.approx(kn.prob(w, (h,)))


def test_full_rank_without_remainder_is_maximum_likelihood() -> None:
    """With every layer at full rank, n-grams get their relative frequency but for what the lower order mixes in."""
    text = [list("abcab"), list("abd"), list("bcaab"), list("dcba")]
    tiny = 1e-6
    recipe = Recipe(2, rungs={2: (Rung(0.5, Rank(fixed=99)),)})
    lm = build(text, recipe, [Steps(0.5, 0.5, 0.5), Steps(tiny, tiny, tiny)])
    reference = Reference(text, 2, [0.5, tiny])
    for h in "abc":
        after = reference.after((h,))
        for w in after:
            assert lm.prob(w, [h]) == pytest.approx(after[w] / sum(after.values()), abs=2e-3)


@pytest.mark.parametrize("kind", ["kn", "mkn"])
def test_layers_are_not_negative_and_add_up(kind: str) -> None:
    counts = np.arange(0, 1000)
    discount = Steps(0.7, 0.7, 0.7) if kind == "kn" else Steps(0.6, 1.1, 1.4)
    layers, rest = split(counts, discount, [0.9, 0.5, 0.1])
    assert all((layer >= 0).all() for layer in layers)
    np.testing.assert_allclose(sum(layers) + rest, counts)
    np.testing.assert_allclose(rest, discount(counts))


def test_paper_preset_is_the_square_root_of_the_discount() -> None:
    recipe = make_recipe(4, "plre", "paper", None, 0)
    assert {n: [r.power for r in rungs] for n, rungs in recipe.rungs.items()} == {2: [0.5], 3: [0.5]}
    assert recipe.discount == "kn"
    assert recipe.grids == {2: (5e-4, 1e-3, 5e-3), 3: (5e-4, 1e-3, 5e-3)}
    layers, _ = split(np.array([9]), Steps(0.64, 0.64, 0.64), [0.5])
    assert layers[0][0] == pytest.approx(9 - 0.8 * 3)
    assert set(make_recipe(2, "plre", "paper", None, 0).rungs) == {2}


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (["2:0.5"], "ORDER:POWER:RANK"),
        (["2:1.5:3"], "power must lie between"),
        (["2:0.5:-3"], "rank must be"),
        (["4:0.5:3"], "needs a model of order 4"),
        (["1:0.5:3"], "needs a model of order 2"),
        (["2:0.5:3", "2:0.5:9"], "must all differ"),
    ],
)
def test_bad_rungs(spec: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        make_recipe(3, "plre", None, parse_rungs(spec), 0)


def test_bad_methods() -> None:
    for arguments, message in [
        ((3, "nope", None, None, 0), "no method 'nope'"),
        ((3, "plre", "nope", None, 0), "no preset 'nope'"),
        ((3, "mkn", "paper", None, 0), "no presets or rungs"),
        ((0, "mkn", None, None, 0), "between 1 and 64"),
    ]:
        with pytest.raises(UsageError, match=message):
            make_recipe(*arguments)  # type: ignore[arg-type]
