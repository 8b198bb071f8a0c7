"""`python -m benchmarks` measures everything and writes docs/benchmarks.md; with names, it prints just those parts."""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks import marginals, perplexity, speed
from benchmarks.common import machine

SECTIONS = {
    "perplexity": ("Perplexity", perplexity.run),
    "marginals": ("The marginal constraint on real text", marginals.run),
    "speed": ("Speed", speed.run),
}
NOTES = {
    "perplexity": "Test perplexity, all words and `</s>` counted, unknown words as `<unk>`. KenLM: `lmplz` and `query` "
    "on the same text with `<unk>` renamed to a plain word. Without dev text the fractions are 0.0005 / 0.001.",
    "marginals": "Theorem 1 of the paper says that the probabilities of a word over all training events add up to its "
    "count. It is exact (1e-5, `tests/ensemble/test_marginals.py`) for constant discounts, without sentence boundaries "
    "and without the uniform share of the unigrams. On wikitext2, order 3, there are sentences and the uniform share, "
    "and `mkn` has three discounts: this is the difference between both sides relative to the count, median / largest "
    "of 50 words drawn from each band of frequency.",
    "speed": "",
}


def main() -> None:
    chosen = sys.argv[1:]
    if unknown := set(chosen) - set(SECTIONS):
        raise SystemExit(f"no such part: {', '.join(unknown)}; choose from {', '.join(SECTIONS)}")
    parts = [f"# Benchmarks\n\nWritten by `make bench` on {machine()}."]
    for name in chosen or SECTIONS:
        heading, run = SECTIONS[name]
        print(f"measuring: {name}", file=sys.stderr)
        text = f"## {heading}\n\n`python -m benchmarks {name}`. {NOTES[name]}".rstrip() + f"\n\n{run()}"
        print(text + "\n")
        parts.append(text)
    if not chosen:
        Path(__file__).parents[1].joinpath("docs", "benchmarks.md").write_text("\n\n".join(parts) + "\n")


main()
