"""Back-off, Jelinek-Mercer and fitted discounts as models, against their twins over dictionaries."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import plre
from plre.ensemble.recipe import Recipe, Rung
from plre.errors import UsageError
from plre.lowrank.blocks import Rank
from plre.smoothing.discounts import Steps
from plre.smoothing.jelinek_mercer import Shares
from tests.ensemble.test_ladder import assert_equal, build, sentences
from tests.reference_smoothing import BackOff, Interpolated, by_share, by_steps

STEPS = [[0.6, 0.9, 1.2], [0.7, 1.1, 1.4], [0.75, 1.2, 1.3], [0.8, 1.3, 2.0]]
SHARES = [[0.9, 0.8, 0.6, 0.5, 0.4, 0.3], [0.8, 0.7, 0.55, 0.4, 0.2, 0.1], [0.95, 0.8, 0.7, 0.6, 0.5, 0.4]]


def stream(text: list[list[str]], markers: bool) -> list[list[str]]:
    return text if markers else [[w for s in text for w in s]]


@settings(max_examples=40)
@given(sentences, st.integers(1, 4), st.booleans(), st.booleans())
def test_back_off(text: list[list[str]], order: int, modified: bool, markers: bool) -> None:
    discounts = [d if modified else [d[0]] * 3 for d in STEPS[:order]]
    lm = build(text, Recipe(order, form="backoff"), [Steps(*d) for d in discounts], markers)
    assert_equal(lm, BackOff(stream(text, markers), order, by_steps(discounts), markers=markers), order, markers)


@settings(max_examples=25)
@given(sentences, st.integers(1, 3), st.booleans())
def test_jelinek_mercer(text: list[list[str]], order: int, markers: bool) -> None:
    shares = [Shares(tuple(row)) for row in SHARES[:order]]
    lm = build(text, Recipe(order, discount="jm", continuation=False), shares, markers)
    reference = Interpolated(stream(text, markers), order, by_share(SHARES), continuation=False, markers=markers)
    assert_equal(lm, reference, order, markers)


def test_back_off_by_hand() -> None:
    """Three sentences: a b, a b, a c. With D = 1/2 at order 1 and 3/4 at order 2.

    Words are counted by how many different words stand before them: a 1, b 1, c 1, </s> 2, in all 5. The vocabulary is
    a, b, c, </s> and <unk>, so P(</s>) = (2 - 1/2)/5 + (4 x 1/2)/5 x 1/5 = 19/50, P(a) = P(b) = P(c) = 9/50 and
    P(<unk>) = 4/50. After a: b twice, c once. P(b | a) = (2 - 3/4)/3 = 5/12, P(c | a) = (1 - 3/4)/3 = 1/12; 1/2 is left
    for a, </s> and <unk>, which have 32/50 of the unigrams: alpha(a) = 25/32.
    """
    text = [["a", "b"], ["a", "b"], ["a", "c"]]
    lm = build(text, Recipe(2, form="backoff"), [Steps(0.5, 0.5, 0.5), Steps(0.75, 0.75, 0.75)])
    alpha = Fraction(25, 32)
    expected = {
        "b": Fraction(5, 12),
        "c": Fraction(1, 12),
        "a": alpha * Fraction(9, 50),
        "</s>": alpha * Fraction(19, 50),
        "<unk>": alpha * Fraction(4, 50),
    }
    assert sum(expected.values()) == 1
    for word, value in expected.items():
        assert lm.prob(word, ["a"]) == pytest.approx(float(value), rel=1e-6)


def test_jelinek_mercer_by_hand() -> None:
    """Again 3 a, 2 b, 1 c, 3 </s>. Half of the unigrams is uniform; a was seen 3 times: its share is 1/4."""
    lm = build(
        [["a", "b"], ["a", "b"], ["a", "c"]],
        Recipe(2, discount="jm", continuation=False),
        [Shares((0.5,) * 32), Shares((0.9, 0.25, 0.9))],
    )
    b = Fraction(1, 2) * Fraction(2, 9) + Fraction(1, 2) * Fraction(1, 5)
    assert lm.prob("b") == pytest.approx(float(b))
    assert lm.prob("b", ["a"]) == pytest.approx(float(Fraction(3, 4) * Fraction(2, 3) + Fraction(1, 4) * b))


def test_contexts_after_which_everything_was_seen() -> None:
    """Without the uniform share nothing is left for words that were not seen; the order below is mixed in instead."""
    text = [list("ab"), list("ba"), list("aab"), list("bb"), [], list("ab")]
    lm = build(text, Recipe(2, form="backoff", uniform=False), [Steps(0.5, 0.5, 0.5)] * 2)
    seen = lm.distribution("b")
    assert seen.sum() == pytest.approx(1, abs=1e-6)
    assert (seen[[lm.vocab[w] for w in ("a", "b", "</s>")]] > 0).all()
    assert seen[lm.vocab["<unk>"]] == 0


def test_counts_that_keep_nothing_count_as_unseen() -> None:
    text = [list("aaab"), list("aaab"), list("ab"), list("ba")]
    discounts = [[0.5] * 3, [1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]
    lm = build(text, Recipe(3, form="backoff"), [Steps(*d) for d in discounts])
    assert_equal(lm, BackOff(text, 3, by_steps(discounts)), 3)
    assert (np.delete(lm.distribution("a a"), 1) > 0).all()


def test_sums_hold_where_hardly_anything_is_left() -> None:
    """All words but one rare one were seen after every word: weights are large, and rounding must not be."""
    words = [f"w{i}" for i in range(40)]
    text = [[a, b] for a in words for b in words] * 30 + [["rare"]]
    lm = build(text, Recipe(3, form="backoff"), [Steps(1e-3, 1e-3, 1e-3), Steps(0.9, 1.5, 2.5), Steps(0.9, 1.5, 2.5)])
    assert lm.components[0].body.columns().backoff.max() > 10
    for context in ("", "w3", "w3 w7", "w9 w9", "<s> w5", "rare"):
        assert lm.distribution(context).sum() == pytest.approx(1, abs=1e-7)


@pytest.mark.parametrize(("bits", "sums"), [(8, 0.1), (16, 2e-3)])
def test_quantised_back_off(text: list[str], other_text: list[str], bits: int, sums: float) -> None:
    lm = plre.train(text, method="bo-mkn", order=3)
    coarse = plre.train(text, method="bo-mkn", order=3, quantise=bits)
    assert lm.components[0].body.columns().orders[0].backoff.max() > 1
    assert coarse.perplexity(other_text) == pytest.approx(lm.perplexity(other_text), rel=sums / 10)
    for context in ("", "<s>", "w1", "w1 w2", "w9 w4"):
        assert coarse.distribution(context).sum() == pytest.approx(1, abs=sums)


def test_fitted_models(text: list[str], other_text: list[str]) -> None:
    """On the text they were fitted to: better than Good-Turing's discounts, and than weights from the training text."""
    more = {"order": 3, "dev": other_text}
    assert plre.train(text, method="mkn-dev", **more).perplexity(other_text) < plre.train(
        text, method="mkn", order=3
    ).perplexity(other_text)
    fitted, without = plre.train(text, method="jm", **more), plre.train(text, method="jm", order=3)
    assert fitted.perplexity(other_text) < without.perplexity(other_text)
    assert fitted.metadata["discounts"] != without.metadata["discounts"]


def test_what_fitted_methods_need(text: list[str]) -> None:
    with pytest.raises(UsageError, match=r"mkn-dev fits its discounts to held-out text; give some with --dev"):
        plre.train(text, method="mkn-dev")
    with pytest.raises(UsageError, match="needs uniform=True"):
        plre.train(text, method="jm", uniform=False)
    with pytest.raises(UsageError, match="low rank layers belong to the interpolated form"):
        Recipe(2, form="backoff", rungs={2: (Rung(0.5, Rank(fixed=1)),)})
