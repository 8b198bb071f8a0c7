from __future__ import annotations

from plre.comparison.pictures import comparison_charts, gain_chart, styles
from plre.reporting.chart import COLOURS, _colour
from tests.comparison.example import METHODS, example


def test_the_pictures_of_a_comparison() -> None:
    comparison = example()
    titles = [chart.title for chart in comparison_charts(comparison)]
    assert titles == [
        "Relative gain over int-MKN",
        "Perplexity against the rank of the low rank bigram, order 3",
        "Perplexity against training time, orders 2 to 4 along each line",
    ]
    chart = gain_chart(comparison)
    assert chart is not None
    points = {line.name: line.points for line in chart.lines}
    assert points["PLRE"] == tuple((n, comparison.row("plre", n).gain.value) for n in (2, 3, 4))  # type: ignore[union-attr]
    assert len(points["Jelinek-Mercer"]) == 2
    assert gain_chart(example((3,))) is None


def test_lines_differ_in_colour_or_marker() -> None:
    chosen = styles(METHODS)
    looks = {(_colour(style), style % 4) for style in chosen.values()}
    assert len(looks) == len(METHODS)
    assert all(colour < COLOURS for colour, _ in looks)
