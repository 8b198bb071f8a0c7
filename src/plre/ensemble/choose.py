"""Choosing ranks on held-out text: every combination is tried, every factorisation is made once."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from plre.ensemble.build import Builder
from plre.ensemble.recipe import Recipe
from plre.errors import TooLargeError
from plre.model.scoring import score_ids, tally_scored
from plre.progress import Progress
from plre.text.encode import EncodedText


@dataclass(frozen=True)
class RankTrial:
    """One combination and its perplexity on the held-out text."""

    fractions: dict[int, float]
    perplexity: float

    def describe(self) -> dict[str, Any]:
        """As a model file keeps it."""
        fractions = {str(order): fraction for order, fraction in self.fractions.items()}
        return {"fractions": fractions, "perplexity": self.perplexity}


def choose_fractions(builder: Builder, dev: EncodedText, progress: Progress) -> tuple[Recipe, list[RankTrial]]:
    """The recipe with the rank fractions that are best on ``dev``, and all that was tried.

    Ranks too high for this vocabulary are left out with a note; if all are, the recipe stays as it is.
    """
    recipe = builder.recipe
    trials: list[RankTrial] = []
    for combination in product(*recipe.grids.values()):
        fractions = dict(zip(recipe.grids, combination, strict=True))
        shown = ", ".join(f"order {n} {fraction:g}" for n, fraction in fractions.items())
        try:
            lm = builder.build(recipe=recipe.with_fractions(fractions))
        except TooLargeError as error:
            progress.note(f"rank fractions {shown}: left out; {error}")
            continue
        trials.append(RankTrial(fractions, tally_scored(lm, score_ids(lm, np.asarray(dev.ids[:]))).perplexity()))
        progress.note(f"rank fractions {shown}: dev perplexity {trials[-1].perplexity:.2f}")
    if not trials:
        return recipe, trials
    best = min(trials, key=lambda trial: trial.perplexity)
    return recipe.with_fractions(best.fractions), trials
