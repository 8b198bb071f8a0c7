"""Choosing ranks on held-out text: every combination is tried, every factorisation is made once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from typing import Any, cast

from plre.ensemble.build import Builder
from plre.ensemble.recipe import Recipe
from plre.progress import Progress
from plre.text.sources import Errors, Source, is_strings


@dataclass(frozen=True)
class Trial:
    """One combination and its perplexity on the held-out text."""

    fractions: dict[int, float]
    perplexity: float

    def describe(self) -> dict[str, Any]:
        """As a model file keeps it."""
        fractions = {str(order): fraction for order, fraction in self.fractions.items()}
        return {"fractions": fractions, "perplexity": self.perplexity}


def choose_fractions(
    builder: Builder, dev: Source, *, skip_markers: bool, errors: Errors, progress: Progress
) -> tuple[Recipe, list[Trial]]:
    """The recipe with the rank fractions that are best on ``dev``, and all that was tried."""
    recipe = builder.recipe
    grids = recipe.grids
    trials: list[Trial] = []
    if is_strings(dev):
        dev = cast(list[str], list(cast(Iterable[str], dev)))  # it is read more than once
    for combination in product(*grids.values()):
        fractions = dict(zip(grids, combination, strict=True))
        lm = builder.build(recipe=recipe.with_fractions(fractions))
        tally = lm.tally(dev, skip_markers=skip_markers, errors=errors, threads=builder.threads, progress=progress)
        trials.append(Trial(fractions, tally.perplexity()))
        shown = ", ".join(f"order {n} {fraction:g}" for n, fraction in fractions.items())
        progress.note(f"rank fractions {shown}: dev perplexity {trials[-1].perplexity:.2f}")
    best = min(trials, key=lambda trial: trial.perplexity)
    return recipe.with_fractions(best.fractions), trials
