"""ARPA files: what is in them is read, and what is wrong with them is said with the line."""

from __future__ import annotations

import bz2
import gzip
import lzma
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import plre
from plre.cli.main import run
from plre.interop import arpa
from plre.interop.importing import import_arpa
from tests.interop.arpa_files import Made, make_arpa

GOOD = r"""\data\
ngram 1=4
ngram 2=2

\1-grams:
-1	<unk>
-99	<s>	-0.5
-0.5	a	-0.25
-0.75	</s>

\2-grams:
-0.125	<s> a
-0.5	a </s>

\end\
"""


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def logprob(made: Made, context: tuple[str, ...], word: str) -> float:
    """What an ARPA file says, by its definition."""
    if len(context) + 1 > len(made.orders):
        return logprob(made, context[1:], word)
    if (*context, word) in made.orders[len(context)]:
        return made.orders[len(context)][(*context, word)][0]
    weight = made.orders[len(context) - 1].get(context, (0, 0.0))[1]
    return weight + logprob(made, context[1:], word)


@given(st.integers(0, 10**6), st.integers(1, 5), st.booleans())
def test_answers_are_those_of_the_definition(seed: int, order: int, closed: bool) -> None:
    made = make_arpa(seed, order, closed=closed, words=12)
    with tempfile.TemporaryDirectory() as folder:
        lm = import_arpa(written(Path(folder) / "a.arpa", made.text), threads=2)
    rng = np.random.default_rng(seed)
    for _ in range(20):
        words = [made.words[i] for i in rng.integers(len(made.words), size=order)]
        expected = logprob(made, tuple(words[:-1]), words[-1])
        assert np.log10(lm.prob(words[-1], words[:-1])) == pytest.approx(expected, abs=1e-5)
        everything = lm.distribution(words[:-1])
        assert everything[lm.vocab[words[-1]]] == pytest.approx(10**expected, rel=1e-4)


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: "# made by hand\n\n" + text.replace("ngram 2", "# two\nngram 2"),
        lambda text: text.replace("\t", " "),
        lambda text: text.replace("-0.5\ta </s>", "\n-0.5\ta </s>\n"),
        lambda text: text.replace("-0.5\ta", "-5e-1\ta"),
    ],
    ids=["Windows", "comments", "spaces", "empty lines", "exponents"],
)
def test_what_tools_differ_in(change: object, tmp_path: Path) -> None:
    lm = import_arpa(written(tmp_path / "a.arpa", change(GOOD)))  # type: ignore[operator]
    assert lm.order == 2
    assert lm.score("a") == pytest.approx(-0.625)
    assert lm.score("a b") == pytest.approx(-0.125 - 0.25 - 1 - 0.75)


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_compressed(pack: object, tmp_path: Path) -> None:
    path = tmp_path / "a.arpa"
    path.write_bytes(pack(GOOD.encode()))  # type: ignore[operator]
    assert plre.load(path).score("a") == pytest.approx(-0.625)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (r"\data\ ".strip(), "data", r":1: an ARPA file begins with"),
        ("ngram 2=2", "ngram 3=2", r":3: the number of n-grams of order 2 comes next"),
        ("-1\t<unk>", "x\t<unk>", r":6: does not begin with a log probability: 'x\\t<unk>'"),
        ("-0.5\ta\t", "0.5\ta\t", r":8: has a log probability above 0"),
        ("-0.25", "nan", r":8: has a back-off weight that is no number"),
        ("a </s>", "b </s>", r":13: has a word that is not among the unigrams: '-0.5\\tb </s>'"),
        ("-0.5\ta </s>", "-0.5\ta", r":13: has fewer words than n-grams of order 2 have"),
        ("a </s>", "a </s> a", r":13: has something after its 2 words"),
        ("a </s>", "a </s>\t-0.5", r":13: has a back-off weight, but nothing is longer"),
        ("a </s>", "<s> a", r":13: the n-gram '<s> a' is there twice"),
        ("-0.75\t</s>", "-0.75\ta", r":9: 'a' is among the unigrams twice"),
        (r"\2-grams:", r"\3-grams:", r":11: \\2-grams: comes next"),
        ("ngram 1=4", "ngram 1=5", r"has 4 n-grams of order 1, but says that it has 5"),
        (r"\end\ ".strip(), "", r"ends without \\end\\: it was cut off"),
        ("-0.75\t</s>\n", "", r"has 3 n-grams of order 1"),
    ],
)
def test_what_is_wrong_is_named(old: str, new: str, message: str, tmp_path: Path) -> None:
    path = written(tmp_path / "bad.arpa", GOOD.replace(old, new))
    with pytest.raises(plre.ModelFileError, match=message):
        import_arpa(path)


def test_contexts_must_be_there(tmp_path: Path) -> None:
    text = GOOD.replace("ngram 2=2", "ngram 2=2\nngram 3=1").replace("\\end\\", "\\3-grams:\n-0.1\ta a </s>\n\n\\end\\")
    with pytest.raises(plre.ModelFileError, match=r":17: the n-gram 'a a </s>' has words before the last that are no"):
        import_arpa(written(tmp_path / "bad.arpa", text))


def test_pieces_memory_and_threads_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "a.arpa", make_arpa(3, 4, closed=False).text)
    usual = import_arpa(path, threads=1)
    monkeypatch.setattr("plre.text.sources.BLOCK_BYTES", 300)
    monkeypatch.setattr("plre.scratch.SMALLEST_MEMORY", 0)
    monkeypatch.setattr("plre.scratch.Scratch.check_room", lambda *about: None)
    monkeypatch.setattr("plre.scratch.Scratch.threads", lambda scratch, wanted: wanted)
    assert import_arpa(path, threads=3, memory=0, tmp=tmp_path).digest == usual.digest


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, model, text = tmp_path / "a.arpa", tmp_path / "a.plre", tmp_path / "t.txt"
    written(path, GOOD)
    written(text, "a\na b\n")
    assert run(["import", str(path), "-o", str(model)]) == 0
    assert "n-grams of order 1 and up: 4, 2" in capsys.readouterr().err
    shown = []
    for each in (path, model):
        assert run(["eval", str(each), str(text), "--format", "kenlm"]) == 0
        shown.append(capsys.readouterr().out)
    assert shown[0] == shown[1]
    plre.load(model).verify()


def test_missing_words(tmp_path: Path) -> None:
    text = GOOD.replace("-1\t<unk>\n", "").replace("ngram 1=4", "ngram 1=3")
    assert import_arpa(written(tmp_path / "a.arpa", text)).score("b", eos=False) == pytest.approx(
        -0.5 + float(arpa.MISSING_UNKNOWN)
    )
    half = GOOD.replace("-0.75\t</s>\n", "").replace("-0.5\ta </s>\n", "").replace("=4", "=3").replace("2=2", "2=1")
    with pytest.raises(plre.ModelFileError, match="has no unigram </s>"):
        import_arpa(written(tmp_path / "b.arpa", half))
