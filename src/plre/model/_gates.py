"""Weights by context: the row of the gates that a context has, and what a leader leaves to those it leads.

See ``gates.py``, which has the formula in words.
"""

from __future__ import annotations

import numpy as np

from plre._jit import kernel
from plre._memory import as_bits
from plre.model._plan import GATE_BUCKETS

_ONE = 0x3F800000  # the bits of 1.0


@kernel
def gate_bucket(missing):
    """The bucket of what a context lacks: half octaves down from 1, by the exponent and the first bit of a float."""
    return min(max((_ONE - np.int64(as_bits(np.float32(missing)))) >> 22, 0), GATE_BUCKETS - 1)


@kernel
def left_over(keep, missing):
    """The mass that is left to the members: what the leader does not keep, and what its probabilities lack."""
    return 1.0 - keep * (1.0 - missing)
