"""What the experiments share: corpora, comparisons that go on where they stopped, and result files.

A script leaves results/NAME.json and results/NAME.md, and puts the latter into docs/reproduction.md.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO

import plre
from benchmarks.common import CORPORA, made, plain, table
from plre.cli.jobs import make_watcher
from plre.comparison.results import Comparison, Row
from plre.reporting import numbers
from plre.reporting.chart import Chart, draw
from plre.reporting.style import STYLE

RESULTS = Path(__file__).parent / "results"
DOCUMENT = Path(__file__).parents[1] / "docs" / "reproduction.md"
#: Models and what comparisons keep; nothing of it belongs to the project.
WORK = Path(os.environ.get("PLRE_EXPERIMENTS", Path(tempfile.gettempdir()) / "plre-experiments"))
#: The stand-in for the paper's large corpus: novels and court opinions, tuned and tested on novels.
LARGE = "english+legal"
#: In the order of the tables: the first two stand for the paper's small corpora.
SMALL = ("english", "russian", "wikitext2")


#: The paper's test perplexities of int-MKN and PLRE, by its names for its corpora (order 3, large ones 4).
PAPER = {
    "Small-English": (100.07, 95.15),
    "Small-Russian": (260.19, 238.96),
    "Large-English": (77.90, 75.66),
    "Large-Russian": (289.63, 264.59),
}


def beside_the_paper(stand_ins: dict[str, tuple[str, Comparison] | None], order: int) -> str:
    """The paper's int-MKN and PLRE, and ours on the corpus that stands in for each of its own."""
    rows = []
    for name, stand_in in stand_ins.items():
        line = [name, *_pair(*PAPER[name])]
        if stand_in is None:
            rows.append([*line, "none", *[numbers.MISSING] * 3])
            continue
        corpus, comparison = stand_in
        mkn, ours = (comparison.row(method, order).test or 0.0 for method in ("mkn", "plre"))
        rows.append([*line, corpus, *_pair(mkn, ours)])
    columns = ["int-MKN", "PLRE", "gain"]
    return table(["paper", *columns, "here", *columns], rows)


def _pair(mkn: float, ours: float) -> list[str]:
    return [numbers.perplexity(mkn), numbers.perplexity(ours), numbers.percent(1 - ours / mkn)]


def training_text(corpus: str) -> Path:
    """What models are trained on."""
    if corpus != LARGE:
        return plain(corpus, "train")
    texts = [plain(name, "train") for name in ("english", "legal")]

    def write(out: BinaryIO) -> None:
        for text in texts:
            out.write(text.read_bytes())

    return made("english+legal.train.txt", write)


def held_out(corpus: str, name: str) -> Path:
    """What is chosen on ("valid") and tested on ("test")."""
    return plain("english" if corpus == LARGE else corpus, name)


def min_count(corpus: str) -> int:
    """Words seen less often become ``<unk>``."""
    return CORPORA.get(corpus, 2)


def compare(
    corpus: str,
    orders: Sequence[int],
    *,
    methods: Iterable[str] | None = None,
    ranks: Sequence[int] = (),
) -> Comparison:
    """``plre compare`` on a corpus, in a folder of its own: what was done there before is not done again."""
    folder = WORK / corpus
    folder.parent.mkdir(parents=True, exist_ok=True)
    with make_watcher(quiet=False) as watcher:
        return plre.compare(
            training_text(corpus),
            held_out(corpus, "valid"),
            held_out(corpus, "test"),
            folder,
            methods=methods,
            orders=orders,
            min_count=min_count(corpus),
            ranks=ranks,
            watcher=watcher,
        )


def record(row: Row) -> dict[str, Any]:
    """What a result file keeps of a row; not its times (experiments run side by side), nor paths of the machine."""
    kept: dict[str, Any] = {"method": row.job.method, "name": row.name, "order": row.job.order, "error": row.error}
    if row.job.rank:
        kept["rank"] = row.job.rank
    if row.result:
        kept |= {"dev": row.dev, "test": row.test}
        kept |= {name: row.result[name] for name in ("model_bytes", "vocabulary", "rungs", "signature")}
        kept |= {name: asdict(value) for name, value in (("bootstrap", row.spread), ("gain", row.gain)) if value}
    return kept


def picture(name: str, chart: Chart) -> str:
    """Keep a chart as a file of its own beside the document, and give the Markdown that shows it."""
    head = '<svg xmlns="http://www.w3.org/2000/svg" style="background: var(--paper)" '
    drawn = draw(chart).replace("<svg ", head, 1).replace(">", f"><style>{STYLE}</style>", 1)
    target = DOCUMENT.parent / "pictures" / f"{name}.svg"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(drawn + "\n")
    return f"![{chart.title}](pictures/{target.name})"


def write(name: str, data: dict[str, Any], markdown: str, target: Path = DOCUMENT) -> None:
    """Keep a result, and put it where the document has its place for it."""
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n")
    text = f"`python -m experiments.{name}`\n\n{markdown.strip()}\n"
    (RESULTS / f"{name}.md").write_text(text.replace("](pictures/", "](../../docs/pictures/"))
    start, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
    if target.exists():
        document = target.read_text()
        place = re.compile(re.escape(start) + ".*?" + re.escape(end), re.DOTALL)
        target.write_text(place.sub(lambda _: f"{start}\n{text}\n{end}", document))
    print(text)
