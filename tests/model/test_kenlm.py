"""Agreement with KenLM, on a small corpus: with what its `lmplz` estimates, and with what its module answers."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

import plre
from tests.conftest import zipf_text

#: `lmplz -o 3 < text` and `query` on KenLM's own build, text = zipf_text(500), these lines = zipf_text(8, seed=7).
LMPLZ = [-13.0041065, -21.476295, -6.0833187, -21.595892, -23.942255, -3.0063548, -23.491146, -2.637558]


def write_arpa(lm: plre.LanguageModel, path: Path) -> None:
    """Only for this test: models without low rank layers are what ARPA files can hold."""
    columns = lm.components[0].body.columns()
    weights = [columns.backoff, *(order.backoff for order in columns.orders[:-1])]
    backoffs = {}
    for n in range(1, lm.order):
        grams = [gram for gram, _ in lm.ngrams(n)] if n > 1 else [(word,) for word in lm.vocab]
        backoffs[n] = dict(zip(grams, weights[n - 1].tolist(), strict=True))
    with path.open("w") as out:
        out.write("\\data\\\n")
        for n, size in enumerate(lm.info()["ngrams"], 1):
            out.write(f"ngram {n}={size}\n")
        for n in range(1, lm.order + 1):
            out.write(f"\n\\{n}-grams:\n")
            rows = dict(lm.ngrams(n)) | ({("<s>",): 0.0} if n == 1 else {})
            for gram, p in rows.items():
                tail = f"\t{math.log10(backoffs[n][gram]):.9f}" if n < lm.order else ""
                out.write(f"{math.log10(p) if p else -99:.9f}\t{' '.join(gram)}{tail}\n")
        out.write("\n\\end\\\n")


def test_estimates_equal_lmplz(text: list[str]) -> None:
    lm = plre.train(text, order=3, method="mkn", min_count=1)
    for line, expected in zip(zipf_text(8, seed=7), LMPLZ, strict=True):
        assert lm.score(line) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("order", [2, 3, 5])
@pytest.mark.filterwarnings("ignore::plre.errors.PlreWarning")
def test_answers_equal_the_kenlm_module(order: int, text: list[str], other_text: list[str], tmp_path: Path) -> None:
    kenlm = pytest.importorskip("kenlm", reason="the kenlm module is not installed (it needs a C++ compiler)")
    lm = plre.train(text, order=order, method="mkn")
    write_arpa(lm, tmp_path / "m.arpa")
    theirs = kenlm.Model(str(tmp_path / "m.arpa"))
    for line in [*other_text, "", "w1 never w2"]:
        for bos in (True, False):
            for eos in (True, False):
                assert lm.score(line, bos, eos) == pytest.approx(theirs.score(line, bos=bos, eos=eos), abs=1e-4)
        for mine, other in zip(lm.full_scores(line), theirs.full_scores(line), strict=True):
            assert mine[0] == pytest.approx(other[0], abs=1e-4)
            assert mine[1:] == other[1:]
