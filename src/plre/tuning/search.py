"""The search: from the presets, one change of the best recipe so far at a time, whichever promises most for its time.

Trials share their expensive parts (counts, clusterings, factors, class n-grams), and what a trial has to make anew, and
so what it costs, is known before it begins. Search libraries take a trial for a black box that costs what it costs, and
bring databases or scikit-learn with them, so this is written by hand: docs/tuning.md says what was looked at. Nothing
here is random: the next trial follows from what was tried, what it gave, and what it took.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from plre.ensemble.blueprint import Blueprint, Member
from plre.errors import NoRoomError, TooLargeError
from plre.model.lm import LanguageModel
from plre.store import Ingredient, Store
from plre.text.ingredients import ReadText, TextIds
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
        self,
        store: Store,
        text: ReadText,
        dev: TextIds,
        about: dict[str, Any],
        journal: Journal,
        budget: Budget,
        limits: Limits,
        seed: int,
        watcher: TrialWatcher,
    ) -> None:
        self.store = store
        store.watch = self._note_time
        self.text, self.dev, self.about = text, dev, about
        self.journal = journal
        self.budget = budget
        self.limits = limits
        self.words = store.known(text).vocab
        self.seed = seed
        self.watcher = watcher
        #: What was made in the trial that runs, and whether it has to end when the budget does.
        self._made: list[Made] = []
        self._hurried = False
        #: Perplexities of quick versions.
        self._quick: dict[Settings, float] = {}
        #: What this run has not enough memory for; another may.
        self._too_large: set[Settings] = set()

    def run(self) -> str:
        """Search until something ends it, and return what that was."""
        begun = 0
        while self.budget.trials is None or begun < self.budget.trials:
            proposal, reason = self._choose()
            if proposal is None:
                return reason
            before = self.journal.best
            number = len(self.journal.trials) + 1
            begun += 1
            try:
                self.watcher.began(number, proposal, self._estimate(self._blueprint(proposal.settings)))
                trial = self._try(number, proposal, before)
            except NoRoomError as error:
                self._made, self._hurried = [], False
                self._too_large.add(proposal.settings)
                self.store.how.progress.note(f"{proposal.change}: left out; {error}")
                continue
            self.journal.add(trial)
            self.store.keep(*self._lasting())
            self.watcher.ended(trial, self.journal.best, self.budget.left)
        return f"{begun} trials"

    def finish(self, best: Trial, tuned: dict[str, Any]) -> LanguageModel:
        """Build the model of a trial; whatever of it is not in memory any more is made again."""
        blueprint = self._blueprint(best.settings)
        self.store.watch = None
        self.store.get_all(blueprint.wanted(), keep=[])
        return blueprint.model(self.store.known, self.words, {**self.about, **tuned})

    # --- choosing ----------------------------------------------------------------------------------------------------

    def _choose(self) -> tuple[Proposal | None, str]:
        """The proposal with the highest expected gain for its time among those that fit into the budget."""
        tried = {trial.settings for trial in self.journal.trials} | self._too_large
        left = self.budget.left
        for name in FIRST_PRESETS:
            settings = Settings.of_preset(name, self.limits.order, self.limits.words)
            if settings not in tried and (not tried or self._needs(self._blueprint(settings)) <= left):
                return Proposal("preset", f"preset {name}", settings, trusted=True), ""
        best = self.journal.best
        if best is None:
            return None, "no recipe could be made"
        proposals = [each for each in neighbourhood(best.settings, self.limits) if each.settings not in tried]
        if not proposals:
            return None, "nothing is left to try"
        affordable = [each for each in proposals if self._needs(self._blueprint(each.settings)) <= left]
        if not affordable:
            return None, "the budget is spent"
        return max(affordable, key=self._promise), ""

    def _promise(self, proposal: Proposal) -> float:
        """The gain that is expected of a proposal for each second of its trial."""
        gain = gain_of(proposal, self.journal.trials)
        return gain / max(self._estimate(self._blueprint(proposal.settings)), 1e-9)

    def _needs(self, blueprint: Blueprint) -> float:
        """Seconds that there must be for a trial and, after it, to build the best model; none are enough if there is
        not memory enough."""
        best = self._blueprint(self.journal.best.settings).wanted() if self.journal.best is not None else []
        try:
            return _MARGIN * self._seconds(*blueprint.wanted(), *best)
        except NoRoomError:
            return math.inf

    def _estimate(self, blueprint: Blueprint) -> float:
        """Seconds that a trial will take: its weights, and a model of which the size is known."""
        return self._seconds(*blueprint.wanted())

    def _seconds(self, *wanted: Ingredient) -> float:
        """The seconds that it takes to make what is missing."""
        made = [made for trial in self.journal.trials for made in trial.made] + self._made
        return seconds_for([(each, each.work(self.store.get)) for each in self.store.missing(*wanted)], made)

    def _blueprint(self, settings: Settings, *, quick: bool = False) -> Blueprint:
        recipe = settings.recipe(self.limits.order, self.seed)
        return Blueprint(quick_version(recipe) if quick else recipe, self.text, self.limits.words, self.dev)

    # --- trying ------------------------------------------------------------------------------------------------------

    def _try(self, number: int, proposal: Proposal, best: Trial | None) -> Trial:
        """Make one trial, from the early look to its perplexity. What goes wrong with it is its outcome."""
        start = self.budget.clock()
        self._made = []
        trial = Trial(number, proposal.kind, proposal.change, proposal.settings, "done", 0.0)
        blueprint = self._blueprint(proposal.settings)
        try:
            if best is not None and not proposal.trusted and (judged := self._judge(proposal.settings, best)):
                ours, theirs, how = judged
                trial = replace(trial, early=(ours, theirs))
                if ours > theirs:
                    trial = replace(trial, outcome="dropped", reason=f"{(ours / theirs - 1) * 100:.2f} % worse {how}")
            if trial.outcome == "done":
                self._hurried = best is not None
                perplexity = self._fit(blueprint.weights, blueprint)
                self._hurried = False
                trial = replace(trial, perplexity=perplexity, bytes=self._size(blueprint))
        except TooLargeError as error:
            trial = replace(trial, outcome="failed", reason=str(error))
        except OutOfTimeError:
            trial = replace(trial, outcome="dropped", reason="took longer than there was time for")
        trial = replace(trial, seconds=self.budget.clock() - start, made=tuple(self._made))
        self._made, self._hurried = [], False
        return trial

    def _judge(self, settings: Settings, best: Trial) -> tuple[float, float, str] | None:
        """An early look at a recipe: a perplexity, that of the best one under the same conditions, and which these are;
        None where there is no way to look that is worth its time."""
        blueprint, known = self._blueprint(settings), self._blueprint(best.settings)
        if (mixed := self._one_changed(blueprint, known)) is not None:
            ours = self._fit(known.weights_beside(mixed), blueprint)
            return ours, best.perplexity or 0.0, "with one clustering changed"
        if self._worth_a_quick_version(settings, best.settings):
            return self._try_quickly(settings), self._try_quickly(best.settings), "in a quick version"
        return None

    def _one_changed(self, blueprint: Blueprint, best: Blueprint) -> list[Member] | None:
        """The members of the best recipe with the n-grams of only one clustering changed, the one with the most weight
        (if that is known; some may have next to none); None unless all clusterings change and nothing else does."""
        ours, theirs = blueprint.class_ngrams(), best.class_ngrams()
        contexts = blueprint.recipe.members.contexts == best.recipe.members.contexts
        alike = replace(blueprint.recipe, members=best.recipe.members) == best.recipe
        if not contexts or not alike or len(ours) != len(theirs):
            return None
        changed = [k for k, pair in enumerate(zip(ours, theirs, strict=True)) if pair[0] != pair[1]]
        if len(changed) < _SEVERAL:
            return None
        weights = [0.0] * len(ours)
        if best.weights in self.store:
            weights = self.store.known(best.weights).weights.table[:, 1:].mean(axis=0)
        heaviest = max(changed, key=lambda k: float(weights[k]))
        return [*(ours[k] if k == heaviest else old for k, old in enumerate(theirs)), *best.contexts]

    def _worth_a_quick_version(self, settings: Settings, best: Settings) -> bool:
        """Whether a quick version shows what is new, is quick beside the trial, and leaves time for it.

        That of the best recipe so far may take longer, since it serves many trials.
        """
        short, known = self._blueprint(settings, quick=True).weights, self._blueprint(best, quick=True).weights
        if short == known:
            return False
        blueprint = self._blueprint(settings)
        both = self._seconds(short, known)
        if both - self._seconds(known) > _QUICK_ENOUGH * self._estimate(blueprint):
            return False
        return _MARGIN * both + self._needs(blueprint) <= self.budget.left

    def _try_quickly(self, settings: Settings) -> float:
        """The perplexity of the quick version of a recipe, found once."""
        if settings not in self._quick:
            blueprint = self._blueprint(settings, quick=True)
            self._quick[settings] = self._fit(blueprint.weights, blueprint)
        return self._quick[settings]

    def _fit(self, weights: Ingredient, blueprint: Blueprint) -> float:
        """The perplexity of the held-out text with these weights; what lasts of a blueprint is kept."""
        fitted = self.store.get_all([weights], keep=[*self._lasting(), *blueprint.lasting])[0]
        return fitted.perplexity or 0.0

    def _size(self, blueprint: Blueprint) -> int:
        """The bytes of a model."""
        self.store.get_all(blueprint.wanted(), keep=[*self._lasting(), *blueprint.lasting])
        return blueprint.model(self.store.known, self.words, self.about).nbytes

    def _note_time(self, made: Ingredient, seconds: float) -> None:
        """Remember how long something took, and end a trial that takes too long."""
        if made.pace:
            self._made.append((made.kind, made.work(self.store.known), seconds))
        if self._hurried and self.budget.left < 0:
            raise OutOfTimeError

    def _lasting(self) -> list[Ingredient]:
        """What good recipes need is kept in memory."""
        done = [trial for trial in self.journal.trials if trial.perplexity is not None]
        ranked = sorted(done, key=lambda trial: trial.perplexity or 0.0)[:_KEPT]
        blueprints = [self._blueprint(trial.settings) for trial in ranked]
        blueprints += [self._blueprint(trial.settings, quick=True) for trial in ranked[:1]]
        return [self.text, self.dev, *(each for blueprint in blueprints for each in blueprint.lasting)]
