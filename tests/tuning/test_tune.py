from __future__ import annotations

import json
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import plre
from plre.ensemble.ingredients import FittedWeights, FoundFactors, HybridContexts, SliceSizes, WordNgrams
from plre.errors import NoRoomError, TooLargeError, UsageError
from plre.store import Get, Ingredient, LocalEngine, Resources
from plre.text.encode import encode_text
from plre.tuning import search as searching
from plre.tuning.journal import Trial
from plre.tuning.search import TrialWatcher
from plre.tuning.settings import Settings
from plre.tuning.space import Proposal
from plre.tuning.tune import parse_budget
from tests.component_models import bytes_of, planned
from tests.conftest import zipf_text


class Clock:
    """A little time passes with every look at it; more at the looks that are named."""

    def __init__(self, jumps: dict[int, float] | None = None, tick: float = 0.01) -> None:
        self.looks = 0
        self.now = 0.0
        self.jumps = jumps or {}
        self.tick = tick

    def __call__(self) -> float:
        self.looks += 1
        self.now += self.jumps.get(self.looks, self.tick)
        return self.now


class Spy(TrialWatcher):
    """Remembers; interrupts before a trial if asked."""

    def __init__(self, stop_before: int = 0) -> None:
        self.proposals: list[Proposal] = []
        self.estimates: list[float] = []
        self.trials: list[Trial] = []
        self.left: list[float] = []
        self.stop_before = stop_before

    def began(self, number: int, proposal: Proposal, seconds: float) -> None:
        if number == self.stop_before:
            raise KeyboardInterrupt
        self.proposals.append(proposal)
        self.estimates.append(seconds)

    def ended(self, trial: Trial, best: Trial | None, left: float) -> None:
        self.trials.append(trial)
        self.left.append(left)
        assert best is None or best.perplexity is not None


class Interrupting(LocalEngine):
    """Is interrupted when it makes something of a kind for the first time, or for another one."""

    def __init__(self, kind: type, times: tuple[int, ...]) -> None:
        self.kind, self.times, self.made = kind, times, 0

    def make(self, ingredient: Ingredient, get: Get, how: Resources) -> Any:
        self.made += isinstance(ingredient, self.kind)
        if isinstance(ingredient, self.kind) and self.made in self.times:
            raise KeyboardInterrupt
        return super().make(ingredient, get, how)


@pytest.fixture(scope="module")
def texts() -> tuple[list[str], list[str]]:
    return zipf_text(600), zipf_text(60, seed=7)


def tune(texts: tuple[list[str], list[str]], **options: Any) -> plre.TuneResult:
    text, dev = texts
    return plre.tune(text, dev=dev, **{"budget": 1000, "clock": Clock(), "threads": 1} | options)


def train(texts: tuple[list[str], list[str]], settings: Settings) -> plre.LanguageModel:
    options = settings.describe() | {"rungs": settings.by_order(3), "preset": "best"}
    return plre.train(texts[0], dev=texts[1], **options)


def test_every_trial_is_the_model_that_its_settings_train(texts: tuple[list[str], list[str]]) -> None:
    result = tune(texts, trials=7)
    assert len({trial.kind for trial in result.trials}) > 2
    for trial in result.trials:
        assert trial.outcome == "done"
        lm = train(texts, trial.settings)
        assert lm.perplexity(texts[1]) == pytest.approx(trial.perplexity, rel=1e-3)
        assert lm.nbytes == trial.bytes
        if trial == result.best:
            assert bytes_of(lm) == bytes_of(result.model)
    assert result.perplexity == min(trial.perplexity or 0 for trial in result.trials)
    assert result.model.perplexity(texts[1]) == pytest.approx(result.perplexity, rel=1e-3)
    about = result.model.metadata["tuned"]
    assert about["settings"] == result.best.settings.describe()
    assert about["trial"] == result.best.number
    assert about["trials"] == 7
    assert result.model.metadata["classes"] == list(result.best.settings.classes)


def test_the_same_journal_for_the_same_seed(texts: tuple[list[str], list[str]], tmp_path: Path) -> None:
    for name, threads in (("a", 1), ("b", 2)):
        tune(texts, trials=5, journal=tmp_path / name, threads=threads)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_nothing_is_tried_twice_and_nothing_is_lost(texts: tuple[list[str], list[str]], tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    first = tune(texts, journal=journal, watcher=Spy(stop_before=4))
    assert first.interrupted
    assert [trial.number for trial in first.trials] == [1, 2, 3]
    assert first.model.perplexity(texts[1]) == pytest.approx(first.perplexity, rel=1e-3)
    spy = Spy()
    second = tune(texts, journal=journal, watcher=spy, trials=3)
    assert second.trials[:3] == first.trials
    assert [trial.number for trial in spy.trials] == [4, 5, 6]
    assert len({trial.settings for trial in second.trials}) == 6
    assert second.perplexity <= first.perplexity


def test_an_interruption_within_a_trial(texts: tuple[list[str], list[str]], tmp_path: Path) -> None:
    engine = Interrupting(FittedWeights, (1, 4))
    with pytest.raises(KeyboardInterrupt):  # there is nothing yet that a model could be made of
        tune(texts, journal=tmp_path / "journal", engine=engine)
    result = tune(texts, journal=tmp_path / "journal", engine=engine)
    assert result.interrupted
    assert len(result.trials) == 2
    assert result.model.perplexity(texts[1]) == pytest.approx(result.perplexity, rel=1e-3)


def test_the_budget_is_kept(texts: tuple[list[str], list[str]]) -> None:
    clock = Clock(tick=1e-6)

    class Slow(LocalEngine):
        """Work takes twice as long as a newcomer thinks."""

        def make(self, ingredient: Ingredient, get: Get, how: Resources) -> Any:
            made = super().make(ingredient, get, how)
            clock.now += 2 * ingredient.pace * ingredient.work(get) if ingredient.pace else 0
            return made

    spy = Spy()
    result = tune(texts, budget=2.0, watcher=spy, clock=clock, engine=Slow())
    assert result.ended == "the budget is spent"
    assert len(result.trials) > 4
    assert spy.left[-1] > 0
    for left, estimate in zip(spy.left, spy.estimates[1:], strict=False):
        assert estimate < left


def test_what_earlier_runs_took_counts(texts: tuple[list[str], list[str]], tmp_path: Path) -> None:
    first = tune(texts, journal=tmp_path / "journal", budget=1.0)
    spent = sum(trial.seconds for trial in first.trials)
    again = tune(texts, journal=tmp_path / "journal", budget=spent, output=tmp_path / "none")
    assert again.trials == first.trials
    assert again.model.digest == first.model.digest
    more = tune(texts, journal=tmp_path / "journal", budget=20.0, trials=1)
    assert len(more.trials) > len(first.trials)


def test_a_model_that_is_there_is_not_built_again(texts: tuple[list[str], list[str]], tmp_path: Path) -> None:
    options = {"journal": tmp_path / "journal", "output": tmp_path / "m.plre"}
    first = tune(texts, **options, trials=2)
    first.model.save(tmp_path / "m.plre")
    again = tune(texts, **options, trials=0, engine=Interrupting(WordNgrams, (1,)))
    assert again.model.metadata == first.model.metadata


def test_the_first_trial_is_made_in_any_case(texts: tuple[list[str], list[str]]) -> None:
    assert len(tune(texts, budget=1e-6).trials) == 1


def test_a_trial_that_takes_too_long_is_dropped(texts: tuple[list[str], list[str]]) -> None:
    looks = {}
    probe = Clock()

    class Looking(Spy):
        def ended(self, trial: Trial, best: Trial | None, left: float) -> None:
            looks[trial.number] = probe.looks

    tune(texts, trials=1, clock=probe, watcher=Looking())
    result = tune(texts, clock=Clock({looks[1] + 6: 1e4}))
    assert [trial.outcome for trial in result.trials] == ["done", "dropped"]
    assert "longer" in result.trials[1].reason
    assert result.best.number == 1


def test_what_is_worse_in_a_quick_version_is_dropped(
    texts: tuple[list[str], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searching, "_QUICK_ENOUGH", 1e9)
    spy = Spy()
    result = tune(texts, trials=12, watcher=spy)
    looked_at = [trial for trial in result.trials if trial.early]
    assert looked_at
    for trial in looked_at:
        assert trial.early is not None
        worse = trial.early[0] > trial.early[1]
        assert trial.outcome == ("dropped" if worse else "done")
        assert (trial.perplexity is None) == worse
        assert ("worse" in trial.reason) == worse


def test_one_clustering_is_changed_before_all_are(texts: tuple[list[str], list[str]]) -> None:
    result = tune(texts, trials=45)
    everywhere = {"class order", "class cut-off", "class sweeps"}
    looked_at = [trial for trial in result.trials if trial.kind in everywhere]
    assert looked_at
    for trial in looked_at:
        lowest = min(each.perplexity or 1e9 for each in result.trials[: trial.number - 1])
        assert trial.early is not None
        assert trial.early[1] == lowest
        if trial.outcome == "dropped":
            assert sum(kind == "class n-grams" for kind, _, _ in trial.made) <= 1


def test_a_recipe_with_its_own_clusterings_changed_to_themselves_is_the_recipe(
    texts: tuple[list[str], list[str]],
) -> None:
    encoded, dev = encode_text(texts[0]), encode_text(texts[1], vocab=encode_text(texts[0]).vocab)
    recipe = Settings.of_preset("best", 3, len(encoded.vocab)).recipe(3, 0)
    store, plan = planned(encoded, recipe, dev)
    fitted = store.get(plan.weights)
    own = plan.members()
    assert plan.weights_beside(own) == plan.weights
    shorter = replace(plan, recipe=replace(recipe, members=replace(recipe.members, order=3)))
    other = [shorter.members()[0], *own[1:]]
    assert abs(store.get(plan.weights_beside(other)).perplexity - fitted.perplexity) > 1e-5
    store.keep(*plan.lasting, plan.fitted_to)
    assert own[0] in store
    assert other[0] not in store
    store.keep(plan.text, plan.fitted_to)
    assert own[0] not in store
    assert store.get(plan.weights).perplexity == fitted.perplexity


def test_what_cannot_be_made_does_not_stop_the_search(texts: tuple[list[str], list[str]]) -> None:
    class Refusing(LocalEngine):
        def make(self, ingredient: Ingredient, get: Get, how: Resources) -> Any:
            if isinstance(ingredient, FoundFactors):
                raise TooLargeError("too large")
            return super().make(ingredient, get, how)

    result = tune(texts, trials=4, engine=Refusing())
    assert result.trials[1].outcome == "failed"
    assert result.trials[1].reason == "too large"
    assert result.best.outcome == "done"


def test_what_memory_cannot_hold_is_left_out(texts: tuple[list[str], list[str]]) -> None:
    """Whether that is noticed when costs are estimated or within a trial."""

    class Small(LocalEngine):
        def __init__(self, kind: type) -> None:
            self.kind = kind

        def make(self, ingredient: Ingredient, get: Get, how: Resources) -> Any:
            if isinstance(ingredient, self.kind):
                raise NoRoomError("more than there is")
            return super().make(ingredient, get, how)

    for kind in (SliceSizes, HybridContexts):
        result = tune(texts, trials=3, engine=Small(kind))
        assert result.best.change == "preset fast" or result.best.perplexity is not None
        assert all(not trial.settings.describe()["contexts"] for trial in result.trials if kind is HybridContexts)


def test_the_table_in_all_its_forms(texts: tuple[list[str], list[str]], tmp_path: Path) -> None:
    result = tune(texts, trials=6)
    shown = str(result)
    assert len(shown.splitlines()) == 7
    assert f"{result.perplexity:.2f}" in shown
    said = json.loads(result.as_json())
    assert len(said["trials"]) == 6
    assert said["settings"] == result.best.settings.describe()
    assert result.as_markdown().count("\n|") == 7
    assert len(result.table(steps=True).rows) <= 6
    page = result.page()
    HTMLParser().feed(page)
    drawn = [part.split("</svg>")[0] for part in page.split("<svg")[1:]]
    assert drawn
    for each in drawn:
        ElementTree.fromstring(f"<svg{each}</svg>")
    assert result.command in page.replace("&#x27;", "'")
    result.save_page(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text() == page


@pytest.mark.filterwarnings("ignore::plre.PlreWarning")  # so little text has no discounts of order 4
@pytest.mark.parametrize("order", [1, 2, 4])
def test_other_orders(texts: tuple[list[str], list[str]], order: int) -> None:
    result = tune(texts, order=order, trials=4, min_count=1)
    assert result.best.perplexity is not None
    assert result.model.perplexity(texts[1]) == pytest.approx(result.perplexity, rel=1e-3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"budget": "soon"}, "a budget is a time"),
        ({"budget": 0}, "a budget is a time"),
        ({"trials": -1}, "number of trials"),
        ({"threads": 0}, "threads"),
        ({"order": 0}, "order"),
        ({"min_count": 0}, "min_count"),
        ({"memory": "1k"}, "memory"),
    ],
)
def test_bad_options(texts: tuple[list[str], list[str]], options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        tune(texts, **options)


def test_dev_text_without_words(texts: tuple[list[str], list[str]]) -> None:
    with pytest.raises(plre.TextError, match="no words"):
        plre.tune(texts[0], dev=[])


@pytest.mark.parametrize(("text", "seconds"), [("10m", 600), ("1h 30m", 5400), ("2.5s", 2.5), (7, 7), ("90", 90)])
def test_budgets(text: str | float, seconds: float) -> None:
    assert parse_budget(text) == seconds


@pytest.mark.parametrize("text", ["", "m", "10x", "1h30", "-5m", "nan", "inf"])
def test_bad_budgets(text: str) -> None:
    with pytest.raises(UsageError, match="a budget is a time"):
        parse_budget(text)
