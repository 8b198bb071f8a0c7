"""The class-based model against its definition, written out over dictionaries."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import plre
from plre.ensemble.classes import classes_of
from plre.text.vocabulary import Vocabulary

pytestmark = pytest.mark.filterwarnings("ignore::plre.errors.PlreWarning")


@pytest.mark.parametrize("order", [1, 2, 3])
def test_it_is_p_of_the_class_times_p_of_the_word(text: list[str], other_text: list[str], order: int) -> None:
    """The same numbers from a word model of the text with every word replaced by its class."""
    lm = plre.train(text, order=order, method="class", classes=12)
    (component,) = lm.components
    assert component.symbols is not None
    special = ["<unk>", "<s>", "</s>"]
    symbols = {word: int(component.symbols[lm.vocab[word]]) for word in lm.vocab}
    names = {word: special[s] if s < 3 else f"class{s}" for word, s in symbols.items()}

    def in_classes(line: str) -> list[str]:
        return [names[word if word in lm.vocab else "<unk>"] for word in line.split()]

    classes = plre.train([" ".join(in_classes(line)) for line in text], order=order, method="mkn", min_count=1)
    times = Counter(word if word in lm.vocab else "<unk>" for line in text for word in line.split())
    of_class = Counter()
    for word, count in times.items():
        of_class[names[word]] += count
    for line in other_text:
        words = [word if word in lm.vocab else "<unk>" for word in line.split()]
        history, expected = ["<s>"], 0.0
        for word in words:
            share = times[word] / of_class[names[word]]
            expected += np.log10(classes.prob(names[word], history) * share)
            history.append(names[word])
        expected += np.log10(classes.prob("</s>", history))
        assert lm.score(line) == pytest.approx(expected, abs=1e-4)


def test_symbols_and_shares() -> None:
    vocab = Vocabulary.from_words(["the", "cat", "dog", "never"])
    found = np.array([1, -1, -1, 0, 2, 2, -1], np.int32)
    classes = classes_of(vocab, found, np.array([6, 0, 4, 10, 3, 1, 0], np.int32))
    assert list(classes.names) == ["<unk>", "<s>", "</s>", "[the]", "[cat]"]
    assert classes.symbols.tolist() == [0, 1, 2, 3, 4, 4, 0]
    # A word that never occurs counts as a half within the class of unknown words.
    assert classes.shares.tolist() == pytest.approx([6 / 6.5, 1, 1, 1, 0.75, 0.25, 0.5 / 6.5])


def test_listed_words_that_never_occur() -> None:
    lm = plre.train(["a b c d", "b c a"] * 4, method="class", classes=2, vocab=["a", "b", "x", "y"], order=2)
    assert lm.prob("x", ["a"]) == lm.prob("y", ["a"]) > 0
    for context in ([], ["x"], ["a"], ["<s>"]):
        assert lm.distribution(context).sum() == pytest.approx(1, abs=1e-6)


def test_quantised(text: list[str], other_text: list[str]) -> None:
    whole = plre.train(text, method="class", classes=12)
    small = plre.train(text, method="class", classes=12, quantise=8)
    assert small.nbytes < whole.nbytes
    assert small.perplexity(other_text) == pytest.approx(whole.perplexity(other_text), rel=0.05)


def test_classes_belong_to_one_method(text: list[str]) -> None:
    with pytest.raises(plre.UsageError, match="belong to the methods class and plre"):
        plre.train(text, method="mkn", classes=12)
    with pytest.raises(plre.UsageError, match="from 1 up"):
        plre.train(text, method="class", classes=0)
    with pytest.raises(plre.UsageError, match="from 1 up"):
        plre.train(text, method="class", classes=-3)


def test_what_info_says(text: list[str]) -> None:
    lm = plre.train(text, method="class", classes=12)
    about = lm.info()
    assert about["classes"] == 12
    assert about["method"] == "class"
    assert len(about["ngrams"]) == 3
    assert "classes:12" in plre.evaluate(lm, text).signature


def test_counts_of_classes_keep_to_the_memory() -> None:
    many = [" ".join(f"v{i}" for i in range(start, start + 50)) for start in range(0, 9000, 50)]
    with pytest.raises(
        plre.UsageError, match=r"6,000 classes would take 1\.2 GB of memory; of the 0\.2 GB that may be used"
    ):
        plre.train(many, method="class", classes=6000, memory="200M", min_count=1)
