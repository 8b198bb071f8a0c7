"""Size against perplexity: relative entropy pruning beside KenLM's by counts: `python -m experiments.pruning`."""

from __future__ import annotations

import argparse
import math
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import plre
from benchmarks import peers
from benchmarks.common import Command, table
from experiments.common import DOCUMENT, WORK, held_out, min_count, picture, training_text, write
from plre.comparison import numbers
from plre.comparison.chart import Chart, Line, log_ticks
from plre.model.entropy import Pruner
from plre.model.file import data_size
from plre.model.ngrams import NgramModel
from plre.model.stationary import Stationary, low_rank_shares, stationary
from plre.model.tables import Table, layout_like, read_tables, write_tables

ORDER = 3
CORPORA = ("wikitext2", "english")
THRESHOLDS = (1e-8, 3e-8, 1e-7, 3e-7, 1e-6, 3e-6, 1e-5)
#: Counts up to which lmplz leaves out bigrams and trigrams.
COUNTS = ((0, 0), (0, 1), (1, 1), (2, 3), (4, 6), (9, 14))
KINDS = {"probing": ("probing",), "trie": ("trie",), "trie, 8 bits": ("-q", 8, "-b", 8, "trie")}
OURS: dict[str, dict[str, Any]] = {
    "mkn": {"method": "mkn"},
    "mkn, 8 bits": {"method": "mkn", "quantise": 8},
    "plre": {"method": "plre", "preset": "paper"},
}
#: Shares of the whole model at which the ways of pruning are compared.
SHARES = (2, 4, 8)


@dataclass(frozen=True)
class Point:
    """One model: how it was pruned, its n-grams (of KenLM: not counted), bytes of its file, and test perplexity."""

    how: str
    ngrams: tuple[int, ...]
    bytes: int
    perplexity: float

    @property
    def megabytes(self) -> float:
        """As tables have it."""
        return self.bytes / 1e6


def point(how: str, lm: plre.LanguageModel, place: Path, test: Path) -> Point:
    """A model of ours, measured as a file."""
    lm.save(place / "model.plre")
    return Point(how, tuple(lm.info()["ngrams"]), (place / "model.plre").stat().st_size, lm.perplexity(test))


def curve(lm: plre.LanguageModel, place: Path, test: Path) -> list[Point]:
    """A model at several thresholds."""
    pruned = (point(f"{t:g}", plre.prune(lm, threshold=t), place, test) for t in THRESHOLDS)
    return [point("whole", lm, place, test), *pruned]


def kenlm(lm: plre.LanguageModel, corpus: str, place: Path) -> dict[str, list[Point]]:
    """KenLM's models of the same text, pruned by counts."""
    found: dict[str, list[Point]] = {kind: [] for kind in KINDS}
    if not peers.KENLM:
        return found
    peers.kenlm_text(lm, training_text(corpus), place / "train.txt")
    peers.kenlm_text(lm, held_out(corpus, "test"), place / "test.txt")
    for counts in COUNTS:
        arpa, model = place / "model.arpa", place / "model.binary"
        pruning = ("--prune", 0, *counts) if any(counts) else ()
        Command(
            "lmplz", "-o", ORDER, "-S", "2G", "-T", place, *pruning, stdin=place / "train.txt", stdout=arpa
        ).run()  # fmt: skip
        for kind, options in KINDS.items():
            Command("build_binary", "-T", place / "build", *options, arpa, model).run()
            query = peers.kenlm_query(model, place / "test.txt")
            query.run()
            how = f"0 {counts[0]} {counts[1]}"
            found[kind].append(Point(how, (), model.stat().st_size, peers.perplexity(query.output)))
    return found


def at_same_size(lms: dict[str, plre.LanguageModel], theirs: list[Point], place: Path, test: Path) -> list[list[str]]:
    """KenLM's models, and ours pruned to the size of each; a dash where ours cannot be so small."""
    rows = []
    for other in theirs:
        row = [f"`--prune {other.how}`", f"{other.megabytes:.1f}", numbers.perplexity(other.perplexity)]
        for lm in lms.values():
            try:
                ours = point("", plre.prune(lm, size=other.bytes), place, test)
                row.append(numbers.perplexity(ours.perplexity))
            except plre.UsageError:
                row.append(numbers.NOTHING)
        rows.append(row)
    return rows


def by_product(tables: list[Table]) -> Stationary:
    """P(h) as Stolcke has it: the product of the probabilities of its words, each after those before it."""
    masses = [tables[0].prob.astype(np.float64)]
    masses[0][1] = masses[0][2]
    for table_, context in zip(tables[1:-1], tables[:-2], strict=True):
        masses.append(np.repeat(masses[-1], np.diff(context.children)) * table_.prob)
    return Stationary(masses, masses, 1.0)


def ways(lm: NgramModel, test: Path) -> list[list[str]]:
    """What P(h) and handing down are worth: perplexity at the same sizes of the data."""
    tables = read_tables(lm, 2)
    own = stationary(tables, low_rank_shares(tables, 2), lm.markers)
    pruners = {
        "P(h) a product (Stolcke)": Pruner(tables, lm.markers, 2, text=by_product(tables), hand_down=False),
        "P(h) from the model's own text": Pruner(
            tables, lm.markers, 2, text=Stationary(own.mass, own.mass, own.words), hand_down=False
        ),
        "and what goes is handed down": Pruner(tables, lm.markers, 2, text=own),
    }
    rows = []
    for name, pruner in pruners.items():
        row = [name]
        for share in SHARES:
            small = pruned_to(pruner, lm, lm.memory.nbytes // share)
            row.append(numbers.perplexity(small.perplexity(test)))
        rows.append(row)
    return rows


def pruned_to(pruner: Pruner, lm: NgramModel, size: int) -> NgramModel:
    """The model at the lowest threshold, to a hundredth, at which its data has at most so many bytes."""
    low, high = math.log(1e-12), math.log(1.0)
    while high - low > 1e-2:
        middle = (low + high) / 2
        judged = pruner.judge(math.exp(middle))
        fits = data_size(layout_like(lm, judged.sizes, pruner.low_rank(judged)).shapes()) <= size
        low, high = (low, middle) if fits else (middle, high)
    return write_tables(lm, pruner.pruned(pruner.judge(math.exp(high))), dict(lm.metadata), 2)


def drawn(corpus: str, curves: dict[str, list[Point]]) -> str:
    """The picture of all curves."""
    lines = [
        Line(name, tuple((each.megabytes, each.perplexity) for each in points), style, strong=name == "plre")
        for style, (name, points) in enumerate(curves.items())
        if points
    ]
    sizes = [x for line in lines for x, _ in line.points]
    chart = Chart(
        f"Perplexity against the size of the file, {corpus}, order {ORDER}",
        "MB",
        "test perplexity",
        lines,
        log_ticks(min(sizes), max(sizes)),
        lambda x: f"{float(f'{x:.3g}'):g}",
        lambda y: f"{y:.6g}",
        log=True,
    )
    return picture(f"pruning-{corpus}", chart)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m experiments.pruning", description=__doc__)
    parser.add_argument("--corpora", default=",".join(CORPORA), help="separated by commas")
    place = WORK / "pruning"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    parts, data = [peers.note("KenLM")], {}
    for corpus in parser.parse_args().corpora.split(","):
        test = held_out(corpus, "test")
        how: dict[str, Any] = {"order": ORDER, "min_count": min_count(corpus)}
        lms = {name: plre.train(training_text(corpus), **how, **options) for name, options in OURS.items()}
        curves = {name: curve(lm, place, test) for name, lm in lms.items()}
        theirs = kenlm(lms["mkn"], corpus, place)
        whole = lms["mkn"]
        assert isinstance(whole, NgramModel)
        tried = ways(whole, test)
        rows = [
            [name, each.how, *(f"{n:,}" for n in each.ngrams[1:]), f"{each.megabytes:.1f}",
             numbers.perplexity(each.perplexity)]
            for name, points in curves.items()
            for each in points
        ]  # fmt: skip
        everything = {**curves, **{f"KenLM {kind}": points for kind, points in theirs.items()}}
        data[corpus] = {name: [vars(each) for each in points] for name, points in everything.items()}
        parts += [f"### {corpus}", drawn(corpus, everything)]
        for kind, names in (("trie", ("mkn", "plre")), ("trie, 8 bits", ("mkn, 8 bits",))):
            if theirs[kind]:
                ours = {name: lms[name] for name in names}
                headings = ["`lmplz`", f"MB as {kind}", "KenLM", *(f"our `{name}` of this size" for name in ours)]
                parts.append(table(headings, at_same_size(ours, theirs[kind], place, test)))
        sizes = [f"{whole.memory.nbytes / share / 1e6:.1f} MB" for share in SHARES]
        parts += [
            "Three ways to prune our `mkn`, at the same sizes:",
            table(["way", *sizes], tried),
            "All thresholds:",
            table(["model", "threshold", "bigrams", "trigrams", "MB", "test perplexity"], rows),
        ]
    shutil.rmtree(place)
    markdown = "\n\n".join(part for part in parts if part)
    write("pruning", {"order": ORDER, "corpora": data}, markdown, DOCUMENT.with_name("pruning.md"))


if __name__ == "__main__":
    main()
