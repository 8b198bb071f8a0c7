"""Ingredients: each is made once, whatever needs it, side by side or not, and is gone when nothing needs it."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import plre
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


@pytest.mark.parametrize("at_once", [1, 2, 5])
def test_each_is_made_once_and_after_what_it_needs(at_once: int) -> None:
    log: list[str] = []
    store, top = Store(Resources(), at_once=at_once), diamond(log)
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


@pytest.mark.parametrize("at_once", [1, 2])
def test_a_failure_ends_what_runs_beside_it(at_once: int) -> None:
    store = Store(Resources(), at_once=at_once)
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

    store = Store(Resources(), at_once=2)
    with pytest.raises(KeyboardInterrupt):
        store.get_all([Interrupts("now"), Part("slow", seconds=30.0)])
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
        Store(Resources(scratch=scratch), at_once=4).get_all([Counted(k) for k in range(8)])
        return most[0]

    assert side_by_side(Scratch()) > 1
    assert side_by_side(Scratch(1, limit=700_000_000)) == 1
    short = Scratch(100)
    assert short.hold(np.zeros(1000)) is None
    assert side_by_side(short) == 1


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
    ids, store = TextIds(ReadText(other_text, like=read)), Store(Resources(threads=2), at_once=3)
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
