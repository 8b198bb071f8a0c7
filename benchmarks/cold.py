"""First answers of an installation that has compiled nothing yet: `python -m benchmarks cold`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from benchmarks.common import Figure, figures, paragraphs, scratch, table
from tools.check_wheel import Answer, first_answers, install

#: Seconds of processor time that each answer may take: from sources, and from the wheel with machine code.
TARGETS = {
    "plre score, mkn": (6, 1),
    "plre score, best": (15, 1),
    "plre train, default, 1,000 lines": (30, 4),
}
_RUNS = 3
NOTE = (
    "Processor time of a whole process (all its threads) that finds no machine code in its cache, medians of 3: of "
    "this checkout, which compiles what it needs, and of the wheel with machine code by `make wheel`, installed "
    "into a new environment. The model scores one line; the training text has 1,000 lines of 12 words."
)


def run() -> str:
    with scratch() as place:
        answers = {"sources": median_answers(sys.executable, place, "sources")}
        subprocess.run([sys.executable, "-m", "tools.wheels", str(place)], check=True, stdout=subprocess.DEVNULL)
        for wheel in place.glob("*manylinux*.whl"):
            installed = install(fresh(place, "installed") / "venv", str(wheel))
            answers["wheel"] = median_answers(installed, place, "wheel")
    rows = []
    for number, (name, given) in enumerate(answers.items()):
        for answer in given:
            target = TARGETS[answer.what][number]
            rows.append(Figure(f"`{answer.what}`, {name}", answer.seconds, None, at_most=target, alone=True))
        if name == "wheel":
            compiled = sum(map(compilations, given))
            rows.append(Figure("functions compiled, wheel", compiled, None, "", at_most=0, alone=True))
    counts = [[answer.what, name, compilations(answer)] for name, given in answers.items() for answer in given]
    return paragraphs(figures(rows), table(["first answer", "from", "functions compiled"], counts))


def median_answers(python: str, place: Path, name: str) -> list[Answer]:
    """Each first answer that took the median of several times, all of them without a cache."""
    runs = [first_answers(python, fresh(place, f"{name}{number}")) for number in range(_RUNS)]
    return [sorted(same, key=lambda answer: answer.seconds)[_RUNS // 2] for same in zip(*runs, strict=True)]


def compilations(answer: Answer) -> int:
    """Functions that were compiled, by numba's count or ours, whichever is larger."""
    return max(answer.compiled, answer.by_numba)


def fresh(place: Path, name: str) -> Path:
    """A new folder."""
    folder = place / name
    folder.mkdir()
    return folder
