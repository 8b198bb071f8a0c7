from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

# Kernels compile on first use, so no example has a deadline.
settings.register_profile("plre", deadline=None, max_examples=40)
settings.load_profile("plre")

DATA = Path(os.environ.get("PLRE_DATA", Path(__file__).parents[2] / "shared" / "data"))


@pytest.fixture(scope="session")
def data() -> Path:
    """The corpora beside the project."""
    if not DATA.is_dir():
        pytest.skip(f"no corpora in {DATA}; set PLRE_DATA to where they are")
    return DATA


def zipf_text(sentences: int, words: int = 1500, seed: int = 1) -> list[str]:
    """A small text with a long tail, the same on every machine: a linear congruential generator draws the words."""
    state = seed
    lines = []
    for _ in range(sentences):
        line: list[str] = []
        while True:
            state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
            u = (state >> 11) / 2**53
            if u < 0.15 and line:
                break
            line.append(f"w{int(words ** ((u - 0.15) / 0.85 if u > 0.15 else u)) + (len(line) % 3)}")
        lines.append(" ".join(line))
    return lines


@pytest.fixture(scope="session")
def text() -> list[str]:
    return zipf_text(500)


@pytest.fixture(scope="session")
def other_text() -> list[str]:
    return zipf_text(60, seed=7)
