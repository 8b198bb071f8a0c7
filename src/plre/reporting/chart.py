"""Line charts as inline SVG: axes with titles, lines with markers, and names beside the ends of the lines.

Written by hand because a report must be one file without scripts, and should not need matplotlib. Colours come from the
page's style sheet (classes ``s0`` to ``s7``), so that they follow light and dark mode.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from html import escape

_WIDTH, _HEIGHT = 760, 420
_LEFT, _RIGHT, _TOP, _BOTTOM = 84, 210, 18, 58
#: Between the base lines of two names.
_NAME_HEIGHT = 17
_SHAPES = 4
#: Colours of the style sheet; where there are more lines, those from the third on are used again with other markers.
COLOURS = 8

Point = tuple[float, float]


@dataclass(frozen=True)
class Line:
    """Points in the order in which they are joined; ``style`` chooses colour and marker."""

    name: str
    points: tuple[Point, ...]
    style: int
    dashed: bool = False
    strong: bool = False
    #: Points that stand by themselves are not joined.
    joined: bool = True

    @property
    def rightmost(self) -> Point:
        """The point beside which the name stands."""
        return max(self.points, key=lambda point: point[0])


@dataclass(frozen=True)
class Chart:
    """A picture: what it shows, its axes and its lines."""

    title: str
    x_title: str
    y_title: str
    lines: list[Line]
    x_ticks: list[float]
    show_x: Callable[[float], str]
    show_y: Callable[[float], str]
    #: The x axis is logarithmic.
    log: bool = False


def even_ticks(low: float, high: float, most: int = 7) -> list[float]:
    """Round numbers that cover a range.

    >>> even_ticks(0.3, 6.2)
    [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]
    """
    if high <= low:
        low, high = low - 1, high + 1
    rough = (high - low) / most
    power = 10 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= rough * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(step * i, 10) for i in range(first, last + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """1, 2 and 5 times powers of ten that cover a range.

    >>> log_ticks(3, 40)
    [2.0, 5.0, 10.0, 20.0, 50.0]
    """
    powers = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 1)
    ticks = [float(f"{factor}e{power}") for power in powers for factor in (1, 2, 5)]
    below = max(tick for tick in ticks if tick <= low)
    above = min((tick for tick in ticks if tick >= high), default=ticks[-1])
    return [tick for tick in ticks if below <= tick <= above]


def spread_out(heights: list[float], gap: float) -> list[float]:
    """Heights moved as little as needed for neighbours to be ``gap`` apart, in the order given.

    Overlapping names are merged into blocks, each block centred on what its names would like.

    >>> spread_out([10.0, 12.0, 100.0], 10)
    [6.0, 16.0, 100.0]
    """
    order = sorted(range(len(heights)), key=heights.__getitem__)
    blocks: list[tuple[float, list[int]]] = []
    for i in order:
        top, members = heights[i], [i]
        while blocks and blocks[-1][0] + gap * len(blocks[-1][1]) > top:
            members = blocks.pop()[1] + members
            top = sum(heights[m] - gap * k for k, m in enumerate(members)) / len(members)
        blocks.append((top, members))
    placed = [0.0] * len(heights)
    for top, members in blocks:
        for k, member in enumerate(members):
            placed[member] = top + gap * k
    return placed


def draw(chart: Chart) -> str:
    """The chart as an ``<svg>`` element."""
    y_ticks = even_ticks(*_range([y for line in chart.lines for _, y in line.points]))
    across = _scale(_range(chart.x_ticks), (_LEFT, _WIDTH - _RIGHT), chart.log)
    up = _scale((y_ticks[0], y_ticks[-1]), (_HEIGHT - _BOTTOM, _TOP))
    parts = [
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(chart.title)}">',
        f"<title>{escape(chart.title)}</title>",
    ]
    for tick in y_ticks:
        kind = "zero" if tick == 0 else "grid"
        parts.append(_line(_LEFT, up(tick), _WIDTH - _RIGHT, up(tick), kind))
        parts.append(_text(_LEFT - 8, up(tick) + 4, chart.show_y(tick), "tick end"))
    base = _HEIGHT - _BOTTOM
    parts.append(_line(_LEFT, base, _WIDTH - _RIGHT, base, "axis"))
    for tick in chart.x_ticks:
        parts.append(_line(across(tick), base, across(tick), base + 5, "axis"))
        parts.append(_text(across(tick), base + 20, chart.show_x(tick), "tick middle"))
    parts.append(_text((_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 12, chart.x_title, "label middle"))
    middle = (_TOP + base) / 2
    turned = f'<g transform="rotate(-90 16 {middle:.1f})">{_text(16, middle, chart.y_title, "label middle")}</g>'
    parts.append(turned)
    drawn = [line for line in chart.lines if line.points]
    heights = spread_out([up(line.rightmost[1]) for line in drawn], _NAME_HEIGHT)
    parts += [_drawn(chart, line, across, up) for line in drawn]
    parts += [_named(line, height, across, up) for line, height in zip(drawn, heights, strict=True)]
    return "\n".join([*parts, "</svg>"])


def _drawn(chart: Chart, line: Line, across: Callable[[float], float], up: Callable[[float], float]) -> str:
    """A line with its markers, which show their values when pointed at."""
    places = [(across(x), up(y)) for x, y in line.points]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    parts = [f'<g class="{_kind(line)}">' + (f'<polyline points="{path}"/>' if line.joined else "")]
    if not line.dashed:
        for (x, y), (at, value) in zip(places, line.points, strict=True):
            values = f"{line.name}: {chart.show_x(at)}, {chart.show_y(value)}"
            parts.append(f"<path d='{_marker(x, y, line.style)}'><title>{escape(values)}</title></path>")
    return "".join([*parts, "</g>"])


def _named(line: Line, height: float, across: Callable[[float], float], up: Callable[[float], float]) -> str:
    """The line's name beside its right end, at ``height``; after all lines, so that none crosses it."""
    x, y = across(line.rightmost[0]), up(line.rightmost[1])
    leader = _line(x + 6, y, x + 15, height, "leader") if abs(height - y) > 3 else ""
    return f'<g class="{_kind(line)}">{leader}{_text(x + 18, height + 4, line.name, "name")}</g>'


def _kind(line: Line) -> str:
    return f"series s{_colour(line.style)}" + (" dashed" if line.dashed else "") + (" strong" if line.strong else "")


def _colour(style: int) -> int:
    return style if style < COLOURS else 2 + (style - 2) % (COLOURS - 2)


def _marker(x: float, y: float, style: int) -> str:
    """A disc, square, triangle or diamond: lines can be told apart without colour."""
    r = 4.2
    if style % _SHAPES == 0:
        return f"M{x - r:.1f},{y:.1f}a{r},{r} 0 1 0 {2 * r},0a{r},{r} 0 1 0 {-2 * r},0z"
    corners = (
        ((-1, -1), (1, -1), (1, 1), (-1, 1)),
        ((0, -1.3), (1.2, 0.9), (-1.2, 0.9)),
        ((0, -1.4), (1.2, 0), (0, 1.4), (-1.2, 0)),
    )[style % _SHAPES - 1]
    return "M" + "L".join(f"{x + r * right:.1f},{y + r * down:.1f}" for right, down in corners) + "z"


def _range(values: list[float]) -> tuple[float, float]:
    return min(values), max(values)


def _scale(values: tuple[float, float], places: tuple[float, float], log: bool = False) -> Callable[[float], float]:
    """A function from values to places on the page; a single value stands in the middle."""
    low, high = (math.log(value) if log else value for value in values)

    def place(value: float) -> float:
        share = ((math.log(value) if log else value) - low) / (high - low) if high > low else 0.5
        return places[0] + share * (places[1] - places[0])

    return place


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}"/>'


def _text(x: float, y: float, text: str, kind: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}">{escape(text)}</text>'
