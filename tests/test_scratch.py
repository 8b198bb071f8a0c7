from __future__ import annotations

import gc
import os
from pathlib import Path

import numpy as np
import pytest

import plre
from plre import scratch as module
from plre.ensemble import recipe
from plre.errors import NoRoomError, PlreError, PlreWarning, UsageError
from plre.scratch import Anonymous, Growing, Mapped, Runs, Scratch, Stored, parse_size
from plre.store import Resources
from plre.tensorfile import release
from tests.small_pieces import cut_small


@pytest.mark.parametrize("memory", [None, 0, 100, 10**6])
def test_columns_are_the_same_wherever_they_are(tmp_path: Path, memory: int | None) -> None:
    scratch = Scratch(memory, str(tmp_path))
    column = Growing(scratch, np.int32)
    for start in range(0, 100, 10):
        column.append(np.arange(start, start + 10))
    whole = column.finish()
    assert isinstance(whole, Stored) == (memory in (0, 100))
    assert len(whole) == 100
    np.testing.assert_array_equal(whole[:], np.arange(100))
    np.testing.assert_array_equal(whole[37:52], np.arange(37, 52))
    assert len(whole[60:40]) == 0
    assert os.listdir(tmp_path) == []
    with pytest.raises(IndexError):
        Stored(scratch.file(), np.dtype(np.int32), 0)[::2]


@pytest.mark.parametrize("memory", [None, 0, 100])
def test_runs_can_be_read(tmp_path: Path, memory: int | None) -> None:
    runs = Runs(Scratch(memory, str(tmp_path)), np.int32)
    for k in range(5):
        runs.append(np.full(20, k, np.int32))
    np.testing.assert_array_equal(runs.read(3, 4, 8), [3, 3, 3, 3])
    np.testing.assert_array_equal(runs.take(3), np.full(20, 3))


def test_a_mapped_column_is_read_through_its_table() -> None:
    column = Mapped(np.array([2, 0, 1, 2]), np.array([5, 6, 7]))
    assert len(column) == 4
    assert column[1:].tolist() == [5, 6, 7]


def test_memory_is_given_back() -> None:
    scratch = Scratch(1000)
    array = np.zeros(100, np.int64)
    assert scratch.hold(array)
    assert not scratch.hold(np.zeros(100, np.int64))
    del array
    gc.collect()
    assert scratch.held == 0


def test_sizes_people_write() -> None:
    assert parse_size("1.5g") == 1_500_000_000
    for bad in ("", "much", "2X", "1.2.3G", "-5"):
        with pytest.raises(UsageError, match="for example 500M or 2G"):
            parse_size(bad)


def test_no_folder_for_temporary_files(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not a directory"):
        Scratch(0, str(tmp_path / "none"))
    scratch = Scratch(0, str(tmp_path))
    tmp_path.rmdir()
    with pytest.raises(PlreError, match=r"no temporary file can be made there.*--tmp"):
        scratch.file()


def everything_on_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let training keep nothing in memory, and cut the text into many pieces and buckets."""
    monkeypatch.setattr(module, "SMALLEST_MEMORY", 0)
    cut_small(monkeypatch, piece_bits=9, bucket=100, together=400)


@pytest.mark.filterwarnings("ignore::plre.errors.PlreWarning")
@pytest.mark.parametrize(
    "options",
    [
        {"method": "mkn", "order": 5},
        {"order": 4, "preset": "paper"},
        {"order": 3, "preset": "fast"},
        {"order": 3, "preset": "best", "class_sweeps": 3},
        {"order": 3, "preset": "fast", "quantise": 8},
        {"order": 1, "method": "kn"},
        {"method": "bo-mkn", "order": 4},
        {"method": "jm", "order": 3},
        {"method": "mkn-dev", "order": 4, "dev": ["w1 w2 w3", "w2 w9 w1 w4", "nobody knows"]},
    ],
)
@pytest.mark.parametrize("threads", [1, 3])
def test_models_are_the_same_with_little_memory(
    tmp_path: Path, text: list[str], monkeypatch: pytest.MonkeyPatch, options: dict, threads: int
) -> None:
    for markers in (True, False):
        usual = plre.train(text, markers=markers, **options)
        with monkeypatch.context() as patch:
            everything_on_disk(patch)
            patch.setattr("plre.scratch.Scratch.check_room", lambda *about: None)
            patch.setattr("plre.scratch.Scratch.threads", lambda scratch, wanted: wanted)
            lm = plre.train(text, markers=markers, memory=0, tmp=tmp_path, threads=threads, **options)
        assert os.listdir(tmp_path) == []
        assert lm.score("w1 w2 w3") == usual.score("w1 w2 w3")
        lm.save(tmp_path / "a.plre")
        usual.save(tmp_path / "b.plre")
        assert (tmp_path / "a.plre").read_bytes() == (tmp_path / "b.plre").read_bytes()
        (tmp_path / "a.plre").unlink()
        (tmp_path / "b.plre").unlink()


def test_a_full_disk_is_an_error_and_leaves_nothing(
    tmp_path: Path, text: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    everything_on_disk(monkeypatch)
    written = 0
    original = os.pwrite

    def full(descriptor: int, data: memoryview, place: int) -> int:
        nonlocal written
        written += len(data)
        if written > 50_000:
            raise OSError(28, "No space left on device")
        return original(descriptor, data, place)

    monkeypatch.setattr(module.os, "pwrite", full)
    with pytest.raises(PlreError, match=r"temporary data could not be written \(No space left.*--tmp"):
        plre.train(text, method="mkn", memory=0, tmp=tmp_path)
    assert os.listdir(tmp_path) == []


@pytest.mark.filterwarnings("ignore::plre.errors.PlreWarning")
@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"method": "mkn", "order": 4}, "counting would take"),
        ({"rungs": ["2:0.5:100"], "order": 2}, "low rank layers of order 2 would take"),
        ({"method": "mkn", "order": 2}, "a model of these n-grams would take"),
        ({"method": "class", "classes": 30, "order": 2}, "clustering would take"),
    ],
)
def test_what_memory_cannot_hold_is_refused(
    text: list[str], monkeypatch: pytest.MonkeyPatch, options: dict, what: str
) -> None:
    monkeypatch.setattr(module, "SMALLEST_MEMORY", 0)
    with pytest.raises(NoRoomError, match=f"{what} .* GB of memory; of the .* Allow more --memory, or "):
        plre.train(text, memory=3000, **options)
    lm = plre.train(text, method="mkn")
    with pytest.raises(NoRoomError, match=r"pruning .* would take"):
        plre.prune(lm, threshold=1e-8, memory=10_000)
    assert plre.prune(lm, threshold=1e-8, memory="200M").order == 3


def test_every_rank_is_checked_before_the_first_is_tried(text: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """What a model cannot hold is left out; what memory cannot hold is refused before anything is factorised."""
    monkeypatch.setitem(recipe.PRESETS["paper"], "grids", {2: (0.002, 0.9)})
    monkeypatch.setattr("plre.ensemble.build.factorise", None)
    monkeypatch.setattr(module, "SMALLEST_MEMORY", 0)
    with pytest.raises(NoRoomError, match="low rank layers of order 2 would take"):
        plre.train(text, order=2, preset="paper", dev=text[:50], memory=40_000)


@pytest.mark.filterwarnings("ignore:no discounts")
def test_a_model_that_cannot_be_pruned_is_not_lost(text: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(lm: plre.LanguageModel, **options: object) -> plre.LanguageModel:
        raise NoRoomError("pruning would take too much")

    monkeypatch.setattr("plre.training.prune_model", refuse)
    with pytest.warns(PlreWarning, match=r"not pruned: pruning would take .* plre prune can do it later"):
        lm = plre.train(text, method="mkn", prune=1e-6)
    assert lm.digest == plre.train(text, method="mkn").digest


def test_threads_and_side_by_side_depend_on_the_memory() -> None:
    assert Scratch().threads(64) == 64
    assert Scratch(100_000_000, limit=300_000_000).threads(64) == 3
    assert Scratch(0, limit=0).threads(64) == 1
    assert Resources(64, scratch=Scratch(100_000_000, limit=300_000_000)).threads == 3


def test_what_is_counted_leaves_less_room() -> None:
    scratch = Scratch(1000)
    kept = np.zeros(900, np.uint8)
    scratch.count(kept)
    assert scratch.hold(np.zeros(200, np.uint8)) is None
    del kept
    assert scratch.held == 0


def test_too_little_memory_is_refused(text: list[str]) -> None:
    with pytest.raises(UsageError, match="at least 200M"):
        plre.train(text, memory="10M")


def test_growing_columns_keep_what_was_written_and_are_counted_while_they_are_used() -> None:
    scratch = Scratch(10**9)
    column = Growing(scratch, np.int64)
    parts = np.array_split(np.arange(500_000), 7)  # more than a column has room for at first
    for part in parts:
        column.append(part)
    whole = column.finish()
    release(whole)  # only what is mapped from a file is let go of
    np.testing.assert_array_equal(whole, np.arange(500_000))
    assert scratch.held == whole.nbytes
    part = whole[5:9]
    del column, whole
    assert scratch.held == 500_000 * 8
    del part
    assert scratch.held == 0


def test_columns_grow_where_memory_cannot_be_moved(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Anonymous, size: int) -> None:
        raise SystemError("mmap: resizing not available--no mremap()")

    monkeypatch.setattr(Anonymous, "resize", refuse)
    scratch = Scratch(10**9)
    column = Growing(scratch, np.float64)
    for k in range(20):
        column.append(np.full(30_000, k / 7))
    np.testing.assert_array_equal(column.finish(), np.repeat(np.arange(20) / 7, 30_000))
    assert scratch.held == 20 * 30_000 * 8
