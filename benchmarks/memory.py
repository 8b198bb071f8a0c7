"""Training within a limit of memory: `python -m benchmarks memory`."""

from __future__ import annotations

from pathlib import Path

from benchmarks.common import (
    QUICK,
    Figure,
    Run,
    count,
    figures,
    fourfold,
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

ORDER = 4
LIMIT = "256M" if QUICK else "2G"
MIB = 1024 * 1024
ALLOWED = (parse_size(LIMIT) + 300_000_000) / MIB
METHODS = {"mkn": ("--method", "mkn"), "paper": ("--preset", "paper")}
#: Words for the run that only warms up.
FIRST = 100_000
NOTE = (
    f"legal x 4 (after each line three copies with its words shuffled), order {ORDER}. The peak is that of resident "
    "memory, as the kernel counts it for the process. Each was run once, after a run on the first words."
)


def commands(text: Path, place: Path) -> dict[str, Run]:
    """Without and with the limit. (KenLM stands beside us on the same text in `scaling`.)"""
    runs: dict[str, Run] = {}
    for method, options in METHODS.items():
        runs[method] = plre_train(text, place / "ours.plre", ORDER, *options)
        limited = (*options, "--memory", LIMIT, "--tmp", place)
        runs[f"{method}, {LIMIT}"] = plre_train(text, place / "ours.plre", ORDER, *limited)
    return runs


def run() -> str:
    text = fourfold(plain("legal", "train"))
    words, lines = count(text)
    with scratch() as place:
        measure(commands(prefix(text, FIRST), place), warm_up=False, times=1)
        runs = commands(text, place)
        usages = measure(runs, warm_up=False, times=1)
    rows = []
    for method in METHODS:
        free, limited = usages[method], usages[f"{method}, {LIMIT}"]
        rows += [
            Figure(f"`train {method} --memory {LIMIT}`, peak", limited.peak / MIB, None, "MiB", ALLOWED, alone=True),
            Figure(f"`train {method} --memory {LIMIT}` against no limit", limited.seconds, free.seconds, at_most=1.5),
        ]
    detail = [[name, f"{u.seconds:.1f}", f"{u.peak / MIB:,.0f}"] for name, u in usages.items()]
    return paragraphs(
        f"{words:,} words in {lines:,} lines.",
        figures(rows),
        table(["run", "seconds", "peak, MiB"], detail),
        listing(runs),
    )
