from __future__ import annotations

import bz2
import gzip
import io
import lzma
import sys
from pathlib import Path
from typing import Any

import pytest

from plre.errors import TextError, UsageError
from plre.text import sources
from plre.text.encode import TextOptions, encode_text
from plre.text.sources import raw_blocks, read_blocks
from plre.text.vocabulary import Vocabulary

TEXT = b"the cat sat\non the mat\n" * 50


def content(source: Any, **options: Any) -> bytes:
    return b"".join(block.data for block in read_blocks(source, **options))


def zstd_compress(data: bytes) -> bytes:
    return bytes(sources._zstd().compress(data))


@pytest.mark.parametrize(
    "compress",
    [bytes, gzip.compress, bz2.compress, lzma.compress, zstd_compress],
    ids=["plain", "gz", "bz2", "xz", "zst"],
)
def test_compression_is_known_by_the_first_bytes(tmp_path: Path, compress: Any) -> None:
    path = tmp_path / "text.whatever"
    path.write_bytes(compress(TEXT))
    assert content(path) == TEXT


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress, zstd_compress])
def test_broken_compression_names_the_file(tmp_path: Path, compress: Any) -> None:
    path = tmp_path / "text.gz"
    data = compress(bytes(range(33, 127)) * 200 + TEXT)
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(TextError, match=r"text\.gz: .*cut off"):
        content(path)


def test_globs_are_sorted_and_files_follow_each_other(tmp_path: Path) -> None:
    (tmp_path / "b.txt").write_text("b")
    (tmp_path / "a.txt").write_text("a")
    assert content(str(tmp_path / "*.txt")) == b"a\nb\n"
    assert content([tmp_path / "b.txt", tmp_path / "a.txt"]) == b"b\na\n"


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    stdin = io.TextIOWrapper(io.BufferedReader(io.BytesIO(gzip.compress(TEXT))))  # type: ignore[arg-type]
    monkeypatch.setattr(sys, "stdin", stdin)
    assert content("-") == TEXT


def test_missing_files_and_directories(tmp_path: Path) -> None:
    with pytest.raises(TextError, match="no such file"):
        content(tmp_path / "none.txt")
    with pytest.raises(TextError, match="no file matches"):
        content(str(tmp_path / "*.none"))
    with pytest.raises(TextError, match="is a directory"):
        content(tmp_path)
    with pytest.raises(UsageError, match="iterable of strings"):
        content([1, 2])


def test_last_newline_crlf_and_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "windows.txt"
    path.write_bytes(b"\xef\xbb\xbfone two\r\nthree")
    assert content(path) == b"one two\r\nthree\n"
    encoded = encode_text(path, min_count=1)
    assert sorted(encoded.vocab)[3:] == ["one", "three", "two"]
    assert encoded.sentences == 2


def test_empty_lines_are_empty_sentences() -> None:
    encoded = encode_text(["a b", "", "a"], min_count=1)
    assert (encoded.sentences, encoded.words) == (3, 3)


@pytest.mark.parametrize("data", [b"", b"\n\n", b" \t\r\n"])
def test_no_words_is_an_error(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "empty.txt"
    path.write_bytes(data)
    with pytest.raises(TextError, match=r"empty\.txt: holds no words"):
        encode_text(path)


def test_invalid_utf8_names_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "latin.txt"
    path.write_bytes(b"fine\ncaf\xe9 au lait\n")
    with pytest.raises(TextError, match=r"latin\.txt:2: not valid UTF-8.*--errors replace"):
        content(path)
    assert content(path, errors="replace").decode() == "fine\ncaf\N{REPLACEMENT CHARACTER} au lait\n"


def test_nul_byte_names_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "nul.txt"
    path.write_bytes(b"a\nb\nc\0d\n")
    with pytest.raises(TextError, match=r"nul\.txt:3: a NUL byte.*UTF-16.*--errors replace"):
        content(path)
    assert content(path, errors="replace") == b"a\nb\nc d\n"


@pytest.mark.parametrize(
    ("data", "line", "what"),
    [
        (b"a\ncaf\xe9\nb\nc\0d\n", 2, "not valid UTF-8"),
        (b"a\nc\0d\nb\ncaf\xe9\n", 2, "a NUL byte"),
        (b"a\nb\ncaf\xe9\0\n", 3, "a NUL byte"),
        ("a\nb\n".encode("utf-16"), 1, "a NUL byte"),
    ],
)
def test_the_first_of_several_bad_bytes_is_named(tmp_path: Path, data: bytes, line: int, what: str) -> None:
    path = tmp_path / "bad.txt"
    path.write_bytes(data)
    with pytest.raises(TextError, match=rf"bad\.txt:{line}: {what}"):
        content(path)


@pytest.mark.parametrize("size", [5, 16, 1 << 22])
@pytest.mark.parametrize("stream", [False, True])
def test_the_line_of_an_error_after_bytes_that_were_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int, stream: bool
) -> None:
    """What replaces a bad byte is longer; lines are counted all the same."""
    monkeypatch.setattr(sources, "BLOCK_BYTES", size)
    path = tmp_path / "bad.txt"
    path.write_bytes(b"\xef\xbb\xbfa \xff\xfe\xfd\nb\xe2\x82\n\0\n\xf0\x9f c\nd \xe9 </s> e\nf\n")
    options = TextOptions(errors="replace", markers=not stream)
    with pytest.raises(TextError, match=r"bad\.txt:5: the text holds </s>"):
        encode_text(path, min_count=1, options=options)


def test_a_token_of_a_megabyte_is_a_word(tmp_path: Path) -> None:
    path = tmp_path / "long.txt"
    path.write_bytes(b"x" * 1_000_000 + b" y\n" + b"x" * 1_000_000)
    encoded = encode_text(path, min_count=1)
    assert len(encoded.vocab) == 5
    assert len(encoded.vocab.word(3)) == 1_000_000


def test_lines_and_words_longer_than_a_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "BLOCK_BYTES", 7)
    path = tmp_path / "text"
    path.write_bytes(b"a bb ccccccccccccccccccccc d\ne\n\nf gggggg hhhhh i")
    blocks = list(read_blocks(path))
    assert b"".join(block.data for block in blocks) == path.read_bytes() + b"\n"
    assert all(block.data.endswith(b"\n") for block in blocks)
    assert [block.line for block in blocks] == [
        1,
        *(1 + path.read_bytes()[: _start(blocks, i)].count(10) for i in range(1, len(blocks))),
    ]
    stream = list(read_blocks(path, stream=True))
    assert b"".join(block.data for block in stream) == path.read_bytes() + b"\n"
    assert len(stream) > len(blocks)


def _start(blocks: list[sources.Block], i: int) -> int:
    return sum(len(block.data) for block in blocks[:i])


@pytest.mark.parametrize("marker", ["<s>", "</s>"])
def test_sentence_markers_in_the_text(tmp_path: Path, marker: str) -> None:
    path = tmp_path / "marked.txt"
    path.write_text(f"a b\nc {marker} d\n")
    with pytest.raises(TextError, match=rf"marked\.txt:2: the text holds {marker}.*--skip-markers"):
        encode_text(path)
    encoded = encode_text(path, min_count=1, options=TextOptions(skip_markers=True))
    assert encoded.words == 4
    with pytest.raises(TextError, match=rf"marked\.txt:2: the text holds {marker}"):
        encode_text(path, vocab=Vocabulary.from_words(["a", "b"]))


def test_names_of_files_in_a_list_are_not_sentences(tmp_path: Path) -> None:
    path = tmp_path / "t.txt"
    path.write_text("a b\n")
    with pytest.raises(UsageError, match="strings in a list are sentences"):
        content([str(path)])
    with pytest.raises(UsageError, match="only once"):
        content([Path("-"), Path("-")])
    with pytest.raises(UsageError, match="must be a path"):
        content(None)


def test_a_newline_in_a_string_is_white_space() -> None:
    encoded = encode_text(["a\nb", "c"], min_count=1)
    assert (encoded.sentences, encoded.words) == (2, 3)


def test_progress_covers_the_file(tmp_path: Path) -> None:
    path = tmp_path / "t.gz"
    path.write_bytes(gzip.compress(TEXT))
    assert sum(block.read for block in read_blocks(path)) == path.stat().st_size


def test_what_has_no_white_space_is_no_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "BLOCK_BYTES", 100)
    monkeypatch.setattr(sources, "_LONGEST_WORD", 250)
    path = tmp_path / "words.txt"
    path.write_bytes(b"a b\n" + b"x" * 240 + b" " + b"y" * 240 + b" c\n")
    assert sum(len(block.data.split()) for block in raw_blocks(path)) == 5
    path.write_bytes(b"a b\n" + b"x" * 240 + b" " + b"y" * 500)
    with pytest.raises(TextError, match=r"words\.txt:2: more than .* without white space"):
        list(raw_blocks(path))
