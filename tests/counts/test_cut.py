"""Leaving out rare n-grams."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from plre.counts.cut import cut
from plre.counts.local import count_ngrams
from plre.counts.ngrams import Counts
from plre.text.encode import encode_text


def listed(counts: Counts, n: int) -> list[tuple[int, ...]]:
    """The n-grams of an order as tuples of ids."""
    grams = [(w,) for w in range(len(counts[1]))]
    for table in counts.tables[1:n]:
        grams = [(*grams[h], int(w)) for h, w in zip(table.contexts(), table.words, strict=True)]
    return grams


@given(st.lists(st.lists(st.sampled_from("abcd"), max_size=8), min_size=1, max_size=12), st.integers(1, 3))
def test_what_is_kept_and_what_is_lost(sentences: list[list[str]], least: int) -> None:
    text = encode_text([" ".join(words) for words in [*sentences, ["a", "b"]]], min_count=1)
    counts = count_ngrams(text, 4)
    less = cut(counts, least, 3)
    for n in (3, 4):
        whole, table = counts[n], less[n]
        raw = dict(zip(listed(counts, n), np.asarray(whole.raw), strict=True))
        assert listed(less, n) == [gram for gram in listed(counts, n) if raw[gram] >= least]
        shorter = listed(less, n - 1)
        assert [shorter[i] for i in table.suffixes] == [gram[1:] for gram in listed(less, n)]
        lost: Counter[tuple[int, ...]] = Counter()
        for gram, count in zip(listed(counts, n), np.asarray(whole.adjusted), strict=True):
            lost[gram[:-1]] += int(count) if raw[gram] < least else 0
        if least > 1:
            assert less.lost[n].tolist() == [lost[context] for context in shorter]


def test_nothing_to_cut() -> None:
    counts = count_ngrams(encode_text(["a b a b"], min_count=1), 2)
    assert cut(counts, 2, 3) is counts
    assert cut(counts, 1, 2) is counts
