"""Training keeps to its limit of memory: the peak of whole processes, as the kernel counts it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.common import plre_command

WORDS, KINDS = 2_000_000, 20_000
LIMIT = 200_000_000
#: What the interpreter and its code take beside what is limited.
INTERPRETER = 300_000_000


@pytest.fixture(scope="module")
def long_text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Words by Zipf's law, one after the other by chance, so that nearly every trigram is a new one; sentences end in
    full stops, so that one window is very frequent."""
    rng = np.random.default_rng(0)
    words = np.array([f"w{i}" for i in range(KINDS + 1)])[(KINDS ** rng.random(WORDS)).astype(int)]
    path = tmp_path_factory.mktemp("peak") / "text.txt"
    ends = np.flatnonzero(rng.random(WORDS) < 0.05)
    path.write_text("".join(" ".join(line) + " .\n" for line in np.split(words, ends)))
    return path


@pytest.mark.parametrize(
    "options",
    [
        ("--method", "mkn", "--order", 5),
        ("--preset", "paper", "--order", 4),
        ("--preset", "fast", "--order", 4),
        ("--preset", "best", "--class-sweeps", 2),
        ("--method", "mkn", "--order", 5, "--quantise", 8),
    ],
    ids=lambda options: f"{options[1]}{options[-1]}",
)
def test_training_keeps_to_its_limit(options: tuple[object, ...], long_text: Path, tmp_path: Path) -> None:
    usual = ("train", long_text, "--min-count", 1, "-q", "-o", tmp_path / "m.plre", "--tmp", tmp_path, *options)
    free, limited = (plre_command(*usual, "--memory", memory).run().peak for memory in ("4G", LIMIT))
    assert free > LIMIT + INTERPRETER, "the text is too short to show anything"
    assert limited <= LIMIT + INTERPRETER
