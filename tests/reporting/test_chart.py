from __future__ import annotations

import itertools
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plre.reporting.chart import COLOURS, Chart, Line, draw, even_ticks, log_ticks, spread_out
from plre.reporting.style import _DARK, _LIGHT


@given(st.floats(-1e4, 1e4), st.floats(1e-3, 1e4))
def test_ticks_cover_the_range_evenly(low: float, width: float) -> None:
    ticks = even_ticks(low, low + width)
    assert ticks[0] <= low + 1e-6 * width
    assert ticks[-1] >= low + width - 1e-6 * width
    assert 2 <= len(ticks) <= 10
    assert [b - a for a, b in itertools.pairwise(ticks)] == pytest.approx([ticks[1] - ticks[0]] * (len(ticks) - 1))


@given(st.floats(1e-3, 1e5), st.floats(1, 1e4))
def test_logarithmic_ticks_cover_the_range(low: float, factor: float) -> None:
    ticks = log_ticks(low, low * factor)
    assert ticks[0] <= low
    assert ticks[-1] >= low * factor


@given(st.lists(st.floats(0, 400), max_size=12))
def test_names_do_not_overlap_and_keep_their_order(heights: list[float]) -> None:
    placed = spread_out(heights, 17)
    ranked = sorted(range(len(heights)), key=heights.__getitem__)
    for above, below in itertools.pairwise(ranked):
        assert placed[below] - placed[above] >= 17 - 1e-6
    free = all(heights[b] - heights[a] >= 17 for a, b in itertools.pairwise(ranked))
    if free:
        assert placed == heights


def test_a_chart_says_everything_in_words() -> None:
    lines = [Line("a <b>", ((1.0, 5.0), (3.0, 7.0)), 0), Line("level", ((1.0, 6.0), (3.0, 6.0)), 1, dashed=True)]
    chart = Chart("A & B", "across", "up", lines, [1.0, 3.0], lambda x: f"{x:g} s", lambda y: f"{y:g} %", log=True)
    svg = draw(chart)
    root = ElementTree.fromstring(svg)
    texts = ["".join(each.itertext()) for each in root.iter() if each.tag in ("text", "title")]
    for expected in ("A & B", "across", "up", "a <b>", "level", "a <b>: 1 s, 5 %", "a <b>: 3 s, 7 %", "6 %"):
        assert expected in texts
    assert len(list(root.iter("polyline"))) == 2


def test_one_point_is_drawn_in_the_middle() -> None:
    chart = Chart("t", "x", "y", [Line("a", ((3.0, 5.0),), 2)], [3.0], str, str)
    ElementTree.fromstring(draw(chart))


def test_there_are_as_many_colours_as_lines_may_have() -> None:
    assert len(_LIGHT) == len(_DARK) == COLOURS
