"""A component: what a model is made of.

    P(w | h) = sum over components of  weight(h) * share(w) * P_component(symbol(w) | h)

A component predicts symbols: words, or classes of words. Its body knows how, and is of one of four kinds
(``ngrams.py``, ``logs.py``, ``compact.py``, ``contexts.py``), which all do what a :class:`Body` does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from plre._jit import CKernel
from plre.model.compact import CompactNgrams
from plre.model.contexts import Contexts
from plre.model.gates import Gates
from plre.model.logs import LogNgrams
from plre.model.ngrams import NgramBody, Ngrams
from plre.tensorfile import Tensors, release

if TYPE_CHECKING:
    from plre.model.plan import PlanDraft


class Body(Protocol):
    """What a kind of component does: answer questions by compiled functions, describe and check itself."""

    @property
    def symbols(self) -> int:
        """How many symbols are predicted."""

    @property
    def reach(self) -> int:
        """How many words it looks at, the predicted one included."""

    @property
    def missing(self) -> bool:
        """Whether contexts say what their probabilities lack to sum to one."""

    @property
    def tensors(self) -> Tensors:
        """Its arrays, by the names that they have in a file."""

    @property
    def kernels(self) -> Mapping[int, CKernel]:
        """Its compiled functions (ask, single, answer, spread), by their fields in a plan."""

    def fields(self, plan: PlanDraft) -> dict[int, int]:
        """What a plan says of it: addresses and sizes, which are checked."""

    def describe(self) -> dict[str, Any]:
        """What a file's metadata says of it."""

    def info(self) -> dict[str, Any]:
        """What a person may want to know of it."""

    def check(self) -> None:
        """Raise :class:`ValueError` if something in it does not fit together."""

    def renumbered(self, ids: NDArray[np.int32]) -> Body:
        """The same for other words, whose ids in its own vocabulary these are: where it reads words by itself."""

    def ngrams(self) -> NgramBody | None:
        """Itself, if it consists of n-grams: then it gives them as columns, and can be pruned."""


#: The kinds of bodies, by the names that they have in a file.
KINDS: dict[str, Any] = {"ngrams": Ngrams, "logs": LogNgrams, "compact": CompactNgrams, "contexts": Contexts}


@dataclass(frozen=True)
class Component:
    """One component. With ``gates`` it leads as many of those after it as the gates say, and all have its weight."""

    body: Body
    weight: float = 1.0
    #: The symbol of each word, and for "not known" the one after the last. None: words are symbols.
    symbols: NDArray[np.int32] | None = None
    #: How much of its symbol's probability is each word's. None: all.
    shares: NDArray[np.float32] | None = None
    gates: Gates | None = None
    about: Mapping[str, Any] = field(default_factory=dict)

    @property
    def members(self) -> int:
        """How many of the components after it this one leads."""
        return self.gates.members if self.gates else 0

    def with_share(self, words: int, word: int, share: float) -> Component:
        """The same, but one of so many words gets only this share of what it has."""
        symbols, shares = self.symbols, self.shares
        if symbols is None or shares is None:
            symbols, shares = np.arange(words + 1, dtype=np.int32), np.ones(words + 1, np.float32)
            symbols[-1], shares[-1] = self.body.symbols, 0
        shares = shares.copy()
        shares[word] *= np.float32(share)
        return replace(self, symbols=symbols, shares=shares)

    def let_go(self) -> None:
        """Keep nothing in memory that can be read from a file again."""
        for tensor in self.body.tensors.values():
            release(tensor)
