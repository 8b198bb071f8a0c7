from __future__ import annotations

import io
import sys

import pytest

from plre.cli import console
from plre.progress import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def use(progress: Progress) -> None:
    with progress.stage("working", 10, "words") as advance:
        for _ in range(10):
            advance(1)
    progress.note("a note")


def test_lines_where_there_is_no_terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(console, "_WORTH_A_LINE", 0.0)
    monkeypatch.setattr(console, "_EVERY", 0.0)
    progress = console.make_progress()
    assert isinstance(progress, console.PlainProgress)
    use(progress)
    shown = capsys.readouterr()
    assert shown.out == ""
    lines = shown.err.splitlines()
    assert lines[0].startswith("working: 10%, about ")
    assert lines[-2].startswith("working: 0.0 s, ")
    assert lines[-2].endswith(" words/s")
    assert lines[-1] == "a note"
    assert "working" in progress.seconds


def test_a_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    progress = console.make_progress()
    assert isinstance(progress, console.BarProgress)
    use(progress)
    assert "working" in screen.getvalue()
    assert "left" in screen.getvalue()


def test_quiet_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    use(console.make_progress(quiet=True))
    assert capsys.readouterr().err == ""
