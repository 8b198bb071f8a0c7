from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import plre
from plre.errors import ModelFileError
from plre.model import file


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory, text: list[str]) -> Path:
    path = tmp_path_factory.mktemp("model") / "m.plre"
    plre.train(text, order=3).save(path)
    return path


def test_any_safetensors_reader_can_look_inside(path: Path) -> None:
    safetensors = pytest.importorskip("safetensors.numpy")
    tensors = safetensors.load_file(path)
    lm = plre.load(path)
    assert set(tensors) == set(lm.tensors)
    for name, tensor in tensors.items():
        np.testing.assert_array_equal(tensor, lm.tensors[name])


def test_data_starts_on_64_bytes_and_tensors_are_aligned(path: Path) -> None:
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    assert (8 + length) % 64 == 0
    for name, tensor in plre.load(path).tensors.items():
        assert tensor.__array_interface__["data"][0] % tensor.dtype.itemsize == 0, name


def rewritten(path: Path, to: Path, change: Any) -> Path:
    """A copy whose header was changed."""
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    change(header)
    text = json.dumps(header).encode()
    to.write_bytes(len(text).to_bytes(8, "little") + text + data[8 + length :])
    return to


def change_format(header: dict) -> None:
    about = json.loads(header["__metadata__"]["plre"])
    header["__metadata__"]["plre"] = json.dumps({**about, "format": 99})


def change_order(header: dict) -> None:
    about = json.loads(header["__metadata__"]["plre"])
    header["__metadata__"]["plre"] = json.dumps({**about, "order": 4})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda h: h["__metadata__"].clear(), "not a plre model"),
        (change_format, "has format 99.*newer plre"),
        (change_order, "is missing"),
        (lambda h: h.pop("order2.words"), "should have|missing"),
        (lambda h: h["order2.words"].update(shape=[3]), "impossible offsets"),
        (lambda h: h["order2.words"].update(dtype="F99"), "header is damaged"),
        (lambda h: h["__metadata__"].update(plre="{"), "header is damaged"),
        (lambda h: h.update({"__metadata__": 5}), "header is damaged|not a plre"),
    ],
)
def test_damaged_headers(path: Path, tmp_path: Path, change: Any, message: str) -> None:
    with pytest.raises(ModelFileError, match=message):
        plre.load(rewritten(path, tmp_path / "bad.plre", change))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty or cut off"),
        (b"just some words\nin a file, long enough to look at", "looks like text"),
        (b"\\data\\\nngram 1=3\nngram 2=5\n\n\\1-grams:\n", "looks like an ARPA file"),
        (b"mmap lm http://kheafield.com/code format version 5\n\0" + b"\0" * 64, "KenLM binary"),
        (b"\x1f\x8b\x08" + b"\xff" * 64, "looks compressed"),
        (b"\x7fELF\x02\x01\x01\xff" + b"\xfe" * 64, "other binary"),
    ],
)
def test_foreign_files(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "foreign"
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match=message):
        plre.load(path)


def test_every_truncation_is_an_error(path: Path, tmp_path: Path) -> None:
    data = path.read_bytes()
    cut = tmp_path / "cut.plre"
    for size in [*range(0, 2000, 61), *range(2000, len(data), len(data) // 50), len(data) - 1]:
        cut.write_bytes(data[:size])
        with pytest.raises(ModelFileError):
            plre.load(cut)
    cut.write_bytes(data + b"more")
    with pytest.raises(ModelFileError, match="should have"):
        plre.load(cut)


def test_missing_model(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="no such file; make a model with"):
        plre.load(tmp_path / "none.plre")
    with pytest.raises(ModelFileError, match="cannot be opened"):
        plre.load(tmp_path)


def test_a_failed_write_leaves_the_old_model(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lm = plre.load(path)
    target = tmp_path / "m.plre"
    lm.save(target)
    before = target.read_bytes()

    def fail(fd: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(file.os, "fsync", fail)
    with pytest.raises(ModelFileError, match=r"m\.plre: the model could not be written \(No space left"):
        lm.save(target)
    assert target.read_bytes() == before
    assert os.listdir(tmp_path) == ["m.plre"]


def test_saving_where_one_cannot(path: Path, tmp_path: Path) -> None:
    lm = plre.load(path)
    with pytest.raises(ModelFileError, match="is a directory"):
        lm.save(tmp_path)
    with pytest.raises(ModelFileError, match="could not be written"):
        lm.save(tmp_path / "no" / "such" / "place")


def test_permissions_follow_the_umask(path: Path, tmp_path: Path) -> None:
    old = os.umask(0o027)
    try:
        plre.load(path).save(tmp_path / "m.plre")
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "m.plre").stat().st_mode) == 0o640


def test_a_model_in_use_can_be_replaced(path: Path, tmp_path: Path, text: list[str]) -> None:
    target = tmp_path / "m.plre"
    plre.load(path).save(target)
    old = plre.load(target)
    score = old.score("w1 w2 w3")
    plre.train(text, order=2, method="mkn").save(target)
    assert old.score("w1 w2 w3") == score
    assert plre.load(target).order == 2
