"""ARPA files that are written: KenLM and the rules of other readers take them, and they say what the model says."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import plre
from plre.errors import UsageError
from plre.exporting import _lines as kernels
from plre.exporting.arpa import _POWERS
from plre.exporting.export import export_arpa
from tests.component_models import bytes_of
from tests.interop.arpa_files import make_arpa

METHODS: list[dict[str, Any]] = [
    {"method": "mkn", "order": 3},
    {"method": "kn", "order": 4},
    {"method": "abs", "order": 2},
    {"method": "bo-kn", "order": 3},
    {"method": "jm", "order": 3},
    {"method": "mkn", "order": 1},
    {"method": "mkn", "order": 3, "quantise": 8},
]


def grams(path: Path) -> dict[tuple[str, ...], tuple[float, float]]:
    """What a file says, read the simple way."""
    found = {}
    for line in path.read_text(encoding="utf-8").split("\n"):
        fields = line.split("\t")
        if len(fields) > 1:
            found[tuple(fields[1].split(" "))] = float(fields[0]), float(fields[2]) if len(fields) > 2 else 0.0
    return found


def check_rules(path: Path) -> None:
    """What NeMo's loader and others rely on."""
    lines = path.read_text(encoding="utf-8").split("\n")
    assert lines[0] == "\\data\\"
    sizes = {}
    at = 1
    while lines[at].startswith("ngram "):
        order, size = lines[at][6:].split("=")
        sizes[int(order)] = int(size)
        at += 1
    found = grams(path)
    for n, size in sizes.items():
        assert lines[at : at + 2] == ["", f"\\{n}-grams:"]
        own = lines[at + 2 : at + 2 + size]
        assert all(len(line.split("\t")) in (2, 3) and len(line.split("\t")[1].split(" ")) == n for line in own)
        at += 2 + size
    assert lines[at:] == ["", "\\end\\", ""]
    assert len(found) == sum(sizes.values())
    assert ("<s>",) in found
    for gram in found:
        assert len(gram) == 1 or (gram[1:] in found and gram[:-1] in found)
        assert len(gram) == 1 or "<unk>" not in gram[:-1] or gram[-1] != "<s>"


@pytest.mark.parametrize("options", METHODS, ids=lambda o: "-".join(map(str, o.values())))
@pytest.mark.filterwarnings("ignore::plre.errors.PlreWarning")
def test_kenlm_says_what_the_model_says(
    options: dict[str, Any], text: list[str], other_text: list[str], tmp_path: Path
) -> None:
    lm = plre.train(text, min_count=2, **options)
    path = tmp_path / "lm.arpa"
    made = export_arpa(lm, path)
    assert made.exact
    assert made.ngrams == list(lm.info()["ngrams"])
    check_rules(path)
    again = plre.load(path)
    lines = [line for line in other_text if line][:200]
    np.testing.assert_allclose([again.score(line) for line in lines], [lm.score(line) for line in lines], rtol=2e-6)
    if options["order"] > 1:  # KenLM reads no others
        kenlm = pytest.importorskip("kenlm")
        real = kenlm.Model(str(path))
        for line in lines:
            assert real.score(line) == pytest.approx(lm.score(line), rel=2e-6)


@given(st.integers(0, 10**6), st.integers(1, 4), st.booleans())
def test_imported_files_come_back_as_they_were(seed: int, order: int, start: bool) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        first, second = Path(folder) / "a.arpa", Path(folder) / "a.arpa.gz"
        first.write_text(make_arpa(seed, order, start=0.0 if start else -99.0, words=12).text, encoding="utf-8")
        lm = plre.import_arpa(first)
        export_arpa(lm, second, start=0.0 if start else -99.0)
        again = plre.import_arpa(second)
        assert again.vocab.arena.tobytes() == lm.vocab.arena.tobytes()
        for one, other in zip(lm.components, again.components, strict=True):
            for name, tensor in one.body.tensors.items():
                assert tensor.tobytes() == other.body.tensors[name].tobytes(), name
        third = Path(folder) / "b.arpa"
        export_arpa(again, third, start=0.0 if start else -99.0)
        assert third.read_bytes() == gzip.decompress(second.read_bytes())


@given(st.floats(width=32, allow_nan=False, min_value=-99, max_value=99))
def test_numbers_are_read_back_as_they_were(value: float) -> None:
    out = np.zeros(kernels.LONGEST_NUMBER, np.uint8)
    end = kernels.write_number(np.float32(value), _POWERS, out, 0)
    shown = out[:end].tobytes().decode()
    if abs(value) > 1e-8:
        assert np.float32(shown) == np.float32(value)
        assert len(shown) <= len(np.format_float_positional(np.float32(value), unique=True)) + 1
    else:
        assert float(shown) == pytest.approx(value, abs=1e-16)


def test_threads_and_compression_change_nothing(text: list[str], tmp_path: Path) -> None:
    lm = plre.train(text, order=3, method="mkn")
    export_arpa(lm, tmp_path / "one.arpa", threads=1)
    export_arpa(lm, tmp_path / "many.arpa.gz", threads=3)
    assert gzip.decompress((tmp_path / "many.arpa.gz").read_bytes()) == (tmp_path / "one.arpa").read_bytes()


@pytest.mark.parametrize("below", ["raise", "drop"])
def test_no_ngram_is_below_its_backoff(below: Any, tmp_path: Path) -> None:
    made = make_arpa(5, 3, words=15)
    (tmp_path / "a.arpa").write_text(made.text, encoding="utf-8")
    lm = plre.import_arpa(tmp_path / "a.arpa")
    export_arpa(lm, tmp_path / "b.arpa", below=below)
    check_rules(tmp_path / "b.arpa")
    before, after = grams(tmp_path / "a.arpa"), grams(tmp_path / "b.arpa")
    assert (len(after) < len(before)) == (below == "drop")
    fell = 0
    for gram, (log, _) in after.items():
        if len(gram) > 1:
            floor = after[gram[:-1]][1] + after[gram[1:]][0]
            assert log >= floor - 1e-6
            assert log == pytest.approx(max(before[gram][0], floor), abs=1e-6)
            fell += before[gram][0] < floor - 1e-6
    assert fell > 0


def test_tokens_are_spelled_as_letters(tmp_path: Path) -> None:
    tokens = [0, 33, 60, 0xD800 - 100, 7]  # 33 is NEL, which is white space; 60 a no-break space
    rng = np.random.default_rng(0)
    lines = [" ".join(map(str, rng.choice(tokens, 12))) for _ in range(50)]
    lm = plre.train(lines, order=2, method="jm", min_count=1)
    notes: list[str] = []
    progress = plre.Progress()
    progress.note = notes.append  # type: ignore[method-assign]
    path = tmp_path / "tokens.arpa"
    export_arpa(lm, path, spelling="nemo", progress=progress)
    check_rules(path)
    found = grams(path)
    assert {gram for gram in found if len(gram) == 1} == {("<unk>",), ("<s>",), ("</s>",), ("d",), ("k",)}
    assert notes == ["3 words cannot be written in an ARPA file; n-grams with them are left out"]
    assert found["d", "k"][0] == pytest.approx(np.log10(lm.prob("7", ["0"])), rel=1e-5)
    again = plre.load(path)
    for context in ([], ["d"], ["k"], ["<s>"], ["k", "d"]):
        assert again.distribution(context).sum() == pytest.approx(1, abs=1e-5)
    with pytest.raises(UsageError, match="words are their numbers, not 'a'"):
        export_arpa(plre.train(["a b"], order=1, method="jm", min_count=1), path, spelling="nemo")


def test_words_that_readers_take_for_others_are_left_out(tmp_path: Path) -> None:
    lm = plre.train(["a <UNK> b", "a b", "b <UNK>"] * 3, order=2, method="jm", min_count=1)
    export_arpa(lm, tmp_path / "a.arpa")
    check_rules(tmp_path / "a.arpa")
    assert not any("<UNK>" in gram for gram in grams(tmp_path / "a.arpa"))
    assert plre.load(tmp_path / "a.arpa").score("a b") == pytest.approx(lm.score("a b"), rel=1e-5)


def test_nothing_is_left_of_a_file_that_could_not_be_written(text: list[str], tmp_path: Path) -> None:
    lm = plre.train(text, order=2, method="mkn")
    with pytest.raises(plre.PlreError, match="could not be written"):
        export_arpa(lm, tmp_path / "no" / "a.arpa")
    assert list(tmp_path.iterdir()) == []
    assert bytes_of(lm)
