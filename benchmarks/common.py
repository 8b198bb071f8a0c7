"""What all measurements share: where the corpora are, how a time is taken, how a table is written."""

from __future__ import annotations

import os
import platform
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from plre._jit import cpu_count
from plre.text.sources import read_blocks

DATA = Path(os.environ.get("PLRE_DATA", Path(__file__).parents[2] / "shared" / "data"))
#: Folder and min_count: wikitext2 already holds <unk>.
CORPORA = {"wikitext2": 1, "english": 2, "russian": 2}


def part(folder: str, name: str) -> Path:
    """One part of a corpus."""
    path = DATA / folder / f"{name}.txt.xz"
    if not path.exists():
        raise SystemExit(f"there is no {path}; set PLRE_DATA to the folder of the corpora")
    return path


def plain(folder: str, name: str) -> Path:
    """The same as a plain file, for the tools that read no other."""
    target = Path(tempfile.gettempdir()) / "plre-bench" / f"{folder}.{name}.txt"
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        half = target.with_suffix(".half")
        with half.open("wb") as out:
            for block in read_blocks(part(folder, name)):
                out.write(block.data)
        half.rename(target)
    return target


def seconds(function: Callable[[], object]) -> float:
    """How long one call takes."""
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def alternate(functions: list[Callable[[], object]], times: int = 3) -> list[float]:
    """The median time of each, taken in turns so that a busy moment of the machine hits all alike."""
    taken: list[list[float]] = [[] for _ in functions]
    for _ in range(times):
        for function, own in zip(functions, taken, strict=True):
            own.append(seconds(function))
    return [statistics.median(own) for own in taken]


def command(*words: object, stdin: Path | None = None, stdout: Path | None = None) -> str:
    """Run a program; its output."""
    with open(stdin or os.devnull, "rb") as source:
        if stdout:
            with stdout.open("wb") as sink:
                subprocess.run(list(map(str, words)), stdin=source, stdout=sink, stderr=subprocess.PIPE, check=True)
            return ""
        done = subprocess.run(list(map(str, words)), stdin=source, capture_output=True, check=True)
        return done.stdout.decode()


def table(headings: list[str], rows: Iterable[Iterable[object]]) -> str:
    """A Markdown table."""
    lines = ["| " + " | ".join(headings) + " |", "|" + "---|" * len(headings)]
    lines += ["| " + " | ".join(map(str, row)) + " |" for row in rows]
    return "\n".join(lines)


def machine() -> str:
    """The machine in a line."""
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [line.split(":")[1].strip() for line in info.read_text().splitlines() if line.startswith("model name")]
        model = names[0] if names else model
    return f"{cpu_count()} cores, {model}, Python {platform.python_version()}"
