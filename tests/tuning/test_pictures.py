from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

from plre.reporting.chart import draw
from plre.tuning.journal import Trial
from plre.tuning.pictures import trial_charts
from plre.tuning.settings import Settings
from plre.tuning.space import Limits, Proposal, neighbourhood

START = replace(Settings.of_preset("best", 3, 30000), rungs=("2:0.5:20", "*:0.5:cbrt/2"))


def trial(number: int, perplexity: float | None, settings: Settings = START) -> Trial:
    outcome = "dropped" if perplexity is None else "done"
    return Trial(number, "kind", "change", settings, outcome, 10.0, perplexity, number * 10**6)


def changed(kind: str) -> Settings:
    found: Proposal = next(each for each in neighbourhood(START, Limits(3, 30000)) if each.kind == kind)
    return found.settings


def test_a_picture_for_everything_that_was_changed() -> None:
    kinds = ("bigram ranks", "bigram powers", "slice powers", "one more clustering")
    trials = [trial(1, 99.0), *(trial(k, 100.0 - k, changed(kind)) for k, kind in enumerate(kinds, 2))]
    charts = trial_charts([*trials, trial(9, None), trial(10, 300.0)])
    assert [chart.title.removeprefix("Perplexity against ") for chart in charts] == [
        "time",
        "the size of the model",
        "the ranks of the low rank bigram, added up",
        "the highest power of low rank layers",
        "the number of classes, of all clusterings",
    ]
    for chart in charts:
        ElementTree.fromstring(draw(chart))
        assert any(line.strong for line in chart.lines)
    shown = [y for chart in charts[1:] for line in chart.lines for _, y in line.points]
    assert max(shown) == 99.0
    assert "1 far worse not shown" in charts[1].x_title
    best = next(line for line in charts[4].lines if line.name == "best")
    assert best.points == ((float(sum(trials[-1].settings.classes)), 95.0),)
    so_far = next(line for line in charts[0].lines if line.strong)
    assert [y for _, y in so_far.points] == [99.0, 98.0, 97.0, 96.0, 95.0, 95.0]
    assert so_far.points[-1][0] == 70.0


def test_no_picture_of_nothing() -> None:
    assert trial_charts([]) == []
    assert trial_charts([trial(1, None)]) == []
    assert trial_charts([trial(1, 10.0)]) == []
