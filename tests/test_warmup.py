"""Compiling everything beforehand."""

from __future__ import annotations

import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from plre.cli.main import run
from plre.warmup import TOPICS, Compiling
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


def test_whoever_leaves_ends_the_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that run and those that have not begun: an interruption does not wait until all is compiled."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))  # where compiling any of it takes longer than this test
    with Compiling(["methods", "smaller models", "ensembles"], jobs=2) as compiling:
        while len(compiling._processes) < 2:
            time.sleep(0.01)
    assert [process.returncode for process in compiling._processes] == [-signal.SIGKILL] * 2
