"""Files of every format since 5 are read, and answer as they did when they were written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import plre

LINES = ["the cat sat on the mat", "a log saw the unicorn", ""]
#: Of each file: its checksum, the scores of LINES, and P(dog | the).
WRITTEN = {
    "format5.plre": (
        "3493243b8409ad98",
        [-1.8958448256551432, -7.600163043977233, -1.4523381743005657],
        0.29758775905817353,
    ),
    "format5-compact.plre": (
        "ea4354fc750d165d",
        [-1.5663463791768653, -8.59224433575752, -1.3624215153923402],
        0.2926078140735626,
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
