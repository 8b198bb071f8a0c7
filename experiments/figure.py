"""The figure: gain over int-MKN against the order, 2 to 5: `python -m experiments.figure`."""

from __future__ import annotations

from benchmarks.common import table
from experiments.common import SMALL, compare, picture, record, write
from plre.comparison.pictures import gain_chart
from plre.reporting import numbers

ORDERS = (2, 3, 4, 5)
METHODS = ("bo-mkn", "mkn", "mkn-dev", "plre", "mkn+class")


def main() -> None:
    parts, data = [], {}
    for corpus in SMALL:
        comparison = compare(corpus, ORDERS, methods=METHODS)
        data[corpus] = [record(row) for row in comparison.rows]
        rows = [
            [
                order,
                *(numbers.perplexity(comparison.row(method, order).test) for method in comparison.settings.methods),
                *(
                    numbers.percent(gain.value) if (gain := comparison.row(method, order).gain) else numbers.MISSING
                    for method in ("plre", "mkn+class")
                ),
            ]
            for order in ORDERS
        ]
        names = [comparison.row(method, ORDERS[0]).name for method in comparison.settings.methods]
        parts += [
            f"**{corpus}**, test perplexity",
            table(["order", *names, "gain of PLRE", "gain of the mixture"], rows),
        ]
        if chart := gain_chart(comparison):
            parts.append(picture(f"gain-{corpus}", chart))
    write("figure", {"orders": ORDERS, "corpora": data}, "\n\n".join(parts))


if __name__ == "__main__":
    main()
