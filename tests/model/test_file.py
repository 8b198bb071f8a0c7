from __future__ import annotations

import json
import os
import pickle
import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import plre
from plre import tensorfile as file
from plre.errors import ModelFileError, UsageError
from plre.model.storage import tensors_of


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory, text: list[str]) -> Path:
    path = tmp_path_factory.mktemp("model") / "m.plre"
    plre.train(text, order=3, preset="paper").save(path)
    return path


def test_any_safetensors_reader_can_look_inside(path: Path) -> None:
    safetensors = pytest.importorskip("safetensors.numpy")
    tensors = safetensors.load_file(path)
    own = tensors_of(plre.load(path))
    assert set(tensors) == set(own)
    for name, tensor in tensors.items():
        np.testing.assert_array_equal(tensor, own[name])


def test_data_starts_on_64_bytes_and_tensors_are_aligned(path: Path) -> None:
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    assert (8 + length) % 64 == 0
    for name, tensor in tensors_of(plre.load(path)).items():
        boundary = 64 if name.endswith(".lines") else tensor.dtype.itemsize
        assert tensor.__array_interface__["data"][0] % boundary == 0, name


def rewritten(path: Path, to: Path, change: Any) -> Path:
    """A copy whose header was changed."""
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    change(header)
    text = json.dumps(header).encode()
    text += b" " * (-(8 + len(text)) % 64)
    to.write_bytes(len(text).to_bytes(8, "little") + text + data[8 + length :])
    return to


def about(**changes: Any) -> Any:
    """Change what the header says about the model."""

    def change(header: dict) -> None:
        old = json.loads(header["__metadata__"]["plre"])
        header["__metadata__"]["plre"] = json.dumps({k: v for k, v in {**old, **changes}.items() if v != "gone"})

    return change


def about_component(**changes: Any) -> Any:
    """Change what the header says about the first component; ``body`` is changed field by field."""

    def change(header: dict) -> None:
        metadata = json.loads(header["__metadata__"]["plre"])
        own = metadata["components"][0]
        body = {**own["body"], **changes.get("body", {})}
        metadata["components"][0] = {**own, **changes, "body": body}
        header["__metadata__"]["plre"] = json.dumps(metadata)

    return change


def swap(a: str, b: str) -> Any:
    """Let two names point to each other's tensors."""

    def change(header: dict) -> None:
        header[a], header[b] = header[b], header[a]

    return change


def split(name: str, keep: int, rest: str = "rest") -> Any:
    """Shorten a tensor; a new one takes what is left of it."""

    def change(header: dict) -> None:
        entry = header[name]
        start, stop = entry["data_offsets"]
        width = {"U8": 1, "U64": 8}.get(entry["dtype"], 4)
        header[rest] = {
            **entry,
            "shape": [(stop - start) // width - keep],
            "data_offsets": [start + keep * width, stop],
        }
        header[name] = {**entry, "shape": [keep], "data_offsets": [start, start + keep * width]}

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda h: h["__metadata__"].clear(), "not a plre model"),
        (about(format=99), "has format 99.*newer plre"),
        (about(kind="log-bilinear model"), "is a log-bilinear model; open it with plre.neural.load"),
        (about(format=float("inf")), "format is inf"),
        (about(order=4), "the order is 4"),
        (about(order=2), "the order is 2"),
        (about(order="3"), "order is '3'"),
        (about(order=3.0), "order is 3.0"),
        (about(markers="no"), "markers is 'no'"),
        (about(method="gone"), "'method' is missing"),
        (about(components=[]), "no components"),
        (about(components="gone"), "'components' is missing"),
        (about(components=[{}]), "'body' is missing"),
        (about_component(weight=0.5), "do not sum to one"),
        (about_component(weight=float("nan")), "a weight is nan"),
        (about_component(body={"kind": "bigrams"}), "'bigrams' is missing"),
        (about_component(body={"sizes": [7, 1, 1]}), "instead of"),
        (about_component(body={"sizes": [391.0, 1, 1]}), "makes no sense"),
        (about_component(body={"sizes": [391, 1, 1 << 40]}), "makes no sense"),
        (about_component(body={"sizes": [391, 1, -1]}), "makes no sense"),
        (about_component(body={"sizes": [391, 1]}), "it has a tensor order3.* that such a model does not have"),
        (about_component(body={"sizes": [391, 1, 1, 1]}), "the tensor order4.ends is missing"),
        (about_component(body={"sizes": [391] * 65}), "makes no sense"),
        (about_component(body={"missing": True}), "instead of|more records than room"),
        (lambda h: h.pop("1.order2.symbols"), "does not follow"),
        (lambda h: h.pop("1.order3.runs"), "should have"),
        (lambda h: h["1.order2.lines"].update(data_offsets=h["1.order3.lines"]["data_offsets"]), "damaged"),
        (split("vocab.slots", 6), "vocabulary has the wrong size"),
        (split("vocab.slots", 0), "vocabulary has the wrong size"),
        (split("vocab.starts", 5), "does not cover"),
        (split("1.order2.factors", 3), "it has a tensor rest"),
        (split("1.order3.factors", 3, "1.rest"), "it has a tensor rest"),
        (swap("1.order2.lines", "1.order3.lines"), "instead of|more records than room"),
        (swap("1.order2.symbols", "1.order3.symbols"), "instead of"),
        (swap("1.unigrams", "1.order3.ranks"), "of type float32"),
        (swap("1.order2.lines", "1.order2.seeds"), "wrong order"),
        (lambda h: h.update(more=h.pop("vocab.slots")), "'vocab.slots' is missing"),
        (lambda h: h.update({"1.more": h.pop("1.weights")}), "the tensor weights is missing"),
        (lambda h: h["vocab.starts"].update(shape=[h["vocab.starts"]["shape"][0], 1]), "is not flat"),
        (lambda h: h["vocab.slots"].update(dtype="F32"), "vocabulary has the wrong type"),
        (lambda h: h["1.order2.lines"].update(shape=[3]), "impossible offsets"),
        (lambda h: h["1.order2.lines"].update(dtype="F99"), "header is damaged"),
        (lambda h: h["__metadata__"].update(plre="{"), "header is damaged"),
        (lambda h: h["__metadata__"].update(plre="[" * 100_000), "header is damaged"),
        (lambda h: h.update({"__metadata__": 5}), "header is damaged|not a plre"),
    ],
)
def test_damaged_headers(path: Path, tmp_path: Path, change: Any, message: str) -> None:
    with pytest.raises(ModelFileError, match=message):
        plre.load(rewritten(path, tmp_path / "bad.plre", change))


def refuses_wrong_sizes(path: Path, folder: Path) -> None:
    """Make each tensor of a model shorter and longer, in files that are otherwise right, and see that none loads.

    Nothing says how many factors there are from order 3 on: whoever reads them looks whether they are there.
    """
    data = path.read_bytes()
    metadata = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])["__metadata__"]
    tensors = tensors_of(plre.load(path))
    for name, tensor in tensors.items():
        few = 16 if name.endswith(".lines") else 1  # lines are counted by 16 numbers
        others = [tensor[:-few], np.concatenate([tensor, tensor[:few]])] + [tensor[:0]] * ("factors" not in name)
        for other in others if not name.endswith("order3.factors") else []:
            changed = {**tensors, name: other}
            file.write(str(folder / "bad.plre"), file.header(metadata, file.shapes(changed)), changed.values())
            with pytest.raises(ModelFileError, match="damaged"):
                plre.load(folder / "bad.plre").verify()  # more or fewer lines and seeds are a table, too: not this one


def test_tensors_of_wrong_sizes_are_refused(path: Path, tmp_path: Path) -> None:
    refuses_wrong_sizes(path, tmp_path)


@pytest.mark.parametrize(
    "change",
    [
        about(markers=False),
        about(method="mkn"),
        about(tokens=1),
        about(tokens="gone"),
        about(digest="0123456789abcdef"),
        about(more="something"),
        about_component(method="mkn"),
        about_component(weight=1 - 1e-7),
        lambda h: h.update(
            {"__metadata__": {"plre": h["__metadata__"]["plre"].replace('"version":"', '"version":"9')}}
        ),
    ],
)
def test_metadata_is_under_the_checksum(path: Path, tmp_path: Path, change: Any) -> None:
    lm = plre.load(rewritten(path, tmp_path / "changed.plre", change))
    with pytest.raises(ModelFileError, match="damaged after it was written"):
        lm.verify()


def test_any_changed_byte_of_the_data_is_found(path: Path, tmp_path: Path) -> None:
    data = path.read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    plre.load(rewritten(path, tmp_path / "same.plre", lambda header: None)).verify()
    for at in range(start, len(data), len(data) // 40):
        changed = bytearray(data)
        changed[at] ^= 1
        (tmp_path / "bad.plre").write_bytes(changed)
        with pytest.raises(ModelFileError, match="damaged"):
            plre.load(tmp_path / "bad.plre").verify()


def test_logarithms_lead_nobody(tmp_path: Path, text: list[str]) -> None:
    """A leader whose numbers are said to be logarithms would not say what its probabilities lack."""
    path = tmp_path / "best.plre"
    plre.train(text, preset="fast", min_count=1).save(path)
    changed = rewritten(path, tmp_path / "changed.plre", about_component(body={"kind": "logs"}))
    with pytest.raises(ModelFileError, match="logarithms makes no sense"):
        plre.load(changed)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty or cut off"),
        (b"just some words\nin a file, long enough to look at", "looks like text"),
        (b"\\data\\\nngram 1=3\nngram 2=5\n\n\\1-grams:\n", "ends without"),
        (b"mmap lm http://kheafield.com/code format version 5\n\0" + b"\0" * 64, "KenLM binary"),
        (b"\x1f\x8b\x08" + b"\xff" * 64, "compressed data is broken"),
        (b"\xfd7zXZ\x00" + b"\xff" * 64, "compressed data is broken"),
        (b"\x28\xb5\x2f\xfd" + b"\xff" * 64, "compressed data is broken"),
        (b"BZh9" + b"\xff" * 64, "compressed data is broken"),
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
    with pytest.raises(ModelFileError, match="is a directory"):
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
    with pytest.raises(UsageError, match="is a directory"):
        lm.save(tmp_path)
    with pytest.raises(UsageError, match="there is no directory"):
        lm.save(tmp_path / "no" / "such" / "place")
    with pytest.raises(UsageError, match="device or a pipe"):
        lm.save("/dev/null")


@pytest.mark.filterwarnings("ignore::plre.errors.PlreWarning")
@pytest.mark.parametrize("text", [["a"], ["a b c"], ["a b", "b a"]])
def test_orders_without_ngrams(tmp_path: Path, text: list[str]) -> None:
    rungs = [f"{n}:0.5:2" for n in range(2, 8)]
    for markers in (True, False):
        lm = plre.train(text, order=7, min_count=1, rungs=rungs, markers=markers)
        lm.save(tmp_path / "m.plre")
        again = plre.load(tmp_path / "m.plre")
        again.verify()
        assert again.score(text[0]) == lm.score(text[0])


def test_a_link_is_followed(path: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.plre"
    link.symlink_to(tmp_path / "real.plre")
    plre.load(path).save(link)
    assert link.is_symlink()
    assert (tmp_path / "real.plre").read_bytes() == path.read_bytes()


def test_pickling_survives_a_change_of_directory(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(path.parent)
    lm = plre.load(path.name)
    monkeypatch.chdir(tmp_path)
    assert pickle.loads(pickle.dumps(lm)).score("w1") == lm.score("w1")


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


@pytest.mark.filterwarnings("ignore::plre.PlreWarning")
def test_a_chain_of_words_alone_is_read_again(tmp_path: Path, text: list[str]) -> None:
    lm = plre.train(text, order=2, classes=[4], contexts=["w:1,w:2"], dev=text[:20])
    lm.save(tmp_path / "m.plre")
    again = plre.load(tmp_path / "m.plre")
    again.verify()
    assert again.score(text[0]) == lm.score(text[0])


@pytest.fixture(scope="module")
def compact(tmp_path_factory: pytest.TempPathFactory, text: list[str]) -> Path:
    path = tmp_path_factory.mktemp("compact") / "m.plre"
    plre.train(text, order=2, rungs=["2:0.5:4"], quantise=8).save(path)
    return path


@pytest.mark.parametrize("rank", [-1, 3, 5])
def test_a_rank_that_does_not_fit_the_factors_of_compact_bigrams_is_refused(compact: Path, rank: int) -> None:
    lm = plre.load(compact)
    tensors = {**lm.components[0].body.tensors, "order2.ranks": np.array([rank], np.int32)}
    body = replace(lm.components[0].body, tensors=tensors)  # type: ignore[type-var]
    with pytest.raises(ValueError, match="factors of bigrams"):
        plre.LanguageModel(lm.vocab, [replace(lm.components[0], body=body)], lm.metadata)


def test_bits_are_a_whole_number(compact: Path) -> None:
    body = plre.load(compact).components[0].body
    described = {**body.describe(), "bits": 8.0}
    with pytest.raises(ValueError, match="make no sense"):
        type(body).from_tensors(described, body.tensors)  # type: ignore[attr-defined]


def test_data_that_does_not_begin_with_a_cache_line_is_refused(compact: Path, tmp_path: Path) -> None:
    data = compact.read_bytes()
    length = int.from_bytes(data[:8], "little")
    moved = (length + 1).to_bytes(8, "little") + data[8 : 8 + length] + b" " + data[8 + length :]
    (tmp_path / "m.plre").write_bytes(moved)
    with pytest.raises(ModelFileError, match="multiple of 64"):
        plre.load(tmp_path / "m.plre")
