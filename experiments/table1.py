"""Table 1: all methods at order 3 on the small corpora, dev and test perplexity: `python -m experiments.table1`."""

from __future__ import annotations

from benchmarks.common import table
from experiments.common import SMALL, beside_the_paper, compare, record, write
from plre.comparison.results import Row
from plre.reporting import numbers

ORDER = 3


def main() -> None:
    found = {corpus: compare(corpus, [ORDER]) for corpus in SMALL}
    methods = found[SMALL[0]].settings.methods
    rows = []
    for method in methods:
        line = [f"{found[SMALL[0]].row(method, ORDER).name}"]
        for comparison in found.values():
            row = comparison.row(method, ORDER)
            gain = numbers.percent(row.gain.value) if row.gain else numbers.MISSING
            line += [numbers.perplexity(row.dev), numbers.perplexity(row.test), gain]
        rows.append(line)
    headings = ["method", *(f"{corpus} {what}" for corpus in SMALL for what in ("dev", "test", "gain"))]
    order = [f"- {corpus}: {ordering(found[corpus].of_order(ORDER))}" for corpus in SMALL]
    data = {corpus: [record(row) for row in comparison.rows] for corpus, comparison in found.items()}
    paper = {"Small-English": ("english", found["english"]), "Small-Russian": ("russian", found["russian"])}
    markdown = [
        table(headings, rows),
        "From best to worst on the test text:",
        "\n".join(order),
        "Beside the paper:",
        beside_the_paper(paper, ORDER),
    ]
    write("table1", {"order": ORDER, "corpora": data}, "\n\n".join(markdown))


def ordering(rows: list[Row]) -> str:
    """Methods by falling perplexity, as one line."""
    done = sorted((row for row in rows if row.test), key=lambda row: row.test or 0.0)
    return " < ".join(row.name for row in done)


if __name__ == "__main__":
    main()
