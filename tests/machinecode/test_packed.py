"""Machine code made for a baseline processor: used wherever it fits, ignored where it does not."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from plre.machinecode.baseline import NAME, baseline_of, compiling_for_baseline
from plre.machinecode.packed import ABOUT, Packed
from plre.machinecode.store import processor
from tests.machinecode.running import KERNELS, run_example


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example's kernels for the baseline processor, in a folder as a wheel has it."""
    if not baseline_of(processor()):
        pytest.skip(f"this processor cannot run code for {NAME}")
    folder = tmp_path_factory.mktemp("packed")
    run = run_example(NUMBA_CACHE_DIR=str(folder), **compiling_for_baseline())
    assert run.compiled == KERNELS
    (made,) = (folder / "plre").iterdir()
    return made


def run_with(packed: Path, tmp_path: Path, **changed: object) -> tuple[int, str]:
    """Kernels compiled beside the packed ones, and why, if what these say of themselves is changed."""
    copy = tmp_path / "copy"
    shutil.copytree(packed, copy)
    about = json.loads((copy / ABOUT).read_text())
    (copy / ABOUT).write_text(json.dumps(about | changed))
    run = run_example(str(copy), NUMBA_CACHE_DIR=str(tmp_path / "cache"))
    return run.compiled, run.misfit


def test_nothing_is_compiled(packed: Path, tmp_path: Path) -> None:
    assert run_with(packed, tmp_path) == (0, "None")
    assert not (tmp_path / "cache").exists()


def test_what_was_compiled_for_the_baseline_is_found_where_it_is_kept(packed: Path) -> None:
    """As in an image that was made on another machine."""
    place = packed.parents[1]
    assert run_example(NUMBA_CACHE_DIR=str(place)).compiled == 0
    assert run_example(NUMBA_CACHE_DIR=str(place), NUMBA_CPU_NAME="generic").compiled == KERNELS


@pytest.mark.parametrize("name", ["sources", "numba", "python"])
def test_another_version_is_ignored(packed: Path, tmp_path: Path, name: str) -> None:
    compiled, misfit = run_with(packed, tmp_path, **{name: "another"})
    assert compiled == KERNELS
    assert f"{name} another" in misfit


def test_a_processor_without_a_feature_compiles(packed: Path, tmp_path: Path) -> None:
    about = json.loads((packed / ABOUT).read_text())
    needs = about["processor"] | {"features": about["processor"]["features"] + ",+time-travel"}
    compiled, misfit = run_with(packed, tmp_path, processor=needs)
    assert compiled == KERNELS
    assert "this processor lacks time-travel" in misfit


def test_what_is_no_manifest_is_ignored(tmp_path: Path) -> None:
    about = {"numba": "1", "processor": processor()}
    for content in ("", "[]", "{}"):
        (tmp_path / ABOUT).write_text(content)
        assert Packed(about, tmp_path).misfit is not None
        assert list(Packed(about, tmp_path).find("name")) == []
