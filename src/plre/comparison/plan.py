"""The jobs of a comparison: one for each method and order, and some with the low rank bigram at given ranks."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from plre._version import __version__
from plre.comparison.methods import ENSEMBLE, chosen_methods, components, display_name
from plre.comparison.texts import TextFiles
from plre.ensemble.recipe import make_recipe
from plre.errors import UsageError
from plre.text.sources import Errors

#: The slices of the trigram have nearly all rank 1 with this fraction; only the bigram's rank differs from job to job.
_SLICES = "3:0.5:0.001"


@dataclass(frozen=True)
class ComparisonSettings:
    """What is compared and how: methods, orders, ranks, and how text is read."""

    methods: tuple[str, ...]
    orders: tuple[int, ...]
    min_count: int = 2
    classes: int | None = None
    #: Of the low rank bigram, for the picture of perplexity against rank.
    ranks: tuple[int, ...] = ()
    seed: int = 0
    #: How text is read.
    skip_markers: bool = False
    errors: Errors = "strict"

    @property
    def middle(self) -> int:
        """The order at which ranks are tried: the lower one of two in the middle, and one with bigrams if there is."""
        orders = [order for order in self.orders if order > 1] or list(self.orders)
        return orders[(len(orders) - 1) // 2]

    def reading(self) -> dict[str, Any]:
        """How text is read, where it is not as usual: so that usual results keep their keys."""
        chosen = {"skip_markers": self.skip_markers, "errors": self.errors}
        return {name: value for name, value in chosen.items() if value not in (False, "strict")}


@dataclass(frozen=True)
class Job:
    """One method at one order; ``rank`` is that of the bigram's rung if it is fixed."""

    method: str
    order: int
    rank: int | None = None

    @property
    def name(self) -> str:
        """The job in words, for messages and tables."""
        return f"{display_name(self.method)}, order {self.order}" + (f", rank {self.rank}" if self.rank else "")

    @property
    def parts(self) -> list[Job]:
        """The jobs whose models a mixture is made of."""
        return [Job(part, self.order) for part in components(self.method)]

    def options(self, settings: ComparisonSettings) -> dict[str, Any]:
        """The options with which :func:`plre.train` makes the model."""
        options: dict[str, Any] = {"min_count": settings.min_count, "seed": settings.seed, **settings.reading()}
        if settings.classes is not None and "class" in self.method.split("+"):
            options["classes"] = settings.classes
        if self.rank:
            options["rungs"] = [f"2:0.5:{self.rank}"] + ([_SLICES] if self.order > 2 else [])
        return options


@dataclass(frozen=True)
class Texts:
    """The three texts: to train on, to choose on, and to test on."""

    train: TextFiles
    dev: TextFiles
    test: TextFiles

    def named(self) -> dict[str, TextFiles]:
        """The texts by their names, "train", "dev" and "test"."""
        return {"train": self.train, "dev": self.dev, "test": self.test}


def make_settings(
    methods: Iterable[str] | None,
    orders: Sequence[int],
    min_count: int,
    classes: int | None,
    ranks: Sequence[int],
    seed: int,
    skip_markers: bool = False,
    errors: Errors = "strict",
) -> ComparisonSettings:
    """The settings, checked before anything runs."""
    names = chosen_methods(methods)
    if not orders:
        raise UsageError("there must be at least one order, for example 2,3,4")
    for order in orders:
        make_recipe(order, "mkn", None, None, seed)
    if min_count < 1:
        raise UsageError(f"min_count must be at least 1, not {min_count}")
    if classes is not None and classes < 1:
        raise UsageError(f"classes must be at least 1, not {classes}")
    if any(not isinstance(rank, int) or rank < 1 for rank in ranks):
        raise UsageError(f"ranks are whole numbers from 1 up, not {', '.join(map(str, ranks))}")
    wanted = tuple(sorted(set(ranks))) if ENSEMBLE in names else ()
    return ComparisonSettings(
        tuple(names), tuple(sorted(set(orders))), min_count, classes, wanted, seed, skip_markers, errors
    )


def main_jobs(settings: ComparisonSettings) -> list[Job]:
    """A job for each cell of the paper's table."""
    return [Job(method, order) for order in settings.orders for method in settings.methods]


def rank_jobs(settings: ComparisonSettings) -> list[Job]:
    """The jobs of the picture of ranks; none without bigrams."""
    return [Job(ENSEMBLE, settings.middle, rank) for rank in settings.ranks] if settings.middle > 1 else []


def waves(jobs: Iterable[Job]) -> list[list[Job]]:
    """Jobs that can run side by side, then the mixtures that need their models; parts not asked for are added."""
    plain: dict[Job, None] = {}
    mixed: list[Job] = []
    for job in jobs:
        plain.update(dict.fromkeys(job.parts or [job]))
        if job.parts:
            mixed.append(job)
    return [list(plain), mixed]


def key(job: Job, settings: ComparisonSettings, texts: Texts) -> str:
    """A key of a job's result: it changes with whatever can change the model or its figures, and with nothing else."""
    decides = {
        **asdict(job),
        "options": job.options(settings),
        "version": __version__,
        "texts": {name: text.identity() for name, text in texts.named().items()},
    }
    return hashlib.blake2b(json.dumps(decides, sort_keys=True).encode(), digest_size=8).hexdigest()
