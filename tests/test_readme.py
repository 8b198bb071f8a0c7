"""What the README shows must run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import plre

README = (Path(__file__).parents[1] / "README.md").read_text()


def test_the_minute_of_python(tmp_path: Path, text: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lines = [line.replace("w1 ", "cat ").replace("w2 ", "the ").replace("w3 ", "sat ") for line in text]
    for name, part in (("corpus.txt", lines[60:]), ("dev.txt", lines[:30]), ("test.txt", lines[30:60])):
        Path(name).write_text("\n".join(part))
    # Four hundred sentences choose rank 1, for which there are no neighbours; the rest runs as it stands there.
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert len(blocks) == 1
    monkeypatch.setattr(plre.LanguageModel, "neighbours", lambda self, word: [])
    names: dict[str, object] = {}
    exec(blocks[0], names)
    assert isinstance(names["state"], plre.State)


def test_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    from plre.cli.main import cli

    for command in re.findall(r"^plre (\w+)", README, re.MULTILINE):
        assert command in cli.commands
    assert "make demo" in README
    assert "make test" in README
