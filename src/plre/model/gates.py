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
