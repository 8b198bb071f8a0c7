"""The charts of a comparison: the paper's figure of gains, perplexity against rank, and against time."""

from __future__ import annotations

from plre.comparison.methods import ENSEMBLE, REFERENCE, display_name
from plre.comparison.results import Comparison
from plre.reporting import numbers
from plre.reporting.chart import Chart, Line, log_ticks

#: Kept for those that a reader looks for.
_OWN_STYLES = {ENSEMBLE: 0, REFERENCE: 1}


def comparison_charts(comparison: Comparison) -> list[Chart]:
    """The charts for which there is something to show."""
    drawn = (gain_chart(comparison), rank_chart(comparison), time_chart(comparison))
    return [chart for chart in drawn if chart is not None]


def styles(methods: tuple[str, ...]) -> dict[str, int]:
    """A colour and marker for each method, the same in all pictures."""
    others = [method for method in methods if method not in _OWN_STYLES]
    return {**_OWN_STYLES, **{method: len(_OWN_STYLES) + i for i, method in enumerate(others)}}


def gain_chart(comparison: Comparison) -> Chart | None:
    """Gain over the reference against the order: the paper's figure. It needs two orders."""
    orders = comparison.settings.orders
    style = styles(comparison.settings.methods)
    reference = display_name(REFERENCE)
    lines = [Line(reference, tuple((float(order), 0.0) for order in orders), style[REFERENCE], dashed=True)]
    for method in comparison.settings.methods:
        points = tuple((float(row.job.order), row.gain.value) for row in comparison.of_method(method) if row.gain)
        if points:
            lines.append(Line(display_name(method), points, style[method], strong=method == ENSEMBLE))
    if len(orders) < 2 or len(lines) < 2:
        return None
    return Chart(
        f"Relative gain over {reference}",
        "order",
        f"gain over {reference}",
        lines,
        [float(order) for order in orders],
        lambda x: f"{x:g}",
        numbers.percent,
    )


def rank_chart(comparison: Comparison) -> Chart | None:
    """Test perplexity against the rank of the low rank bigram, beside the reference and the rank chosen on dev."""
    tested = [row for row in comparison.ranks if row.test is not None]
    points = tuple((float(row.job.rank or 0), row.test or 0.0) for row in tested)
    if len(points) < 2:
        return None
    middle = comparison.settings.middle
    style = styles(comparison.settings.methods)
    lines = [Line(display_name(ENSEMBLE), points, style[ENSEMBLE], strong=True)]
    for method, name in (
        (REFERENCE, display_name(REFERENCE)),
        (ENSEMBLE, f"{display_name(ENSEMBLE)}, rank chosen on dev"),
    ):
        test = comparison.row(method, middle).test
        if test is not None:
            lines.append(Line(name, ((points[0][0], test), (points[-1][0], test)), style[method], dashed=True))
    return Chart(
        f"Perplexity against the rank of the low rank bigram, order {middle}",
        "rank of the low rank bigram",
        "test perplexity",
        lines,
        [x for x, _ in points],
        lambda x: f"{x:g}",
        lambda y: f"{y:g}",
        log=True,
    )


def time_chart(comparison: Comparison) -> Chart | None:
    """Test perplexity against training time: a line for each method, a point for each order."""
    style = styles(comparison.settings.methods)
    lines = []
    for method in comparison.settings.methods:
        rows = [row for row in comparison.of_method(method) if row.test is not None]
        points = tuple((row.seconds or 0.0, row.test or 0.0) for row in rows)
        if points:
            lines.append(Line(display_name(method), points, style[method], strong=method == ENSEMBLE))
    seconds = [x for line in lines for x, _ in line.points]
    if len(seconds) < 2:
        return None
    ticks = log_ticks(min(seconds), max(seconds))
    first, last = comparison.settings.orders[0], comparison.settings.orders[-1]
    return Chart(
        "Perplexity against training time" + (f", orders {first} to {last} along each line" if first < last else ""),
        "training time in seconds",
        "test perplexity",
        lines,
        ticks,
        lambda x: f"{float(f'{x:.3g}'):g}",
        lambda y: f"{y:.6g}",
        log=True,
    )
