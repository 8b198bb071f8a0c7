"""Ingredients: each is made once, whatever needs it, side by side or not, and is gone when nothing needs it."""

from __future__ import annotations

import pickle
import threading
import time
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pytest

import plre
from plre.counts.ingredients import CountedText
from plre.ensemble.blueprint import Blueprint
from plre.ensemble.recipe import make_recipe
from plre.scratch import Scratch
from plre.store import Get, Ingredient, Resources, Store
from plre.text.ingredients import ReadText, TextIds


@dataclass(frozen=True)
class Part(Ingredient):
    """Says what it was made of; ``log`` has what was made, in order."""

    name: str
    parts: tuple[Part, ...] = ()
    log: list[str] = field(default_factory=list, compare=False, repr=False)
    seconds: float = 0.0

    def make(self, get: Get, how: Resources) -> str:
        with how.progress.stage(self.name) as advance:
            end = time.perf_counter() + self.seconds
            while time.perf_counter() < end:
                time.sleep(0.001)
                advance(0)
        self.log.append(self.name)
        return f"{self.name}({' '.join(get(part) for part in self.parts)})"


class Broken(Part):
    def make(self, get: Get, how: Resources) -> str:
        raise plre.TextError("broken")


def diamond(log: list[str]) -> Part:
    below = Part("below", (), log)
    return Part("top", (Part("left", (below,), log), Part("right", (below,), log)), log)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_each_is_made_once_and_after_what_it_needs(threads: int) -> None:
    log: list[str] = []
    store, top = Store(Resources(threads)), diamond(log)
    assert store.get(top) == "top(left(below()) right(below()))"
    assert store.get(diamond([])) == store.known(top)
    assert sorted(log) == ["below", "left", "right", "top"]
    assert (log[0], log[-1]) == ("below", "top")
    assert store.missing(top) == []


def test_what_nothing_needs_any_more_is_forgotten() -> None:
    store, top = Store(Resources()), diamond([])
    left, right = top.parts
    store.get_all([top], keep=[left])
    assert [each in store for each in (top, left, right, left.parts[0])] == [True, True, False, False]
    store.keep(left)
    assert top not in store
    assert [each.name for each in store.missing(top)] == ["below", "right", "top"]  # type: ignore[attr-defined]


@pytest.mark.parametrize("threads", [1, 2])
def test_a_failure_ends_what_runs_beside_it(threads: int) -> None:
    store = Store(Resources(threads))
    slow = Part("slow", seconds=30.0)
    start = time.perf_counter()
    with pytest.raises(plre.TextError, match="broken"):
        store.get_all([Broken("broken"), slow])
    assert time.perf_counter() - start < 10
    assert slow not in store


def test_an_interruption_ends_what_runs_at_once() -> None:
    class Interrupts(Part):
        def make(self, get: Get, how: Resources) -> str:
            raise KeyboardInterrupt

    store = Store(Resources(2))
    start = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        store.get_all([Interrupts("now"), Part("slow", seconds=30.0)])
    assert time.perf_counter() - start < 10
    assert threading.active_count() < 10


def test_one_thing_at_a_time_where_memory_is_short() -> None:
    most, now, lock = [0], [0], threading.Lock()

    @dataclass(frozen=True)
    class Counted(Ingredient):
        name: int

        def make(self, get: Get, how: Resources) -> None:
            with lock:
                now[0] += 1
                most[0] = max(most[0], now[0])
            time.sleep(0.02)
            with lock:
                now[0] -= 1

    def side_by_side(scratch: Scratch) -> int:
        most[0] = 0
        Store(Resources(4, scratch=scratch)).get_all([Counted(k) for k in range(8)])
        return most[0]

    assert side_by_side(Scratch()) > 1
    assert side_by_side(Scratch(1, limit=700_000_000)) == 1
    short = Scratch(100)
    assert short.hold(np.zeros(1000)) is None
    assert side_by_side(short) == 1


def test_one_by_one_if_asked() -> None:
    log: list[str] = []
    Store(Resources(4), one_by_one=True).get_all([Part(str(k), (), log, 0.01 * (4 - k)) for k in range(4)])
    assert log == ["0", "1", "2", "3"]


def test_an_engine_elsewhere_knows_its_ingredients_again() -> None:
    """Ingredients cross the borders of processes, and say how many are made there."""

    class Elsewhere:
        made: ClassVar[list[Ingredient]] = []

        def at_once(self, how: Resources) -> int:
            return 7

        def make(self, ingredient: Ingredient, get: Get, how: Resources) -> Any:
            copy = pickle.loads(pickle.dumps(ingredient))
            assert copy == ingredient
            self.made.append(copy)
            return copy.make(get, how)

    read = ReadText(["a b c", "a c b"], min_count=1)
    counted = CountedText(read, 2)
    store = Store(Resources(scratch=Scratch(1, limit=300_000_000)), Elsewhere())
    assert len(store.get(counted)[2]) == 7
    assert Elsewhere.made == [read, counted]
    assert ReadText(["a b c", "a c b"], min_count=1) != read  # a text may be read but once: each is its own


@pytest.mark.filterwarnings("ignore::plre.errors.PlreWarning")
def test_the_order_of_calls_changes_nothing(text: list[str], other_text: list[str]) -> None:
    """The same recipe gives the same bytes, whatever was made before it in the same store, and beside it."""

    def digest(recipe: Any, store: Store, read: ReadText, ids: TextIds) -> str:
        vocab = store.get(read).vocab
        blueprint = Blueprint(recipe, read, len(vocab), ids)
        store.get_all(blueprint.wanted())
        return blueprint.model(store.known, vocab, {"markers": True}).digest

    recipes = [
        make_recipe(3, "plre", "best", None, 0),
        make_recipe(3, "plre", "fast", None, 0, fit_discounts=True),
        make_recipe(3, "plre", "fast", None, 0),
        make_recipe(3, "plre", "paper", None, 0),
        make_recipe(3, "mkn", None, None, 0),
    ]
    alone = []
    for recipe in recipes:
        read = ReadText(text)
        alone.append(digest(recipe, Store(Resources()), read, TextIds(ReadText(other_text, like=read))))
    read = ReadText(text)
    ids, store = TextIds(ReadText(other_text, like=read)), Store(Resources(threads=3))
    for k in (4, 2, 0, 1, 3, 2):
        assert digest(recipes[k], store, read, ids) == alone[k]


@pytest.mark.filterwarnings("ignore::plre.errors.PlreWarning")
def test_nothing_is_held_after_training(text: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Scratch] = []
    original = Scratch.__init__

    def remember(self: Scratch, *args: Any) -> None:
        original(self, *args)
        made.append(self)

    monkeypatch.setattr(Scratch, "__init__", remember)
    lm = plre.train(text, method="mkn", memory="300M")
    limited = max(made, key=lambda scratch: scratch.memory or 0)
    tensors = sum(tensor.nbytes for tensor in lm.components[0].body.tensors.values())
    assert limited.held <= tensors + 1000
