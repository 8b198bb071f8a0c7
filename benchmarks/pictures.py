"""Small pictures of the figures, as SVG files under docs/pictures."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.common import QUICK, WORK

FOLDER = WORK / "pictures" if QUICK else Path(__file__).parents[1] / "docs" / "pictures"
COLOURS = ["#1b6ca8", "#7fb3d5", "#c0792a", "#8c8c8c"]
STYLE = {
    "svg.hashsalt": "plre",  # the same figures give the same file
    "svg.fonttype": "none",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "axes.axisbelow": True,
    "legend.frameon": False,
}


def bars(name: str, title: str, unit: str, groups: Sequence[str], series: Mapping[str, Sequence[float | None]]) -> str:
    """A bar for each series in each group; where a number is None there is none."""

    def draw(axes: Any) -> None:
        width = 0.8 / len(series)
        for i, (label, numbers) in enumerate(series.items()):
            known = [(g + (i - (len(series) - 1) / 2) * width, x) for g, x in enumerate(numbers) if x is not None]
            drawn = axes.bar(*zip(*known, strict=True), width, label=label, color=COLOURS[i])
            axes.bar_label(drawn, fmt="%.3g", fontsize=7, padding=1)
        axes.set_xticks(range(len(groups)), groups)
        axes.grid(axis="x", visible=False)
        axes.set_ylabel(unit)

    return _picture(name, title, draw)


def growth(
    name: str, title: str, sizes: Sequence[int], series: Mapping[str, Sequence[float]], guide: Sequence[float]
) -> str:
    """Seconds against words, both logarithmic, with the guide of n log n."""

    def draw(axes: Any) -> None:
        for i, (label, numbers) in enumerate(series.items()):
            axes.loglog(sizes, numbers, "o-", label=label, color=COLOURS[2 * i], markersize=4)
        axes.loglog(sizes, guide, "--", label="n log n", color=COLOURS[3], linewidth=1)
        axes.set_xlabel("words")
        axes.set_ylabel("seconds")

    return _picture(name, title, draw)


def _picture(name: str, title: str, draw: Any) -> str:
    """Draw it and write the file; a link to it."""
    if importlib.util.find_spec("matplotlib") is None:
        return "There is no picture: matplotlib is not installed (`pip install 'plre[plot]'`)."
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    with matplotlib.rc_context(STYLE):
        figure, axes = pyplot.subplots(figsize=(6.4, 3.2), layout="constrained")
        draw(axes)
        axes.set_title(title, fontsize=10)
        if len(axes.get_legend_handles_labels()[1]) > 1:
            axes.legend(fontsize=8)
        FOLDER.mkdir(parents=True, exist_ok=True)
        figure.savefig(FOLDER / f"{name}.svg", metadata={"Date": None})
        pyplot.close(figure)
    return f"![{title}](pictures/{name}.svg)"
