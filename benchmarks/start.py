"""How long until it answers: `python -m benchmarks start`."""

from __future__ import annotations

import statistics
import sys

from benchmarks import models, peers
from benchmarks.common import (
    TIMES,
    Command,
    Figure,
    Run,
    figures,
    fourfold,
    listing,
    made,
    measure,
    one_after_another,
    paragraphs,
    plain,
    plre_command,
    plre_train,
    scratch,
)

IMPORT = "import plre"
#: Prints the seconds that opening takes, once all code is imported.
OPEN = "import plre, sys; from time import perf_counter as t; f = plre.load; s = t(); f(sys.argv[1]); print(t() - s)"
SCORE = 'import plre, sys; print(plre.load(sys.argv[1]).score("it was the best of times"))'
KENLM_SCORE = 'import kenlm, sys; print(kenlm.Model(sys.argv[1]).score("it was the best of times"))'
NOTE = (
    "Wall time of whole processes from their start to their end, except opening, which is the call of `plre.load` in a "
    "new process that has imported everything. Files are in the file cache. The large model is `mkn`, order 4, on "
    f"legal x 4; answers come from {models.DESCRIBED}, `mkn`."
)


def python(code: str, *arguments: object) -> Command:
    """A small program."""
    return Command(sys.executable, "-c", code, *arguments)


def run() -> str:
    line = made("line.txt", lambda out: out.write(b"it was the best of times\n"))
    with scratch() as place:
        large = place / "large.plre"
        one_after_another(plre_train(fourfold(plain("legal", "train")), large, 4, "--method", "mkn"))
        model = models.mkn(place)
        opening = python(OPEN, large)
        opened = []
        for _ in range(TIMES + 1):
            opening.run()
            opened.append(float(opening.output))
        runs: dict[str, Run] = {
            "`plre --help`": [plre_command("--help")],
            "`import plre`": [python(IMPORT)],
            "first answer, `lm.score` in Python": [python(SCORE, model)],
            "first answer, `plre score`": [plre_command("score", model, line)],
        }
        theirs: dict[str, Run] = {}
        if peers.KENLM:
            kenlm = models.kenlm(place)
            theirs["first answer, `plre score`"] = [peers.kenlm_query(kenlm, line)]
            if peers.KENLM_MODULE:
                theirs["first answer, `lm.score` in Python"] = [python(KENLM_SCORE, kenlm)]
        own = measure({**runs, **{f"KenLM: {name}": run for name, run in theirs.items()}})
        gigabytes = large.stat().st_size / 1e9
    targets = {"`plre --help`": 0.25, "`import plre`": 0.15}
    rows = []
    for name in runs:
        peer = own[f"KenLM: {name}"].seconds if name in theirs else None
        rows.append(Figure(name, own[name].seconds, peer, at_most=targets.get(name), alone=True))
    what = f"`plre.load` of a model of {gigabytes:.2f} GB"
    rows.insert(2, Figure(what, statistics.median(opened[1:]) * 1e3, None, "ms", at_most=10, alone=True))
    return paragraphs(peers.note("KenLM", "kenlm"), figures(rows), listing(runs, {"opening": [opening]}, theirs))
