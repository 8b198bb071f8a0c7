"""The settings that a search chooses, written as ``plre train`` takes them: so its command trains what was found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from plre.ensemble.recipe import PRESETS, Recipe, Rung, make_recipe, parse_rungs, show_chain
from plre.lowrank.factorise import Stopping

Ladder = tuple[Rung, ...]


@dataclass(frozen=True)
class Settings:
    """The settings of one recipe, by the names of the options of ``plre train``."""

    rungs: tuple[str, ...]
    starts: int
    discounts: tuple[str, ...]
    classes: tuple[int, ...]
    class_order: int
    class_least: int
    class_sweeps: int
    contexts: tuple[str, ...]

    @classmethod
    def of_preset(cls, preset: str, order: int, words: int) -> Settings:
        """The settings of a preset, for a vocabulary of so many words."""
        recipe = make_recipe(order, "plre", preset, None, 0)
        members = recipe.members
        ladders = {n: rungs for n, rungs in PRESETS[preset].get("rungs", {}).items() if (n or 3) <= order and rungs}
        return cls(
            _written(ladders),
            recipe.starts,
            (*recipe.lowest, recipe.discount),
            members.sizes(words),
            members.class_order(order),
            members.least,
            members.sweeps,
            tuple(show_chain(chain) for chain in members.contexts),
        )

    @classmethod
    def read(cls, data: dict[str, Any]) -> Settings:
        """Settings from JSON, the inverse of :meth:`describe`."""
        read: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in data.items()
        }
        return cls(**read)

    def describe(self) -> dict[str, Any]:
        """These settings as JSON has them: lists instead of tuples."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}

    @property
    def ladders(self) -> dict[int, Ladder]:
        """The rungs of bigrams, and under 0 those of all higher orders."""
        return parse_rungs(self.rungs)

    def with_ladder(self, order: int, ladder: Sequence[Rung]) -> Settings:
        """A copy of these settings with other rungs for one order."""
        ordered = tuple(sorted(ladder, key=lambda rung: -rung.power))
        return replace(self, rungs=_written({**self.ladders, order: ordered}))

    def recipe(self, order: int, seed: int) -> Recipe:
        """The recipe with these settings; what they do not say is as the preset "best" has it."""
        options = asdict(self) | {"rungs": self.by_order(order)}
        return make_recipe(order, "plre", "best", options.pop("rungs"), seed, **options)

    def by_order(self, order: int) -> dict[int, Ladder]:
        """The rungs of each order up to this one. Bigrams have none if none are named."""
        ladders = self.ladders
        slices = dict.fromkeys(range(3, order + 1), ladders[0]) if 0 in ladders else {}
        return slices | {n: ladder for n, ladder in ladders.items() if n}

    def arguments(self, order: int) -> list[str]:
        """The options of ``plre train`` that make this."""
        rungs = [word for rung in _written(self.by_order(order)) for word in ("--rung", rung)]
        return [
            *(["--preset", "best", *rungs] if rungs else []),
            "--starts", str(self.starts),
            "--discounts", ",".join(self.discounts),
            "--classes", ",".join(map(str, self.classes)),
            "--class-order", str(self.class_order),
            "--class-least", str(self.class_least),
            "--class-sweeps", str(self.class_sweeps),
            *(word for chain in self.contexts for word in ("--contexts", chain)),
        ]  # fmt: skip


def _written(ladders: dict[int, Ladder]) -> tuple[str, ...]:
    """Rungs as the command line takes them.

    >>> from plre.lowrank.blocks import Rank
    >>> _written({2: (Rung(0.5, Rank(fixed=20)),), 0: (Rung(0.25, Rank(root=3, divisor=2.0, limit=9)),)})
    ('2:0.5:20', '*:0.25:cbrt/2')
    """
    named = sorted(ladders, key=lambda n: n or 99)
    return tuple(f"{n or '*'}:{rung.power:g}:{replace(rung.rank, limit=None)}" for n in named for rung in ladders[n])


def quick_version(recipe: Recipe) -> Recipe:
    """A recipe that takes a fraction of the time, with few sweeps and steps; to be compared with other such ones."""
    return replace(
        recipe,
        starts=1,
        members=replace(
            recipe.members, order=min(3, recipe.members.order or 3), sweeps=min(3, recipe.members.sweeps), contexts=()
        ),
        bigram_stopping=Stopping(steps=8, tolerance=-1.0, fresh=3),
        slice_stopping=Stopping(steps=6, tolerance=-1.0, fresh=2),
    )
