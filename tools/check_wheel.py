"""Install a wheel into a new virtual environment, and measure first answers and what is compiled for them.

    python -m tools.check_wheel dist/plre-*-manylinux*.whl

Exits with 1 if a wheel that brings machine code still compiles something.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

#: Runs the command line, and tells at its end how many functions numba compiled (its own count, and ours).
MEASURED = """
import atexit, json, os, sys
def tell():
    if "numba" in sys.modules:
        from plre.machinecode.store import store
        with open(os.environ["TOLD"], "w") as file:
            json.dump({"ours": len(store.compiled), "numba": events, "misfit": store.packed.misfit}, file)
atexit.register(tell)
events = 0
from plre.cli.main import run
import numba.core.event as event
class Count(event.Listener):
    def on_start(self, event):
        global events
        events += 1
    def on_end(self, event):
        pass
event.register("numba:compile", Count())
sys.exit(run(sys.argv[1:]))
"""


class Answer(NamedTuple):
    """What the first answer to a command took in a process that found no cache."""

    what: str
    #: Of processor time.
    seconds: float
    #: Functions that were compiled: by our count, and by numba's.
    compiled: int
    by_numba: int
    #: Why machine code that came with the installation could not be used; None if it was.
    misfit: str | None


def main() -> None:
    """Measure a wheel."""
    (wheel,) = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        answers = first_answers(install(Path(folder, "venv"), wheel), Path(folder))
    for answer in answers:
        print(f"{answer.what:35} {answer.seconds:6.2f} s of processor time, ", end="")
        print(f"compiled: {answer.compiled}, by numba's count {answer.by_numba}")
        if answer.misfit:
            print(f"  {answer.misfit}")
    compiled = any(answer.compiled or answer.by_numba for answer in answers)
    sys.exit(1 if compiled and "none-any" not in wheel else 0)


def first_answers(python: str, home: Path) -> list[Answer]:
    """The first answers of an installation, each measured the second time: by then its files are in memory."""
    text, line = home / "text", home / "line"
    text.write_text("".join(sentences(1000)))
    line.write_text("a short line\n")
    setup = {"NUMBA_CACHE_DIR": str(home / "setup"), "PLRE_QUIET": "1"}
    for method in (["--method", "mkn"], ["--preset", "best"]):
        run([python, "-m", "plre", "train", str(text), "-o", str(home / method[1]), "-q", *method], home, setup)
    commands = {
        "plre score, mkn": ["score", str(home / "mkn"), str(line)],
        "plre score, best": ["score", str(home / "best"), str(line)],
        "plre train, default, 1,000 lines": ["train", str(text), "-o", str(home / "new"), "-q"],
    }
    return [[measure(what, python, arguments, home) for _ in range(2)][-1] for what, arguments in commands.items()]


def install(folder: Path, wheel: str) -> str:
    """A new virtual environment with the wheel; its Python."""
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    python = str(folder / "bin" / "python")
    pip = [python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", wheel]
    subprocess.run(pip, stderr=subprocess.DEVNULL, check=True)
    return python


def sentences(count: int) -> list[str]:
    """A text with a long tail of rare words, always the same."""
    state, lines = 1, []
    for _ in range(count):
        words = []
        for _ in range(12):
            state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
            words.append(f"w{int(3000 ** ((state >> 11) / 2**53))}")
        lines.append(" ".join(words) + "\n")
    return lines


def run(command: list[str], home: Path, more: dict[str, str]) -> None:
    """Run without anything that the developer's own environment has set."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA_", "PLRE_", "PYTHON"))}
    subprocess.run(command, cwd=home, env=kept | more, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)


def measure(what: str, python: str, arguments: list[str], home: Path) -> Answer:
    """What a command costs with an empty cache."""
    with tempfile.TemporaryDirectory(dir=home) as cache:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run([python, "-c", MEASURED, *arguments], home, {"NUMBA_CACHE_DIR": cache, "TOLD": str(home / "told")})
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    told = json.loads((home / "told").read_text())
    return Answer(what, seconds, told["ours"], told["numba"], told["misfit"])


if __name__ == "__main__":
    main()
