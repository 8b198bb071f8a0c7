"""The paper's comparison with the log-bilinear model: `python -m experiments.lbl`.

Sentence ends are removed and the text is one stream, as in the paper. All models have the same vocabulary and predict
the same words. What is finished is kept in results/lbl.json and not done again until it is removed from there; a
training that was stopped goes on after its last whole epoch.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from typing import Any

import plre
import plre.neural
from benchmarks.common import CORPORA, WORK, part, table
from experiments.common import RESULTS, write
from plre.cli.console import PlainProgress, say
from plre.neural.settings import NeuralSettings
from plre.reporting.machine import describe_machine

STORE = RESULTS / "lbl.json"
ORDER = 4
#: Models of counted n-grams, by the names of the paper.
COUNTED = {
    f"int-KN({ORDER})": ["kn"],
    f"int-MKN({ORDER})": ["mkn"],
    f"PLRE({ORDER})": ["plre"],
    f"int-MKN({ORDER}) + class-based({ORDER})": ["mkn", "class"],
}

Figures = dict[str, Any]


def counted(corpus: str, name: str, threads: int) -> Figures:
    """Models of order 4, or a mixture of two; ranks and weights are found on the dev text."""
    dev = part(corpus, "valid")
    how: dict[str, Any] = {"order": ORDER, "min_count": CORPORA[corpus], "markers": False, "threads": threads}
    start = time.process_time()
    parts = [
        plre.train(
            part(corpus, "train"),
            method=method,
            preset="paper" if method == "plre" else None,
            dev=dev if method == "plre" else None,
            **how,
        )
        for method in COUNTED[name]
    ]
    lm = plre.mix(parts, dev=dev, threads=threads) if len(parts) > 1 else parts[0]
    seconds = time.process_time() - start
    report = plre.evaluate(lm, part(corpus, "test"))
    return {
        "perplexity": report.perplexity,
        "dev_perplexity": lm.perplexity(dev),
        "tokens": report.tokens,
        "processor_seconds": seconds,
        "signature": report.signature,
    }


def log_bilinear(corpus: str, context: int, threads: int, epochs: int) -> Figures:
    """A log-bilinear model, trained until the dev text gets no better (or for so many epochs)."""
    WORK.mkdir(parents=True, exist_ok=True)
    lm = plre.neural.train(
        part(corpus, "train"),
        context=context,
        dev=part(corpus, "valid"),
        min_count=CORPORA[corpus],
        epochs=epochs,
        threads=threads,
        checkpoint=WORK / f"lbl.{corpus}.{context}.safetensors",
        progress=PlainProgress(),
    )
    scores = lm.score_words(part(corpus, "test"), threads=threads)
    course = lm.metadata["perplexities"]
    return {
        "perplexity": float(10 ** -scores.mean()),
        "dev_perplexity": min(course),
        "tokens": len(scores),
        "processor_seconds": lm.metadata["processor_seconds"],
        "epochs": len(course),
        "converged": lm.metadata["converged"],
        "dev_perplexities": course,
        "settings": lm.settings.as_dict(),
    }


def document(results: dict[str, dict[str, Figures]]) -> str:
    """All that was measured, as Markdown."""
    parts = [
        f"On {describe_machine()}. Sentence ends are removed and each text is one stream of words; all models have the "
        "same vocabulary and predict the same words, unknown ones as `<unk>`. LBL(n) sees n words before the predicted "
        "one and was trained until the dev text got no better, unless it says otherwise; PLRE's ranks were chosen on "
        "the same dev text.",
    ]
    for corpus, models in results.items():
        rows = []
        for name, row in models.items():
            epochs = str(row.get("epochs", "-")) + ("" if row.get("converged", True) else ", not converged")
            values = [f"{row['dev_perplexity']:.2f}", f"**{row['perplexity']:.2f}**"]
            rows.append([name, *values, f"{row['tokens']:,}", epochs, f"{row['processor_seconds']:,.0f} s"])
        headings = ["model", "dev perplexity", "test perplexity", "words of the test text", "epochs", "processor time"]
        parts += [f"**{corpus}**", table(headings, rows)]
    return "\n\n".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m experiments.lbl", description=__doc__)
    parser.add_argument("--corpus", choices=list(CORPORA), default="wikitext2")
    parser.add_argument("--contexts", default="5,10", help="words that the log-bilinear models see (5,10); '' for none")
    parser.add_argument(
        "--epochs", type=int, default=NeuralSettings.epochs, help="stop after so many even if not converged"
    )
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    runs: dict[str, Callable[[], Figures]] = {}
    for name in COUNTED:
        runs[name] = lambda name=name: counted(options.corpus, name, options.threads)  # type: ignore[misc]
    for context in map(int, filter(None, options.contexts.split(","))):
        runs[f"LBL({context})"] = lambda context=context: log_bilinear(  # type: ignore[misc]
            options.corpus, context, options.threads, options.epochs
        )
    for name, run in runs.items():
        if name in read().get(options.corpus, {}):
            continue
        say(f"{options.corpus}: {name}")
        row = run()
        results = read()
        models = {**results.get(options.corpus, {}), name: row}
        results[options.corpus] = dict(sorted(models.items(), key=lambda item: _place(item[0])))
        write("lbl", results, document(results))
        say(f"{name}: test perplexity {row['perplexity']:.2f}")


def read() -> dict[str, dict[str, Figures]]:
    """What was measured before: by corpus, by model."""
    return json.loads(STORE.read_text()) if STORE.exists() else {}


def _place(name: str) -> tuple[int, int]:
    """Counted models first, then log-bilinear ones by their context."""
    return (list(COUNTED).index(name), 0) if name in COUNTED else (len(COUNTED), int(name[4:-1]))


if __name__ == "__main__":
    main()
