"""Weights by context: the row of the gates that a context has, and what a leader leaves to those it leads.

See ``gates.py``, which has the formula in words.
"""

from __future__ import annotations

import numpy as np

from plre._jit import c_kernel, kernel
from plre._memory import as_bits, peek64, peek_double, peek_float, poke64, poke_double
from plre.model import _plan as p
from plre.model._plan import at

_ONE = 0x3F800000  # the bits of 1.0


@kernel
def gate_bucket(missing):
    """The bucket of what a context lacks: half octaves down from 1, by the exponent and the first bit of a float."""
    return min(max((_ONE - np.int64(as_bits(np.float32(missing)))) >> 22, 0), p.GATE_BUCKETS - 1)


@kernel
def left_over(keep, missing):
    """The mass that is left to the members: what the leader does not keep, and what its probabilities lack."""
    return 1.0 - keep * (1.0 - missing)


@c_kernel(p.PROTOCOL)
def divide(plan, leader, block):
    """Divide the mass after each context by the gates of a leader: from rows and missing mass to addresses and mass.

    A leader keeps its share of the weight, and its members share the rest; ``add_up`` reads both off.
    """
    gates, width = at(plan, leader + p.GATES), 4 * (at(plan, leader + p.MEMBERS) + 1)
    weight = peek_double(plan + 8 * (leader + p.WEIGHT))
    rows, lacking = at(block, p.ROW), at(block, p.LACKING)
    for k in range(2, at(block, p.LAST) - at(block, p.FIRST) + 1):
        gate = gates + width * peek64(rows + 8 * k)
        poke64(rows + 8 * k, gate)
        left = left_over(np.float64(peek_float(gate)), peek_double(lacking + 8 * k))
        poke_double(lacking + 8 * k, weight * left)
    return 0
