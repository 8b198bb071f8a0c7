"""Table 2's form: a large corpus at order 4, ten bootstrap test sets: `python -m experiments.table2`."""

from __future__ import annotations

from benchmarks.common import table
from experiments.common import LARGE, beside_the_paper, compare, record, write
from plre.comparison.statistics import FLIPS
from plre.reporting import numbers

ORDER = 4
METHODS = ("kn", "mkn", "mkn-dev", "plre", "mkn+class")


def main() -> None:
    comparison = compare(LARGE, [ORDER], methods=METHODS)
    rows = []
    for row in comparison.of_order(ORDER):
        line = [row.name, numbers.perplexity(row.dev), numbers.perplexity(row.test)]
        line.append(numbers.spread(row.spread.mean, row.spread.deviation) if row.spread else numbers.MISSING)
        if row.gain:
            line += [numbers.percent(row.gain.value), numbers.interval(row.gain.low, row.gain.high)]
            line.append(numbers.probability(row.gain.p, 1 / (FLIPS + 1)))
        rows.append(line + [numbers.MISSING] * (7 - len(line)))
    headings = ["method", "dev", "test", "10 bootstrap test sets", "gain", "95 % interval", "p"]
    paper = beside_the_paper({"Large-English": (LARGE, comparison), "Large-Russian": None}, ORDER)
    markdown = f"{table(headings, rows)}\n\nBeside the paper:\n\n{paper}"
    write("table2", {"order": ORDER, "rows": [record(row) for row in comparison.rows]}, markdown)


if __name__ == "__main__":
    main()
