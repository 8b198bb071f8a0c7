"""The charts of a search: perplexity against time, size, ranks, powers and classes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from plre.reporting import numbers
from plre.reporting.chart import Chart, Line, Point, even_ticks
from plre.tuning.journal import Trial, best_of

#: Colours and markers: the best, all trials, and a second kind of trials.
_BEST, _ALL, _OTHER = 0, 2, 3
#: Stands for every order above 2.
_SLICES = 0
#: What is so much worse than the best would only press the others together.
_NEAR = 1.05


def trial_charts(trials: Sequence[Trial]) -> list[Chart]:
    """The charts for which there is something to show."""
    made = [
        _time_chart(trials),
        _against("the size of the model", "MB", trials, trials=_megabytes),
        _against("the ranks of the low rank bigram, added up", "sum of ranks", trials, trials=_rank),
        _against(
            "the highest power of low rank layers",
            "power",
            trials,
            **{"bigrams": partial(_power, order=2), "orders 3 and up": partial(_power, order=_SLICES)},
        ),
        _against("the number of classes, of all clusterings", "classes", trials, trials=_classes),
    ]
    return [chart for chart in made if chart is not None]


def _time_chart(trials: Sequence[Trial]) -> Chart | None:
    """Each trial where it ended, and the best so far."""
    spent = 0.0
    points: list[Point] = []
    best: list[Point] = []
    for trial in trials:
        spent += trial.seconds
        if trial.perplexity is not None:
            points.append((spent, trial.perplexity))
            best.append((spent, min(trial.perplexity, best[-1][1]) if best else trial.perplexity))
    if len(points) < 2:
        return None
    lines = [Line("trials", tuple(points), _ALL, joined=False), Line("best so far", tuple(best), _BEST, strong=True)]
    return _chart("time", "seconds since the search began", lines)


def _against(what: str, unit: str, tried: Sequence[Trial], **values: Callable[[Trial], float | None]) -> Chart | None:
    """Trials as points; the best one is marked. Nothing if all have the same value."""
    best = best_of(tried)
    if best is None or best.perplexity is None:
        return None
    done = [trial for trial in tried if trial.perplexity is not None]
    near = [trial for trial in done if (trial.perplexity or 0.0) <= _NEAR * best.perplexity]
    lines = []
    for style, (name, value) in enumerate(values.items(), _ALL):
        found = [(x, trial.perplexity or 0.0) for trial in near if (x := value(trial)) is not None]
        if found:
            lines.append(Line(name, tuple(found), style, joined=False))
            if (x := value(best)) is not None:
                named = "best" if len(values) == 1 else f"best, {name}"
                lines.append(Line(named, ((x, best.perplexity),), _BEST, strong=True))
    if all(len({x for x, _ in line.points}) < 2 for line in lines):
        return None
    left_out = len(done) - len(near)
    return _chart(what, f"{unit} ({left_out} far worse not shown)" if left_out else unit, lines)


def _chart(what: str, unit: str, lines: list[Line]) -> Chart:
    places = [x for line in lines for x, _ in line.points]
    ticks = even_ticks(min(places), max(places))
    return Chart(f"Perplexity against {what}", unit, "dev perplexity", lines, ticks, _tidy, numbers.perplexity)


def _tidy(x: float) -> str:
    return f"{float(f'{x:.4g}'):g}"


def _megabytes(trial: Trial) -> float | None:
    return None if trial.bytes is None else trial.bytes / 1e6


def _rank(trial: Trial) -> float:
    return float(sum(rung.rank.fixed for rung in trial.settings.ladders.get(2, ())))


def _power(trial: Trial, order: int) -> float | None:
    return max((rung.power for rung in trial.settings.ladders.get(order, ())), default=None)


def _classes(trial: Trial) -> float:
    return float(sum(trial.settings.classes))
