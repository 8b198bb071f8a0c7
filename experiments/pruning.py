"""Size against perplexity: relative entropy pruning beside KenLM's by counts: `python -m experiments.pruning`."""

from __future__ import annotations

import argparse
import json
import math
import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import plre
from benchmarks import peers
from benchmarks.common import Command, table
from experiments.common import DOCUMENT, WORK, held_out, min_count, picture, training_text, write
from plre.pruning.entropy import Pruner
from plre.pruning.stationary import Stationary, low_rank_shares, stationary
from plre.pruning.tables import Table, read_tables, write_tables
from plre.reporting import numbers
from plre.reporting.chart import Chart, Line, log_ticks

ORDER = 3
THREADS = 2
CORPORA = ("wikitext2", "english")
THRESHOLDS = (1e-8, 3e-8, 1e-7, 3e-7, 1e-6, 1e-5)
#: Counts up to which lmplz leaves out bigrams and trigrams.
COUNTS = ((0, 0), (0, 1), (1, 1), (2, 3), (9, 14))
KINDS = {"probing": ("probing",), "trie": ("trie",), "trie, 8 bits": ("-q", 8, "-b", 8, "trie")}
OURS: dict[str, dict[str, Any]] = {
    "mkn": {"method": "mkn"},
    "mkn, 8 bits": {"method": "mkn", "quantise": 8},
    "plre": {"method": "plre", "preset": "paper"},
}
#: Shares of the whole model at which the ways of pruning are compared.
SHARES = (2, 4, 8)


@dataclass(frozen=True)
class CurvePoint:
    """One model: how it was pruned, its n-grams (of KenLM: not counted), bytes of its file, and test perplexity."""

    how: str
    ngrams: tuple[int, ...]
    bytes: int
    perplexity: float

    @property
    def megabytes(self) -> float:
        """The size in megabytes."""
        return self.bytes / 1e6


class Ours:
    """A model of ours with what it takes to prune it again and again."""

    def __init__(self, lm: plre.LanguageModel, place: Path, test: Path) -> None:
        (component,) = lm.components
        body = component.body.ngrams()
        assert body is not None
        self.lm, self.place, self.test = lm, place, test
        self.component, self.body = component, body
        self.tables = read_tables(self.body)
        self.pruner = Pruner(self.tables, lm.markers, THREADS)

    def pruned(self, threshold: float, pruner: Pruner | None = None) -> plre.LanguageModel:
        """The model pruned at a threshold, as :func:`plre.prune` does it."""
        pruner = pruner or self.pruner
        body = write_tables(pruner.pruned(pruner.judge(threshold)), self.body, THREADS)
        about = {name: value for name, value in self.lm.metadata.items() if name != "digest"}
        return plre.LanguageModel(self.lm.vocab, [replace(self.component, body=body)], about)

    def pruned_to(self, size: int, pruner: Pruner | None = None) -> plre.LanguageModel | None:
        """The model at the lowest threshold, to a hundredth, at which its data has at most so many bytes, if any."""
        pruner = pruner or self.pruner
        words = self.lm.nbytes - sum(tensor.nbytes for tensor in self.body.tensors.values())
        low, high = math.log(1e-11), math.log(1e-2)
        while high - low > 1e-2:
            middle = (low + high) / 2
            judged = pruner.judge(math.exp(middle))
            factors = {n: pruner.factor_count(judged, n) for n in self.body.low_rank}
            fits = words + self.body.planned_size(judged.sizes, factors) <= size
            low, high = (low, middle) if fits else (middle, high)
        made = self.pruned(math.exp(high), pruner)
        return made if made.nbytes <= size else None

    def point(self, how: str, lm: plre.LanguageModel) -> CurvePoint:
        """A model, measured as a file."""
        lm.save(self.place / "model.plre")
        size = (self.place / "model.plre").stat().st_size
        return CurvePoint(how, lm.components[0].body.sizes, size, lm.perplexity(self.test))

    def curve(self) -> list[CurvePoint]:
        """The model at several thresholds."""
        return [self.point("whole", self.lm), *(self.point(f"{t:g}", self.pruned(t)) for t in THRESHOLDS)]

    def at_sizes(self, others: list[CurvePoint]) -> list[str]:
        """Perplexity at the sizes of other models; a dash where it cannot be so small."""
        made = (self.pruned_to(other.bytes) for other in others)
        return [numbers.perplexity(lm and lm.perplexity(self.test)) for lm in made]


def kenlm(lm: plre.LanguageModel, corpus: str, place: Path) -> dict[str, list[CurvePoint]]:
    """KenLM's models of the same text, pruned by counts."""
    found: dict[str, list[CurvePoint]] = {kind: [] for kind in KINDS}
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
            found[kind].append(CurvePoint(how, (), model.stat().st_size, peers.perplexity(query.output)))
    return found


def by_product(tables: list[Table]) -> Stationary:
    """P(h) as Stolcke has it: the product of the probabilities of its words, each after those before it."""
    masses = [tables[0].prob.astype(np.float64)]
    masses[0][1] = masses[0][2]
    for table_, context in zip(tables[1:-1], tables[:-2], strict=True):
        masses.append(np.repeat(masses[-1], np.diff(context.children)) * table_.prob)
    return Stationary(masses, masses, 1.0)


def ways(ours: Ours) -> list[list[str]]:
    """What P(h) and handing down are worth: perplexity at the same sizes."""
    lm, tables = ours.lm, ours.tables
    own = stationary(tables, low_rank_shares(tables, THREADS), lm.markers)
    met = Stationary(own.mass, own.mass, own.words)
    pruners = {
        "P(h) a product (Stolcke)": Pruner(tables, lm.markers, THREADS, text=by_product(tables), hand_down=False),
        "P(h) from the model's own text": Pruner(tables, lm.markers, THREADS, text=met, hand_down=False),
        "and what goes is handed down": ours.pruner,
    }
    rows = []
    for name, pruner in pruners.items():
        made = [ours.pruned_to(lm.nbytes // share, pruner) for share in SHARES]
        rows.append([name, *(numbers.perplexity(small and small.perplexity(ours.test)) for small in made)])
    return rows


def drawn(corpus: str, curves: dict[str, list[CurvePoint]]) -> str:
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


def section(corpus: str) -> dict[str, Any]:
    """Everything about one corpus: curves, and Markdown that shows them."""
    place = WORK / f"pruning-{corpus}"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    test = held_out(corpus, "test")
    how: dict[str, Any] = {"order": ORDER, "min_count": min_count(corpus), "threads": THREADS}
    lms = {
        name: Ours(plre.train(training_text(corpus), **how, **options), place, test) for name, options in OURS.items()
    }
    curves = {name: ours.curve() for name, ours in lms.items()}
    theirs = kenlm(lms["mkn"].lm, corpus, place)
    everything = {**curves, **{f"KenLM {kind}": points for kind, points in theirs.items()}}
    parts = [f"### {corpus}", drawn(corpus, everything)]
    for kind, names in (("trie", ("mkn", "plre")), ("trie, 8 bits", ("mkn, 8 bits",))):
        columns = [
            [f"`--prune {each.how}`" for each in theirs[kind]],
            [f"{each.megabytes:.1f}" for each in theirs[kind]],
            [numbers.perplexity(each.perplexity) for each in theirs[kind]],
            *(lms[name].at_sizes(theirs[kind]) for name in names),
        ]
        headings = ["`lmplz`", f"MB as {kind}", "KenLM", *(f"our `{name}` of this size" for name in names)]
        if theirs[kind]:
            parts.append(table(headings, zip(*columns, strict=True)))
    sizes = [f"{lms['mkn'].lm.nbytes / share / 1e6:.1f} MB" for share in SHARES]
    rows = [
        [name, each.how, *(f"{n:,}" for n in each.ngrams[1:]), f"{each.megabytes:.1f}",
         numbers.perplexity(each.perplexity)]
        for name, points in curves.items()
        for each in points
    ]  # fmt: skip
    parts += [
        "Three ways to prune our `mkn`, at the same sizes:",
        table(["way", *sizes], ways(lms["mkn"])),
        "All thresholds:",
        table(["model", "threshold", "bigrams", "trigrams", "MB", "test perplexity"], rows),
    ]
    shutil.rmtree(place)
    data = {name: [vars(each) for each in points] for name, points in everything.items()}
    return {"data": data, "markdown": "\n\n".join(parts)}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m experiments.pruning", description=__doc__)
    parser.add_argument("--corpora", default=",".join(CORPORA), help="separated by commas")
    found = {}
    for corpus in parser.parse_args().corpora.split(","):
        kept = WORK / f"pruning-{corpus}.json"
        if not kept.exists():
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.write_text(json.dumps(section(corpus)))
        found[corpus] = json.loads(kept.read_text())
    markdown = "\n\n".join(filter(None, [peers.note("KenLM"), *(each["markdown"] for each in found.values())]))
    data = {corpus: each["data"] for corpus, each in found.items()}
    write("pruning", {"order": ORDER, "corpora": data}, markdown, DOCUMENT.with_name("pruning.md"))


if __name__ == "__main__":
    main()
