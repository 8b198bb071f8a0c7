from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plre.errors import TextError
from plre.text.encode import TextOptions, encode_text, read_vocabulary
from plre.text.vocabulary import BOS, END_AND_START, EOS, UNK, Vocabulary, VocabularyBuilder, merge

words = st.text(alphabet=st.sampled_from("ab\u00a0\u0085é語\x1c"), min_size=1, max_size=4)
lines = st.lists(words, max_size=8).map(" ".join)


def twin(sentences: list[str], vocab: Vocabulary) -> list[int]:
    """What the tokeniser does, by Python's own means."""
    ids = []
    for sentence in sentences:
        known = [vocab[word.decode()] for word in sentence.encode().split()]
        ids += [BOS, *known, EOS]
    return ids


@pytest.mark.filterwarnings("ignore::plre.errors.PlreWarning")
@given(st.lists(lines, min_size=1, max_size=6).filter(lambda s: any(s)), st.integers(1, 3))
def test_encoding_equals_its_twin(sentences: list[str], min_count: int) -> None:
    encoded = encode_text(sentences, min_count=min_count)
    assert encoded.ids.tolist() == twin(sentences, encoded.vocab)
    counted = Counter(word.decode() for s in sentences for word in s.encode().split())
    assert set(list(encoded.vocab)[3:]) == {word for word, n in counted.items() if n >= min_count}
    assert encoded.unknown == sum(n for n in counted.values() if n < min_count)


def test_only_ascii_white_space_splits() -> None:
    encoded = encode_text(["a\u00a0b\tc\x0bd\x0ce\rf  g"], min_count=1)
    assert sorted(list(encoded.vocab)[3:]) == ["a\u00a0b", "c", "d", "e", "f", "g"]


def test_ids_fall_with_frequency() -> None:
    encoded = encode_text(["b a a", "a b c"], min_count=1)
    assert list(encoded.vocab) == ["<unk>", "<s>", "</s>", "a", "b", "c"]


def test_unk_in_the_text_is_the_unknown_word() -> None:
    encoded = encode_text(["a <unk> a", "b"], min_count=2)
    assert encoded.ids.tolist() == [BOS, 3, UNK, 3, EOS, BOS, UNK, EOS]


def test_without_markers_the_text_is_one_stream(tmp_path: Path) -> None:
    path = tmp_path / "t"
    path.write_text("a b\nc\n\na")
    encoded = encode_text(path, min_count=1, options=TextOptions(markers=False))
    assert [encoded.vocab.word(i) for i in encoded.ids] == ["a", "b", "c", "a"]
    assert encoded.words == 4


def test_a_fixed_vocabulary(tmp_path: Path) -> None:
    path = tmp_path / "vocab"
    path.write_text("cat\nthe\n<s>\n</s>\n<unk>\n")
    vocab = read_vocabulary(str(path))
    assert list(vocab) == ["<unk>", "<s>", "</s>", "cat", "the"]
    encoded = encode_text(["the cat sat"], vocab=vocab)
    assert encoded.ids.tolist() == [BOS, 4, 3, UNK, EOS]
    path.write_text("\n")
    with pytest.raises(TextError, match="lists no words"):
        read_vocabulary(str(path))


def test_lookup() -> None:
    vocab = Vocabulary.from_words(["the", "cat", "the"])
    assert "cat" in vocab
    assert "dog" not in vocab
    assert 3 not in vocab
    assert (vocab["cat"], vocab["dog"], vocab[""], vocab["\ud800"]) == (4, UNK, UNK, UNK)
    with pytest.raises(IndexError, match="no word has the id 5"):
        vocab.word(5)


def test_repr_is_short() -> None:
    assert repr(Vocabulary.from_words([])) == "<plre.Vocabulary of 3 words: <unk>, <s>, </s>>"
    many = Vocabulary.from_words(["x" * 1000, *map(str, range(2000))])
    expected = f"<plre.Vocabulary of 2,004 words: <unk>, <s>, </s>, {'x' * 20}..., 0, 1, 2, 3, ...>"
    assert repr(many) == expected


@pytest.mark.parametrize("builders", [1, 2, 5])
def test_sharing_out_changes_nothing(text: list[str], builders: int) -> None:
    everyone = [VocabularyBuilder() for _ in range(builders)]
    for i, line in enumerate(text):
        everyone[i % builders].learn(line.encode() + b"\n", END_AND_START, skip_markers=False)
    vocab, numbers, _ = merge(everyone, 2)
    alone = encode_text(text, min_count=2)
    assert list(vocab) == list(alone.vocab)
    counts = sum(np.bincount(n, b.counts[: len(b)], len(vocab)) for n, b in zip(numbers, everyone, strict=True))
    counts[:3] = 0
    assert counts[3:].tolist() == np.bincount(alone.ids)[3:].tolist()


def test_more_than_a_million_types(tmp_path: Path) -> None:
    path = tmp_path / "types"
    n = 1_100_000
    path.write_text("\n".join(" ".join(f"{i:x}" for i in range(k, k + 20)) for k in range(0, n, 20)))
    encoded = encode_text(path, min_count=1, threads=2)
    assert len(encoded.vocab) == n + 3
    assert all(encoded.vocab.word(encoded.vocab[f"{i:x}"]) == f"{i:x}" for i in range(0, n, 9973))
