"""Training keeps to its limit of memory: the peak of whole processes, as the kernel counts it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

WORDS, KINDS = 2_000_000, 20_000
LIMIT = 200_000_000
#: What the interpreter and its code take beside what is limited.
INTERPRETER = 300_000_000
#: Trains by the command line in a process of its own, and prints the largest resident size that it had.
PROCESS = """
import json, resource, sys
from plre.cli.main import main
try:
    main(sys.argv[1:])
finally:
    print(json.dumps(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)))
"""


@pytest.fixture(scope="module")
def long_text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Words by Zipf's law, one after the other by chance: nearly every trigram is a new one."""
    rng = np.random.default_rng(0)
    words = np.array([f"w{i}" for i in range(KINDS + 1)])[(KINDS ** rng.random(WORDS)).astype(int)]
    path = tmp_path_factory.mktemp("peak") / "text.txt"
    ends = np.flatnonzero(rng.random(WORDS) < 0.05)
    path.write_text("".join(" ".join(line) + "\n" for line in np.split(words, ends)))
    return path


def peak(*words: object) -> int:
    done = subprocess.run([sys.executable, "-c", PROCESS, *map(str, words)], stdout=subprocess.PIPE, check=False)
    return int(json.loads(done.stdout.decode().splitlines()[-1]))


@pytest.mark.parametrize(
    "options",
    [
        ("--method", "mkn", "--order", 5),
        ("--preset", "paper", "--order", 4),
        ("--preset", "fast", "--order", 4),
        ("--preset", "best", "--class-sweeps", 2),
    ],
    ids=lambda options: options[1],
)
def test_training_keeps_to_its_limit(options: tuple[object, ...], long_text: Path, tmp_path: Path) -> None:
    usual = ("train", long_text, "--min-count", 1, "-q", "-o", tmp_path / "m.plre", "--tmp", tmp_path, *options)
    assert peak(*usual, "--memory", "4G") > LIMIT + INTERPRETER, "the text is too short to show anything"
    assert peak(*usual, "--memory", LIMIT) <= LIMIT + INTERPRETER
