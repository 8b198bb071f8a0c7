"""A vocabulary that comes from a damaged or hand-made file: wrong answers, but no crash, and every look-up ends."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import plre
from plre.errors import ModelFileError, TextError
from plre.text import _kernels as kernels
from plre.text.vocabulary import END_AND_START, NOTHING, UNK, Vocabulary, VocabularyBuilder

WORDS = ["the", "cat", "sat", "on", "a", "mat", "extraordinarily", "mats"]
TEXT = "the cat sat on a mat\na dog sat extraordinarily on mats"
WILD = [-(2**31), -5, -1, 0, 1, 3, 7, 11, 12, 100, 2**30, 2**31 - 1]


def twin(vocab: Vocabulary, word: str) -> int:
    """The look-up in plain Python: the id of a word or -1, whatever the table holds."""
    data = word.encode()
    hashes = np.empty(1, np.uint64)
    kernels.hash_words(np.frombuffer(data, np.uint8).copy(), np.array([0, len(data)], np.int32), hashes)
    h = int(hashes[0])
    tag = np.uint32(h >> 32).astype(np.int32)
    size = len(vocab.slots) // 2
    for step in range(size):
        slot = ((h & (size - 1)) + step) & (size - 1)
        index = int(vocab.slots[2 * slot + 1])
        if index < 0:
            return -1
        if vocab.slots[2 * slot] == tag and index < len(vocab):
            start, stop = int(vocab.starts[index]), int(vocab.starts[index + 1])
            if 0 <= start <= stop <= len(vocab.arena) and vocab.arena[start:stop].tobytes() == data:
                return index
    return -1


def surrounded(vocab: Vocabulary) -> Vocabulary:
    """The same vocabulary amid memory that holds its words and ids again: what is read outside looks real."""
    arena = np.tile(vocab.arena, 3)[len(vocab.arena) : 2 * len(vocab.arena)]
    starts = np.concatenate([vocab.starts] * 3)[len(vocab.starts) : 2 * len(vocab.starts)]
    slots = np.concatenate([vocab.slots] * 3)[len(vocab.slots) : 2 * len(vocab.slots)]
    return Vocabulary(arena, starts, slots)


def check(vocab: Vocabulary) -> None:
    """All ways to look a word up end, agree with the twin, and give ids that exist."""
    for word in TEXT.split():
        found = twin(vocab, word)
        assert vocab[word] == max(found, UNK)
        assert (word in vocab) == (found >= 0)
    ids, bad = vocab.encode(TEXT.encode(), NOTHING, skip_markers=True)
    assert bad == -1
    markers = (1, 2)  # a wild id may call any word a marker, which is skipped here
    assert ids.tolist() == [max(w, UNK) for word in TEXT.split() if (w := twin(vocab, word)) not in markers]


@pytest.fixture
def vocab() -> Vocabulary:
    return surrounded(Vocabulary.from_words(WORDS))


def test_the_twin_is_right(vocab: Vocabulary) -> None:
    assert [twin(vocab, word) for word in WORDS] == list(range(3, 3 + len(WORDS)))
    assert twin(vocab, "dog") == -1
    check(vocab)


@pytest.mark.parametrize("filler", [0, 3, 10, 2**31 - 1])
def test_a_table_without_a_free_slot(vocab: Vocabulary, filler: int) -> None:
    vocab.slots[1::2][vocab.slots[1::2] < 0] = filler
    check(vocab)
    assert "dog" not in vocab
    assert vocab["mats"] == 10
    vocab.slots[1::2] = filler
    check(vocab)


@pytest.mark.parametrize("wild", WILD)
def test_wild_ids(vocab: Vocabulary, wild: int) -> None:
    vocab.slots[1::2][vocab.slots[1::2] >= 0] = wild
    check(vocab)


@pytest.mark.parametrize("wild", WILD)
@pytest.mark.parametrize("at", [0, 3, 4, 6, 10, 11])
def test_wild_starts(vocab: Vocabulary, wild: int, at: int) -> None:
    vocab.starts[at] = wild
    check(vocab)


def test_starts_that_lead_beyond_the_letters(vocab: Vocabulary) -> None:
    """The words are there, but outside of the arena: nothing may be found."""
    for moved in (-len(vocab.arena), len(vocab.arena)):
        shifted = Vocabulary(vocab.arena, vocab.starts + np.int32(moved), vocab.slots)
        check(shifted)
        assert shifted["cat"] == UNK


def test_tables_that_are_too_short(vocab: Vocabulary) -> None:
    empty = np.empty(0, np.int32)
    for slots in (empty, vocab.slots[:1], vocab.slots[:2], vocab.slots[:16]):
        check(Vocabulary(vocab.arena, vocab.starts, slots))
    for starts in (vocab.starts[:1], vocab.starts[:5]):
        check(Vocabulary(vocab.arena, starts, vocab.slots))
    check(Vocabulary(vocab.arena[:9], vocab.starts, vocab.slots))
    check(Vocabulary(vocab.arena[:0], vocab.starts, vocab.slots))


def test_a_size_that_is_no_power_of_two(vocab: Vocabulary) -> None:
    for size in range(1, 16):
        slots = np.full(2 * size, 5, np.int32)
        damaged = Vocabulary(vocab.arena, vocab.starts, slots)
        assert [damaged[word] for word in WORDS] == [UNK] * len(WORDS)


int32s = st.sampled_from(WILD) | st.integers(-(2**31), 2**31 - 1)


@given(st.lists(st.tuples(st.integers(0, 31), int32s), max_size=20), st.lists(st.tuples(st.integers(0, 11), int32s)))
def test_any_damage(in_slots: list[tuple[int, int]], in_starts: list[tuple[int, int]]) -> None:
    vocab = surrounded(Vocabulary.from_words(WORDS))
    for array, changes in ((vocab.slots, in_slots), (vocab.starts, in_starts)):
        for at, value in changes:
            array[at] = value
    check(vocab)
    for index in range(len(vocab)):
        try:
            vocab.word(index)
        except ModelFileError as error:
            assert f"word {index} cannot be read" in str(error)  # noqa: PT017
    assert repr(vocab).startswith("<plre.Vocabulary of 11 words")


@pytest.mark.parametrize(("start", "stop"), [(-3, 5), (5, 3), (0, 10**6), (10**6, 10**6 + 1), (-(2**31), 2**31 - 1)])
def test_words_of_damaged_starts(vocab: Vocabulary, start: int, stop: int) -> None:
    vocab.starts[4:6] = start, stop
    with pytest.raises(ModelFileError, match=r"vocabulary is damaged: word 4 cannot be read .*plre verify"):
        vocab.word(4)


def test_letters_that_are_not_utf8(vocab: Vocabulary) -> None:
    vocab.arena[vocab.starts[4]] = 0xFF
    with pytest.raises(ModelFileError, match=r"word 4 cannot be read \('utf-8' codec"):
        vocab.word(4)
    assert repr(vocab) == "<plre.Vocabulary of 11 words, damaged>"


@pytest.mark.filterwarnings("ignore::plre.errors.PlreWarning")
def test_a_model_with_a_filled_table_answers() -> None:
    lm = plre.train(["a b c", "b c a", "c a b"] * 3, order=2, method="mkn", min_count=1)
    expected = lm.score("<unk> <unk>")
    lm.vocab.slots[1::2] = 3
    lm.vocab.slots[::2] = 1
    assert lm.score("b c") == pytest.approx(expected)
    assert lm.score_lines(["b c"])[0] == pytest.approx(expected)
    ids, _ = lm.vocab.encode(b"b c\n", END_AND_START)
    assert ids.tolist() == [UNK, UNK, 2, 1]


@pytest.mark.parametrize("again", [copy.deepcopy, copy.copy, lambda vocab: pickle.loads(pickle.dumps(vocab))])
def test_copies_have_memory_of_their_own(again) -> None:
    vocab = Vocabulary.from_words(WORDS)
    copied = again(vocab)
    if again is not copy.copy:
        vocab.slots[:] = vocab.starts[:] = 0
        vocab.arena[:] = 0
    del vocab
    other = [np.full(1000, -1, np.int32) for _ in range(100)]  # which would take the memory of the first
    assert [copied[word] for word in WORDS] == list(range(3, 3 + len(WORDS)))
    assert len(other) == 100


@pytest.mark.parametrize(
    "change",
    [
        lambda a, b, c: (np.empty((2**40, 0), np.uint8), b, c),
        lambda a, b, c: (a, b.astype(np.uint8), c),
        lambda a, b, c: (a, b.astype(np.int64), c),
        lambda a, b, c: (a, b, np.repeat(c, 2)[::2]),
    ],
)
def test_arrays_that_kernels_cannot_read_are_refused(change) -> None:
    vocab = Vocabulary.from_words(WORDS)
    arena, starts, slots = change(vocab.arena, vocab.starts, vocab.slots)
    with pytest.raises(ValueError, match="the vocabulary has an array"):
        Vocabulary(arena, starts, slots)
    if slots is vocab.slots:
        with pytest.raises(ValueError, match="the vocabulary has an array"):
            Vocabulary.from_arena(arena, starts)


def test_more_letters_than_can_be_counted() -> None:
    builder = VocabularyBuilder()
    builder.starts[len(builder)] = 2**31 - 10
    with pytest.raises(TextError, match="more than 2 GB of letters"):
        builder.learn(b"a word that is too much\n", NOTHING, skip_markers=False)
