"""What came out, as Markdown: a row for each hypothesis, and below it everything that was tried."""

from __future__ import annotations

from typing import Any

from benchmarks.common import table
from experiments.research.hypotheses import HYPOTHESES, Hypothesis

#: By how much the test text must get better on every corpus to be worth its trouble.
WORTH = 0.003

#: By corpus, hypothesis and what was tried ("before" among it): the perplexity of each text.
Results = dict[str, dict[str, dict[str, dict[str, float]]]]


def best(hypothesis: Hypothesis, results: Results) -> str:
    """What was best on the valid texts of all corpora together."""

    def gain(name: str) -> float:
        product = 1.0
        for found in results.values():
            of = found[hypothesis.name]
            product *= of[name]["valid"] / of["before"]["valid"]
        return product

    return min(hypothesis.tried, key=gain)


def verdict(gains: list[float]) -> str:
    """From the gains on the test texts."""
    if min(gains) >= WORTH:
        return "**wins**"
    return "no" if max(gains) < WORTH else "on one corpus"


def document(results: Results) -> str:
    """Both tables."""
    done = [h for h in HYPOTHESES if all(h.name in found for found in results.values())]
    rows, details = [], []
    for number, hypothesis in enumerate(HYPOTHESES, 1):
        if hypothesis not in done:
            continue
        chosen = best(hypothesis, results)
        gains, cells = [], []
        for found in results.values():
            of = found[hypothesis.name]
            before, after = of["before"], of[chosen]
            gains.append(1 - after["test"] / before["test"])
            cells += [f"{before[t]:.2f} → {after[t]:.2f}" for t in ("valid", "test")]
        rows.append([number, hypothesis.name, hypothesis.expected, chosen, *cells, verdict(gains)])
        details += [_detail(number, name, hypothesis, results) for name in ("before", *hypothesis.tried)]
    columns = [f"{corpus} {text}" for corpus in results for text in ("valid", "test")]
    gained = [f"{corpus} {what}" for corpus in results for what in ("valid", "test", "gain")]
    return "\n\n".join(
        [
            table(["", "hypothesis", "expected", "best on valid", *columns, "verdict"], rows),
            "All that was tried:",
            table(["", "", *gained], details),
        ]
    )


def _detail(number: int, name: str, hypothesis: Hypothesis, results: Results) -> list[Any]:
    cells: list[Any] = [number, name]
    for found in results.values():
        of = found[hypothesis.name]
        gain = 1 - of[name]["test"] / of["before"]["test"]
        cells += [f"{of[name]['valid']:.2f}", f"{of[name]['test']:.2f}", "" if name == "before" else f"{gain:+.1%}"]
    return cells
