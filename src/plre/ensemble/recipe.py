"""What to build: methods and presets, as data.

A recipe says for each order which counts and discounts are used and which low rank rungs stand between this order and
the next lower one. Kneser-Ney and its relatives are recipes without rungs.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal

from plre.errors import UsageError
from plre.lowrank.blocks import Rank
from plre.lowrank.factorise import Stopping
from plre.smoothing.discounts import DiscountKind

Form = Literal["interpolated", "backoff"]
Fit = Literal["dev", "leave-one-out"]

#: When EM stops: the authors' settings for the bigram matrix and for the slices of higher orders.
_BIGRAM_STOPPING = Stopping(steps=100, tolerance=1e-5)
_SLICE_STOPPING = Stopping(steps=40, tolerance=1e-5)


@dataclass(frozen=True)
class Rung:
    """One low rank layer: counts raised to ``power`` (between 0 and 1), approximated at ``rank``."""

    power: float
    rank: Rank

    def __post_init__(self) -> None:
        if not 0 < self.power < 1:
            raise UsageError(f"a rung's power must lie between 0 and 1, not be {self.power:g}")
        if self.rank.fixed < 0 or not 0 <= self.rank.fraction < 1 or not (self.rank.fixed or self.rank.fraction):
            raise UsageError("a rung's rank must be a whole number from 1 up, or a fraction between 0 and 1")


@dataclass(frozen=True)
class Recipe:
    """Everything that decides what model comes out of given counts."""

    order: int = 3
    method: str = "plre"
    preset: str | None = None
    discount: DiscountKind = "kn"
    #: The order below is mixed into every word's probability, or takes the place of those not seen.
    form: Form = "interpolated"
    #: Discounts are fitted to held-out text; "leave-one-out": without any, to the training text. If None, they come
    #: from the counts of counts.
    fit: Fit | None = None
    #: Lower orders count distinct predecessors (Kneser-Ney) rather than occurrences (absolute discounting).
    continuation: bool = True
    #: Unigrams are interpolated with the uniform distribution, so that every word has some probability.
    uniform: bool = True
    #: For each order that has any, its rungs from high power to low.
    rungs: dict[int, tuple[Rung, ...]] = field(default_factory=dict)
    #: Fractions to choose from on held-out text, for the orders of ``rungs`` named here.
    grids: dict[int, tuple[float, ...]] = field(default_factory=dict)
    #: EM on the bigram matrix, and on the slices of higher orders.
    bigram_stopping: Stopping = _BIGRAM_STOPPING
    slice_stopping: Stopping = _SLICE_STOPPING
    #: N-grams are of so many classes of words; 0: of words.
    classes: int = 0
    seed: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.order, int) or not 1 <= self.order <= 64:
            raise UsageError(f"the order must be a whole number between 1 and 64, not {self.order}")
        if not isinstance(self.seed, int) or self.seed < 0:
            raise UsageError(f"the seed must be a whole number from 0 up, not {self.seed}")
        if not isinstance(self.classes, int) or self.classes < 0:
            raise UsageError(f"the number of classes must be a whole number from 1 up, not {self.classes}")
        if self.fit and not self.uniform:
            raise UsageError(f"method {self.method} needs uniform=True: words not seen would be impossible")
        for order, rungs in self.rungs.items():
            if not 2 <= order <= self.order:
                raise UsageError(f"a rung for order {order} needs a model of order {max(order, 2)} or more")
            powers = [rung.power for rung in rungs]
            if powers != sorted(set(powers), reverse=True):
                raise UsageError(f"the powers of order {order}'s rungs must all differ")
            if self.form == "backoff":
                raise UsageError("low rank layers belong to the interpolated form")

    def stopping(self, order: int) -> Stopping:
        """When EM stops at this order."""
        return self.bigram_stopping if order == 2 else self.slice_stopping

    def with_fractions(self, chosen: dict[int, float]) -> Recipe:
        """The recipe with these orders' ranks set to these fractions."""
        rungs = dict(self.rungs)
        for order, fraction in chosen.items():
            rungs[order] = tuple(replace(rung, rank=Rank(fraction=fraction)) for rung in rungs[order])
        return replace(self, rungs=rungs)

    def describe(self) -> dict[str, Any]:
        """What a model file says about how it was made."""
        return {
            "method": self.method,
            "preset": self.preset,
            "rungs": {
                str(order): [[rung.power, str(rung.rank)] for rung in rungs]
                for order, rungs in sorted(self.rungs.items())
            },
            "uniform": self.uniform,
            "seed": self.seed,
        }


#: Methods that are not ensembles.
BASELINES: dict[str, dict[str, Any]] = {
    "abs": {"discount": "kn", "continuation": False},
    "kn": {"discount": "kn"},
    "mkn": {"discount": "mkn"},
    "bo-kn": {"discount": "kn", "form": "backoff"},
    "bo-mkn": {"discount": "mkn", "form": "backoff"},
    "mkn-dev": {"discount": "mkn", "fit": "dev"},
    "jm": {"discount": "jm", "continuation": False, "fit": "leave-one-out"},
    "class": {"discount": "mkn", "classes": 500},
}

#: The paper's grid of rank fractions, of a matrix's smaller side: for the bigram that is the vocabulary.
PAPER_GRID = (5e-4, 1e-3, 5e-3)

#: Ensembles. "paper": one low rank bigram and one low rank trigram at power 1/2 and plain Kneser-Ney discounts, so that
#: D* is the square root of D; nothing between the orders above 3. The ranks given here are for training without
#: held-out text: what most corpora in `docs/benchmarks.md` choose on theirs, limited so that a vocabulary of a million
#: words still fits.
PRESETS: dict[str, dict[str, Any]] = {
    "paper": {
        "discount": "kn",
        "rungs": {2: (Rung(0.5, Rank(fraction=5e-4, limit=100)),), 3: (Rung(0.5, Rank(fraction=1e-3, limit=100)),)},
        "grids": {2: PAPER_GRID, 3: PAPER_GRID},
    },
}

DEFAULT_PRESET = "paper"


def make_recipe(
    order: int,
    method: str,
    preset: str | None,
    rungs: dict[int, tuple[Rung, ...]] | None,
    seed: int,
    uniform: bool = True,
    classes: int | None = None,
) -> Recipe:
    """The recipe that the options ask for; ``rungs`` replaces the preset's, if given."""
    if classes is not None and method != "class":
        raise UsageError("a number of classes belongs to method class")
    if classes == 0:
        raise UsageError("the number of classes must be a whole number from 1 up, not 0")
    if method in BASELINES:
        if preset or rungs:
            raise UsageError(f"method {method} has no presets or rungs; they belong to method plre")
        data = {**BASELINES[method], **({"classes": classes} if classes else {})}
        return Recipe(order, method, **data, seed=seed, uniform=uniform)
    if method != "plre":
        raise UsageError(f"there is no method {method!r}; choose one of plre, {', '.join(BASELINES)}")
    if rungs is not None:
        if preset:
            raise UsageError("give a preset or rungs, not both")
        return Recipe(order, method, None, rungs=rungs, seed=seed, uniform=uniform)
    preset = preset or DEFAULT_PRESET
    if preset not in PRESETS:
        raise UsageError(f"there is no preset {preset!r}; choose one of {', '.join(PRESETS)}")
    data = dict(PRESETS[preset])
    for key in ("rungs", "grids"):
        data[key] = {n: value for n, value in data[key].items() if n <= order}
    return Recipe(order, method, preset, **data, seed=seed, uniform=uniform)


def parse_rungs(specs: list[str] | tuple[str, ...]) -> dict[int, tuple[Rung, ...]]:
    """Rungs as written on the command line.

    >>> parse_rungs(["2:0.5:20", "3:0.5:0.001"])[3] == (Rung(0.5, Rank(fraction=0.001)),)
    True
    """
    found: dict[int, list[Rung]] = {}
    for spec in specs:
        try:
            order, power, rank = spec.split(":")
            amount = float(rank)
            rule = Rank(fraction=amount) if 0 < amount < 1 else Rank(fixed=int(rank))
            found.setdefault(int(order), []).append(Rung(float(power), rule))
        except ValueError as error:
            if isinstance(error, UsageError):
                raise
            raise UsageError(
                f"a rung is ORDER:POWER:RANK, for example 2:0.5:20 or 3:0.5:0.001 (a fraction), not {spec!r}"
            ) from None
    return {order: tuple(sorted(rungs, key=lambda rung: -rung.power)) for order, rungs in sorted(found.items())}
