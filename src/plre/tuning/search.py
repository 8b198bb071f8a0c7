"""The search: from the presets, one change of the best recipe so far at a time, whichever promises most for its time.

Trials share their expensive parts (counts, clusterings, factors, class n-grams), and what a trial has to make anew, and
so what it costs, is known before it begins. Search libraries take a trial for a black box that costs what it costs, and
bring databases or scikit-learn with them, so this is written by hand: docs/tuning.md says what was looked at. Nothing
here is random: the next trial follows from what was tried, what it gave, and what it took.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from plre.ensemble.ingredients import Ingredient, Pantry
from plre.ensemble.recipe import Recipe
from plre.ensemble.workshop import Fitted, WantedClasses
from plre.errors import TooLargeError
from plre.model.lm import LanguageModel
from plre.tuning.cost_model import gain_of, seconds_for
from plre.tuning.journal import Journal, Made, Trial
from plre.tuning.settings import Settings, quick_version
from plre.tuning.space import Limits, Proposal, neighbourhood

#: Where every search begins: what is quick, so that there soon is something, then what is known to be good.
FIRST_PRESETS = ("fast", "best")
#: Estimates are taken so much higher where the budget is at stake.
_MARGIN = 1.25
#: The quick version of a trial is tried first if that takes less than this share of the trial's time.
_QUICK_ENOUGH = 1 / 2
#: Where so many clusterings change at once, one of them is looked at first.
_SEVERAL = 3
#: The parts of so many of the best recipes are kept in memory, and those of the best one's quick version.
_KEPT = 2


class TrialWatcher:
    """Is called when trials begin and end, and does nothing; the command line has watchers that draw."""

    def began(self, number: int, proposal: Proposal, seconds: float) -> None:
        """A trial begins, which will take about so many seconds."""

    def ended(self, trial: Trial, best: Trial | None, left: float) -> None:
        """A trial is over; there are so many seconds left."""


class OutOfTimeError(Exception):
    """A trial that takes longer than was thought; never leaves this file."""


@dataclass
class Budget:
    """Seconds, and trials of this run if there is a limit; ``before`` is what earlier runs spent."""

    seconds: float
    clock: Callable[[], float]
    begun: float
    before: float = 0.0
    trials: int | None = None

    @property
    def left(self) -> float:
        """Seconds that are left."""
        return self.seconds - self.before - (self.clock() - self.begun)


class Search:
    """Tries recipes until the budget is spent or nothing is left to try."""

    def __init__(
        self, pantry: Pantry, journal: Journal, budget: Budget, limits: Limits, seed: int, watcher: TrialWatcher
    ) -> None:
        self.pantry = pantry
        self.workshop = pantry.workshop
        self.journal = journal
        self.budget = budget
        self.limits = limits
        self.seed = seed
        self.watcher = watcher
        #: What was made in the trial that runs.
        self._made: list[Made] = []
        #: Perplexities of quick versions.
        self._quick: dict[Settings, float] = {}
        self._fitted: tuple[Settings, Fitted] | None = None

    def run(self) -> str:
        """Search until something ends it, and return what that was."""
        begun = 0
        while self.budget.trials is None or begun < self.budget.trials:
            proposal, reason = self._choose()
            if proposal is None:
                return reason
            before = self.journal.best
            number = len(self.journal.trials) + 1
            self.watcher.began(number, proposal, self._estimate(self._recipe(proposal.settings)))
            trial = self._try(number, proposal, before)
            self.journal.add(trial)
            self._forget()
            begun += 1
            self.watcher.ended(trial, self.journal.best, self.budget.left)
        return f"{begun} trials"

    def finish(self, best: Trial, about: dict[str, Any]) -> LanguageModel:
        """Build the model of a trial; whatever of it is not in memory any more is made again."""
        recipe = self._recipe(best.settings)
        if self._fitted is None or self._fitted[0] != best.settings:
            self._fitted = best.settings, self._fit(recipe)
        return self.workshop.build(recipe, self._fitted[1], about)

    # --- choosing ----------------------------------------------------------------------------------------------------

    def _choose(self) -> tuple[Proposal | None, str]:
        """The proposal with the highest expected gain for its time among those that fit into the budget."""
        tried = {trial.settings for trial in self.journal.trials}
        left = self.budget.left
        for name in FIRST_PRESETS:
            settings = Settings.of_preset(name, self.limits.order, self.limits.words)
            if settings not in tried and (not tried or self._needs(self._recipe(settings)) <= left):
                return Proposal("preset", f"preset {name}", settings, trusted=True), ""
        best = self.journal.best
        if best is None:
            return None, "no recipe could be made"
        proposals = [each for each in neighbourhood(best.settings, self.limits) if each.settings not in tried]
        if not proposals:
            return None, "nothing is left to try"
        affordable = [each for each in proposals if self._needs(self._recipe(each.settings)) <= left]
        if not affordable:
            return None, "the budget is spent"
        return max(affordable, key=self._promise), ""

    def _promise(self, proposal: Proposal) -> float:
        """The gain that is expected of a proposal for each second of its trial."""
        gain = gain_of(proposal, self.journal.trials)
        return gain / max(self._estimate(self._recipe(proposal.settings)), 1e-9)

    def _needs(self, recipe: Recipe) -> float:
        """Seconds that there must be for a trial and, after it, to build the best model."""
        needed = dict.fromkeys(self.pantry.missing(recipe))
        if self.journal.best is not None:
            needed |= dict.fromkeys(self.pantry.missing(self._recipe(self.journal.best.settings)))
        work = [*_work(needed), ("fitting", self.pantry.fitting(recipe)), ("building", self.pantry.building(recipe))]
        return _MARGIN * seconds_for(work, self._all_made())

    def _estimate(self, recipe: Recipe) -> float:
        """Seconds that a trial will take."""
        work = [*_work(self.pantry.missing(recipe)), ("fitting", self.pantry.fitting(recipe))]
        return seconds_for(work, self._all_made())

    def _all_made(self) -> list[Made]:
        return [made for trial in self.journal.trials for made in trial.made] + self._made

    def _recipe(self, settings: Settings) -> Recipe:
        return settings.recipe(self.limits.order, self.seed)

    # --- trying ------------------------------------------------------------------------------------------------------

    def _try(self, number: int, proposal: Proposal, best: Trial | None) -> Trial:
        """Make one trial, from the early look to its perplexity. What goes wrong with it is its outcome."""
        start = self.budget.clock()
        self._made = []
        trial = Trial(number, proposal.kind, proposal.change, proposal.settings, "done", 0.0)
        recipe = self._recipe(proposal.settings)
        try:
            if best is not None and not proposal.trusted and (judged := self._judge(proposal.settings, best)):
                ours, theirs, how = judged
                trial = replace(trial, early=(ours, theirs))
                if ours > theirs:
                    trial = replace(trial, outcome="dropped", reason=f"{(ours / theirs - 1) * 100:.2f} % worse {how}")
            if trial.outcome == "done":
                fitted = self._fit(recipe, within_budget=best is not None)
                trial = replace(trial, perplexity=fitted.perplexity, bytes=self.workshop.size(recipe))
                if best is None or (fitted.perplexity or 0.0) < (best.perplexity or 0.0):
                    self._fitted = proposal.settings, fitted
        except TooLargeError as error:
            trial = replace(trial, outcome="failed", reason=str(error))
        except OutOfTimeError:
            trial = replace(trial, outcome="dropped", reason="took longer than there was time for")
        trial = replace(trial, seconds=self.budget.clock() - start, made=tuple(self._made))
        self._made = []
        return trial

    def _judge(self, settings: Settings, best: Trial) -> tuple[float, float, str] | None:
        """An early look at a recipe: a perplexity, that of the best one under the same conditions, and which these are;
        None where there is no way to look that is worth its time."""
        recipe, known = self._recipe(settings), self._recipe(best.settings)
        if (mixed := self._one_changed(recipe, known)) is not None:
            new = [part for wanted in mixed for part in self.pantry.missing_classes(recipe, wanted)]
            for each in dict.fromkeys([*self.pantry.missing(known), *new]):
                self._timed(each.kind, each.work, each.make)
            work = self.pantry.fitting(recipe)
            ours = self._timed("fitting", work, lambda: self.workshop.taste(known, mixed, self.pantry.dev))
            return ours, best.perplexity or 0.0, "with one clustering changed"
        if self._worth_a_quick_version(recipe, known):
            return self._try_quickly(settings), self._try_quickly(best.settings), "in a quick version"
        return None

    def _one_changed(self, recipe: Recipe, best: Recipe) -> list[WantedClasses] | None:
        """The clusterings of the best recipe with only one of them changed, the one with the most weight (if that is
        known; some may have next to none); None unless all clusterings change and nothing else does."""
        ours, theirs = self.workshop.clusterings(recipe), self.workshop.clusterings(best)
        contexts = recipe.members.contexts == best.members.contexts
        if not contexts or replace(recipe, members=best.members) != best or len(ours) != len(theirs):
            return None
        changed = [k for k, pair in enumerate(zip(ours, theirs, strict=True)) if pair[0] != pair[1]]
        if len(changed) < _SEVERAL:
            return None
        weights = self._fitted[1].weights.table[:, 1:].mean(axis=0) if self._fitted else [0.0] * len(ours)
        heaviest = max(changed, key=lambda k: float(weights[k]))
        return [ours[k] if k == heaviest else old for k, old in enumerate(theirs)]

    def _worth_a_quick_version(self, recipe: Recipe, best: Recipe) -> bool:
        """Whether a quick version shows what is new, is quick beside the trial, and leaves time for it.

        That of the best recipe so far may take longer, since it serves many trials.
        """
        short, known = quick_version(recipe), quick_version(best)
        if short == known:
            return False
        shared = dict.fromkeys(self.pantry.missing(known))
        own = [each for each in self.pantry.missing(short) if each not in shared]
        fitting = ("fitting", self.pantry.fitting(short))
        seconds = seconds_for([*_work(own), fitting], self._all_made())
        if seconds > _QUICK_ENOUGH * self._estimate(recipe):
            return False
        both = seconds_for([*_work([*own, *shared]), fitting, fitting], self._all_made())
        return _MARGIN * both + self._needs(recipe) <= self.budget.left

    def _try_quickly(self, settings: Settings) -> float:
        """The perplexity of the quick version of a recipe, found once."""
        if settings not in self._quick:
            self._quick[settings] = self._fit(quick_version(self._recipe(settings))).perplexity or 0.0
        return self._quick[settings]

    def _fit(self, recipe: Recipe, within_budget: bool = False) -> Fitted:
        """Make what is missing, part by part, and fit the weights; each is timed."""
        for each in self.pantry.missing(recipe):
            self._timed(each.kind, each.work, each.make)
            if within_budget and self.budget.left < 0:
                raise OutOfTimeError
        fitted: Fitted = self._timed(
            "fitting", self.pantry.fitting(recipe), lambda: self.workshop.fit(recipe, self.pantry.dev)
        )
        return fitted

    def _timed(self, kind: str, work: float, make: Callable[[], Any]) -> Any:
        start = self.budget.clock()
        made = make()
        self._made.append((kind, work, self.budget.clock() - start))
        return made

    def _forget(self) -> None:
        """Keep in memory only what good recipes need."""
        done = [trial for trial in self.journal.trials if trial.perplexity is not None]
        ranked = sorted(done, key=lambda trial: trial.perplexity or 0.0)[:_KEPT]
        recipes = [self._recipe(trial.settings) for trial in ranked]
        self.workshop.keep([*recipes, *map(quick_version, recipes[:1])])


def _work(ingredients: Iterable[Ingredient]) -> list[tuple[str, float]]:
    return [(each.kind, each.work) for each in ingredients]
