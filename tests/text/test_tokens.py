"""Texts of tokens: arrays, files, tokenizers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import plre
from plre.errors import TextError, UsageError
from plre.text import tokens as module
from plre.text.tokens import Tokens, open_tokens

END = 7
pytestmark = pytest.mark.filterwarnings("ignore::plre.errors.PlreWarning")  # there is too little text


@pytest.fixture(scope="module")
def numbers() -> np.ndarray:
    rng = np.random.default_rng(0)
    return np.minimum(rng.zipf(1.5, 20_000) - 1, 99).astype(np.uint16)


@pytest.mark.parametrize("piece", [1 << 16, 17])
def test_sentences_are_what_stands_between_ends(monkeypatch: pytest.MonkeyPatch, piece: int) -> None:
    monkeypatch.setattr(module, "_PIECE", piece)
    rng = np.random.default_rng(1)
    ids = rng.integers(0, 9, 500)
    wanted = " ".join(map(str, ids.tolist())).split(f"{END}")
    shown = [" ".join(line.split()) for line in wanted]
    assert list(Tokens(ids, END)) == (shown if shown[-1] else shown[:-1])
    assert " ".join(Tokens(ids)) == " ".join(map(str, ids.tolist()))


@pytest.mark.parametrize("end", [None, END])
def test_arrays_and_text_give_the_same_model(numbers: np.ndarray, end: int | None, tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", numbers)
    numbers.tofile(tmp_path / "a.bin")
    text = list(Tokens(numbers, end))
    vocab = [str(k) for k in range(int(numbers.max()) + 1)]
    wanted = plre.train(text, order=3, method="mkn", vocab=vocab, markers=end is not None)
    held = numbers[:777]
    for given in (
        Tokens(numbers, end), open_tokens(tmp_path / "a.npy", end=end), open_tokens(tmp_path / "a.bin", "uint16", end)
    ):  # fmt: skip
        lm = plre.train(given, order=3, method="mkn")
        for one, other in zip(lm.components, wanted.components, strict=True):
            assert {n: t.tobytes() for n, t in one.body.tensors.items()} == {
                n: t.tobytes() for n, t in other.body.tensors.items()
            }
        assert lm.perplexity(held) == pytest.approx(wanted.perplexity(list(Tokens(held, end))))
        assert lm.perplexity(Tokens(held, end)) == lm.perplexity(held)
    assert lm.metadata["token_end"] == end


def test_a_plain_array_is_a_stream(numbers: np.ndarray) -> None:
    lm = plre.train(numbers, order=2, method="mkn", dev=None)
    assert not lm.markers
    assert len(lm.vocab) == 3 + int(numbers.max()) + 1
    assert lm.perplexity(numbers) < 99


def test_bad_tokens(tmp_path: Path) -> None:
    for ids in (np.zeros((2, 2), int), np.zeros(3)):
        with pytest.raises(UsageError, match="an array of one dimension of whole numbers"):
            Tokens(ids)
    with pytest.raises(TextError, match="below 0"):
        list(Tokens(np.array([1, -1])))
    (tmp_path / "a.bin").write_bytes(b"123")
    with pytest.raises(TextError, match="has 3 bytes, which are no whole numbers of type uint16"):
        open_tokens(tmp_path / "a.bin", "uint16")
    with pytest.raises(UsageError, match="say what its numbers are"):
        open_tokens(tmp_path / "a.bin")
    with pytest.raises(TextError, match="cannot be read as tokens"):
        open_tokens(tmp_path / "no.npy")
    with pytest.raises(UsageError, match="numbers of tokens already"):
        plre.train(np.arange(9), tokenizer="t.json")


def make_tokenizer(folder: Path, text: list[str], kind: str) -> Path:
    """A small tokenizer of either kind."""
    if kind == "json":
        tokenizers: Any = pytest.importorskip("tokenizers")
        made = tokenizers.Tokenizer(tokenizers.models.BPE(unk_token="[UNK]"))
        made.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
        made.train_from_iterator(text, tokenizers.trainers.BpeTrainer(vocab_size=120, special_tokens=["[UNK]"]))
        made.save(str(folder / "t.json"))
        return folder / "t.json"
    sentencepiece: Any = pytest.importorskip("sentencepiece")
    (folder / "text").write_text("\n".join(text))
    sentencepiece.SentencePieceTrainer.train(
        input=str(folder / "text"), model_prefix=str(folder / "t"), vocab_size=80, hard_vocab_limit=False,
        minloglevel=2,
    )  # fmt: skip
    return folder / "t.model"


@pytest.mark.parametrize("kind", ["json", "model"])
def test_a_tokenizer_takes_text_apart(kind: str, text: list[str], other_text: list[str], tmp_path: Path) -> None:
    path = make_tokenizer(tmp_path, text, kind)
    tokenizer = plre.Tokenizer(path)
    files = tmp_path / "train.txt", tmp_path / "test.txt"
    for file, lines in zip(files, (text, other_text), strict=True):
        file.write_text("\n".join(lines) + "\n")
    lm = plre.train(files[0], order=4, method="mkn", tokenizer=path)
    assert lm.metadata["tokenizer"] == tokenizer.describe()
    assert len(lm.vocab) == 3 + tokenizer.size
    by_hand = [" ".join(map(str, ids)) for ids in tokenizer.encode(text)]
    same = plre.train(by_hand, order=4, method="mkn", vocab=[str(k) for k in range(tokenizer.size)])
    assert lm.score(by_hand[0]) == pytest.approx(same.score(by_hand[0]))
    report = plre.evaluate(lm, files[1], tokenizer=tokenizer)
    assert report.written == sum(len(line.split()) for line in other_text)
    assert report.perplexity_per_word == pytest.approx(10 ** (-report.logprob10 / (report.written + len(other_text))))
    assert report.bits_per_byte == pytest.approx(report.bits / files[1].stat().st_size)
    assert "perplexity per word" in str(report)
    lm.save(tmp_path / "m.plre")
    with pytest.raises(UsageError, match="reads tokens of t"):
        plre.load(tmp_path / "m.plre").perplexity(files[1])
    other = tmp_path / f"other.{kind}"
    other.write_bytes(path.read_bytes() + b" " * (kind == "json"))
    if kind == "json":
        with pytest.raises(UsageError, match="is not the tokenizer that the model was trained with"):
            plre.evaluate(lm, files[1], tokenizer=other)
    with pytest.raises(UsageError, match="it reads words"):
        plre.evaluate(plre.train(text, order=1, method="mkn"), files[1], tokenizer=path)


def test_what_is_no_tokenizer(tmp_path: Path) -> None:
    pytest.importorskip("tokenizers")
    pytest.importorskip("sentencepiece")
    for name in ("a.json", "a.model"):
        (tmp_path / name).write_text("{}")
        with pytest.raises(UsageError, match=f"{name}: is no"):
            plre.Tokenizer(tmp_path / name)
        with pytest.raises(UsageError, match="cannot be read"):
            plre.Tokenizer(tmp_path / "no" / name)
