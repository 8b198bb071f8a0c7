from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from plre.demo import (
    _TOPICS,
    Splits,
    collect,
    collect_and_compile,
    contest,
    documentation,
    plain_sentences,
    source_files,
)
from plre.errors import PlreError
from plre.progress import Progress
from plre.warmup import TOPICS


def test_prose_is_found_in_python_files(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text('"""Return the sum of all the numbers. It is exact."""\nx = "short"\n')
    assert [s for text in documentation(path) for s in plain_sentences(text)] == [
        "return the sum of all the numbers .",
        "it is exact .",
    ]
    path.write_text("def broken(:")
    assert list(documentation(path)) == []


def test_no_module_is_in_two_parts() -> None:
    splits = Splits()
    assert splits.of("json/decoder.py") is splits.of("json/decoder.py")
    parts = [splits.of(f"module{i}.py") for i in range(300)]
    assert all(any(part is one for part in parts) for one in (splits.train, splits.dev, splits.test))


@pytest.mark.parametrize(("empty", "asked"), [(True, [_TOPICS]), (False, [])])
def test_where_nothing_was_compiled_other_processes_do_it_meanwhile(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, empty: bool, asked: list[object]
) -> None:
    class Failing:
        def __init__(self, topics: object) -> None:
            done.append(topics)

        def __enter__(self) -> Failing:
            return self

        def __exit__(self, *error: object) -> None:
            pass

        def finished(self) -> None:
            raise PlreError("compiling failed")  # which ends nothing: what is missing is compiled later

    done: list[object] = []
    assert set(_TOPICS) <= set(TOPICS)
    files = source_files()
    monkeypatch.setattr("plre.demo.source_files", lambda: files[:5])
    monkeypatch.setattr("plre.demo.Compiling", Failing)
    monkeypatch.setattr("plre.demo.store", SimpleNamespace(is_empty=empty, place=SimpleNamespace(folder=tmp_path)))
    assert collect_and_compile(Progress()) == collect(Progress())
    assert done == asked


@pytest.mark.filterwarnings("ignore::plre.errors.PlreWarning")
def test_the_contest_on_a_part_of_the_text(monkeypatch: pytest.MonkeyPatch) -> None:
    files = source_files()
    assert len(files) > 500
    monkeypatch.setattr("plre.demo.source_files", lambda: files[::12])
    splits = collect(Progress())
    assert min(map(len, (splits.train, splits.dev, splits.test))) > 50
    assert not set(splits.train) & set(splits.test)
    contenders = list(contest(splits, order=3, threads=None, progress=Progress()))
    assert [c.name for c in contenders] == ["Kneser-Ney", "modified Kneser-Ney", "PLRE as published", "PLRE"]
    assert contenders[2].test.perplexity < contenders[1].test.perplexity
