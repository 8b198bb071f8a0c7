"""Counts of a chain of contexts against their twin over dictionaries."""

from __future__ import annotations

import doctest

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import plre.counts.tree as tree
from plre.counts.tree import Level, Map, Slot, count_tree
from plre.errors import UsageError
from plre.scratch import Scratch
from plre.text.vocabulary import BOS, EOS
from tests.reference_tree import Chain, adjusted_counts, raw_counts, text_of
from tests.small_pieces import cut_small

WORDS = 8
#: Words of two classes beside the special ones; words of one; words themselves.
MAPS: list[Map] = [
    np.array([0, 1, 2, 3, 4, 3, 4, 3], np.int32),
    np.array([2, 0, 3, 2, 2, 2, 2, 2], np.int32),
    None,
]
sentences = st.lists(st.lists(st.sampled_from([0, 3, 4, 5, 6, 7]), max_size=7), min_size=1, max_size=8)
slots = st.lists(st.builds(Slot, st.integers(0, 2), st.integers(1, 3)), min_size=1, max_size=4)


def readable(chosen: list[Slot]) -> Chain:
    def symbol(number: int):  # type: ignore[no-untyped-def]
        table = MAPS[number]
        return (lambda w: w) if table is None else lambda w: int(table[w])

    return [(symbol(slot.map), slot.distance) for slot in chosen]


def as_dictionaries(levels: list[Level]) -> list[dict[tuple[tuple[int, ...], int], tuple[int, int]]]:
    """Raw and adjusted counts by context and word; checks suffixes on the way."""
    found = []
    contexts: list[tuple[int, ...]] = []
    events: list[tuple[tuple[int, ...], int]] = []
    for number, level in enumerate(levels):
        symbols = level.symbols[: len(level)].tolist()
        if number:
            parents = level.parents(0, len(level)).tolist()
            contexts = [(*contexts[p], s) for p, s in zip(parents, symbols, strict=True)]
        else:
            contexts = [()]
        coarser = events
        owners = np.repeat(np.arange(len(level)), np.diff(level.starts)).tolist()
        words, raw, counts, suffixes = (
            each[: len(level.words)].tolist() for each in (level.words, level.raw, level.counts, level.suffixes)
        )
        events = [(contexts[n], w) for n, w in zip(owners, words, strict=True)]
        assert len(set(events)) == len(events)
        if number:
            assert [coarser[s] for s in suffixes] == [(context[:-1], w) for context, w in events]
            assert contexts == sorted(contexts)
        real = level.real_events(0, len(level)).tolist()
        given = zip(events, raw, counts, real, strict=True)
        found.append({event: (own, count) for event, own, count, real in given if own and real})
    return found


@given(sentences, slots, st.booleans())
def test_counts_equal_their_twin(text: list[list[int]], chosen: list[Slot], markers: bool) -> None:
    ids = text_of(text) if markers else [*(w for sentence in text for w in sentence), 3]
    raw = raw_counts(ids, readable(chosen))
    adjusted = adjusted_counts(raw)
    levels = as_dictionaries(count_tree(np.array(ids, np.int32), WORDS, MAPS, chosen))
    assert levels == [{e: (raw[n][e], adjusted[n][e]) for e in raw[n]} for n in range(len(chosen) + 1)]


@given(sentences, slots)
def test_pieces_and_threads_change_nothing(text: list[list[int]], chosen: list[Slot]) -> None:
    ids = np.array(text_of(text), np.int32)
    whole = count_tree(ids, WORDS, MAPS, chosen)
    with pytest.MonkeyPatch.context() as patch:
        cut_small(patch, piece_bits=3, bucket=3, together=9)
        for threads in (1, 2):
            for one, other in zip(whole, count_tree(ids, WORDS, MAPS, chosen, threads=threads), strict=True):
                for name in Level.__annotations__:
                    np.testing.assert_array_equal(getattr(one, name), getattr(other, name), strict=True)
        on_disk = count_tree(ids, WORDS, MAPS, chosen, scratch=Scratch(0))
        assert as_dictionaries(on_disk) == as_dictionaries(whole)


def test_by_hand() -> None:
    """Sentences a b, a b, c b with one class for all words: three words before b, of which two are the same."""
    ids = np.array(text_of([[3, 4], [3, 4], [5, 4]]), np.int32)
    levels = as_dictionaries(count_tree(ids, WORDS, MAPS, [Slot(1, 1), Slot(2, 1)]))
    assert levels[0] == {((), 3): (2, 1), ((), 4): (3, 1), ((), 5): (1, 1), ((), EOS): (3, 1)}
    one, start = 2, 0
    assert levels[1] == {((start,), 3): (2, 2), ((start,), 5): (1, 1), ((one,), 4): (3, 2), ((one,), EOS): (3, 1)}
    assert levels[2] == {((one, 3), 4): (2, 2), ((one, 5), 4): (1, 1), ((one, 4), EOS): (3, 3)}


def test_examples_in_docstrings() -> None:
    assert doctest.testmod(tree).failed == 0


@pytest.mark.parametrize(
    ("maps", "chosen", "message"),
    [
        ([None], [], "at least one slot"),
        ([None], [Slot(1, 1)], "there are 1 maps"),
        ([None], [Slot(0, 0)], "0 words back"),
        ([None], [Slot(0, 65)], "65 words back"),
        ([np.zeros(WORDS - 1, np.int32)], [Slot(0, 1)], "for each of 8 words"),
        ([np.arange(WORDS)], [Slot(0, 1)], "as int32"),
        ([np.arange(-1, WORDS - 1, dtype=np.int32)], [Slot(0, 1)], "from 0 up"),
        ([np.array([0, 1, 1, 3, 4, 5, 6, 7], np.int32)], [Slot(0, 1)], "<s> and </s> symbols that no other"),
    ],
)
def test_chains_that_make_no_sense(maps: list[Map], chosen: list[Slot], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        count_tree(np.array([BOS, 3, EOS], np.int32), WORDS, maps, chosen)
