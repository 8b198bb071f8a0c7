"""Ingredients are values that know what they need and how they are made; a store makes each of them once.

What a model is made of is a graph: counts need a text, classes need counts, class n-grams need text and classes. Each
part is an :class:`Ingredient`, a small frozen value. Values that are equal are one thing, whoever asks for it and in
whatever order. What is made of a value depends on it alone, so it is the same for any number of threads, any memory and
any :class:`Engine`, which decides where things are made.
"""

from __future__ import annotations

import contextlib
import threading
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Protocol

from plre.progress import Advance, Progress
from plre.scratch import Scratch

#: What was made of an ingredient.
Get = Callable[["Ingredient"], Any]


@dataclass(frozen=True)
class Resources:
    """What there is to make things with."""

    threads: int = 1
    progress: Progress = field(default_factory=Progress)
    scratch: Scratch = field(default_factory=Scratch)

    def __post_init__(self) -> None:
        object.__setattr__(self, "threads", self.scratch.threads(self.threads))

    @property
    def named(self) -> dict[str, Any]:
        """As most functions take them."""
        return {"threads": self.threads, "progress": self.progress, "scratch": self.scratch}


class Ingredient(ABC):
    """What models are made of. Subclasses are frozen dataclasses; ingredients in their fields are what they need."""

    #: What sort of work it is, and the seconds that a unit of it takes on two slow cores, until it has been measured.
    kind: ClassVar[str] = "little things"
    pace: ClassVar[float] = 0.0

    @abstractmethod
    def make(self, get: Get, how: Resources) -> Any:
        """Make it; ``get`` has what it needs."""

    def work(self, get: Get) -> float:
        """How much work it is, by what a search has from its beginning: the text, and the counts of its words."""
        return 1.0

    @property
    def urgency(self) -> float:
        """Of things that can be made, those with most of it are begun first: what takes longest."""
        return 0.0

    def needs(self) -> list[Ingredient]:
        """What has to be there before it can be made."""
        found: list[Ingredient] = []
        for each in fields(self):  # type: ignore[arg-type]
            value = getattr(self, each.name)
            found += [one for one in (value if isinstance(value, tuple) else (value,)) if isinstance(one, Ingredient)]
        return list(dict.fromkeys(found))


class Engine(Protocol):
    """Where things are made."""

    def at_once(self, how: Resources) -> int:
        """How many things it can make side by side."""

    def make(self, ingredient: Ingredient, get: Get, how: Resources) -> Any:
        """Make an ingredient whose needs are there."""


class LocalEngine:
    """Makes everything in this process."""

    def at_once(self, how: Resources) -> int:
        """As many as there are threads, if there is memory enough."""
        return int(min(how.threads, how.scratch.side_by_side))

    def make(self, ingredient: Ingredient, get: Get, how: Resources) -> Any:
        """Make an ingredient whose needs are there."""
        return ingredient.make(get, how)


#: Is told what was made, and the seconds it took.
Watch = Callable[[Ingredient, float], None]


class Store:
    """All that was made so far; makes what is missing, side by side where things do not need each other."""

    def __init__(
        self,
        how: Resources,
        engine: Engine | None = None,
        *,
        one_by_one: bool = False,
        watch: Watch | None = None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.how = how
        self.engine = engine or LocalEngine()
        self.one_by_one = one_by_one
        self.watch = watch
        self.clock = clock
        self._made: dict[Ingredient, Any] = {}

    def __contains__(self, ingredient: Ingredient) -> bool:
        return ingredient in self._made

    def known(self, ingredient: Ingredient) -> Any:
        """What was made of an ingredient before."""
        return self._made[ingredient]

    def missing(self, *wanted: Ingredient) -> list[Ingredient]:
        """What has to be made for some ingredients, in an order in which it can be."""
        found: dict[Ingredient, None] = {}

        def look(ingredient: Ingredient) -> None:
            if ingredient not in self._made and ingredient not in found:
                for need in ingredient.needs():
                    look(need)
                found[ingredient] = None

        for each in wanted:
            look(each)
        return list(found)

    def get(self, ingredient: Ingredient) -> Any:
        """What is made of an ingredient."""
        return self.get_all([ingredient])[0]

    def get_all(self, wanted: Sequence[Ingredient], keep: Sequence[Ingredient] | None = None) -> list[Any]:
        """What is made of some ingredients.

        With ``keep``, everything but these and what is wanted is forgotten as soon as nothing needs it any more.
        """
        waiting = self.missing(*wanted)
        kept = None if keep is None else {*keep, *wanted}
        uses = Counter(need for each in waiting for need in each.needs())
        self._forget([each for each in self._made if not uses[each]], kept)
        stop = threading.Event()
        running: dict[Future[tuple[Any, float]], Ingredient] = {}
        with ThreadPoolExecutor(max(1, len(waiting))) as pool:
            try:
                while waiting or running:
                    ready = [each for each in waiting if all(need in self._made for need in each.needs())]
                    ready.sort(key=lambda each: -each.urgency)
                    room = 1 if self.one_by_one else max(1, self.engine.at_once(self.how))
                    for each in ready[: max(0, room - len(running))]:
                        waiting.remove(each)
                        alone = room == 1 or (len(ready) == 1 and not running)
                        running[_start(pool, alone, self._timed, each, stop)] = each
                    for done in wait(running, return_when=FIRST_COMPLETED).done:
                        each = running.pop(done)
                        self._made[each], seconds = done.result()
                        del done
                        uses.subtract(each.needs())
                        self._forget([need for need in each.needs() if not uses[need]], kept)
                        if self.watch:
                            self.watch(each, seconds)
            except BaseException:
                stop.set()
                raise
        return [self._made[each] for each in wanted]

    def _timed(self, ingredient: Ingredient, stop: threading.Event) -> tuple[Any, float]:
        """Make an ingredient; gives it and the seconds it took."""
        start = self.clock()
        how = replace(self.how, progress=_Stoppable(self.how.progress, stop))
        made = self.engine.make(ingredient, self.known, how)
        self.how.scratch.tidy()
        return made, self.clock() - start

    def _forget(self, some: Sequence[Ingredient], kept: set[Ingredient] | None) -> None:
        for each in some if kept is not None else ():
            if each not in kept:  # type: ignore[operator]
                del self._made[each]

    def keep(self, *wanted: Ingredient) -> None:
        """Forget everything but these."""
        self._forget(list(self._made), set(wanted))


def _start(
    pool: ThreadPoolExecutor, alone: bool, function: Callable[..., Any], *arguments: Any
) -> Future[tuple[Any, float]]:
    """Start a function in a pool; one that runs alone in this thread, where an interruption ends it at once."""
    if not alone:
        return pool.submit(function, *arguments)
    done: Future[tuple[Any, float]] = Future()
    done.set_result(function(*arguments))
    return done


class StoppedError(Exception):
    """Ends the making of something for which nobody waits any more; :meth:`Store.get_all` never raises it."""


class _Stoppable(Progress):
    """Passes progress on, until work is to stop because other work failed or was interrupted."""

    def __init__(self, progress: Progress, stop: threading.Event) -> None:
        self.progress = progress
        self.stop = stop

    @contextlib.contextmanager
    def stage(self, name: str, total: float | None = None, unit: str = "") -> Iterator[Advance]:
        """A stage of the other, which ends at its next step once work is to stop."""
        with self.progress.stage(name, total, unit) as advance:

            def go_on(amount: float) -> None:
                if self.stop.is_set():
                    raise StoppedError
                advance(amount)

            yield go_on

    def note(self, message: str) -> None:
        """Say it at once."""
        self.progress.note(message)
