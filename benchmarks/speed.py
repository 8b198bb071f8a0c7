"""Training and scoring time beside KenLM, and where ours goes: `python -m benchmarks speed`.

KenLM's programs take part if lmplz, build_binary and query are on PATH.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

import plre
from benchmarks.common import alternate, command, plain, table
from plre._jit import cpu_count

FOLDER, ORDER = "english", 3
PLRE = [sys.executable, "-c", "from plre.cli.main import main; main()"]


def run() -> str:
    text, test = plain(FOLDER, "train"), plain(FOLDER, "test")
    words = len(text.read_bytes().split())
    stages: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)

        def ours(*options: str, name: str) -> None:
            command(*PLRE, "train", text, "-o", place / name, "--order", ORDER, "-q", *options)

        def theirs() -> None:
            command("lmplz", "-o", ORDER, "-S", "4G", "-T", folder, stdin=text, stdout=place / "arpa")
            command("build_binary", place / "arpa", place / "kenlm")

        runs = {
            "plre train --method mkn": lambda: ours("--method", "mkn", name="mkn.plre"),
            "plre train --preset paper --seed 0": lambda: ours("--preset", "paper", "--seed", "0", name="paper.plre"),
        }
        peer = all(shutil.which(tool) for tool in ("lmplz", "build_binary", "query"))
        if peer:
            runs["KenLM lmplz + build_binary"] = theirs
        for function in runs.values():
            function()  # warm: kernels compiled, text in the file cache
        times = dict(zip(runs, alternate(list(runs.values())), strict=True))
        scoring = {
            "plre eval, mkn": lambda: command(*PLRE, "eval", place / "mkn.plre", text, "-q"),
            "plre eval, paper": lambda: command(*PLRE, "eval", place / "paper.plre", text, "-q"),
        }
        if peer:
            scoring["KenLM query -v summary"] = lambda: command("query", "-v", "summary", place / "kenlm", stdin=text)
        scored = dict(zip(scoring, alternate(list(scoring.values())), strict=True))
        sizes = {name: (place / name).stat().st_size / 1e6 for name in ("mkn.plre", "paper.plre")}
        if peer:
            sizes["KenLM probing"] = (place / "kenlm").stat().st_size / 1e6
        perplexity = plre.load(place / "paper.plre").perplexity(test)

    for method in ("mkn", "plre"):
        progress = plre.Progress()
        plre.train(text, order=ORDER, method=method, progress=progress)
        stages[method] = progress.seconds
    names = list(dict.fromkeys(name for each in stages.values() for name in each))
    reference = times.get("KenLM lmplz + build_binary")
    base = scored.get("KenLM query -v summary")
    return "\n\n".join(
        [
            f"{FOLDER}, {words:,} words, order {ORDER}, median of 3 runs taken in turns, {cpu_count()} threads for us "
            "(lmplz uses several threads, query one). Process start is included, kernels are compiled."
            + ("" if peer else " KenLM's programs were not on PATH."),
            table(
                ["training", "seconds", "ratio to KenLM"],
                [[name, f"{t:.1f}", f"{t / reference:.2f}" if reference else "-"] for name, t in times.items()],
            ),
            "Ours by stage, in seconds, in a process that has everything loaded:",
            table(
                ["method", *names, "sum"],
                [[m, *(f"{s.get(n, 0):.2f}" for n in names), f"{sum(s.values()):.2f}"] for m, s in stages.items()],
            ),
            table(
                ["scoring the training text", "seconds", "M words/s", "times KenLM's rate"],
                [
                    [name, f"{t:.1f}", f"{words / t / 1e6:.2f}", f"{base / t:.2f}" if base else "-"]
                    for name, t in scored.items()
                ],
            ),
            table(["model file", "MB"], [[name, f"{size:.1f}"] for name, size in sizes.items()]),
            f"Test perplexity of the paper model: {perplexity:.3f}.",
        ]
    )
