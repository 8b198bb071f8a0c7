"""Files of every format since 6 are read, and answer as they did when they were written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import plre

LINES = ["the cat sat on the mat", "a log saw the unicorn", ""]
#: Of each file: its checksum, the scores of LINES, and P(dog | the). Both were trained on a few such lines at order 3,
#: with rungs at orders 2 and 3; the first with two clusterings and a chain of contexts, the second with ``quantise=8``.
WRITTEN = {
    "format6.plre": (
        "48e82dc877349a89",
        [-2.0703887838143062, -6.575439820963741, -2.008415848070427],
        0.15099802307996135,
    ),
    "format6-compact.plre": (
        "f75f8d93421f5e15",
        [-1.8513686411503643, -8.165960428054603, -2.2047344664959523],
        0.16781815886497498,
    ),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_old_files_answer_as_they_did(name: str, tmp_path: Path) -> None:
    digest, scores, prob = WRITTEN[name]
    lm = plre.load(Path(__file__).parent / name)
    lm.verify()
    assert lm.digest == digest
    np.testing.assert_allclose([lm.score(line) for line in LINES], scores, rtol=1e-12)
    assert lm.prob("dog", ["the"]) == pytest.approx(prob, rel=1e-12)
    assert lm.distribution(["the"]).sum() == pytest.approx(1, abs=0.01 if "compact" in name else 1e-6)
    lm.save(tmp_path / "again.plre")
    assert plre.load(tmp_path / "again.plre").score(LINES[0]) == lm.score(LINES[0])
