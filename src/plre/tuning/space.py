"""The search space as data: for each kind of change to a recipe, the settings that are one step away."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from plre.ensemble.recipe import Members, Rung, parse_chain, parse_rank
from plre.lowrank.blocks import Rank
from plre.tuning.settings import Settings

#: What a search walks along, one step at a time.
CLASS_SIZES = (50, 100, 200, 300, 500, 800, 1200, 2000)
CLASS_ORDERS = (3, 4, 5, 6, 7)
CUT_OFFS = (1, 2, 3, 5)
CLASS_SWEEPS = (6, 12, 24, 48)
RANDOM_STARTS = (1, 2, 4)
CHAINS = ("2:1,w:1,2:2,1:3", "1:1,w:1,1:2", "3:1,w:1,3:2,2:3", "2:1,w:1,2:2,w:2,1:3")
DISCOUNT_KINDS = (("mkn", "kn", "mkn"), ("mkn",), ("kn",))
#: Ranks of the slices of orders 3 and up; a bigram's are doubled and halved.
SLICE_RANKS = ("1", "cbrt/4", "cbrt/2", "cbrt/1", "cbrt/0.5")
LARGEST_RANK = 640
_POWER_STEP = 0.1
_MOST_RUNGS = 5
_MOST_CLUSTERINGS = 12
#: The first rung where there is none.
_FIRST_RUNG = Rung(0.5, Rank(fixed=20))
_FIRST_SLICES = Rung(0.5, Rank(root=3, divisor=2.0))
#: All orders that have no rungs of their own.
_OTHERS = 0


@dataclass(frozen=True)
class Limits:
    """What the text allows: the order of n-grams and the size of the vocabulary."""

    order: int
    words: int

    @property
    def sizes(self) -> tuple[int, ...]:
        """Numbers of classes that differ for this vocabulary."""
        return tuple(sorted({min(size, *Members((size,)).sizes(self.words)) for size in CLASS_SIZES}))


Step = tuple[str, Settings]
StepMaker = Callable[[Settings, Limits], Iterator[Step]]


@dataclass(frozen=True)
class Kind:
    """A kind of change: what it is called, what share of the perplexity one may save before any was tried, and the
    settings that are one such change away."""

    name: str
    gain: float
    steps: StepMaker


@dataclass(frozen=True)
class Proposal:
    """Settings to try, and how they came up."""

    kind: str
    change: str
    settings: Settings
    #: Known to be good elsewhere: not to be dropped early.
    trusted: bool = False


def neighbourhood(settings: Settings, limits: Limits) -> list[Proposal]:
    """All settings that are one change away, each of them once."""
    found: dict[Settings, Proposal] = {}
    for kind in KINDS:
        for change, changed in kind.steps(settings, limits):
            if changed != settings:
                found.setdefault(changed, Proposal(kind.name, change, changed))
    return list(found.values())


def _beside(value: Any, grid: Sequence[Any]) -> list[Any]:
    """The next lower and the next higher entry of a sorted grid."""
    lower, higher = [each for each in grid if each < value], [each for each in grid if each > value]
    return lower[-1:] + higher[:1]


def _one_more_clustering(settings: Settings, limits: Limits) -> Iterator[Step]:
    """Add a clustering at the end: random starts go by place, so those before it stay as they are."""
    if len(settings.classes) < _MOST_CLUSTERINGS:
        for size in limits.sizes:
            yield (
                f"clustering {len(settings.classes) + 1}, of {size} classes",
                replace(settings, classes=(*settings.classes, size)),
            )


def _one_less_clustering(settings: Settings, limits: Limits) -> Iterator[Step]:
    """Leave out the last clustering, unless contexts need it."""
    left = settings.classes[:-1]
    if left and all(_clusterings_of(chain) <= len(left) for chain in settings.contexts):
        yield (
            f"without clustering {len(settings.classes)}, of {settings.classes[-1]} classes",
            replace(settings, classes=left),
        )


def _clusterings_of(chain: str) -> int:
    """How many clusterings there must be for a chain of contexts.

    >>> _clusterings_of("2:1,w:1,2:2,1:3")
    2
    """
    return max(which for which, _ in parse_chain(chain))


def _contexts(settings: Settings, limits: Limits) -> Iterator[Step]:
    for chain in CHAINS:
        if chain in settings.contexts:
            left = tuple(each for each in settings.contexts if each != chain)
            yield f"without contexts {chain}", replace(settings, contexts=left)
        elif _clusterings_of(chain) <= len(settings.classes):
            known = {*settings.contexts, chain}  # always in the same order: another one would be the same model
            yield f"contexts {chain}", replace(settings, contexts=tuple(each for each in CHAINS if each in known))


def _other_sizes(settings: Settings, limits: Limits) -> Iterator[Step]:
    for place, size in enumerate(settings.classes):
        for other in _beside(size, limits.sizes):
            classes = list(settings.classes)
            classes[place] = other
            yield f"{other} classes instead of {size}", replace(settings, classes=tuple(classes))


def _number(name: str, grid: Sequence[int], wording: str) -> StepMaker:
    """The steps of a setting that is one number."""

    def steps(settings: Settings, limits: Limits) -> Iterator[Step]:
        for value in _beside(getattr(settings, name), grid):
            yield wording.format(value), replace(settings, **{name: value})

    return steps


def _starts(settings: Settings, limits: Limits) -> Iterator[Step]:
    if settings.rungs:
        yield from _number("starts", RANDOM_STARTS, "random starts: {}")(settings, limits)


def _discounts(settings: Settings, limits: Limits) -> Iterator[Step]:
    for kinds in DISCOUNT_KINDS:
        yield f"discounts {','.join(kinds)}", replace(settings, discounts=kinds)


def _bigram_ranks(settings: Settings, limits: Limits) -> Iterator[Step]:
    ladder = settings.ladders.get(2, ())
    most = min(LARGEST_RANK, max(limits.words // 10, 1))
    for change, factor in (("doubled", 2.0), ("halved", 0.5)):
        scaled = tuple(_scaled(rung, factor, most) for rung in ladder)
        if len(ladder) > 1:
            yield f"bigram ranks {change}", settings.with_ladder(2, scaled)
        for place, rung in enumerate(scaled):
            changed = (*ladder[:place], rung, *ladder[place + 1 :])
            yield f"bigram rank {rung.rank} at power {rung.power:g}", settings.with_ladder(2, changed)


def _scaled(rung: Rung, factor: float, most: int) -> Rung:
    return replace(rung, rank=Rank(fixed=min(max(int(rung.rank.fixed * factor), 1), most)))


def _powers(order: int, name: str) -> StepMaker:
    """The powers of one order's rungs, each a little up or down, as far as there is room between its neighbours."""

    def steps(settings: Settings, limits: Limits) -> Iterator[Step]:
        ladder = settings.ladders.get(order, ())
        bounds = [1.0, *(rung.power for rung in ladder), 0.0]
        for place, rung in enumerate(ladder):
            for power in (round(rung.power + _POWER_STEP, 3), round(rung.power - _POWER_STEP, 3)):
                if bounds[place] > power > bounds[place + 2]:
                    changed = (*ladder[:place], replace(rung, power=power), *ladder[place + 1 :])
                    yield f"{name} power {power:g} instead of {rung.power:g}", settings.with_ladder(order, changed)

    return steps


def _bigram_rungs(settings: Settings, limits: Limits) -> Iterator[Step]:
    """One rung more, where the gap between powers is widest, or one less."""
    if limits.order < 2:
        return
    ladder = settings.ladders.get(2, ())
    if not ladder:
        yield "a low rank layer for bigrams", settings.with_ladder(2, (_FIRST_RUNG,))
    elif len(ladder) < _MOST_RUNGS:
        powers = [1.0, *(rung.power for rung in ladder), 0.0]
        place, (above, below) = max(enumerate(pairwise(powers)), key=lambda each: each[1][0] - each[1][1])
        near = ladder[max(place - 1, 0)].rank.fixed
        rung = Rung(round((above + below) / 2, 3), Rank(fixed=max(near // 2 if place else near * 2, 1)))
        yield f"one more rung for bigrams, power {rung.power:g}", settings.with_ladder(2, (*ladder, rung))
    for place, rung in enumerate(ladder):
        without = (*ladder[:place], *ladder[place + 1 :])
        yield f"without the bigram rung of power {rung.power:g}", settings.with_ladder(2, without)


def _slices(settings: Settings, limits: Limits) -> Iterator[Step]:
    """Low rank layers of orders 3 and up, or none."""
    if limits.order < 3:
        return
    if settings.ladders.get(_OTHERS):
        yield "no low rank layers for orders 3 and up", settings.with_ladder(_OTHERS, ())
    else:
        yield "low rank layers for orders 3 and up", settings.with_ladder(_OTHERS, (_FIRST_SLICES,))


def _slice_ranks(settings: Settings, limits: Limits) -> Iterator[Step]:
    ladder = settings.ladders.get(_OTHERS, ())
    for place, rung in enumerate(ladder):
        written = str(rung.rank)
        at = SLICE_RANKS.index(written) if written in SLICE_RANKS else len(SLICE_RANKS) // 2
        for other in (*SLICE_RANKS[max(at - 1, 0) : at], *SLICE_RANKS[at + 1 : at + 2]):
            changed = (*ladder[:place], replace(rung, rank=parse_rank(other)), *ladder[place + 1 :])
            yield f"rank {other} for orders 3 and up", settings.with_ladder(_OTHERS, changed)


#: In the order in which they are looked at where nothing else decides.
KINDS = (
    Kind("one more clustering", 0.010, _one_more_clustering),
    Kind("class sizes", 0.003, _other_sizes),
    Kind("one clustering less", 0.0002, _one_less_clustering),
    Kind("contexts", 0.005, _contexts),
    Kind("class order", 0.003, _number("class_order", CLASS_ORDERS, "class n-grams of order {}")),
    Kind("class cut-off", 0.003, _number("class_least", CUT_OFFS, "class n-grams from {} occurrences up")),
    Kind("class sweeps", 0.003, _number("class_sweeps", CLASS_SWEEPS, "{} sweeps")),
    Kind("starts", 0.003, _starts),
    Kind("bigram rungs", 0.003, _bigram_rungs),
    Kind("bigram ranks", 0.002, _bigram_ranks),
    Kind("bigram powers", 0.001, _powers(2, "bigram")),
    Kind("slices", 0.003, _slices),
    Kind("slice ranks", 0.001, _slice_ranks),
    Kind("slice powers", 0.001, _powers(_OTHERS, "slice")),
    Kind("discounts", 0.001, _discounts),
)
