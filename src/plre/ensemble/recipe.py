"""What to build: methods and presets, as data.

A recipe says for each order which counts and discounts are used and which low rank rungs stand between this order and
the next lower one. Kneser-Ney and its relatives are recipes without rungs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from plre.errors import UsageError
from plre.lowrank.blocks import ROOTS, Rank
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
        rank = self.rank
        if rank.fixed < 0 or not 0 <= rank.fraction < 1 or not (rank.fixed or rank.fraction or rank.root):
            raise UsageError("a rung's rank must be a whole number from 1 up, or a fraction between 0 and 1, or a root")
        if rank.root and (rank.root not in ROOTS or not 0 < rank.divisor < math.inf):
            raise UsageError(
                "a rung's rank can grow with the square root or the cube root, divided by a number above 0"
            )


@dataclass(frozen=True)
class Members:
    """Low rank in every mode (method.md 10): class n-grams, mixed into the back-off of every order and at the top."""

    #: How many classes each clustering has; each begins from another random start. None has more than a tenth as many
    #: classes as there are words.
    classes: tuple[int, ...] = ()
    #: The length of class n-grams; 0: two more than that of words, and at least 5.
    order: int = 0
    #: From order 3 on, class n-grams that occur fewer times than this are left out.
    least: int = 2
    #: How often the exchange algorithm offers every word a move.
    sweeps: int = 12
    #: Chains of contexts that mix words and classes (``counts/tree.py``), from coarse to fine: which clustering (from 1
    #: up; 0 is the word itself), and how many words back.
    contexts: tuple[tuple[tuple[int, int], ...], ...] = ()

    def __post_init__(self) -> None:
        if any(not isinstance(size, int) or size < 1 for size in self.classes):
            raise UsageError("the numbers of classes must be whole numbers from 1 up")
        if self.order < 0 or self.least < 1 or self.sweeps < 1:
            raise UsageError("order, cut-off and sweeps of classes must be whole numbers from 1 up")
        for chain in self.contexts:
            if not chain or any(not 0 <= which <= len(self.classes) or distance < 1 for which, distance in chain):
                raise UsageError(
                    "a chain of contexts has for each step which clustering, from 1 up to how many there are (or the "
                    "word, w), and how many words back, for example 2:1,w:1,2:2,1:3"
                )

    def describe(self, order: int) -> dict[str, Any]:
        """What a model file says about it, beside words of this order."""
        return {
            "order": self.class_order(order),
            "least": self.least,
            "sweeps": self.sweeps,
            "contexts": [show_chain(chain) for chain in self.contexts],
        }

    def sizes(self, words: int) -> tuple[int, ...]:
        """The numbers of classes for a vocabulary of so many words."""
        return tuple(min(size, max(2, words // 10)) for size in self.classes)

    def class_order(self, order: int) -> int:
        """The length of class n-grams beside word n-grams of this order."""
        return self.order or max(5, order + 2)


@dataclass(frozen=True)
class Smoothing:
    """How counts become probabilities: by which discounts of each order, in which form, from which counts."""

    discounts: tuple[DiscountKind, ...]
    form: Form = "interpolated"
    continuation: bool = True
    uniform: bool = True


@dataclass(frozen=True)
class LowRank:
    """The low rank layers of one order, and how they are factorised."""

    order: int
    rungs: tuple[Rung, ...]
    stopping: Stopping
    starts: int
    seed: int

    @property
    def powers(self) -> list[float]:
        """The power of each rung, from high to low."""
        return [rung.power for rung in self.rungs]


@dataclass(frozen=True)
class Recipe:
    """Everything that decides what model comes out of given counts."""

    order: int = 3
    method: str = "plre"
    preset: str | None = None
    discount: DiscountKind = "kn"
    #: Those of the lowest orders, if they have others.
    lowest: tuple[DiscountKind, ...] = ()
    #: The order below is mixed into every word's probability, or takes the place of those not seen.
    form: Form = "interpolated"
    #: Discounts, of classes too, are fitted to held-out text; "leave-one-out": without any, to the training text. If
    #: None, they come from the counts of counts.
    fit: Fit | None = None
    #: Lower orders count distinct predecessors (Kneser-Ney) rather than occurrences (absolute discounting).
    continuation: bool = True
    #: Unigrams are interpolated with the uniform distribution, so that every word has some probability.
    uniform: bool = True
    #: For each order that has any, its rungs from high power to low.
    rungs: dict[int, tuple[Rung, ...]] = field(default_factory=dict)
    #: Factorisations from so many random starts are averaged.
    starts: int = 1
    members: Members = field(default_factory=Members)
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
        if not isinstance(self.starts, int) or not 1 <= self.starts <= 64:
            raise UsageError(f"factorisations can be averaged over 1 to 64 random starts, not {self.starts}")
        if self.leads and not self.uniform:
            raise UsageError("uniform=False is for methods without classes, for example preset paper")
        if self.leads and (self.form == "backoff" or self.discount == "jm"):
            raise UsageError(f"classes are mixed into the back-off of plre, not of method {self.method}")
        for order, rungs in self.rungs.items():
            if not 2 <= order <= self.order:
                raise UsageError(f"a rung for order {order} needs a model of order {max(order, 2)} or more")
            powers = [rung.power for rung in rungs]
            if powers != sorted(set(powers), reverse=True):
                raise UsageError(f"the powers of order {order}'s rungs must all differ")
            if self.form == "backoff":
                raise UsageError("low rank layers belong to the interpolated form")

    @property
    def leads(self) -> bool:
        """Whether the model of words leads others, with weights fitted to held-out text."""
        return bool(self.members.classes or self.members.contexts)

    @property
    def smoothing(self) -> Smoothing:
        """How counts become probabilities."""
        kinds = (*self.lowest, *[self.discount] * self.order)[: self.order]
        return Smoothing(kinds, self.form, self.continuation, self.uniform)

    @property
    def low_rank(self) -> tuple[LowRank, ...]:
        """The low rank layers of each order that has any."""
        stopping = {2: self.bigram_stopping}
        return tuple(
            LowRank(n, rungs, stopping.get(n, self.slice_stopping), self.starts, self.seed)
            for n, rungs in self.rungs.items()
            if rungs
        )

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
            **({"starts": self.starts} if self.starts > 1 else {}),
            **({"members": self.members.describe(self.order)} if self.leads else {}),
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

#: Ensembles, as data. "paper": one low rank bigram and one low rank trigram at power 1/2 and plain Kneser-Ney
#: discounts, so that D* is the square root of D; nothing between the orders above 3. The ranks given here are for
#: training without held-out text: what most corpora in `docs/benchmarks.md` choose on theirs, limited so that a
#: vocabulary of a million words still fits. "best": low rank layers for trigrams and up, classes and hybrid contexts.
#: "fast": modified Kneser-Ney and classes. A rung for order 0 stands for every order that is not named.
PRESETS: dict[str, dict[str, Any]] = {
    "paper": {
        "discount": "kn",
        "rungs": {2: (Rung(0.5, Rank(fraction=5e-4, limit=100)),), 3: (Rung(0.5, Rank(fraction=1e-3, limit=100)),)},
        "grids": {2: PAPER_GRID, 3: PAPER_GRID},
    },
    "best": {
        "discount": "mkn",
        "rungs": {2: (), 0: (Rung(0.5, Rank(root=3, divisor=2.0, limit=100)),)},
        "slice_stopping": Stopping(steps=20, tolerance=-1.0, fresh=6),
        "members": Members((100, 300, 800), contexts=(((2, 1), (0, 1), (2, 2), (1, 3)),)),
    },
    "fast": {
        "discount": "mkn",
        "members": Members((300,), sweeps=8),
    },
}

DEFAULT_PRESET = "best"


def make_recipe(
    order: int,
    method: str,
    preset: str | None,
    rungs: dict[int, tuple[Rung, ...]] | None,
    seed: int,
    uniform: bool = True,
    classes: int | Sequence[int] | None = None,
    **options: Any,
) -> Recipe:
    """The recipe that the options ask for; each replaces what the preset has, if given."""
    options = {name: value for name, value in options.items() if value is not None}
    if not isinstance(order, int):
        raise UsageError(f"the order must be a whole number between 1 and 64, not {order!r}")
    if method in BASELINES:
        if preset or rungs or options:
            raise UsageError(f"method {method} has no presets or rungs; they belong to method plre")
        data = dict(BASELINES[method])
        if classes is not None:
            if method != "class":
                raise UsageError("classes belong to the methods class and plre")
            if not isinstance(classes, int) or classes < 1:
                raise UsageError(f"the number of classes must be a whole number from 1 up, not {classes}")
            data["classes"] = classes
        return Recipe(order, method, **data, seed=seed, uniform=uniform)
    if method != "plre":
        raise UsageError(f"there is no method {method!r}; choose one of plre, {', '.join(BASELINES)}")
    if preset is None and rungs is None and classes is None and not options:
        preset = DEFAULT_PRESET
    if preset not in (None, *PRESETS):
        raise UsageError(f"there is no preset {preset!r}; choose one of {', '.join(PRESETS)}")
    data = dict(PRESETS[preset]) if preset else {}
    data["rungs"] = _every_order({n: own for n, own in data.get("rungs", {}).items() if n <= order}, order)
    data["grids"] = {n: grid for n, grid in data.get("grids", {}).items() if n <= order}
    if rungs is not None:
        data["rungs"], data["grids"] = _every_order(rungs, order), {}
    members: dict[str, Any] = {}
    if "contexts" in options:
        members["contexts"] = tuple(parse_chain(chain) for chain in options.pop("contexts"))
    elif classes is not None:
        members["contexts"] = ()
    members |= {name.removeprefix("class_"): options.pop(name) for name in list(options) if name.startswith("class_")}
    if classes is not None:
        if not isinstance(classes, int | Sequence):
            raise UsageError(f"classes must be a list of whole numbers, not {classes!r}")
        members["classes"] = (classes,) if isinstance(classes, int) else tuple(classes)
    data["members"] = replace(data.get("members", Members()), **members)
    if options.pop("fit_discounts", False):
        data["fit"] = "dev"
    if isinstance(discounts := options.pop("discounts", None), Sequence):
        data["lowest"], data["discount"] = tuple(discounts[:-1]), discounts[-1]
    return Recipe(order, method, preset, **{**data, **options}, seed=seed, uniform=uniform)


def _every_order(rungs: dict[int, tuple[Rung, ...]], order: int) -> dict[int, tuple[Rung, ...]]:
    """The rungs of each order, those for order 0 standing for all that are not named."""
    found = {n: own for n, own in rungs.items() if n > 0}
    if 0 in rungs and isinstance(order, int):
        found = {**dict.fromkeys(range(2, order + 1), rungs[0]), **found}
    return {n: own for n, own in sorted(found.items()) if own}


def show_chain(chain: tuple[tuple[int, int], ...]) -> str:
    """A chain of contexts as it is written.

    >>> show_chain(((2, 1), (0, 1), (2, 2)))
    '2:1,w:1,2:2'
    """
    return ",".join(f"{which or 'w'}:{distance}" for which, distance in chain)


def parse_chain(text: str) -> tuple[tuple[int, int], ...]:
    """A chain of contexts as written: which clustering (or w, the word), and how many words back; coarse to fine.

    >>> parse_chain("2:1,w:1,2:2")
    ((2, 1), (0, 1), (2, 2))
    """
    try:
        steps = [step.split(":") for step in text.split(",")]
        return tuple((0 if which == "w" else int(which), int(distance)) for which, distance in steps)
    except ValueError:
        raise UsageError(f"a chain of contexts is written like 2:1,w:1,2:2,1:3, not {text!r}") from None


def parse_rank(text: str) -> Rank:
    """A rank as written: a number, a fraction, or a root of the number of non-zeros, divided.

    >>> parse_rank("20").fixed, parse_rank("0.001").fraction, parse_rank("cbrt/2").divisor
    (20, 0.001, 2.0)
    """
    for root, name in ROOTS.items():
        if text.startswith(name):
            _, _, divisor = text.partition("/")
            return Rank(root=root, divisor=float(divisor or 1))
    amount = float(text)
    return Rank(fraction=amount) if 0 < amount < 1 else Rank(fixed=int(text))


def parse_rungs(specs: list[str] | tuple[str, ...]) -> dict[int, tuple[Rung, ...]]:
    """Rungs as written on the command line.

    >>> parse_rungs(["2:0.5:20", "3:0.5:0.001"])[3] == (Rung(0.5, Rank(fraction=0.001)),)
    True
    """
    found: dict[int, list[Rung]] = {}
    for spec in specs:
        try:
            order, power, rank = spec.replace("*", "0").split(":")
            rule = parse_rank(rank)
            found.setdefault(int(order), []).append(Rung(float(power), rule))
        except ValueError as error:
            if isinstance(error, UsageError):
                raise
            raise UsageError(
                f"a rung is ORDER:POWER:RANK, for example 2:0.5:20, 3:0.5:0.001 (a fraction) or *:0.5:cbrt/2 (all "
                f"other orders; half the cube root of the non-zeros), not {spec!r}"
            ) from None
    return {order: tuple(sorted(rungs, key=lambda rung: -rung.power)) for order, rungs in sorted(found.items())}
