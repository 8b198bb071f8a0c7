"""Training time beside KenLM and IRSTLM, and where ours goes: `python -m benchmarks train`."""

from __future__ import annotations

from pathlib import Path

import plre
from benchmarks import peers, pictures
from benchmarks.common import (
    Figure,
    Run,
    Usage,
    figures,
    listing,
    measure,
    paragraphs,
    plain,
    plre_train,
    prefix,
    scratch,
    table,
)

CORPORA = ("english", "legal")
ORDERS = (3, 4, 5)
MEMORY = "4G"
MKN, PAPER, KENLM, IRSTLM = "plre mkn", "plre paper", "KenLM", "IRSTLM"
NOTE = (
    f"Text to model file, process start included. plre and KenLM get {MEMORY} (`--memory`, `-S`) and keep every word, "
    "so that the n-grams are the same. plre has all cores; lmplz takes as many threads as it wants; IRSTLM has one, "
    "and is run once."
)


def commands(corpus: str, order: int, place: Path) -> dict[str, Run]:
    """Everyone who trains on this corpus with this order."""
    text = plain(corpus, "train")
    given = ("--memory", MEMORY, "--tmp", place)
    runs: dict[str, Run] = {MKN: plre_train(text, place / "mkn.plre", order, "--method", "mkn", *given)}
    if order == 3:
        runs[PAPER] = plre_train(text, place / "paper.plre", order, "--preset", "paper", *given)
    if peers.KENLM:
        runs[KENLM] = peers.kenlm_train(text, place / "kenlm.bin", order, MEMORY)
    if peers.IRSTLM and (corpus, order) == ("english", 3):
        runs[IRSTLM] = peers.irstlm_train(text, place / "irstlm.blm", order)
    return runs


def stages(order: int = 3) -> str:
    """The time of each stage of our training."""
    text = plain("english", "train")
    seconds = {}
    cases: dict[str, dict[str, str]] = {"mkn": {"method": "mkn"}, "paper": {"preset": "paper"}}
    for method, options in cases.items():
        plre.train(prefix(text, 100_000), order=order, **options)  # type: ignore[arg-type]  # which loads the kernels
        progress = plre.Progress()
        plre.train(text, order=order, min_count=1, progress=progress, **options)  # type: ignore[arg-type]
        seconds[method] = progress.seconds
    names = list(dict.fromkeys(name for each in seconds.values() for name in each))
    rows = [[m, *(f"{s.get(n, 0):.2f}" for n in names), f"{sum(s.values()):.2f}"] for m, s in seconds.items()]
    return table(["method", *names, "sum"], rows)


def run() -> str:
    taken: dict[tuple[str, int], dict[str, Usage]] = {}
    shown: dict[str, Run] = {}
    for corpus in CORPORA:
        for order in ORDERS:
            with scratch() as place:
                runs = commands(corpus, order, place)
                slow = {name: runs.pop(name) for name in (IRSTLM,) if name in runs}
                taken[corpus, order] = measure(runs, warm_up=order == ORDERS[0])
                taken[corpus, order] |= measure(slow, warm_up=False, times=1)
                runs |= slow
                shown = shown or runs

    def time(case: tuple[str, int], who: str) -> float | None:
        return taken[case][who].seconds if who in taken[case] else None

    rows = []
    for who, option, target in ((MKN, "--method mkn", 0.35), (PAPER, "--preset paper", 0.8)):
        for case, usages in taken.items():
            if who in usages:
                what = f"`train {option}`, {case[0]}, order {case[1]}, against KenLM"
                rows.append(Figure(what, usages[who].seconds, time(case, KENLM), at_most=target))
    rows += [
        Figure(
            f"`train --method mkn`, {corpus}, order {order}, against IRSTLM",
            usages[MKN].seconds,
            usages[IRSTLM].seconds,
        )
        for (corpus, order), usages in taken.items()
        if IRSTLM in usages
    ]
    present = [who for who in (MKN, PAPER, KENLM, IRSTLM) if any(who in usages for usages in taken.values())]
    picture = pictures.bars(
        "training",
        "Training time",
        "seconds",
        [f"{corpus}\norder {order}" for corpus, order in taken],
        {who: [time(case, who) for case in taken] for who in present},
    )
    return paragraphs(
        peers.note("KenLM", "IRSTLM"),
        figures(rows),
        picture,
        "The first case's commands; the others differ in text and order:",
        listing(shown),
        "Ours by stage (english, order 3), in seconds, in a process that has everything loaded:",
        stages(),
    )
