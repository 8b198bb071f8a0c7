"""``plre.cluster`` and the command: what they give, and what they say when something is wrong."""

from __future__ import annotations

from math import exp
from pathlib import Path

import numpy as np
import pytest

import plre
from plre.cli.main import run

LINES = ["a cat sat", "a dog sat", "the cat ran", "the dog ran"] * 2


def test_words_used_alike_share_a_class() -> None:
    found = plre.cluster(LINES, 3, min_count=1)
    assert len(found) == 3
    assert found["cat"] == found["dog"]
    assert found["sat"] == found["ran"]
    assert sorted(found.words(found["a"])) == ["a", "the"]
    assert found.classes[1] == found.classes[2] == -1
    assert found["never seen"] == -1  # nor was <unk>
    with pytest.raises(IndexError, match="no class 3"):
        found.words(3)


def test_words_of_a_class_come_by_falling_frequency(text: list[str]) -> None:
    found = plre.cluster(text, 10)
    assert sorted(word for k in range(10) for word in found.words(k)) == sorted(
        word for word in found.vocab if word not in ("<s>", "</s>")
    )
    for k in range(10):
        counts = [found.counts[found.vocab[word]] for word in found.words(k)]
        assert counts == sorted(counts, reverse=True)


def test_the_likelihood_is_that_of_class_bigrams(text: list[str]) -> None:
    """One class: every word has its share of all words, </s> its share of all tokens."""
    found = plre.cluster(text, 1, min_count=1)
    counts = found.counts[found.counts > 0].astype(float)
    tokens = [["<s>", *line.split(), "</s>"] for line in text]
    words = counts.sum() - len(text)
    after_word = sum(len(line) - 2 for line in tokens)
    # The first word of a sentence is certain to be of the one class; later, a word or </s> follows a word.
    expected = sum(n * np.log(n / words) for n in counts) - len(text) * np.log(len(text) / words)
    expected += (words - len(text)) * np.log((words - len(text)) / after_word)
    expected += len(text) * np.log(len(text) / after_word)
    assert found.loglikelihood == pytest.approx(expected)
    assert found.perplexity == pytest.approx(exp(-found.loglikelihood / counts.sum()))
    assert plre.cluster(text, 30, min_count=1).perplexity < found.perplexity


def test_a_list_of_words_and_streams(text: list[str]) -> None:
    some = sorted({word for line in text for word in line.split()})[:50]
    found = plre.cluster(text, 5, vocab=[*some, "absent"])
    assert found["absent"] == -1
    assert found["<unk>"] == found["not known"] >= 0
    stream = plre.cluster(text, 5, markers=False)
    assert stream.counts[1:3].tolist() == [0, 0]


def test_classes_that_no_memory_holds_are_refused() -> None:
    words = [" ".join(f"w{i}" for i in range(3000))]
    with pytest.raises(plre.UsageError, match="2,900 classes would take"):
        plre.cluster(words, 2900, min_count=1, memory="200M")
    assert len(plre.cluster(LINES, 10**6, min_count=1, memory="200M")) == 6


def test_the_command_prints_words_by_class(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, out = tmp_path / "text.txt", tmp_path / "classes.tsv"
    source.write_text("\n".join(LINES) + "\n")
    arguments = ["cluster", str(source), "-c", "3"]
    assert run(arguments) == 0
    shown = capsys.readouterr()
    rows = [line.split("\t") for line in shown.out.splitlines()]
    assert sorted(word for word, _ in rows) == ["a", "cat", "dog", "ran", "sat", "the"]
    assert [int(number) for _, number in rows] == [0, 0, 1, 1, 2, 2]
    assert "3 classes of 6 words" in shown.err
    assert "perplexity of the class bigrams" in shown.err
    assert run([*arguments, "-o", str(out), "-q"]) == 0
    assert out.read_text() == shown.out
    assert capsys.readouterr() == ("", "")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["classes.tsv", "text.txt"]


def test_the_command_says_what_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "text.txt"
    source.write_text("a b\n")
    arguments = ["cluster", str(source)]
    for wrong, message in {
        ("-o", str(source)): "is read too",
        ("-o", str(tmp_path / "none" / "c")): "no such directory",
        ("-o", str(tmp_path)): "is a directory",
        ("-c", "0"): "not in the range",
        ("--seed", "-1", "--min-count", "1"): "from 0 up",
        ("--vocab", "x", "--min-count", "1"): "not both",
    }.items():
        assert run([*arguments, *wrong]) == 2
        assert message in capsys.readouterr().err
