"""Hybrid-context models: probabilities against their twin, and against plain modified Kneser-Ney."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plre.counts.local import count_ngrams
from plre.counts.tree import Slot
from plre.ensemble.build import Builder
from plre.ensemble.contexts import build_tree
from plre.ensemble.recipe import Recipe
from plre.errors import UsageError
from plre.model._tree import score_tree
from plre.model.scoring import score_ids
from plre.smoothing.discounts import Steps
from plre.text.encode import encode_text
from plre.text.vocabulary import BOS, EOS
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
    model = build_tree(np.array(ids, np.int32), WORDS, MAPS, chosen, cut=cut, discounts=steps(chosen))
    twin = Tree(ids, WORDS, readable(chosen), STEPS, cut)
    for before in [*BEGINNINGS, *([BOS, *s] for s in text)]:
        expected = twin.distribution(before)
        found = model.distribution(before)
        np.testing.assert_allclose(found[twin.words], expected, rtol=2e-6)
        assert found[BOS] == 0
        assert found.sum() == pytest.approx(1, abs=1e-6)
    scores = model.score_ids(np.array(ids, np.int32))
    state = model.null_state()
    for at, w in enumerate(ids):
        logprob, state = model.step(state, w)
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
    plain = Builder(count_ngrams(encoded, order), encoded.vocab, Recipe(order, discount="mkn")).build()
    chosen = [Slot(0, distance) for distance in range(1, order)]
    ids = np.asarray(encoded.ids[:])
    model = build_tree(ids, len(encoded.vocab), [None], chosen, cut=1)
    assert model.metadata["discounts"] == plain.metadata["discounts"]
    probs = model.score_ids(ids)
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
    return ids, maps, build_tree(ids, words, maps, CHAIN, cut=cut, threads=threads)


def test_same_bytes_for_any_number_of_threads(text: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    _, _, one = hybrid(text)
    monkeypatch.setattr("plre.counts.tree._PIECE", 777)
    monkeypatch.setattr("plre.counts.tree._BUCKET", 99)
    for threads in (1, 2):
        _, _, other = hybrid(text, threads)
        np.testing.assert_array_equal(one.memory, other.memory)


@pytest.mark.parametrize("cut", [1, 2, 5])
def test_a_larger_text(text: list[str], other_text: list[str], cut: int) -> None:
    """Thousands of events: lines of an index overflow, levels are missing, words are unknown."""
    ids, maps, model = hybrid(text, cut=cut)
    chain = [(lambda w, m=maps[s.map]: w if m is None else int(m[w]), s.distance) for s in CHAIN]
    twin = Tree(ids.tolist(), len(maps[1]), chain, model.metadata["discounts"], cut)
    encoded = encode_text(text, min_count=1)
    new = np.asarray(encode_text(other_text, vocab=encoded.vocab).ids[:])
    scores = model.score_ids(new)
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
    ids, _, model = hybrid(text)
    ids = ids[:700]
    whole = model.score_ids(ids)
    for step in (1, 7, 256):
        pieces = np.zeros(len(ids))
        for first in range(0, len(ids), step):
            score_tree(model.memory, ids, first, min(first + step, len(ids)), pieces)
        np.testing.assert_array_equal(pieces, whole)


def test_text_without_markers(text: list[str]) -> None:
    ids = np.array([w for w in text_of([[3, 4, 5], [4, 4, 6]]) if w not in (BOS, EOS)] * 4, np.int32)
    model = build_tree(ids, WORDS, MAPS, [Slot(0, 1), Slot(2, 2)], markers=False)
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
    far = [Slot(2, distance) for distance in range(1, 23)]
    with pytest.raises(UsageError, match="does not fit into a number"):
        build_tree(ids, WORDS, MAPS, far)
