"""Damaged and hand-made model files, a hundred thousand of them: `python -m benchmarks hostile`."""

from __future__ import annotations

import time

from benchmarks.common import QUICK, Figure, figures, paragraphs, scratch, table
from plre.threads import cpu_count
from tests.model.test_hostile import KINDS, OTHER_EXCEPTION, TROUBLES, examine_all, make_models, summary, troubles

FILES = 2_000 if QUICK else 100_000
NOTE = (
    "Small models of all kinds are damaged (`tests/model/test_hostile.py`): random bytes, fields changed on purpose "
    "with a right checksum, headers that say something else, files that were made by hand. Each file is loaded and "
    "asked every question; of two thirds the arrays, and all memory for answers, lie beside pages that must not be "
    "touched, so that a read or a write outside of an array ends the process. A file may be refused, or answer, or "
    "raise a `PlreError`. Damage in the structure and all random damage to the data must be found by `verify`."
)
WHAT = {
    "died": "files that end the process, or touch memory outside of an array",
    "took too long": "files that take more than 10 s of processor time",
    OTHER_EXCEPTION: "files that raise something that is no `PlreError`",
    "not found by verify": "files with a wrong structure, or changed data, that `verify` does not find",
}
#: Files that are named where something went wrong.
_NAMED = 20


def run() -> str:
    with scratch() as place:
        make_models(place)
        sizes = [path.stat().st_size for path in sorted(place.glob("*.plre"))]
        start = time.perf_counter()
        outcomes = examine_all(place, range(FILES), cpu_count())
        minutes = (time.perf_counter() - start) / 60
    wrong = troubles(outcomes)
    rows = [Figure("files tried", len(outcomes), unit="files", at_least=FILES, alone=True)]
    rows += [Figure(WHAT[name], wrong[name], unit="", at_most=0, alone=True) for name in (*TROUBLES, OTHER_EXCEPTION)]
    found = summary(outcomes)
    kinds = [
        [name, "yes" if kind.structural else "-", *(found[name][result] for result in ("refused", "found", "passed"))]
        for name, kind in KINDS.items()
    ]
    total = ["all", "", *(sum(row[column] for row in kinds) for column in (2, 3, 4))]  # type: ignore[misc]
    failed = [f"- {outcome}" for outcome in sorted(outcomes, key=lambda outcome: outcome.seed) if outcome.wrong]
    return paragraphs(
        f"{len(sizes)} models of {min(sizes) / 1e3:.0f} to {max(sizes) / 1e3:.0f} KB; {minutes:.0f} minutes.",
        figures(rows),
        table(["damage", "must be found", "refused", "found by `verify`", "passed"], [*kinds, total]),
        "\n".join(failed[:_NAMED]),
    )
