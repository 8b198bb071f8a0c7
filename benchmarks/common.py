"""What all measurements share: texts, commands and their times, figures with targets, tables.

PLRE_BENCH_QUICK=1 cuts every corpus to its first lines and measures once: to try the code, not for figures.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import re
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from plre.text.sources import read_blocks

DATA = Path(os.environ.get("PLRE_DATA", Path(__file__).parents[2] / "shared" / "data"))
QUICK = bool(os.environ.get("PLRE_BENCH_QUICK"))
#: Texts that are made once, and results; nothing of it belongs to the project.
WORK = Path(tempfile.gettempdir()) / ("plre-bench-quick" if QUICK else "plre-bench")
QUICK_LINES = 10_000
TIMES = 1 if QUICK else 3
#: Folder and min_count: wikitext2 already holds <unk>.
CORPORA = {"wikitext2": 1, "english": 2, "russian": 2}

# --- texts -----------------------------------------------------------------------------------------------------------


def made(name: str, write: Callable[[BinaryIO], object]) -> Path:
    """A work file, written if it is not there yet."""
    target = WORK / name
    if not target.exists():
        WORK.mkdir(parents=True, exist_ok=True)
        half = target.with_name(f"{name}.half")
        with half.open("wb") as out:
            write(out)
        half.rename(target)
    return target


def packed(folder: str, name: str) -> Path:
    """One part of a corpus, as it lies beside the project."""
    path = DATA / folder / f"{name}.txt.xz"
    if not path.exists():
        raise SystemExit(f"there is no {path}; set PLRE_DATA to the folder of the corpora")
    return path


def plain(folder: str, name: str) -> Path:
    """A part of a corpus as a plain file, for the tools that read no other."""

    def write(out: BinaryIO) -> None:
        lines = (line for block in read_blocks(source) for line in block.data.splitlines(keepends=True))
        out.writelines(itertools.islice(lines, QUICK_LINES if QUICK else None))

    source = packed(folder, name)
    return made(f"{folder}.{name}.txt", write)


#: One part of a corpus, for those who read either.
part = plain if QUICK else packed


def repeated(text: Path, words: int) -> Path:
    """The text as often as it takes to have so many words."""
    copies = -(-words // count(text)[0])
    return made(f"{text.stem}.x{copies}.txt", lambda out: [out.write(text.read_bytes()) for _ in range(copies)])


def joined(name: str, *texts: Path) -> Path:
    """Some texts, one after the other."""
    return made(f"{name}.txt", lambda out: [out.write(text.read_bytes()) for text in texts])


def fourfold(text: Path) -> Path:
    """Four times the text: after each line come three copies with its words shuffled, so that n-grams are new.

    Line by line, so that every prefix is the same mixture of old and new.
    """

    def write(out: BinaryIO) -> None:
        shuffle = random.Random(0).shuffle
        with text.open("rb") as lines:
            for line in lines:
                out.write(line)
                words = line.split()
                for _ in range(3):
                    shuffle(words)
                    out.write(b" ".join(words) + b"\n")

    return made(f"{text.stem}.fourfold.txt", write)


def prefix(text: Path, words: int) -> Path:
    """The first lines of a text that have so many words together."""

    def write(out: BinaryIO) -> None:
        left = words
        with text.open("rb") as lines:
            for line in lines:
                if left <= 0:
                    break
                out.write(line)
                left -= len(line.split())

    return made(f"{text.stem}.{words}.txt", write)


def count(text: Path) -> tuple[int, int]:
    """How many words and lines a text has; it is in the file cache afterwards."""
    words = lines = 0
    with text.open("rb") as source:
        for line in source:
            words += len(line.split())
            lines += 1
    return words, lines


@contextmanager
def scratch() -> Iterator[Path]:
    """A folder for models and what else a measurement makes, emptied before and after."""
    place = WORK / "scratch"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    try:
        yield place
    finally:
        shutil.rmtree(place)


# --- commands and times ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Usage:
    """What a command took: seconds of wall time, and bytes of resident memory at its peak."""

    seconds: float
    peak: int = 0


class Command:
    """A program with its arguments and files; as a string, the line that a reader can type."""

    def __init__(self, *words: object, stdin: Path | None = None, stdout: Path | None = None) -> None:
        self.words = list(map(str, words))
        self.stdin = stdin
        self.stdout = stdout
        self.output = ""

    def run(self) -> Usage:
        """Run it by ``launch.py``; what it prints is kept in ``output`` unless it goes to a file."""
        launch = [sys.executable, "-S", "-E", str(Path(__file__).with_name("launch.py"))]
        # Sources are compiled to bytecode once, as whoever installs a package has it.
        usual = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        with open(self.stdin or os.devnull, "rb") as source, open(self.stdout or os.devnull, "wb") as sink:
            target = sink if self.stdout else subprocess.PIPE
            done = subprocess.run(
                [*launch, *self.words], stdin=source, stdout=target, stderr=subprocess.PIPE, env=usual
            )
        said = done.stderr.decode(errors="replace").strip().splitlines()
        if done.returncode:
            raise SystemExit("\n".join([f"this failed: {self}", *said[-6:-1]]))
        self.output = (done.stdout or b"").decode()
        return Usage(**json.loads(said[-1]))

    def __str__(self) -> str:
        words = self.words[len(PLRE) :] if self.words[: len(PLRE)] == PLRE else self.words
        shown = ["plre"] if words is not self.words else []
        shown += ["python" if word == sys.executable else word for word in words]
        line = shlex.join(re.sub(r"(^-[a-zA-Z]|^|=)/.*/(.)", r"\1\2", word) for word in shown)
        line += f" <{self.stdin.name}" if self.stdin else ""
        return line + (f" >{self.stdout.name}" if self.stdout else "")


PLRE = [sys.executable, "-c", "from plre.cli.main import main; main()"]


def plre_command(*words: object, stdin: Path | None = None) -> Command:
    """The command ``plre`` of this Python."""
    return Command(*PLRE, *words, stdin=stdin)


def plre_train(text: Path, model: Path, order: int, *options: object) -> list[Command]:
    """Train with every word kept, as lmplz does, so that both make the same n-grams."""
    return [plre_command("train", text, "-o", model, "--order", order, "--min-count", 1, *options, "-q")]


def one_after_another(commands: Iterable[Command]) -> Usage:
    """What some commands take together: the sum of their times and the largest of their peaks."""
    usages = [command.run() for command in commands]
    return Usage(sum(u.seconds for u in usages), max(u.peak for u in usages))


def timed(function: Callable[[], object]) -> Usage:
    """What one call in this process takes."""
    start = time.perf_counter()
    function()
    return Usage(time.perf_counter() - start)


Run = list[Command] | Callable[[], object]


def measure(runs: Mapping[str, Run], warm_up: bool = True, times: int = TIMES) -> dict[str, Usage]:
    """The median time and largest peak of each, taken in turns so that a busy moment of the machine hits all alike.

    Before that each is run once for nothing: kernels are compiled, and texts and models are in the file cache.
    """
    taken: dict[str, list[Usage]] = {name: [] for name in runs}
    for turn in range(-warm_up, times):
        for name, run in runs.items():
            usage = timed(run) if callable(run) else one_after_another(run)
            print(f"  {name}: {usage.seconds:.2f} s, {usage.peak / 2**20:,.0f} MiB", file=sys.stderr, flush=True)
            if turn >= 0:
                taken[name].append(usage)
    return {
        name: Usage(statistics.median(u.seconds for u in each), max(u.peak for u in each))
        for name, each in taken.items()
    }  # fmt: skip


# --- figures and tables ----------------------------------------------------------------------------------------------

HEADINGS = ["what", "ours", "peer", "ratio", "target", "met"]


@dataclass(frozen=True)
class Figure:
    """A number of ours, a peer's beside it (None: it did not take part), and what it should be.

    The target is for the ratio of the two, or for our number itself if it is ``alone``.
    """

    what: str
    ours: float
    peer: float | None = None
    unit: str = "s"
    at_most: float | None = None
    at_least: float | None = None
    alone: bool = False

    @property
    def ratio(self) -> float | None:
        """Our figure as a share of the peer's."""
        return None if self.peer is None else self.ours / self.peer

    @property
    def met(self) -> str:
        """Whether the target is met; "-" if there is none, or nothing to compare with."""
        value = self.ours if self.alone else self.ratio
        if value is None or (self.at_most is None and self.at_least is None):
            return "-"
        good = (self.at_most is None or value <= self.at_most) and (self.at_least is None or value >= self.at_least)
        return "yes" if good else "**no**"

    def row(self) -> list[str]:
        """The cells of a row under HEADINGS."""
        unit = f" {self.unit}" if self.unit and self.alone else ""
        target = f"at most {self.at_most:g}{unit}" if self.at_most is not None else "-"
        target = f"at least {self.at_least:g}{unit}" if self.at_least is not None else target
        peer = "-" if self.peer is None else f"{short(self.peer)} {self.unit}"
        ratio = "-" if self.ratio is None else f"{self.ratio:.2f}"
        return [self.what, f"{short(self.ours)} {self.unit}".strip(), peer.strip(), ratio, target, self.met]


def figures(rows: Iterable[Figure]) -> str:
    """The table of figures, which the summary on top of the document repeats."""
    return table(HEADINGS, [figure.row() for figure in rows])


def short(number: float) -> str:
    """Three significant digits without an exponent.

    >>> [short(x) for x in (1234.5, 12.345, 0.0012345)]
    ['1,234', '12.3', '0.00123']
    """
    return f"{number:,.0f}" if abs(number) >= 100 else f"{float(f'{number:.3g}'):.12g}"


def table(headings: list[str], rows: Iterable[Iterable[object]]) -> str:
    """A Markdown table."""
    lines = ["| " + " | ".join(headings) + " |", "|" + "---|" * len(headings)]
    lines += ["| " + " | ".join(map(str, row)) + " |" for row in rows]
    return "\n".join(lines)


def listing(*runs: Mapping[str, Run]) -> str:
    """The commands that were timed, as a block of Markdown."""
    lines = [str(command) for each in runs for run in each.values() if not callable(run) for command in run]
    return "\n".join(["```", *dict.fromkeys(lines), "```"])


def paragraphs(*parts: str) -> str:
    """Parts of a section; empty ones are left out."""
    return "\n\n".join(part for part in parts if part)
