"""Training keeps to its limit of memory: the peak of whole processes, as the kernel counts it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.common import plre_command

WORDS, KINDS = 2_000_000, 20_000
LIMIT = 200_000_000
#: What may be taken beside what is limited; of that, what the interpreter and its code take is measured here.
BESIDE, SLACK = 300_000_000, 100_000_000


def write_text(path: Path, size: int) -> Path:
    """Words by Zipf's law, one after the other by chance, so that nearly every trigram is a new one; sentences end in
    full stops, so that one window is very frequent."""
    rng = np.random.default_rng(0)
    words = np.array([f"w{i}" for i in range(KINDS + 1)])[(KINDS ** rng.random(size)).astype(int)]
    path.write_text(
        "".join(" ".join(line) + " .\n" for line in np.split(words, np.flatnonzero(rng.random(size) < 0.05)))
    )
    return path


@pytest.fixture(scope="module")
def long_text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_text(tmp_path_factory.mktemp("peak") / "long.txt", WORDS)


@pytest.fixture(scope="module")
def short_text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_text(tmp_path_factory.mktemp("peak") / "short.txt", WORDS // 1000)


def peak(*words: object) -> int:
    return plre_command(*words, "-q").run().peak


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
def test_training_keeps_to_its_limit(
    options: tuple[object, ...], long_text: Path, short_text: Path, tmp_path: Path
) -> None:
    usual = ("--min-count", 1, "-o", tmp_path / "m.plre", "--tmp", tmp_path, *options)
    interpreter = peak("train", short_text, *usual)
    free, limited = (peak("train", long_text, *usual, "--memory", memory) for memory in ("4G", LIMIT))
    assert free > LIMIT + BESIDE, "the text is too short to show anything"
    assert limited <= LIMIT + min(BESIDE, interpreter + SLACK)


def test_what_is_not_training_keeps_to_its_limit(long_text: Path, short_text: Path, tmp_path: Path) -> None:
    """Clusterings, searches, comparisons, mixtures and pruning."""
    model = tmp_path / "m.plre"
    usual = ("--min-count", 1, "--tmp", tmp_path, "--memory", LIMIT)
    searched = ("tune", long_text, "--dev", short_text, "--trials", 1, "--order", 2, "-o", tmp_path / "tuned.plre")
    texts = ("--train", long_text, "--dev", short_text, "--test", short_text, "-o", tmp_path / "compared")
    assert peak("cluster", long_text, "-c", 20, "--sweeps", 2, "-o", tmp_path / "c.tsv", *usual) <= LIMIT + BESIDE
    assert peak(*searched, *usual) <= LIMIT + BESIDE
    assert peak("compare", *texts, "--methods", "mkn,bo-kn", "--orders", 3, "--jobs", 1, *usual) <= LIMIT + BESIDE
    peak("train", long_text, "--method", "mkn", "--order", 2, *usual, "-o", model)
    mapped = model.stat().st_size
    mixed = ("mix", model, tmp_path / "tuned.plre", "--dev", long_text, "-o", tmp_path / "mixed.plre")
    mapped += (tmp_path / "tuned.plre").stat().st_size
    assert peak(*mixed, "--tmp", tmp_path, "--memory", LIMIT) <= LIMIT + BESIDE + mapped
    assert peak("prune", model, "--threshold", 1e-7, "-o", tmp_path / "p.plre", "--memory", "300M") <= 600_000_000
