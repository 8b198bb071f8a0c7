"""The tables of a comparison."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from plre.comparison.methods import REFERENCE, display_name
from plre.comparison.results import Comparison, Row
from plre.comparison.statistics import FLIPS, TEST_SETS
from plre.reporting import numbers
from plre.reporting.table import Cell, ReportTable

FAILED = "failed"


def _column(
    rows: Sequence[Row], value: Callable[[Row], float | None], show: Callable[[Row], str], better: str = ""
) -> list[Cell]:
    """A cell for each row. ``better`` ("low" or "high") says which is best; all that look like it are marked.

    Where all look alike there is nothing to mark.
    """
    there = [(each, show(row)) for row in rows if (each := value(row)) is not None]
    best = (min(there) if better == "low" else max(there))[1] if there and better else None
    alike = len({text for _, text in there}) < 2
    return [Cell(show(row), show(row) == best and not alike) for row in rows]


def _failures(rows: Sequence[Row]) -> list[str]:
    return [f"{row.job.name} {FAILED}: {row.error}" for row in rows if row.error]


def _test(row: Row) -> str:
    return FAILED if row.error else numbers.perplexity(row.test)


def summary_table(comparison: Comparison) -> ReportTable:
    """Test perplexity of every method at every order: the paper's main table."""
    orders, methods = comparison.settings.orders, comparison.settings.methods
    columns = [_column(comparison.of_order(order), lambda row: row.test, _test, "low") for order in orders]
    rows = [[Cell(display_name(method)), *cells] for method, *cells in zip(methods, *columns, strict=True)]
    headings = ["method", *(f"order {order}" for order in orders)]
    return ReportTable("summary", "Test perplexity", headings, rows)


def order_table(comparison: Comparison, order: int) -> ReportTable:
    """One order: dev and test perplexity, the gain over the reference and how sure it is, and the bootstrap."""
    rows = comparison.of_order(order)
    smallest = 1 / (FLIPS + 1)

    def gain(row: Row) -> float | None:
        return row.gain.value if row.gain else None

    columns = [
        [Cell(row.name) for row in rows],
        _column(rows, lambda row: row.dev, lambda row: numbers.perplexity(row.dev), "low"),
        _column(rows, lambda row: row.test, _test, "low"),
        _column(rows, gain, lambda row: numbers.percent(gain(row)), "high"),
        [Cell(numbers.interval(row.gain.low, row.gain.high) if row.gain else numbers.MISSING) for row in rows],
        [Cell(numbers.probability(row.gain.p, smallest) if row.gain else numbers.MISSING) for row in rows],
        _column(
            rows,
            lambda row: row.spread.mean if row.spread else None,
            lambda row: numbers.spread(row.spread.mean, row.spread.deviation) if row.spread else numbers.MISSING,
            "low",
        ),
    ]
    headings = ["method", "dev", "test", "gain", "95 % interval", "p", f"{TEST_SETS} test sets"]
    title = f"Order {order}: perplexity, and gain over {display_name(REFERENCE)}"
    return ReportTable(
        f"order{order}", title, headings, [list(row) for row in zip(*columns, strict=True)], 1, _failures(rows)
    )


def costs_table(comparison: Comparison) -> ReportTable:
    """Time and memory of training, size of the model, and how fast it answers; the best of each order marked."""
    cells: list[list[Cell]] = []
    groups = []
    for order in comparison.settings.orders:
        rows = comparison.of_order(order)
        columns = [
            [Cell(str(order)) for _ in rows],
            [Cell(row.name) for row in rows],
            _column(rows, lambda row: row.seconds, _training, "low"),
            _column(rows, lambda row: row.peak_bytes, lambda row: numbers.size(row.peak_bytes), "low"),
            _column(rows, _model_bytes, lambda row: numbers.size(_model_bytes(row)), "low"),
            _column(rows, _query_rate, lambda row: numbers.speed(_query_rate(row)), "high"),
        ]
        groups.append(len(cells))
        cells += [list(row) for row in zip(*columns, strict=True)]
    headings = ["order", "method", "training", "memory", "model", "query rate"]
    notes = []
    if any(row.job.parts for row in comparison.rows):
        notes.append("Training of a mixture: its parts + its weights. Memory: the most that one of them needed.")
    return ReportTable("costs", "What it costs", headings, cells, 2, notes, groups[1:])


def _training(row: Row) -> str:
    if row.result and row.parts:
        return f"{numbers.seconds(row.parts_seconds)} + {numbers.seconds(row.result['seconds'])}"
    return FAILED if row.error else numbers.seconds(row.seconds)


def _model_bytes(row: Row) -> float | None:
    return row.result["model_bytes"] if row.result else None


def _query_rate(row: Row) -> float | None:
    return row.result["tokens_per_second"] if row.result else None


def texts_table(comparison: Comparison) -> ReportTable:
    """The three texts: how long they are, and how much of them is not in the vocabulary."""
    facts = comparison.facts()
    rows = []
    for name, text in comparison.texts.named().items():
        about = facts[name]
        oov = numbers.share(about["oov"], about["words"]) if name != "train" else numbers.MISSING
        cells = [name, text.given, numbers.count(about["sentences"]), numbers.count(about["words"]), oov]
        rows.append([Cell(cell) for cell in cells])
    headings = ["text", "file", "sentences", "words", "unknown words"]
    return ReportTable("texts", "The texts", headings, rows, 2)


def main_tables(comparison: Comparison) -> list[ReportTable]:
    """The tables that a paper would show: the summary, then order by order, then the costs."""
    orders = comparison.settings.orders
    summary = [summary_table(comparison)] if len(orders) > 1 else []
    return [*summary, *(order_table(comparison, order) for order in orders), costs_table(comparison)]
