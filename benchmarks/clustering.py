"""Classes of words beside mkcls and wcluster: `python -m benchmarks clustering`."""

from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO

import plre
from benchmarks import peers
from benchmarks.common import (
    CORPORA,
    QUICK,
    Command,
    Figure,
    Run,
    figures,
    listing,
    made,
    measure,
    one_after_another,
    paragraphs,
    plain,
    plre_command,
    prefix,
    scratch,
    table,
)

WORDS, VOCABULARY, CLASSES = (50_000, 1_000, 50) if QUICK else (1_000_000, 10_000, 500)
ORDER = 5
#: Corpus, classes, and the seconds it should take.
LARGER = [] if QUICK else [("wikitext2", 800, 30), ("russian", 500, 180)]
NOTE = (
    f"Text to file, process start included. The first {WORDS:,} words of wikitext2 with the {VOCABULARY:,} most "
    f"frequent words, the others being `<unk>`; {CLASSES} classes. Ours is the median of three runs; the peers, which "
    "have one thread, and the larger texts are run once. The bigram perplexity is that of the training text under "
    f"class bigrams by maximum likelihood; the test perplexity is that of a class {ORDER}-gram (modified Kneser-Ney on "
    "the classes, times the share of the word in its class)."
)
ClassOf = dict[str, str]


def cut_text(name: str) -> Path:
    """A part of wikitext2 with a small vocabulary."""
    counts = Counter(prefix(plain("wikitext2", "train"), WORDS).read_text().split())
    del counts["<unk>"]
    known = {word for word, _ in counts.most_common(VOCABULARY)}
    source = plain("wikitext2", name)
    source = prefix(source, WORDS) if name == "train" else source

    def write(out: BinaryIO) -> None:
        for line in source.read_text().splitlines():
            out.write((" ".join(word if word in known else "<unk>" for word in line.split()) + "\n").encode())

    return made(f"clustering.{name}.txt", write)


def read(path: Path, word: int, number: int) -> ClassOf:
    """Classes from lines with tabs, in which those columns are the word and its class."""
    rows = (line.split("\t") for line in path.read_text().splitlines())
    return {row[word]: row[number] for row in rows}


def bigram_perplexity(text: Path, classes: ClassOf) -> float:
    """Of the text itself, by its definition: P(class | class before) P(word | class), all by maximum likelihood."""
    lines = [line.split() for line in text.read_text().splitlines()]
    of = {**classes, "<s>": "<s>", "</s>": "</s>"}
    words = Counter(word for line in lines for word in [*line, "</s>"])
    cells = Counter(pair for line in lines for pair in pairwise(of[word] for word in ["<s>", *line, "</s>"]))
    left: Counter[str] = Counter()
    right: Counter[str] = Counter()
    for (a, b), n in cells.items():
        left[a] += n
        right[b] += n
    plus, *minus = (sum(n * math.log(n) for n in each.values()) for each in (cells, left, right))
    inside = sum(n * math.log(n) for n in words.values())
    return math.exp(-(plus + inside - sum(minus)) / words.total())


def test_perplexity(train: Path, test: Path, classes: ClassOf) -> float:
    """Test perplexity of class n-grams with these classes."""
    texts = [[line.split() for line in path.read_text().splitlines()] for path in (train, test)]
    words = Counter(word for line in texts[0] for word in line)
    sizes: Counter[str] = Counter()
    for word, n in words.items():
        sizes[classes[word]] += n
    sequences = [[" ".join(f"c{classes[word]}" for word in line) for line in text] for text in texts]
    report = plre.evaluate(plre.train(sequences[0], method="mkn", order=ORDER, min_count=1), sequences[1])
    inside = sum(math.log(words[word] / sizes[classes[word]]) for line in texts[1] for word in line)
    return math.exp(-(report.logprob10 * math.log(10) + inside) / report.tokens)


def ours(text: Path, classes: int, min_count: int, out: Path) -> list[Command]:
    return [plre_command("cluster", text, "-c", classes, "--min-count", min_count, "-o", out, "-q")]


def run() -> str:
    train, test = cut_text("train"), cut_text("test")
    with scratch() as place:
        out = place / "classes.tsv"
        runs: dict[str, Run] = {"plre": ours(train, CLASSES, 1, out)}
        seconds = {"plre": measure(runs)["plre"].seconds}
        found = {"plre": read(out, 0, 1)}
        theirs: dict[str, Run] = {}
        if peers.MKCLS:
            theirs["mkcls"] = [Command("mkcls", f"-c{CLASSES}", f"-p{train}", f"-V{place / 'mkcls'}", "opt")]
        if peers.WCLUSTER:
            brown = place / "wcluster"
            theirs["wcluster"] = [Command("wcluster", "--text", train, "--c", CLASSES, "--output_dir", brown)]
        for name, taken in measure(theirs, warm_up=False, times=1).items():
            seconds[name] = taken.seconds
            found[name] = read(place / "mkcls", 0, 1) if name == "mkcls" else read(brown / "paths", 1, 0)
        larger = [
            one_after_another(ours(plain(corpus, "train"), classes, CORPORA[corpus], out)).seconds
            for corpus, classes, _ in LARGER
        ]
    bigram = {name: bigram_perplexity(train, classes) for name, classes in found.items()}
    tested = {name: test_perplexity(train, test, classes) for name, classes in found.items()}
    rows = [Figure(f"{CLASSES} classes of {VOCABULARY:,} words", seconds["plre"], at_most=8, alone=True)]
    for (corpus, classes, target), taken in zip(LARGER, larger, strict=True):
        rows.append(Figure(f"{classes} classes of {corpus}", taken, at_most=target, alone=True))
    for name in ("mkcls", "wcluster"):
        rows += [
            Figure(f"time against {name}", seconds["plre"], seconds.get(name), at_most=0.05),
            Figure(f"bigram perplexity against {name}", bigram["plre"], bigram.get(name), "", at_most=1),
            Figure(f"test perplexity of the class {ORDER}-gram against {name}", tested["plre"], tested.get(name), "",
                   at_most=1),
        ]  # fmt: skip
    each = [[name, f"{seconds[name]:.1f}", f"{bigram[name]:.2f}", f"{tested[name]:.2f}"] for name in found]
    return paragraphs(
        peers.note("mkcls", "wcluster"),
        figures(rows),
        table(["who", "seconds", "bigram perplexity", f"test perplexity, class {ORDER}-gram"], each),
        listing(runs, theirs),
    )
