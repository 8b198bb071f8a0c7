from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import plre
from plre.cli.main import run
from plre.comparison.methods import chosen_methods, components, default_methods, display_name, known_methods
from plre.comparison.plan import Job, Texts, key, make_settings, waves
from plre.comparison.run import JobError, JobOutcome, JobWatcher, Processes
from plre.comparison.texts import read_text, sentence_tokens
from plre.comparison.work import Task, perform
from plre.progress import Progress
from tests.conftest import zipf_text

pytestmark = pytest.mark.filterwarnings("ignore::plre.errors.PlreWarning")

Names = dict[str, str]


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Names:
    folder = tmp_path_factory.mktemp("texts")
    for name, size, seed in (("train", 600, 1), ("dev", 40, 7), ("test", 50, 9)):
        lines = zipf_text(size, words=200, seed=seed)
        lines[5] = ""  # an empty line is an empty sentence
        (folder / f"{name}.txt").write_text("\n".join(lines) + "\n")
    return {name: str(folder / f"{name}.txt") for name in ("train", "dev", "test")}


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Jobs run in this process, which is faster than in their own; the names of those that ran."""
    names: list[str] = []

    def here(self: Processes, task: Task, stage: Callable[[str], None]) -> dict[str, Any]:
        names.append(f"{task.method}-{task.order}")
        return perform(task, Progress())

    monkeypatch.setattr(Processes, "run", here)
    return names


def test_processes_of_their_own(texts: Names, tmp_path: Path) -> None:
    """The whole thing once, as users run it."""
    told: list[tuple[str, str]] = []

    class Listener(JobWatcher):
        def stage(self, job: Job, name: str) -> None:
            told.append((job.method, name))

        def ended(self, job: Job, outcome: JobOutcome) -> None:
            told.append((job.method, "ended"))

    comparison = plre.compare(
        **texts, output=tmp_path / "out", methods=["plre"], orders=[2], ranks=[2], memory="1G", tmp=tmp_path,
        watcher=Listener(),
    )  # fmt: skip
    assert [row.job.method for row in comparison.rows] == ["mkn", "plre"]
    assert ("plre", "loading kernels") in told
    assert told.count(("plre", "ended")) == 2
    for row in comparison.finished():
        lm = plre.load(
            next(
                (tmp_path / "out" / "models").glob(f"{row.job.method}-2-" + ("rank" if row.job.rank else "[!r]") + "*")
            )
        )
        assert row.test == pytest.approx(lm.perplexity(texts["test"]), rel=1e-9)
        assert row.dev == pytest.approx(lm.perplexity(texts["dev"]), rel=1e-9)
        assert row.result is not None
        # The kernel counts roughly: the second of two readings may be a little lower.
        assert 50e6 < row.result["start_bytes"] < 1.01 * row.result["peak_bytes"] < 2e9
        assert row.result["model_bytes"] == os.path.getsize(lm.path or "")
        assert row.result["run"]["jobs"] >= 1
    gain = comparison.row("plre", 2).gain
    reference = comparison.reference(2)
    assert gain is not None
    assert reference.gain is None
    assert gain.value == pytest.approx(1 - comparison.row("plre", 2).test / reference.test)  # type: ignore[operator]
    data = json.loads((tmp_path / "out" / "results.json").read_text())
    assert data["rows"][1]["gain"]["p"] == gain.p
    assert data["command"].startswith("plre compare --train ")


def test_scores_of_sentences_add_up(texts: Names, tmp_path: Path, ran: list[str]) -> None:
    comparison = plre.compare(**texts, output=tmp_path, methods=["mkn"], orders=[3])
    tokens = sentence_tokens(comparison.texts.test)
    scores = np.load(next((tmp_path / "results").glob("mkn-3-*.npy")))
    result = comparison.rows[0].result
    assert result is not None
    assert len(scores) == len(tokens) == result["test"]["sentences"]
    assert tokens.sum() == result["test"]["tokens"]
    assert 10 ** (-scores.sum() / tokens.sum()) == pytest.approx(comparison.rows[0].test)


def test_a_rerun_does_only_what_is_new(texts: Names, tmp_path: Path, ran: list[str]) -> None:
    def again(**changed: Any) -> list[str]:
        ran.clear()
        options = {"methods": ["kn", "mkn"], "orders": [2], "ranks": [], **texts, **changed}
        plre.compare(**options, output=tmp_path / "out", threads=1)
        return sorted(ran)

    assert again() == ["kn-2", "mkn-2"]
    report = (tmp_path / "out" / "report.html").read_bytes()
    assert again() == []
    assert (tmp_path / "out" / "report.html").read_bytes() == report
    assert again(orders=[2, 3]) == ["kn-3", "mkn-3"]
    assert again(methods=["abs"]) == ["abs-2"]
    assert again(min_count=1) == ["kn-2", "mkn-2"]
    assert again(seed=1) == ["kn-2", "mkn-2"]
    other = tmp_path / "test.txt"
    other.write_text(Path(texts["test"]).read_text() + "w1 w2\n")
    assert again(test=str(other)) == ["kn-2", "mkn-2"]
    next((tmp_path / "out" / "results").glob("kn-2-*.npy")).unlink()
    for cut in (tmp_path / "out" / "results").glob("mkn-2-*.json"):
        cut.write_text(cut.read_text()[:50])
    assert "mkn-2" in again()


def test_a_copy_elsewhere_and_compressed_is_the_same_text(texts: Names, tmp_path: Path) -> None:
    import gzip

    packed = tmp_path / "packed.gz"
    packed.write_bytes(gzip.compress(Path(texts["test"]).read_bytes()))
    assert read_text(packed).identity() == read_text(texts["test"]).identity()


def test_a_failed_job_does_not_stop_the_others(
    texts: Names, tmp_path: Path, ran: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fine = Processes.run

    def fail(self: Processes, task: Task, stage: Callable[[str], None]) -> dict[str, Any]:
        if task.method == "kn":
            raise JobError("the disk is on fire")
        return fine(self, task, stage)

    monkeypatch.setattr(Processes, "run", fail)
    arguments = [f"--{name}={path}" for name, path in texts.items()]
    command = ["compare", *arguments, "-o", str(tmp_path), "--methods", "kn,mkn,kn+mkn", "--orders", "2"]
    assert run(command) == 0
    shown = capsys.readouterr()
    assert "int-KN, order 2 failed: the disk is on fire" in shown.out
    assert "int-KN, order 2: failed: the disk is on fire" in shown.err
    assert "without int-KN, order 2 there is nothing to mix" in shown.out
    assert "the disk is on fire" in (tmp_path / "report.html").read_text()
    assert not list((tmp_path / "results").glob("kn-*"))
    monkeypatch.setattr(Processes, "run", lambda *_: (_ for _ in ()).throw(JobError("no")))
    assert run([*command, "--seed", "5"]) == 1
    assert "every job failed; the first one: no" in capsys.readouterr().err


def test_what_a_broken_process_says(texts: Names, tmp_path: Path) -> None:
    task = Task("kn", 2, {"min_count": 0}, *([path] for path in texts.values()), [], "m", "s", 1, 10**9)  # type: ignore[call-arg]
    with pytest.raises(JobError, match="min_count must be at least 1"):
        Processes().run(task, lambda name: None)
    stopped = Processes()
    stopped.stop()
    with pytest.raises(JobError, match="stopped"):
        stopped.run(task, lambda name: None)


def test_mixtures_are_made_of_saved_models(texts: Names, tmp_path: Path, ran: list[str]) -> None:
    options: dict[str, Any] = {**texts, "output": tmp_path, "orders": [2], "ranks": []}
    comparison = plre.compare(**options, methods=["mkn+kn"], keep_models=False)
    assert comparison.row("mkn+kn", 2).dev < comparison.reference(2).dev + 1e-4  # type: ignore[operator]
    assert ran == ["mkn-2", "kn-2", "mkn+kn-2"] or ran == ["kn-2", "mkn-2", "mkn+kn-2"]
    row = comparison.row("mkn+kn", 2)
    assert row.name == "int-MKN + int-KN"
    assert row.seconds is not None
    assert row.seconds > row.parts_seconds > 0
    assert row.peak_bytes == max(part["peak_bytes"] for part in (*row.parts, row.result or {}))
    assert " + " in (tmp_path / "report.md").read_text().split("What it costs")[1]
    assert list((tmp_path / "models").iterdir()) == []
    # Its parts are trained again if their models are gone, but only for a mixture that is new.
    ran.clear()
    plre.compare(**options, methods=["mkn+kn"])
    assert ran == []
    plre.compare(**options, methods=["kn+mkn"])
    assert sorted(ran) == ["kn+mkn-2", "kn-2", "mkn-2"]


def test_names_of_methods() -> None:
    assert {"abs", "kn", "mkn", "plre"} <= set(known_methods())
    assert set(known_methods()) <= set(default_methods())
    assert [display_name(name) for name in ("bo-kn", "mkn-dev", "plre+class", "new")] == [
        "BO-KN",
        "int-MKN (discounts fitted)",
        "PLRE + class-based",
        "new",
    ]
    assert chosen_methods(["plre", "kn", "plre"]) == ["mkn", "plre", "kn"]
    assert chosen_methods(["plre+kn"]) == ["mkn", "plre+kn"]
    assert components("a+b+c") == ("a", "b", "c")


def test_parts_of_mixtures_come_first() -> None:
    plain, mixed = waves([Job("mkn+kn", 3), Job("mkn", 3), Job("plre", 3, 5)])
    assert plain == [Job("mkn", 3), Job("kn", 3), Job("plre", 3, 5)]
    assert mixed == [Job("mkn+kn", 3)]


def test_the_key_knows_what_decides(texts: Names) -> None:
    given = Texts(*(read_text(texts[name]) for name in ("train", "dev", "test")))
    settings = make_settings(None, [2, 3], 2, None, [], 0)
    same = make_settings(["kn"], [2], 2, 50, [5], 0)
    assert key(Job("mkn", 3), settings, given) == key(Job("mkn", 3), same, given)
    assert key(Job("class", 3), settings, given) != key(Job("class", 3), same, given)
    keys = {key(Job("plre", order, rank), settings, given) for order in (2, 3) for rank in (None, 5, 6)}
    assert len(keys) == 6


def test_bad_usage_is_refused_before_anything_runs(
    texts: Names, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "empty.txt").write_text("\n \n")
    fine = {**texts, "o": str(tmp_path / "out")}
    for changed, code, message in (
        ({"methods": "mkn,bogus"}, 2, "there is no method 'bogus'; choose from abs"),
        ({"methods": "mkn+bogus"}, 2, "'bogus' (a part of the mixture 'mkn+bogus')"),
        ({"methods": "mkn+mkn"}, 2, "same part twice"),
        ({"orders": "3,x"}, 2, "not a list of whole numbers"),
        ({"orders": "0"}, 2, "order must be a whole number"),
        ({"orders": ""}, 2, "at least one order"),
        ({"min-count": "0"}, 2, "min_count must be at least 1"),
        ({"classes": "0"}, 2, "classes must be at least 1"),
        ({"ranks": "0"}, 2, "ranks are whole numbers from 1 up"),
        ({"memory": "1M"}, 2, "at least 200M of memory"),
        ({"tmp": str(tmp_path / "none")}, 2, "is not a directory"),
        ({"seed": "-1"}, 2, "the seed must be"),
        ({"o": str(tmp_path / "file")}, 2, "is a file; give a folder"),
        ({"test": str(tmp_path / "none.txt")}, 1, "no such file"),
        ({"dev": str(tmp_path / "empty.txt")}, 1, "holds no words"),
        ({"train": "-"}, 2, "must be files, not pipes"),
    ):
        options = {**fine, **changed}
        arguments = [
            word for name, value in options.items() for word in (f"--{name}" if len(name) > 1 else "-o", value)
        ]
        assert run(["compare", *arguments]) == code
        assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_the_same_text_twice_is_noted(texts: Names, tmp_path: Path, ran: list[str]) -> None:
    plre.compare(texts["train"], texts["test"], texts["test"], tmp_path, methods=["mkn"], orders=[2])
    assert "dev and test are the same text" in (tmp_path / "report.md").read_text()


def test_an_interruption_stops_the_children_and_keeps_results(texts: Names, tmp_path: Path) -> None:
    out = tmp_path / "out"
    arguments = [f"--{name}={path}" for name, path in texts.items()]
    command = [sys.executable, "-c", "from plre.cli.main import main; main()", "compare", *arguments, "-o", str(out)]
    process = subprocess.Popen(
        [*command, "--methods", "kn,mkn", "--orders", "2,3,4,5,6,7", "--jobs", "1"],
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert process.stderr is not None
    for line in process.stderr:
        if "left)" in line:
            break
    process.send_signal(signal.SIGINT)
    rest = process.stderr.read()
    process.stderr.close()
    assert process.wait(timeout=60) == 130
    assert rest.endswith("stopped\n")
    finished = list((out / "results").glob("*.json"))
    assert 1 <= len(finished) < 12
    time.sleep(0.2)
    assert len(list((out / "results").glob("*.json"))) == len(finished)


def test_text_is_read_as_train_reads_it(tmp_path: Path) -> None:
    from plre.comparison.texts import read_text, sentence_tokens

    path = tmp_path / "text.txt"
    path.write_bytes(b"a b\n<s> c </s>\n\xff d\n")
    with pytest.raises(plre.TextError, match=r"text\.txt.*line 3|text\.txt.*3.*UTF-8"):
        read_text(path, skip_markers=True)
    with pytest.raises(plre.TextError, match="the text holds <s>"):
        read_text(path, errors="replace")
    text = read_text(path, skip_markers=True, errors="replace")
    assert sentence_tokens(text, "replace").tolist() == [3, 2, 3]


def test_a_damaged_result_is_made_again(tmp_path: Path) -> None:
    from plre.comparison.store import Files

    files = Files(tmp_path / "r.json", tmp_path / "r.npy", tmp_path / "m.plre")
    files.result.write_text("{}")
    assert files.load() is None
    np.save(files.scores, np.arange(1000.0))
    assert files.load() == {}
    files.scores.write_bytes(files.scores.read_bytes()[:500])
    assert files.load() is None
