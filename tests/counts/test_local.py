from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plre.counts import local
from plre.counts.local import count_ngrams
from plre.counts.ngrams import Counts
from plre.counts.sorting import Windows, count_windows
from plre.scratch import Scratch
from plre.text.encode import TextOptions, encode_text
from plre.text.vocabulary import Vocabulary
from tests.reference import adjusted_counts, raw_counts
from tests.small_pieces import cut_small

sentences = st.lists(st.lists(st.sampled_from("abc"), max_size=7), min_size=1, max_size=6).filter(any)


def as_dictionaries(counts: Counts, vocab: Vocabulary, n: int) -> tuple[dict, dict, dict]:
    """Raw counts, adjusted counts and suffixes of one order, by words."""
    grams = [()]
    shorter = grams
    for k in range(1, n + 1):
        shorter, table = grams, counts[k]
        grams = [(*grams[h], vocab.word(int(w))) for h, w in zip(table.contexts(), table.words, strict=True)]
    table = counts[n]
    keep = [i for i, gram in enumerate(grams) if table.raw[i]]
    return (
        {grams[i]: int(table.raw[i]) for i in keep},
        {grams[i]: int(table.adjusted[i]) for i in keep},
        {grams[i]: shorter[table.suffixes[i]] for i in keep},
    )


@given(sentences, st.integers(1, 9), st.booleans())
def test_counts_equal_their_twin(text: list[list[str]], order: int, markers: bool) -> None:
    encoded = encode_text([" ".join(s) for s in text], min_count=1, options=TextOptions(markers=markers))
    counts = count_ngrams(encoded, order)
    expected = raw_counts(text if markers else [[w for s in text for w in s]], order, markers)
    adjusted = adjusted_counts(expected)
    for n in range(1, order + 1):
        raw, distinct, suffixes = as_dictionaries(counts, encoded.vocab, n)
        assert raw == dict(expected[n])
        assert distinct == adjusted[n]
        assert all(suffix == gram[1:] for gram, suffix in suffixes.items())


@pytest.mark.parametrize("order", [1, 2, 9])
def test_one_word(order: int) -> None:
    encoded = encode_text(["word"], min_count=1)
    counts = count_ngrams(encoded, order)
    assert [len(t) for t in counts.tables[1:]] == [2, 1, 0, 0, 0, 0, 0, 0][: order - 1]
    assert counts.tokens == 2


class Wide(Windows):
    """Windows with room for many words more: three words in a number."""

    bits = property(lambda self: np.full(self.order, 21))  # type: ignore[assignment]


@given(sentences, st.integers(2, 6), st.booleans(), st.integers(1, 3))
def test_pieces_buckets_and_columns_change_nothing(
    text: list[list[str]], order: int, markers: bool, threads: int
) -> None:
    """Cut into small pieces and buckets, with windows of several numbers each, on disk."""
    encoded = encode_text([" ".join(s) for s in text], min_count=1, options=TextOptions(markers=markers))
    whole = count_ngrams(encoded, order)
    with pytest.MonkeyPatch.context() as patch:
        cut_small(patch, piece_bits=3, bucket=3, together=400)
        patch.setattr(local, "Windows", Wide)
        cut = count_ngrams(encoded, order, threads=threads, scratch=Scratch(200))
    for one, other in zip(whole.tables, cut.tables, strict=True):
        for name in ("words", "children", "suffixes", "raw", "adjusted"):
            np.testing.assert_array_equal(getattr(one, name)[:], getattr(other, name)[:])


@given(st.lists(st.lists(st.integers(0, 40), min_size=4, max_size=4), min_size=1, max_size=60), st.integers(6, 21))
def test_windows_are_sorted_and_counted(rows: list[list[int]], bits: int) -> None:
    """Whether they fit into one number beside each other, or symbols come in a few at a time."""
    windows = Windows(((1 << bits) - 1,) * 4)
    spread = 1 << (bits - 6)
    columns = np.zeros((windows.columns, len(rows)), np.uint64)
    for i, row in enumerate(rows):
        for k, symbol in enumerate(row):
            column, shift, _ = windows.places[:, k].tolist()
            columns[column, i] |= np.uint64(symbol * spread << shift)
    found, counts = count_windows(columns, windows)
    expected = sorted(Counter(map(tuple, rows)).items())
    assert counts.tolist() == [count for _, count in expected]
    mask = (1 << bits) - 1
    symbols = [
        [int(found[c, i]) >> shift & mask for c, shift, _ in windows.places.T.tolist()] for i in range(len(counts))
    ]
    assert [tuple(s // spread for s in each) for each in symbols] == [row for row, _ in expected]
