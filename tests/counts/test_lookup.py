from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plre.counts import ngrams
from plre.counts.local import count_ngrams
from plre.counts.lookup import look_up
from plre.scratch import Scratch
from plre.text import holdout
from plre.text.encode import TextOptions, encode_text
from plre.text.holdout import sample_text
from plre.text.vocabulary import BOS
from tests.conftest import zipf_text
from tests.reference import adjusted_counts, raw_counts

lists = st.lists(st.lists(st.sampled_from("abcd"), max_size=7), min_size=1, max_size=6).filter(any)


@pytest.mark.filterwarnings("ignore::plre.errors.PlreWarning")
@given(lists, lists, st.integers(1, 5), st.booleans(), st.booleans())
def test_what_is_found_equals_its_twin(
    train: list[list[str]], held_out: list[list[str]], order: int, markers: bool, adjusted: bool
) -> None:
    encoded = encode_text([" ".join(s) for s in train], min_count=1, options=TextOptions(markers=markers))
    counts = count_ngrams(encoded, order, scratch=Scratch(0))
    known = [[w if w in encoded.vocab else "<unk>" for w in s] for s in held_out]
    ids = encode_text([" ".join(s) for s in held_out], vocab=encoded.vocab, options=TextOptions(markers=markers)).ids
    events = look_up(counts, ids, adjusted=adjusted, threads=2)

    raw = raw_counts(train if markers else [[w for s in train for w in s]], order, markers)
    expected = adjusted_counts(raw) if adjusted else [dict(c) for c in raw]
    texts = [["<s>", *s, "</s>"] for s in known] if markers else [[w for s in known for w in s]]
    i = 0
    for words in texts:
        for end in range(int(markers), len(words)):
            for n in range(1, order + 1):
                gram = tuple(words[max(0, end - n + 1) : end + 1])
                after = [c for g, c in expected[n].items() if g[:-1] == gram[:-1]] if len(gram) == n else []
                steps = Counter(min(c, 3) for c in after)
                found = [expected[n].get(gram, 0) if after else 0, sum(after), steps[1], steps[2], steps[3]]
                assert events.found[n - 1, i].tolist() == found
            i += 1
    assert len(events) == i


@pytest.mark.parametrize("markers", [True, False])
def test_many_pieces_and_threads(monkeypatch: pytest.MonkeyPatch, markers: bool) -> None:
    monkeypatch.setattr(ngrams, "_ALIGN", 1)
    options = TextOptions(markers=markers)
    text = encode_text(zipf_text(300), options=options)
    other = encode_text(zipf_text(50, seed=9), vocab=text.vocab, options=options)
    counts = count_ngrams(text, 4)
    found = [look_up(counts, other.ids, adjusted=True, threads=threads).found for threads in (1, 3)]
    np.testing.assert_array_equal(*found)
    own = look_up(counts, text.ids, adjusted=False).found[:, :, 0]
    assert own[0].min() > 0
    assert (own[1:] <= own[:-1]).all()


@pytest.mark.parametrize("markers", [True, False])
def test_a_sample_is_from_all_over_the_text(monkeypatch: pytest.MonkeyPatch, markers: bool) -> None:
    text = encode_text(zipf_text(2000), options=TextOptions(markers=markers))
    np.testing.assert_array_equal(sample_text(text), text.ids)
    monkeypatch.setattr(holdout, "_SAMPLE", 2000)
    monkeypatch.setattr(holdout, "_SAMPLE_PIECES", 20)
    sample = sample_text(text)
    assert sample[0] == BOS
    assert 1000 < len(sample) < 2100
    counts = count_ngrams(text, 3)
    # Whatever was sampled was counted.
    found = look_up(counts, sample, adjusted=False).found
    assert found[0, :, 0].min() > 0
    assert ((found[1:, :, 0] > 0) | (found[1:, :, 1] == 0)).all()
