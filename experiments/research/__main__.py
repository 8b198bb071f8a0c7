"""Try every hypothesis: `python -m experiments.research`. What was measured before is not measured again."""

from __future__ import annotations

import argparse
import json
import time

from experiments.common import DOCUMENT, RESULTS, WORK, write
from experiments.research.components import Setup
from experiments.research.hypotheses import HYPOTHESES, Hypothesis
from experiments.research.mixture import measure
from experiments.research.report import Results, document
from plre.cli.console import say
from plre.store import Resources, Store
from plre.threads import cpu_count


class Measured:
    """Perplexities by model, kept among the files of the experiments; remove them if the code has changed."""

    def __init__(self, corpus: str) -> None:
        self.name = corpus
        self._store = Store(Resources(cpu_count()))
        self._path = WORK / "research" / f"{corpus}.json"
        self._known: dict[str, dict[str, float]] = json.loads(self._path.read_text()) if self._path.exists() else {}

    def __contains__(self, setup: Setup) -> bool:
        return repr(setup) in self._known

    def __call__(self, setup: Setup) -> dict[str, float]:
        """The perplexity of each text under a model."""
        key = repr(setup)
        if key not in self._known:
            self._known[key] = measure(self._store, self.name, setup)
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._path.write_text(json.dumps(self._known, indent=1))
        return self._known[key]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m experiments.research", description=__doc__)
    parser.add_argument("--corpora", default="wikitext2,english", help="separated by commas")
    parser.add_argument(
        "--only", default="", help="numbers of hypotheses, separated by commas; the others stay as they are"
    )
    parser.add_argument("--measured", action="store_true", help="measure nothing more: the tables of what there is")
    options = parser.parse_args()
    store = RESULTS / "research.json"
    results: Results = json.loads(store.read_text())["corpora"] if store.exists() else {}
    chosen = [int(number) for number in options.only.split(",") if number] or range(1, len(HYPOTHESES) + 1)
    for corpus in options.corpora.split(","):
        measured = Measured(corpus)
        for number in chosen:
            results.setdefault(corpus, {})[HYPOTHESES[number - 1].name] = tried(
                HYPOTHESES[number - 1], measured, options.measured
            )
    write("research", {"corpora": results}, document(results), DOCUMENT.with_name("research.md"))


def tried(hypothesis: Hypothesis, measured: Measured, only_known: bool) -> dict[str, dict[str, float]]:
    """All that a hypothesis suggests, and what there was before."""
    found = {}
    for name, setup in {"before": hypothesis.before, **hypothesis.tried}.items():
        if only_known and setup not in measured:
            continue
        start = time.perf_counter()
        found[name] = measured(setup)
        perplexities = ", ".join(f"{text} {value:.2f}" for text, value in found[name].items())
        say(f"{measured.name}: {hypothesis.name}: {name}: {perplexities} ({time.perf_counter() - start:.0f} s)")
    return found


if __name__ == "__main__":
    main()
