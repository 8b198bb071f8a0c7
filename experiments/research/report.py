"""What came out, as Markdown: a row for each hypothesis, and below it everything that was tried."""

from __future__ import annotations

import math
from typing import Any

from benchmarks.common import table
from experiments.research.corpus import TEXTS
from experiments.research.hypotheses import HYPOTHESES, Hypothesis
from plre.reporting import numbers

#: By how much the test text must get better on every corpus to be worth its trouble.
WORTH = 0.003

#: Corpora that a verdict needs.
CORPORA = ("wikitext2", "english")
#: By corpus, hypothesis and what was tried ("before" among it): the perplexity of each text.
Results = dict[str, dict[str, dict[str, dict[str, float]]]]


def best(hypothesis: Hypothesis, results: Results) -> str | None:
    """What was best on the valid texts of both corpora together."""

    def left(name: str) -> float:
        found = [results[corpus][hypothesis.name] for corpus in CORPORA]
        return math.prod(of[name]["valid"] / of["before"]["valid"] for of in found)

    complete = [name for name in hypothesis.tried if all(_has(results, corpus, hypothesis, name) for corpus in CORPORA)]
    return min(complete, key=left, default=None)


def _has(results: Results, corpus: str, hypothesis: Hypothesis, name: str) -> bool:
    of = results.get(corpus, {}).get(hypothesis.name, {})
    return "before" in of and name in of


def _cell(text: str) -> str:
    """Text with bars as a cell of a table can have it."""
    return text.replace("|", "\\|")


def verdict(gains: list[float]) -> str:
    """From the gains on the test texts."""
    if min(gains) >= WORTH:
        return "**wins**"
    return "no" if max(gains) < WORTH else "on one corpus"


def document(results: Results) -> str:
    """The document with both tables."""
    rows, details = [], []
    for number, hypothesis in enumerate(HYPOTHESES, 1):
        details += [_detail(number, name, hypothesis, results) for name in ("before", *hypothesis.tried)]
        chosen = best(hypothesis, results)
        if chosen is None:
            continue
        found = [results[corpus][hypothesis.name] for corpus in CORPORA]
        gains = [1 - of[chosen]["test"] / of["before"]["test"] for of in found]
        cells = [f"{of['before'][text]:.2f} → {of[chosen][text]:.2f}" for of in found for text in TEXTS]
        rows.append([number, hypothesis.name, hypothesis.expected, _cell(chosen), *cells, verdict(gains)])
    columns = [f"{corpus} {text}" for corpus in CORPORA for text in TEXTS]
    measured = [f"{corpus} {what}" for corpus in results for what in (*TEXTS, "gain")]
    return "\n\n".join(
        [
            table(["", "hypothesis", "expected", "best on valid", *columns, "verdict"], rows),
            "All that was tried:",
            table(["", "", *measured], details),
        ]
    )


def _detail(number: int, name: str, hypothesis: Hypothesis, results: Results) -> list[Any]:
    cells: list[Any] = [number, _cell(name)]
    for corpus, found in results.items():
        if not _has(results, corpus, hypothesis, name):
            cells += [numbers.MISSING] * 3
            continue
        of = found[hypothesis.name]
        gain = 1 - of[name]["test"] / of["before"]["test"]
        cells += [f"{of[name][text]:.2f}" for text in TEXTS]
        cells.append("" if name == "before" else numbers.percent(gain))
    return cells
