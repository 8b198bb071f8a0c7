"""A tree of contexts as a buffer: its directory, its states."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from plre.counts.tree import Slot
from plre.ensemble.contexts import build_tree
from plre.errors import ModelFileError, UsageError
from plre.model.file import views
from plre.model.layout import ORDER, PARTS
from plre.model.tree import TreeLayout, TreeModel, check
from plre.text.vocabulary import BOS, EOS
from tests.counts.test_tree import MAPS, WORDS
from tests.reference_tree import text_of

TEXT = [[3, 4, 5], [3, 5], [6, 7, 3, 4], [4, 4, 4, 7], [], [0, 3, 4]] * 3
CHAIN = [Slot(0, 1), Slot(2, 1), Slot(0, 2), Slot(1, 3)]


@pytest.fixture(scope="module")
def model() -> TreeModel:
    return build_tree(np.array(text_of(TEXT), np.int32), WORDS, MAPS, CHAIN)


def test_a_tree_is_known_by_its_directory(model: TreeModel) -> None:
    directory = model.tensors["directory"]
    assert directory[ORDER] == directory[PARTS] == 0
    assert model.order == 4
    assert TreeLayout.of(model.tensors) == model.layout
    assert model.memory.nbytes % 64 == 0
    check("m.plre", model.tensors)
    again = TreeModel(model.metadata, views(model.layout.shapes(), model.memory.copy()), model.memory.copy())
    np.testing.assert_array_equal(again.distribution([BOS, 3]), model.distribution([BOS, 3]))


def test_any_damage_to_the_directory_is_refused(model: TreeModel) -> None:
    for at in range(len(model.tensors["directory"])):
        for value in (-1, 7, 2**62, 4, 0):
            damaged = model.tensors["directory"].copy()
            if damaged[at] == value:
                continue
            damaged[at] = value
            with pytest.raises(ModelFileError, match="is damaged"):
                check("m.plre", {**model.tensors, "directory": damaged})


def test_missing_tensors_are_refused(model: TreeModel) -> None:
    for name in model.tensors:
        with pytest.raises(ModelFileError, match="is damaged"):
            check("m.plre", {key: tensor for key, tensor in model.tensors.items() if key != name})
        with pytest.raises(ModelFileError, match="is damaged"):
            check("m.plre", {**model.tensors, name: model.tensors[name][:-1]})


def test_states_are_values(model: TreeModel) -> None:
    _, state = model.step(model.begin_state(), 3)
    assert pickle.loads(pickle.dumps(state)) == copy.copy(state) == state
    assert model.step(state, BOS) == (-np.inf, model.begin_state())
    assert model.step(state, EOS)[1] == model.null_state() == 0
    for wrong in (-1, model.layout.states, 2**70, None):
        with pytest.raises(UsageError, match="is not a state of this model"):
            model.step(wrong, 3)  # type: ignore[arg-type]
    for wrong in (-1, WORDS):
        with pytest.raises(UsageError, match="is not the id of a word"):
            model.step(state, wrong)


def test_a_state_keeps_no_more_than_the_slots_need(model: TreeModel) -> None:
    """The nearest word by itself, the next too since two maps look at it or beyond, the third by its class."""
    assert model.layout.states == WORDS * WORDS * 4
    after = []
    for words in ([6, 3, 4], [7, 3, 4]):  # other words of the class of all words
        state = model.begin_state()
        for w in words:
            _, state = model.step(state, w)
        after.append(state)
    assert after[0] == after[1]


def test_every_state_has_an_answer(model: TreeModel) -> None:
    for state in range(model.layout.states):
        total = 0.0
        for w in range(WORDS):
            logprob, after = model.step(state, w)
            assert 0 <= after < model.layout.states
            total += 10**logprob
        assert total == pytest.approx(1, abs=1e-6)


def test_nothing_known_is_the_unigram(model: TreeModel) -> None:
    unigrams = model.tensors["unigrams"][:WORDS]
    known = [10 ** model.step(model.null_state(), w)[0] for w in range(WORDS)]
    np.testing.assert_allclose(known, unigrams, rtol=1e-6)
    np.testing.assert_allclose(model.distribution([3, 4, EOS]), unigrams, rtol=1e-6)
