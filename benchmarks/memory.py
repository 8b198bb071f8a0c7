"""Training within a limit of memory: `python -m benchmarks memory`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from benchmarks.common import (
    QUICK,
    Figure,
    Run,
    count,
    figures,
    fourfold,
    joined,
    listing,
    measure,
    paragraphs,
    plain,
    plre_train,
    prefix,
    scratch,
    table,
)
from plre.scratch import parse_size

MIB = 1024 * 1024
#: What the interpreter and its code may take beside what is limited.
INTERPRETER = 300_000_000
#: Words for the run that only warms up.
FIRST = 100_000


@dataclass(frozen=True)
class Case:
    """A model that is trained with and without a limit of memory."""

    name: str
    text: Path
    order: int
    limit: str
    options: tuple[object, ...]

    def runs(self, place: Path, text: Path | None = None) -> dict[str, Run]:
        """Training without and with the limit, on this text or another."""
        limited = (*self.options, "--memory", self.limit, "--tmp", place)
        return {
            name: plre_train(text or self.text, place / "ours.plre", self.order, *options)
            for name, options in ((self.name, self.options), (f"{self.name}, {self.limit}", limited))
        }


def cases() -> list[Case]:
    """(KenLM stands beside us on the longer text in `scaling` and `large`.)"""
    long = fourfold(plain("legal", "train"))
    both = joined("english-legal", plain("english", "train"), plain("legal", "train"))
    return [
        Case("mkn", long, 4, "256M" if QUICK else "2G", ("--method", "mkn")),
        Case("paper", long, 4, "256M" if QUICK else "2G", ("--preset", "paper")),
        Case("best", both, 3, "256M" if QUICK else "1G", ("--preset", "best")),
    ]


NOTE = (
    "`mkn` and `paper`: legal x 4 (after each line three copies with its words shuffled), order 4. `best`: english and "
    "legal, order 3. All words are kept. The peak is that of resident memory, as the kernel counts it for the process. "
    "Each was run once, after a run on the first words."
)


def run() -> str:
    some = cases()
    with scratch() as place:
        for case in some:
            measure(case.runs(place, prefix(case.text, FIRST)), warm_up=False, times=1)
        runs = {name: run for case in some for name, run in case.runs(place).items()}
        usages = measure(runs, warm_up=False, times=1)
    rows = []
    for case in some:
        free, limited = usages[case.name], usages[f"{case.name}, {case.limit}"]
        allowed = (parse_size(case.limit) + INTERPRETER) / MIB
        what = f"`train {case.name} --memory {case.limit}`"
        rows += [
            Figure(f"{what}, peak", limited.peak / MIB, None, "MiB", allowed, alone=True),
            Figure(f"{what} against no limit", limited.seconds, free.seconds, at_most=1.5),
        ]
    texts = {case.text: count(case.text) for case in some}
    detail = [[name, f"{u.seconds:.1f}", f"{u.peak / MIB:,.0f}"] for name, u in usages.items()]
    return paragraphs(
        " ".join(
            f"{text.name}: {words:,} words in {lines:,} lines." for text in texts for words, lines in [count(text)]
        ),
        figures(rows),
        table(["run", "seconds", "peak, MiB"], detail),
        listing(runs),
    )
