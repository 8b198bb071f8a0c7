"""Adapting a large model to a small domain by mixing: `python -m experiments.adapt`."""

from __future__ import annotations

from pathlib import Path

import plre
from benchmarks.common import prefix, table
from experiments.common import held_out, training_text, write
from plre.reporting import numbers

DOCUMENT = Path(__file__).parents[1] / "docs" / "beyond.md"
LARGE, DOMAIN = "english", "wikitext2"
WORDS = (50_000, 200_000, 1_000_000)


def main() -> None:
    dev, test = held_out(DOMAIN, "valid"), held_out(DOMAIN, "test")
    general = plre.train(training_text(LARGE), preset="fast")
    rows, data = [], []
    for words in WORDS:
        little = prefix(training_text(DOMAIN), words)
        domain = plre.train(little, preset="fast", min_count=1)
        adapted = plre.mix([general, domain], dev=dev)
        # Perplexities of different vocabularies cannot be compared: all are asked about the words of the mixture.
        alone = [
            plre.mix([general, domain], weights=weights).perplexity(test) for weights in ((1.0, 1e-9), (1e-9, 1.0))
        ]
        tested = adapted.perplexity(test)
        rows.append([f"{words:,}", *map(numbers.perplexity, [*alone, tested]), f"{adapted.metadata['weights'][1]:.2f}"])
        data.append({"words": words, "general": alone[0], "domain": alone[1], "adapted": tested})
    note = (
        f"A general model of {LARGE} (novels), and one of the first words of {DOMAIN} (encyclopaedia), both `fast`; "
        f"test perplexity of {DOMAIN}. All are asked about the same words, those that either knows: one that a model "
        "does not know has a share of its `<unk>`."
    )
    headings = ["words of the domain", "general model", "domain model", "adapted", "weight of the domain model"]
    write("adapt", {"rows": data}, f"{note}\n\n{table(headings, rows)}", DOCUMENT)


if __name__ == "__main__":
    main()
