"""``plre prune``, and ``plre train --prune``."""

from __future__ import annotations

from pathlib import Path

import pytest

import plre
from plre.cli.main import run

pytestmark = pytest.mark.filterwarnings("ignore::plre.errors.PlreWarning")


@pytest.fixture
def model(tmp_path: Path, text: list[str]) -> Path:
    plre.train(text, order=3, method="mkn").save(tmp_path / "m.plre")
    return tmp_path / "m.plre"


def test_by_threshold_and_by_size(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "small.plre"
    assert run(["prune", str(model), "--threshold", "1e-5", "-o", str(out)]) == 0
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "threshold 1e-05, 391 of 391 + " in shown.err
    assert run(["info", str(out)]) == 0
    assert "pruned      threshold 1e-05" in capsys.readouterr().out
    wanted = model.stat().st_size * 3 // 4
    assert run(["prune", str(model), "--size", str(wanted), "-o", str(out), "-q"]) == 0
    assert out.stat().st_size <= wanted
    assert capsys.readouterr().err == ""
    assert run(["prune", str(model), "--size", "1G", "-o", str(out)]) == 0
    assert "nothing is left out" in capsys.readouterr().err
    assert out.stat().st_size == model.stat().st_size


def test_the_file_itself_may_be_replaced(model: Path) -> None:
    before = model.stat().st_size
    assert run(["prune", str(model), "--threshold", "1e-4", "-o", str(model), "-q"]) == 0
    assert model.stat().st_size < before
    plre.load(model).verify()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "one of the two"),
        (["--size", "1M", "--threshold", "1e-8"], "one of the two"),
        (["--size", "tiny"], "a size is a number and a unit"),
        (["--size", "5k"], "cannot be pruned to less than"),
        (["--threshold=-1"], "from 0 up"),
        (["--threshold", "nan"], "from 0 up"),
    ],
)
def test_what_is_refused(
    model: Path, tmp_path: Path, options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["prune", str(model), "-o", str(tmp_path / "small.plre"), *options]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "small.plre").exists()


def test_while_training(model: Path, tmp_path: Path, text: list[str]) -> None:
    (tmp_path / "train.txt").write_text("\n".join(text) + "\n")
    out = tmp_path / "trained.plre"
    arguments = ["train", str(tmp_path / "train.txt"), "-o", str(out), "--method", "mkn", "--prune", "1e-5", "-q"]
    assert run(arguments) == 0
    assert plre.load(out).digest == plre.prune(model, threshold=1e-5).digest
    assert run([*arguments, "--quantise", "8"]) == 0
    assert plre.load(out).distribution("w1 w2").sum() == pytest.approx(1, abs=0.05)
