"""The paper's Large-English in size: `python -m benchmarks large`. Takes an hour or two and 60 GB of disk."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import BinaryIO

import plre
from benchmarks import peers
from benchmarks.common import (
    QUICK,
    Figure,
    Run,
    count,
    figures,
    listing,
    made,
    measure,
    paragraphs,
    plain,
    plre_train,
    scratch,
    table,
)
from plre.scratch import parse_size

ORDER = 4
MEMORY = "256M" if QUICK else "16G"
MIB = 1024 * 1024
ALLOWED = (parse_size(MEMORY) + 300_000_000) / MIB
#: How often the corpora are gone through, and how many words beyond the most frequent ones get spellings of their own.
TIMES_OVER = 2 if QUICK else 21
FREQUENT = 20_000
SPELLINGS = 2 if QUICK else 5
#: Options, and how many minutes training may take.
PRESETS: dict[str, tuple[tuple[object, ...], float]] = {
    "mkn": (("--method", "mkn"), 6),
    "paper": (("--preset", "paper"), 9),
    "fast": (("--preset", "fast"), 15),
    "best": (("--preset", "best"), 45),
}
KENLM = "KenLM, lmplz + build_binary"
NOTE = (
    "A stand-in for the paper's Large-English (837 M words, 837 k types, order 4; 3.2 hours on 8 processors there): "
    f"english and legal, {TIMES_OVER} times over, each line cut at a random word and joined with the tail of another; "
    f"the words that are not among the {FREQUENT:,} most frequent ones get {SPELLINGS} spellings each, spread over the "
    f"copies. `--memory {MEMORY}`; the peak is that of resident memory. Each is run once."
)


def long_text() -> Path:
    """The text, made once."""
    sources = [plain(folder, "train") for folder in ("english", "legal")]

    def write(out: BinaryIO) -> None:
        lines = [line.split() for source in sources for line in source.read_bytes().splitlines()]
        seen = Counter(word for line in lines for word in line)
        rare = {word for word, _ in seen.most_common()[FREQUENT:]}
        rng = random.Random(0)
        for copy in range(TIMES_OVER):
            ending = b"~%d" % (copy % SPELLINGS)
            respelt = {word: word + ending for word in rare}
            tails = list(range(len(lines)))
            rng.shuffle(tails)
            for line, tail in zip(lines, tails, strict=True):
                other = lines[tail]
                joined = line[: rng.randrange(len(line) + 1)] + other[rng.randrange(len(other) + 1) :]
                out.write(b" ".join([respelt.get(word, word) for word in joined]) + b"\n")

    return made(f"large.{TIMES_OVER}.txt", write)


def run() -> str:
    text = long_text()
    words, lines = count(text)
    with scratch() as place:
        runs: dict[str, Run] = {}
        for name, (options, _) in PRESETS.items():
            given = (*options, "--memory", MEMORY, "--tmp", place)
            runs[name] = plre_train(text, place / f"{name}.plre", ORDER, *given)
        if peers.KENLM:
            runs[KENLM] = peers.kenlm_train(text, place / "kenlm.bin", ORDER, MEMORY)
        usages = measure(runs, warm_up=False, times=1)
        (counted,) = plre.load(place / "mkn.plre").info()["components"]
    peer = usages[KENLM].seconds / 60 if KENLM in usages else None
    rows = []
    for name, (_, minutes) in PRESETS.items():
        usage = usages[name]
        rows.append(Figure(f"`{name}`", usage.seconds / 60, peer, "min", at_most=minutes, alone=True))
        rows.append(Figure(f"`{name}`, peak", usage.peak / MIB, None, "MiB", ALLOWED, alone=True))
    detail = [[name, f"{usage.seconds:.0f}", f"{usage.peak / MIB:,.0f}"] for name, usage in usages.items()]
    ngrams = ", ".join(f"{size:,}" for size in counted["ngrams"])
    return paragraphs(
        f"{words:,} words in {lines:,} lines; n-grams of order 1 and up: {ngrams}. (A text of so many words that does "
        f"not repeat its lines has more.) {peers.note('KenLM')}",
        figures(rows),
        table(["run", "seconds", "peak, MiB"], detail),
        listing(runs),
    )
