"""Perplexity against the rank of the low rank bigram, order 3: `python -m experiments.ranks`."""

from __future__ import annotations

from benchmarks.common import table
from experiments.common import SMALL, compare, picture, record, write
from plre.comparison.pictures import rank_chart
from plre.reporting import numbers

ORDER = 3
RANKS = (5, 10, 20, 50, 100, 200)


def main() -> None:
    parts, data, rows = [], {}, []
    for corpus in SMALL:
        comparison = compare(corpus, [ORDER], methods=["mkn", "plre"], ranks=RANKS)
        data[corpus] = [record(row) for row in (*comparison.rows, *comparison.ranks)]
        found = [*comparison.of_order(ORDER), *comparison.ranks]
        rows.append([corpus, *(numbers.perplexity(row.test) for row in found)])
        if chart := rank_chart(comparison):
            parts.append(picture(f"rank-{corpus}", chart))
    headings = ["test perplexity", "int-MKN", "PLRE, rank chosen on dev", *(f"rank {rank}" for rank in RANKS)]
    write("ranks", {"order": ORDER, "corpora": data}, "\n\n".join([table(headings, rows), *parts]))


if __name__ == "__main__":
    main()
