"""How fast a long text is scored, beside KenLM: `python -m benchmarks scoring`."""

from __future__ import annotations

from benchmarks import models, peers, pictures
from benchmarks.common import (
    QUICK,
    Figure,
    Run,
    count,
    figures,
    listing,
    measure,
    paragraphs,
    plain,
    plre_command,
    repeated,
    scratch,
    table,
)
from plre.threads import cpu_count

WORDS = 500_000 if QUICK else 50_000_000
KENLM = "KenLM query"
#: Run, model, options, and how many times KenLM's rate it should have.
CASES = [
    ("`eval` of best, all cores", models.best, (), 0.8),
    ("`eval` of fast, all cores", models.fast, (), 1.5),
    ("`eval` of mkn, all cores", models.mkn, (), 3.0),
    ("`eval` of mkn, `--threads 1`", models.mkn, ("--threads", 1), 1.5),
    ("`eval` of paper, all cores", models.paper, (), 1.5),
    ("`eval` of paper, `--threads 1`", models.paper, ("--threads", 1), None),
]
NOTE = (
    f"The training text of {models.DESCRIBED}, repeated; rates in millions of tokens (words and `</s>`) a second, "
    "process start and opening the model included, model and text in the file cache. `query` has one thread."
)


def run() -> str:
    text = repeated(plain(models.CORPUS, "train"), WORDS)
    tokens = sum(count(text))
    with scratch() as place:
        files = {make: make(place) for make in dict.fromkeys(make for _, make, _, _ in CASES)}
        runs: dict[str, Run] = {
            name: [plre_command("eval", files[make], text, *options, "-q")] for name, make, options, _ in CASES
        }
        if peers.KENLM:
            runs[KENLM] = [peers.kenlm_query(models.kenlm(place), text)]
        usages = measure(runs)
    rates = {name: tokens / usage.seconds / 1e6 for name, usage in usages.items()}
    rows = [Figure(name, rates[name], rates.get(KENLM), "M/s", at_least=target) for name, _, _, target in CASES]
    names = [name.replace("`", "").replace(", ", "\n") for name in rates]
    return paragraphs(
        f"{tokens:,} tokens, {cpu_count()} cores. {peers.note('KenLM')}".strip(),
        figures(rows),
        pictures.bars("scoring", "Scoring rate", "million tokens a second", names, {"rate": list(rates.values())}),
        table(["run", "seconds"], [[name, f"{usage.seconds:.2f}"] for name, usage in usages.items()]),
        listing(runs),
    )
