"""A component: what a model is made of.

    P(w | h) = sum over components of  weight(h) * share(w) * P_component(symbol(w) | h)

A component predicts symbols: words, or classes of words. Its body knows how, and is one of three kinds (``ngrams.py``,
``compact.py``, ``contexts.py``); everything else about it is here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plre.model.compact import CompactNgrams
from plre.model.contexts import Contexts
from plre.model.gates import Gates
from plre.model.ngrams import Ngrams


@dataclass(frozen=True)
class Component:
    """One component. With ``gates`` it leads as many of those after it as the gates say, and all have its weight."""

    body: Ngrams | CompactNgrams | Contexts
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
