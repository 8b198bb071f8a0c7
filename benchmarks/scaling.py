"""Training time against the size of the text: `python -m benchmarks scaling`."""

from __future__ import annotations

from math import log
from pathlib import Path

from benchmarks import peers, pictures
from benchmarks.common import (
    QUICK,
    TIMES,
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

ORDER = 3
MEMORY = "4G"
SIZES = [size * (5_000 if QUICK else 1_000_000) for size in (1, 2, 5, 10, 20, 50, 100)]
#: Growth is looked at from this size on, where starting the process no longer matters.
FROM = SIZES[3]
OURS, KENLM = "plre mkn", "KenLM"
NOTE = (
    f"Prefixes of legal x 4 (after each line three copies with its words shuffled), `mkn`, order {ORDER}, {MEMORY} of "
    f"memory for both. Medians of 3 up to {FROM:,} words, one run for each larger size."
)


def commands(text: Path, place: Path) -> dict[str, Run]:
    """Our command to train and KenLM's."""
    given = ("--method", "mkn", "--memory", MEMORY, "--tmp", place)
    runs: dict[str, Run] = {OURS: plre_train(text, place / "ours.plre", ORDER, *given)}
    if peers.KENLM:
        runs[KENLM] = peers.kenlm_train(text, place / "kenlm.bin", ORDER, MEMORY)
    return runs


def run() -> str:
    text = fourfold(plain("legal", "train"))
    seconds: dict[str, list[float]] = {}
    for size in SIZES:
        shorter = prefix(text, size)
        count(shorter)  # which brings it into the file cache
        with scratch() as place:
            runs = commands(shorter, place)
            times = TIMES if size <= FROM else 1
            for name, usage in measure(runs, warm_up=size == SIZES[0], times=times).items():
                seconds.setdefault(name, []).append(usage.seconds)

    def grown(times: list[float]) -> float:
        return times[-1] / times[SIZES.index(FROM)]

    expected = [n * log(n) for n in SIZES]
    what = f"growth of {{}} from {FROM:,} to {SIZES[-1]:,} words, against that of n log n"
    rows = [
        Figure(what.format(name), grown(times), grown(expected), "x", at_most=1.0 if name == OURS else None)
        for name, times in seconds.items()
    ]
    at = SIZES.index(FROM)
    guide = [seconds[OURS][at] * e / expected[at] for e in expected]
    detail = [
        [f"{size:,}", *(f"{times[i]:.2f}" for times in seconds.values())]
        + ([f"{seconds[OURS][i] / seconds[KENLM][i]:.2f}"] if KENLM in seconds else [])
        for i, size in enumerate(SIZES)
    ]
    return paragraphs(
        peers.note("KenLM"),
        figures(rows),
        pictures.growth("scaling", "Training time and size of the text", SIZES, seconds, guide),
        table(["words", *(f"{name}, seconds" for name in seconds), *(["ratio"] if KENLM in seconds else [])], detail),
        "The last case's commands:",
        listing(runs),
    )
