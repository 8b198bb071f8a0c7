"""`python -m benchmarks [NAME...]` measures all sections, or those named, and puts each into docs/benchmarks.md.

What is measured is written after each section, so little is lost when it stops; `--resume` goes on with those that the
last run did not come to. PLRE_BENCH_QUICK=1 tries everything on little text and leaves docs/ alone.
"""

from __future__ import annotations

import argparse
import importlib
import shutil
import sys

from benchmarks import document
from benchmarks.common import WORK
from plre.reporting.machine import describe_machine

SECTIONS = {
    "perplexity": "Perplexity",
    "marginals": "The marginal constraint on real text",
    "presets": "The presets",
    "train": "Training",
    "memory": "Training in bounded memory",
    "large": "A text of the size of Large-English",
    "scaling": "Time and the size of the text",
    "scoring": "Scoring a long text",
    "python": "One question at a time from Python",
    "factorise": "The factorisation",
    "clustering": "Classes of words",
    "size": "Size of the model file",
    "start": "Starting",
    "cold": "First answers without a cache",
    "hostile": "Damaged and hand-made files",
}
#: The sections that were measured since the last full run began.
RESULTS = WORK / "results"


def measure(name: str) -> str:
    """One section of the document."""
    module = importlib.import_module(f"benchmarks.{name}")
    about = f"`python -m benchmarks {name}`, on {describe_machine()}. {module.NOTE}"
    return f"## {SECTIONS[name]}\n\n{about}\n\n{module.run()}"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(SECTIONS))
    parser.add_argument("--resume", action="store_true", help="leave out what the last run has measured")
    options = parser.parse_args()
    if unknown := set(options.names) - set(SECTIONS):
        parser.error(f"no such section: {', '.join(sorted(unknown))}; choose from {', '.join(SECTIONS)}")
    if not options.names and not options.resume:
        shutil.rmtree(RESULTS, ignore_errors=True)
    RESULTS.mkdir(parents=True, exist_ok=True)
    for name in options.names or SECTIONS:
        result = RESULTS / f"{name}.md"
        if options.resume and result.exists():
            continue
        print(f"measuring: {name}", file=sys.stderr)
        section = measure(name)
        print(f"{section}\n", flush=True)
        result.write_text(section)
        document.replace(name, section, list(SECTIONS))


if __name__ == "__main__":
    main()
