"""``plre tune``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import plre
from plre.cli.main import run
from plre.ensemble.ingredients import FittedWeights
from tests.component_models import bytes_of
from tests.conftest import zipf_text


@pytest.fixture
def command(tmp_path: Path) -> list[str]:
    (tmp_path / "train.txt").write_text("\n".join(zipf_text(600)) + "\n")
    (tmp_path / "dev.txt").write_text("\n".join(zipf_text(60, seed=7)) + "\n")
    return ["tune", str(tmp_path / "train.txt"), "--dev", str(tmp_path / "dev.txt"), "-o", str(tmp_path / "m.plre")]


def test_model_journal_and_page(command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*command, "--trials", "3"]) == 0
    shown = capsys.readouterr()
    lm = plre.load(tmp_path / "m.plre")
    best = f"{lm.metadata['dev_perplexity']:.2f}"
    assert shown.err.count("trial ") >= 3
    assert f"dev perplexity {best}" in shown.err
    assert "Recipes tried" in shown.out
    assert best in shown.out
    assert "plre train TEXT..." in shown.out
    assert "<svg" in (tmp_path / "m.plre.tune.html").read_text()
    lines = [json.loads(line) for line in (tmp_path / "m.plre.tune.jsonl").read_text().splitlines()]
    assert [line["trial"]["number"] for line in lines[1:]] == [1, 2, 3]

    assert run([*command, "--trials", "2", "--format", "json"]) == 0
    shown = capsys.readouterr()
    assert "3 trials were made before" in shown.err
    said = json.loads(shown.out)
    assert len(said["trials"]) == 5
    assert plre.load(tmp_path / "m.plre").metadata["tuned"]["trial"] == said["best"]


def test_its_command_trains_the_same_model(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*command, "--trials", "4", "-q", "--format", "json"]) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    options = json.loads(shown.out)["command"].partition("-o MODEL ")[2].replace("'", "").split()
    again = str(tmp_path / "again.plre")
    assert run(["train", *command[1:4], "-o", again, "-q", *options]) == 0
    assert bytes_of(plre.load(again)) == bytes_of(plre.load(tmp_path / "m.plre"))


def test_an_interruption_leaves_the_best_so_far(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    make, calls = FittedWeights.make, []

    def interrupted(self: FittedWeights, *arguments: object) -> object:
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return make(self, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(FittedWeights, "make", interrupted)
    assert run(command) == 130
    shown = capsys.readouterr().err
    assert "building the best model so far" in shown
    assert "the same command goes on from here" in shown
    assert plre.load(tmp_path / "m.plre").metadata["tuned"]["trials"] == 1


def test_an_interruption_before_there_is_anything(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*arguments: object) -> object:
        raise KeyboardInterrupt

    monkeypatch.setattr(FittedWeights, "make", interrupted)
    assert run(command) == 130
    assert "begins again" in capsys.readouterr().err
    assert not (tmp_path / "m.plre").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--budget", "soon"], "a budget is a time"),
        (["--trials", "-1"], "--trials"),
        (["--order", "0"], "order"),
        (["--vocab", "v", "--min-count", "2"], "not both"),
        (["--dev", "no-such-file"], "no-such-file"),
        (["-o", "no/such/folder/m"], "there is no directory"),
    ],
)
def test_what_is_refused(
    command: list[str], tmp_path: Path, options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*command, *options]) in (1, 2)
    assert message in capsys.readouterr().err
    assert not (tmp_path / "m.plre").exists()


def test_dev_is_required(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*command[:2], *command[4:]]) == 2
    assert "--dev" in capsys.readouterr().err


def test_no_text_is_overwritten_by_the_journal(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = tmp_path / "m.plre.tune.jsonl"
    text.write_text("some words\n")
    assert run(["tune", str(text), *command[2:]]) == 2
    assert "choose another name for the journal" in capsys.readouterr().err
    assert text.read_text() == "some words\n"
