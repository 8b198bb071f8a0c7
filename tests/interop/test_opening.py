"""Opening whatever may hold a model, and saying what does not."""

from __future__ import annotations

import bz2
import gzip
import lzma
from pathlib import Path

import pytest

import plre
from plre.cli.main import run
from plre.errors import ModelFileError
from plre.evaluation.describe import describe_model
from plre.progress import Progress
from tests.interop.arpa_files import make_arpa


class Notes(Progress):
    """Keeps what it is told."""

    def __init__(self) -> None:
        super().__init__()
        self.notes: list[str] = []

    def note(self, message: str) -> None:
        self.notes.append(message)


@pytest.fixture(scope="module")
def arpa() -> bytes:
    return make_arpa(3, 3).text.encode()


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress])
def test_compressed_arpa_files_are_models(tmp_path: Path, arpa: bytes, compress) -> None:
    plain, packed = tmp_path / "x.arpa", tmp_path / "x.arpa.packed"
    plain.write_bytes(arpa)
    packed.write_bytes(compress(arpa))
    assert plre.load(packed).score("w1 w2 w3") == plre.load(plain).score("w1 w2 w3")


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress])
def test_what_was_cut_off_is_said_to_be(tmp_path: Path, arpa: bytes, compress) -> None:
    path = tmp_path / "x.arpa.packed"
    path.write_bytes(compress(arpa)[:700])
    with pytest.raises(ModelFileError, match=r"x\.arpa\.packed: compressed data is broken or cut off"):
        plre.load(path)


def test_compressed_files_of_other_kinds(tmp_path: Path) -> None:
    path, model = tmp_path / "some.gz", tmp_path / "a.plre"
    path.write_bytes(gzip.compress("Müller spielt\n".encode() * 9999))
    with pytest.raises(ModelFileError, match="it looks like text; train a model on it"):
        plre.load(path)
    plre.train(["a b c", "b a d"], order=1, method="jm", min_count=1).save(model)
    path.write_bytes(gzip.compress(model.read_bytes()))
    with pytest.raises(ModelFileError, match="it looks like a model: decompress it first"):
        plre.load(path)


def test_a_missing_unknown_word_is_said(tmp_path: Path) -> None:
    path, notes = tmp_path / "x.arpa", Notes()
    path.write_text(make_arpa(3, 2, unknown=False).text)
    plre.import_arpa(path, progress=notes)
    assert any("has no <unk>" in note for note in notes.notes)


def test_arpa_models_describe_themselves(tmp_path: Path, arpa: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    path, saved = tmp_path / "x.arpa", tmp_path / "x.plre"
    path.write_bytes(arpa)
    assert describe_model(plre.load(path)).startswith("x.arpa\n  method      arpa")
    assert run(["import", str(path), "-o", str(saved), "-q"]) == 0
    assert run(["info", str(saved)]) == 0
    assert "method      arpa" in capsys.readouterr().out
    assert run(["verify", str(saved)]) == 0


def test_no_neighbours_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.arpa"
    path.write_text("\\data\\\nngram 1=3\nngram 2=1\n\n\\1-grams:\n-1\t<unk>\n-0.5\ta\t-0.1\n-0.5\tb\n\n"
                    "\\2-grams:\n-0.2\ta b\n\n\\end\\\n")  # fmt: skip
    assert run(["neighbours", str(path), "a"]) == 0
    assert "no word stands beside the same words as 'a'" in capsys.readouterr().out
