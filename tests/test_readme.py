"""What the README shows must run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.conftest import zipf_text

README = (Path(__file__).parents[1] / "README.md").read_text()


def test_the_minute_of_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    words = {"w1": "cat", "w2": "the", "w3": "sat"}
    # So many words that every rank of the grid is 2 or more: neighbours need that.
    text = [" ".join(words.get(w, w) for w in line.split()) for line in zipf_text(12000, words=9000)]
    for name, part in (("corpus.txt", text[60:]), ("dev.txt", text[:30]), ("test.txt", text[30:60])):
        Path(name).write_text("\n".join(part))
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert len(blocks) == 1
    names: dict[str, object] = {}
    exec(blocks[0], names)
    assert isinstance(names["state"], bytes)


def test_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    from plre.cli.main import cli

    for command in re.findall(r"^plre (\w+)", README, re.MULTILINE):
        assert command in cli.commands
    assert "make demo" in README
    assert "make test" in README
