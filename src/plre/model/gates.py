"""Weights that depend on the context: how a model of n-grams leads others (method.md 10).

The leader's probabilities A(w | h) do not sum to one. What they lack after a context, B(h), is stored with it: at every
order a share of the mass that goes down to shorter contexts leaks to the others instead. With T_k the models it leads,

    P(w | h) = keep A(w | h)  +  (1 - keep (1 - B(h)))  sum over k of  v_k T_k(w | h)

``keep`` and the v_k, which sum to one, are read from a table: a row for each length of the longest context that was
seen and each bucket of its B(h). So P sums to one whatever the numbers in the table are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plre.model._plan import GATE_BUCKETS


@dataclass(frozen=True)
class Gates:
    """The table, and what the leader's unigrams lack to sum to one."""

    #: A row for each length of a context (from 0) and each bucket: ``keep``, then the v_k.
    table: NDArray[np.float32]
    root: float

    @property
    def members(self) -> int:
        """How many models are led."""
        return self.table.shape[1] - 1

    def flat(self) -> NDArray[np.float32]:
        """As a file has them."""
        return np.append(self.table.ravel(), np.float32(self.root))

    @classmethod
    def of(cls, flat: NDArray[np.float32], order: int) -> Gates:
        """From a file, for a leader of this order."""
        return cls(flat[:-1].reshape(order * GATE_BUCKETS, -1), float(flat[-1]))
