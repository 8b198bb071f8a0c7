"""How many classes: the class-based model alone and mixed with int-MKN, order 3: `python -m experiments.classes`."""

from __future__ import annotations

import argparse
import time
from typing import Any

import plre
from benchmarks.common import table
from experiments.common import held_out, min_count, training_text, write
from plre.cli.console import PlainProgress

ORDER = 3
SIZES = (32, 64, 128, 256, 512, 1024, 2048)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m experiments.classes", description=__doc__)
    parser.add_argument("--corpora", default="wikitext2", help="separated by commas")
    rows: list[list[object]] = []
    data: dict[str, list[dict[str, Any]]] = {}
    for corpus in parser.parse_args().corpora.split(","):
        text, dev, test = training_text(corpus), held_out(corpus, "valid"), held_out(corpus, "test")
        how: dict[str, Any] = {"order": ORDER, "min_count": min_count(corpus), "progress": PlainProgress()}
        words = plre.train(text, method="mkn", **how)
        data[corpus] = []
        for size in SIZES:
            start = time.perf_counter()
            classes = plre.train(text, method="class", classes=size, **how)
            seconds = time.perf_counter() - start
            mixed = plre.mix([words, classes], dev=dev)
            found = {
                "classes": size,
                "alone": classes.perplexity(test),
                "mixed": mixed.perplexity(test),
                "weight": mixed.metadata["weights"][1],
                "seconds": seconds,
            }
            data[corpus].append(found)
            alone, both = (f"{found[name]:.2f}" for name in ("alone", "mixed"))
            rows.append([corpus, size, alone, both, f"{found['weight']:.2f}", f"{seconds:.0f} s"])
    headings = ["corpus", "classes", "class-based", "int-MKN + class-based", "weight of the classes", "training"]
    write("classes", {"order": ORDER, "corpora": data}, table(headings, rows))


if __name__ == "__main__":
    main()
