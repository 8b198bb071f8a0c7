from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plre.counts.local import count_ngrams
from plre.counts.ngrams import Counts
from plre.text.encode import TextOptions, encode_text
from plre.text.vocabulary import Vocabulary
from tests.reference import adjusted_counts, raw_counts

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
