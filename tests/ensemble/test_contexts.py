"""Hybrid-context models: probabilities against their twin, and against plain modified Kneser-Ney."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plre.counts.tree import Slot
from plre.ensemble.contexts import build_tree
from plre.ensemble.recipe import Recipe
from plre.errors import UsageError
from plre.model.scoring import score_ids
from plre.smoothing.discounts import Steps
from plre.text.encode import encode_text
from plre.text.vocabulary import BOS, EOS
from tests.component_models import alone, over_numbers, trained
from tests.counts.test_tree import MAPS, WORDS, readable, sentences, slots
from tests.reference_tree import Tree, context_of, text_of

STEPS = [[0.6, 0.9, 1.2], [0.7, 1.1, 1.4], [0.75, 1.2, 1.3], [0.8, 1.3, 2.0], [0.85, 1.25, 2.5]]
#: Beginnings of sentences: seen or not, short and long.
BEGINNINGS = [[BOS], [BOS, 3], [BOS, 3, 4], [BOS, 0, 7, 3], [BOS, 5, 5, 5, 5], [BOS, 7, 6, 5, 4, 3]]


def steps(chosen: list[Slot]) -> list[Steps]:
    return [Steps(*row) for row in STEPS[: len(chosen) + 1]]


@settings(max_examples=60)
@given(sentences, slots, st.integers(1, 3))
def test_probabilities_equal_their_twin(text: list[list[int]], chosen: list[Slot], cut: int) -> None:
    ids = text_of(text)
    made = build_tree(np.array(ids, np.int32), WORDS, MAPS, chosen, cut=cut, discounts=steps(chosen))
    model = over_numbers(made, WORDS)
    twin = Tree(ids, WORDS, readable(chosen), STEPS, cut)
    for before in [*BEGINNINGS, *([BOS, *s] for s in text)]:
        expected = twin.distribution(before)
        found = model.distribution(before)
        np.testing.assert_allclose(found[twin.words], expected, rtol=2e-6)
        assert found[BOS] == 0
        assert found.sum() == pytest.approx(1, abs=1e-6)
    scores = score_ids(model, np.array(ids, np.int32)).probs
    state = model.null_state()
    for at, w in enumerate(ids):
        logprob, state = model.advance(state, w)
        if w == BOS:
            assert (scores[at], logprob, state) == (1, -np.inf, model.begin_state())
            begin = at
        else:
            expected_prob = twin.prob(w, context_of(ids[begin:at], twin.chain))
            assert scores[at] == pytest.approx(expected_prob, rel=2e-6)
            assert 10**logprob == pytest.approx(scores[at], rel=1e-12)


@pytest.mark.parametrize("order", [2, 3, 4])
def test_words_only_is_modified_kneser_ney(text: list[str], order: int) -> None:
    encoded = encode_text(text, min_count=2)
    plain = trained(encoded, Recipe(order, discount="mkn"))
    chosen = [Slot(0, distance) for distance in range(1, order)]
    ids = np.asarray(encoded.ids[:])
    made = build_tree(ids, len(encoded.vocab), [None], chosen, cut=1)
    assert made.about["discounts"] == plain.metadata["discounts"]
    model = alone(made, encoded.vocab)
    probs = score_ids(model, ids).probs
    np.testing.assert_allclose(probs, score_ids(plain, ids).probs, rtol=1e-6)
    for words in ("<s>", "<s> w1", "w1 w2 w3", "w70 w71 w72", "zzz w1 w1", "w1 w2 zzz"):
        context = [encoded.vocab[word] for word in words.split()]
        np.testing.assert_allclose(model.distribution(context), plain.distribution(words), rtol=1e-6, atol=1e-12)


CHAIN = [Slot(1, 1), Slot(0, 1), Slot(1, 2), Slot(2, 3)]


def hybrid(text: list[str], threads: int = 1, cut: int = 2, classes: int = 20):  # type: ignore[no-untyped-def]
    """Words in classes at random, nearest words exactly too."""
    encoded = encode_text(text, min_count=1)
    words = len(encoded.vocab)
    random = np.random.default_rng(5)
    maps = [None]
    for count in (classes, classes // 3):
        table = (3 + random.integers(0, count, words)).astype(np.int32)
        table[:3] = range(3)
        maps.append(table)
    ids = np.asarray(encoded.ids[:])
    made = build_tree(ids, words, maps, CHAIN, cut=cut, threads=threads)
    return ids, maps, made, alone(made, encoded.vocab)


def test_same_bytes_for_any_number_of_threads(text: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    _, _, one, _ = hybrid(text)
    monkeypatch.setattr("plre.counts.tree._PIECE", 777)
    monkeypatch.setattr("plre.counts.sorting._BUCKET", 99)
    for threads in (1, 2):
        _, _, other, _ = hybrid(text, threads)
        for name, tensor in one.body.tensors.items():
            np.testing.assert_array_equal(tensor, other.body.tensors[name])


@pytest.mark.parametrize("cut", [1, 2, 5])
def test_a_larger_text(text: list[str], other_text: list[str], cut: int) -> None:
    """Thousands of events: levels are missing, words are unknown."""
    ids, maps, made, model = hybrid(text, cut=cut)
    chain = [(lambda w, m=maps[s.map]: w if m is None else int(m[w]), s.distance) for s in CHAIN]
    twin = Tree(ids.tolist(), len(maps[1]), chain, made.about["discounts"], cut)
    encoded = encode_text(text, min_count=1)
    new = np.asarray(encode_text(other_text, vocab=encoded.vocab).ids[:])
    scores = score_ids(model, new).probs
    begin = 0
    for at, w in enumerate(new.tolist()):
        if w == BOS:
            begin = at
            continue
        before = new[begin:at].tolist()
        assert scores[at] == pytest.approx(twin.prob(w, context_of(before, chain)), rel=2e-6)
        assert model.distribution(before)[w] == pytest.approx(scores[at], rel=1e-9)
        if at % 50 == 0:
            assert model.distribution(before).sum() == pytest.approx(1, abs=1e-6)


def test_blocks_agree_wherever_they_are_cut(text: list[str]) -> None:
    ids, _, _, model = hybrid(text)
    ids = ids[:700]
    whole = score_ids(model, ids).probs
    for step in (1, 7, 256):
        pieces = []
        for first in range(0, len(ids), step):
            start = max(0, first - model.reach)
            pieces += score_ids(model, ids[start : first + step]).probs[first - start :].tolist()
        np.testing.assert_array_equal(pieces, whole)


def test_states_keep_what_the_slots_may_read() -> None:
    ids = np.array(text_of([[3, 4, 5], [3, 5], [6, 7, 3, 4], [4, 4, 4, 7], [], [0, 3, 4]] * 3), np.int32)
    model = over_numbers(build_tree(ids, WORDS, MAPS, [Slot(0, 1), Slot(2, 1), Slot(0, 2), Slot(1, 3)]), WORDS)
    assert model.reach == 4
    _, state = model.advance(model.begin_state(), 3)
    assert model.context(state) == ["<s>", "v3"]
    for w in (4, 5, 6, 7):
        _, state = model.advance(state, w)
    assert model.context(state) == ["v5", "v6", "v7"]
    np.testing.assert_array_equal(model.distribution(state), model.distribution([3, 4, 5, 6, 7]))
    unigrams = model.components[0].body.tensors["unigrams"][:WORDS]
    np.testing.assert_allclose(model.distribution(model.null_state()), unigrams, rtol=1e-6)
    np.testing.assert_allclose(model.distribution([3, 4, EOS]), unigrams, rtol=1e-6)


def test_predicted_symbols_may_differ_from_those_of_contexts() -> None:
    """Words are predicted by two classes, from contexts that know words: other maps on both sides."""
    lines = [[3, 4, 5], [3, 5], [6, 7, 3, 4], [4, 4, 4, 7], [0, 3, 4]] * 3
    ids = np.array(text_of(lines), np.int32)
    table = np.array([0, 1, 2, 3, 4, 3, 4, 3, 5], np.int32)  # the last entry: not known
    made = build_tree(table[ids], 5, [np.arange(5, dtype=np.int32)], [Slot(0, 1), Slot(0, 2)], cut=1)
    by_class = over_numbers(made, 5)
    shares = np.array([1, 1, 1, 0.5, 0.25, 0.3, 0.75, 0.2, 0], np.float32)
    through = replace(made.body, tensors={**made.body.tensors, "map0": table})
    model = over_numbers(replace(made, body=through, symbols=table, shares=shares), WORDS)
    for context in ([], [3], [4, 6], [BOS], [BOS, 7], [5, 5, 4]):
        expected = by_class.distribution([int(table[w]) for w in context])[table[:-1]] * shares[:-1]
        np.testing.assert_allclose(model.distribution(context), expected, rtol=1e-6)
        assert model.distribution(context).sum() == pytest.approx(1, abs=1e-6)


def test_text_without_markers(text: list[str]) -> None:
    ids = np.array([w for w in text_of([[3, 4, 5], [4, 4, 6]]) if w not in (BOS, EOS)] * 4, np.int32)
    model = over_numbers(build_tree(ids, WORDS, MAPS, [Slot(0, 1), Slot(2, 2)], markers=False), WORDS, False)
    for context in ([3], [3, 4], [6, 3, 4]):
        found = model.distribution(context)
        assert found.sum() == pytest.approx(1, abs=1e-6)
        assert found[EOS] == found[BOS] == 0


def test_wrong_options() -> None:
    ids = np.array([BOS, 3, EOS], np.int32)
    with pytest.raises(UsageError, match="cut must be at least 1"):
        build_tree(ids, WORDS, MAPS, [Slot(0, 1)], cut=0)
    with pytest.raises(UsageError, match=r"2 levels .* but 1 discounts"):
        build_tree(ids, WORDS, MAPS, [Slot(0, 1)], discounts=[Steps(0.5, 1, 1.5)])
    for empty in ([], [BOS]):
        with pytest.raises(UsageError, match="the text has no words"):
            build_tree(np.array(empty, np.int32), WORDS, MAPS, [Slot(0, 1)])
