"""Compiling everything beforehand."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from plre.cli.main import run
from plre.warmup import TOPICS
from tests.machinecode.running import KERNELS, run_example


def test_processes_take_turns(tmp_path: Path) -> None:
    """Together they compile each kernel once."""
    with ThreadPoolExecutor(3) as pool:
        runs = list(pool.map(lambda _: run_example("turns", NUMBA_CACHE_DIR=str(tmp_path)), range(3)))
    assert sum(run.compiled for run in runs) == KERNELS


def test_afterwards_nothing_is_compiled(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("plre.warmup.TOPICS", {"words": TOPICS["words"]})
    assert run(["warmup"]) == 0
    capsys.readouterr()
    assert run(["warmup", "--jobs", "1"]) == 0
    shown = capsys.readouterr()
    assert shown.out.startswith("nothing to compile: all kernels are in ")
    assert "words: 0 kernels compiled" in shown.err
