"""What n-grams that stand for a model are worth, read by KenLM: `python -m experiments.exporting`."""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import plre
from benchmarks import peers
from benchmarks.common import table
from experiments.common import DOCUMENT, WORK, held_out, min_count, picture, training_text, write
from plre.cli.console import say
from plre.reporting import numbers
from plre.reporting.chart import Chart, Line, log_ticks

ORDER = 3
CORPORA = ("wikitext2", "english")
PRESETS = ("paper", "best")
#: N-grams, as multiples of those of Kneser-Ney.
TIMES = (0.5, 1, 3, 10)
#: What of the gain over Kneser-Ney should be left at so many times its n-grams.
TARGETS = {("best", 3): 0.40, ("best", 10): 0.55, ("paper", 3): 0.70}


def perplexity(arpa: Path, test: Path) -> float:
    """What KenLM's `query` says of an ARPA file, unknown words and sentence ends counted."""
    answer = subprocess.run(
        ["query", "-v", "summary", arpa], stdin=test.open(), capture_output=True, text=True, check=True
    )
    found = re.search(r"Perplexity including OOVs:\s*([\d.]+)", answer.stdout + answer.stderr)
    assert found is not None
    return float(found[1])


def measured(corpus: str) -> dict[str, Any]:
    """Perplexities of Kneser-Ney, of the presets, and of n-grams that stand for these."""
    place = WORK / f"exporting-{corpus}"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    test, arpa = held_out(corpus, "test"), place / "lm.arpa"
    how: dict[str, Any] = {"order": ORDER, "min_count": min_count(corpus)}
    mkn = plre.train(training_text(corpus), method="mkn", **how)
    plre.export_arpa(mkn, arpa)
    own = sum(mkn.info()["ngrams"])
    found: dict[str, Any] = {"ngrams": own, "mkn": perplexity(arpa, test), "presets": {}}
    for preset in PRESETS:
        dev = None if preset == "paper" else held_out(corpus, "valid")
        lm = plre.train(training_text(corpus), preset=preset, dev=dev, **how)
        points = []
        for times in TIMES:
            start = time.perf_counter()
            made = plre.export_arpa(lm, arpa, ngrams=int(times * own))
            seconds = time.perf_counter() - start
            points.append(
                {"times": times, "ngrams": sum(made.ngrams), "bytes": arpa.stat().st_size, "seconds": seconds,
                 "perplexity": perplexity(arpa, test)}
            )  # fmt: skip
            say(f"{corpus}: {preset}: {points[-1]}")
        found["presets"][preset] = {"whole": lm.perplexity(test), "points": points}
    shutil.rmtree(place)
    return found


def section(corpus: str, found: dict[str, Any]) -> str:
    """Table and picture of one corpus."""
    rows, lines = [], []
    for style, (preset, own) in enumerate(found["presets"].items()):
        whole, points = own["whole"], own["points"]
        for each in points:
            share = (found["mkn"] - each["perplexity"]) / (found["mkn"] - whole)
            target = TARGETS.get((preset, each["times"]))
            rows.append(
                [f"`{preset}`", f"{each['times']:g}", numbers.count(each["ngrams"]), numbers.size(each["bytes"]),
                 numbers.seconds(each["seconds"]), numbers.perplexity(each["perplexity"]), f"{share:.0%}",
                 "" if target is None else f"{target:.0%}"]
            )  # fmt: skip
        rows.append([f"`{preset}`", "itself", "", "", "", numbers.perplexity(whole), "100%", ""])
        lines.append(Line(preset, tuple((p["ngrams"] / 1e6, p["perplexity"]) for p in points), style, strong=True))
    lines.append(Line("Kneser-Ney", ((found["ngrams"] / 1e6, found["mkn"]),), len(lines), joined=False))
    sizes = [x for line in lines for x, _ in line.points]
    title = f"N-grams that stand for a model, {corpus}, order {ORDER}"
    chart = Chart(
        title, "millions of n-grams", "test perplexity (KenLM)", lines, log_ticks(min(sizes), max(sizes)),
        lambda x: f"{float(f'{x:.3g}'):g}", lambda y: f"{y:.6g}", log=True,
    )  # fmt: skip
    head = ["model", "times the n-grams of `mkn`", "n-grams", "file", "time", "perplexity", "of the gain", "target"]
    said = f"Kneser-Ney (`mkn`): {numbers.count(found['ngrams'])} n-grams, perplexity {found['mkn']:.2f}."
    return "\n\n".join([f"### {corpus}", picture(f"exporting-{corpus}", chart), said, table(head, rows)])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m experiments.exporting", description=__doc__)
    parser.add_argument("--corpora", default=",".join(CORPORA), help="separated by commas")
    results = {}
    for corpus in parser.parse_args().corpora.split(","):
        kept = WORK / f"exporting-{corpus}.json"
        if not kept.exists():
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.write_text(json.dumps(measured(corpus)))
        results[corpus] = json.loads(kept.read_text())
    markdown = "\n\n".join([*filter(None, [peers.note("KenLM")]), *(section(*each) for each in results.items())])
    write("exporting", {"order": ORDER, "corpora": results}, markdown, DOCUMENT.with_name("programs.md"))


if __name__ == "__main__":
    main()
