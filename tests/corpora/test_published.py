"""The numbers of method.md 8 on the corpora beside the project: the whole path, from compressed text to perplexity."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import plre
from tests.model.test_conformance import contexts

pytestmark = pytest.mark.corpora

#: folder, order, min_count, KenLM's perplexity, what the paper's PLRE may have at most
CASES = [
    ("wikitext2", 3, 1, 230.886, 217.5),
    ("wikitext2", 5, 1, 224.812, 213.5),
    ("english", 3, 2, 156.544, 149.8),
    ("russian", 3, 2, 222.150, 213.0),
]


@pytest.mark.parametrize(("folder", "order", "min_count", "kenlm", "paper"), CASES)
def test_perplexities(data: Path, folder: str, order: int, min_count: int, kenlm: float, paper: float) -> None:
    text, test = data / folder / "train.txt.xz", data / folder / "test.txt.xz"
    mkn = plre.train(text, order=order, min_count=min_count, method="mkn").perplexity(test)
    assert mkn == pytest.approx(kenlm, rel=1e-4)
    ensemble = plre.train(text, order=order, min_count=min_count, preset="paper").perplexity(test)
    assert ensemble <= paper
    assert ensemble < 0.962 * mkn


@pytest.mark.parametrize("method", ["kn", "mkn", "plre"])
def test_sums_to_one_on_real_text(data: Path, method: str) -> None:
    folder = data / "wikitext2"
    lm = plre.train(folder / "train.txt.xz", order=3, min_count=1, method=method)
    held_out = [block.data.decode() for block in plre.text.sources.read_blocks(folder / "valid.txt.xz")]
    lines = "".join(held_out).splitlines()
    for kind, chosen in contexts(lines, list(lm.vocab), 3, 1000).items():
        worst = max(abs(float(np.sum(lm.distribution(context))) - 1) for context in chosen)
        assert worst < 1e-6, kind


def test_interpolated_kneser_ney(data: Path) -> None:
    folder = data / "wikitext2"
    lm = plre.train(folder / "train.txt.xz", order=3, min_count=1, method="kn")
    assert lm.perplexity(folder / "test.txt.xz") == pytest.approx(236.707, rel=1e-4)
