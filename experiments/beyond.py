"""Beyond the paper: what each ingredient is worth, in perplexity, time, size and speed: `python -m experiments.beyond`.

Every row is one call of `plre train` with the options shown; weights, discounts and ranks are fitted to or chosen on
the valid text, and the test text is looked at once. A row that was made before by the same source is not made again.
"""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import plre
from benchmarks.common import plre_command, scratch, table
from experiments.common import WORK, held_out, min_count, training_text, write
from plre.reporting import numbers
from plre.reporting.machine import describe_machine

DOCUMENT = Path(__file__).parents[1] / "docs" / "beyond.md"
CASES = (("wikitext2", 3), ("wikitext2", 5), ("english", 3), ("russian", 3))
#: What was aimed at: test perplexity.
TARGETS = {("wikitext2", 3): 172, ("wikitext2", 5): 162, ("english", 3): 124, ("russian", 3): 168}
LADDER = "--discounts mkn,kn,mkn --rung 2:0.75:80 --rung 2:0.5:20 --rung 2:0.25:5 --rung *:0.5:cbrt/2"
CLASSES = "--discounts mkn --classes 100,300,800"
CONTEXTS = "--contexts 2:1,w:1,2:2,1:3"
WIDE = (
    "--preset best --classes 50,100,150,200,300,500,800,1100,1600 --class-sweeps 40 --class-least 1 "
    "--contexts 5:1,w:1,5:2,2:3 --contexts 2:1,2:2,2:3,2:4"
)
#: From the simplest to the fullest.
ROWS = {
    "int-MKN": "--method mkn",
    "PLRE of the paper": "--preset paper",
    "ladder": LADDER,
    "... two starts": f"{LADDER} --starts 2",
    "int-MKN + 500 classes, linear mixture": "mix",
    "words lead one clustering (`fast`)": "--preset fast",
    "words lead three, class order 3": f"{CLASSES} --class-order 3",
    "... class order 5": f"{CLASSES} --class-order 5",
    "... all class n-grams kept": f"{CLASSES} --class-order 5 --class-least 1",
    "... and hybrid contexts": f"{CLASSES} {CONTEXTS}",
    "... and low rank trigrams (`best`)": "--preset best",
    "... and a low rank bigram": f"--preset best {LADDER}",
    "`best` without `--dev`": "best alone",
    "nine clusterings, two chains, low rank trigrams": WIDE,
}
#: Rows that are not made everywhere, to save time, by how their names begin.
LEFT_OUT = {
    ("wikitext2", 3): ("nine",),
    ("wikitext2", 5): ("... two", "... all", "... and a low rank bigram"),
    ("english", 3): ("nine", "... two", "... all", "... and a low rank bigram"),
    ("russian", 3): (
        "nine", "... two", "... all", "... and a low rank bigram",
        "PLRE", "ladder", "words lead three", "`best` without",
    ),
}  # fmt: skip
_QUERIES = 3


def main() -> None:
    rows: list[list[object]] = []
    data: list[dict[str, Any]] = []
    for corpus, order in CASES:
        reference = None
        for name, found in measured(corpus, order):
            data.append({"corpus": corpus, "order": order, "setting": name, **found})
            reference = reference or found["test"]
            rows.append(
                [corpus, order, name, numbers.perplexity(found["valid"]), numbers.perplexity(found["test"]),
                 numbers.percent(1 - found["test"] / reference), numbers.seconds(found["seconds"]),
                 numbers.size(found["bytes"]), f"{found['rate'] / 1e6:.2f}"]
            )  # fmt: skip
    target = [
        [corpus, order, goal, *_best(data, corpus, order, "best"), *(_best(data, corpus, order, "wide") or [""])]
        for (corpus, order), goal in TARGETS.items()
    ]
    headings = ["corpus", "order", "setting", "valid", "test", "gain", "time", "size", "M tokens/s"]
    about = (
        f"On {describe_machine()}, one model after the other on all cores, once; time includes reading the text and "
        "writing the model. The rate is that of the test text, best of three, all cores. KenLM's times and rates "
        "beside ours: [benchmarks.md](benchmarks.md)."
    )
    goals = table(["corpus", "order", "target", "best", "nine clusterings"], target)
    shown = f"{goals}\n\n{about}\n\n{table(headings, rows)}"
    write("beyond", {"machine": describe_machine(), "rows": data}, shown, DOCUMENT)


def _best(data: list[dict[str, Any]], corpus: str, order: int, what: str) -> list[str]:
    names = {"best": "... and low rank trigrams (`best`)", "wide": "nine clusterings, two chains, low rank trigrams"}
    return [
        numbers.perplexity(row["test"])
        for row in data
        if (row["corpus"], row["order"], row["setting"]) == (corpus, order, names[what])
    ]


def measured(corpus: str, order: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """The name and the figures of each row of the table."""
    for name, options in ROWS.items():
        if name.startswith(LEFT_OUT[corpus, order]):
            continue
        yield name, _kept(f"{corpus}-{order}-{options}", lambda options=options: _train(corpus, order, options))


def _kept(key: str, make: Any) -> dict[str, Any]:
    source = hashlib.blake2b(digest_size=8)
    for path in sorted(Path(plre.__file__).parent.rglob("*.py")):
        source.update(path.read_bytes())
    name = hashlib.blake2b(f"{key}-{source.hexdigest()}".encode(), digest_size=8).hexdigest()
    path = WORK / "beyond" / f"{name}.json"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"key": key, **make()}))
    return json.loads(path.read_text())


def _train(corpus: str, order: int, options: str) -> dict[str, Any]:
    text, dev, test = training_text(corpus), held_out(corpus, "valid"), held_out(corpus, "test")
    where = ("-n", order, "--min-count", min_count(corpus), "-q")
    with scratch() as place:
        out = place / "model.plre"
        if options == "mix":
            parts = [place / "mkn.plre", place / "class.plre"]
            runs = [plre_command("train", text, "-o", part, *where, "--method", part.stem).run() for part in parts]
            runs.append(plre_command("mix", *parts, "--dev", dev, "-o", out, "-q").run())
        elif options == "best alone":
            runs = [plre_command("train", text, "-o", out, *where, "--preset", "best").run()]
        else:
            runs = [plre_command("train", text, "-o", out, *where, "--dev", dev, *shlex.split(options)).run()]
        lm = plre.load(out)
        reports = [plre.evaluate(lm, test) for _ in range(_QUERIES)]
        return {
            "options": options,
            "valid": plre.evaluate(lm, dev).perplexity,
            "test": reports[0].perplexity,
            "seconds": sum(run.seconds for run in runs),
            "bytes": out.stat().st_size,
            "rate": reports[0].tokens / min(report.seconds for report in reports),
        }


if __name__ == "__main__":
    main()
