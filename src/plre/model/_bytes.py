"""Numbers in a packed model.

``mem`` is the whole model as bytes; ``layout.py`` says what is where.
"""

from __future__ import annotations

import numpy as np

from plre._jit import kernel
from plre._memory import as_float, load64
from plre.model.layout import WIDTH


@kernel
def entry(mem, n, name):
    """An entry of the directory; ``n`` is 1 for entries about the whole model."""
    return np.int64(load64(mem, 8 * ((n - 1) * WIDTH + name)))


@kernel
def field(mem, place, mask):
    """The number at a place, of as many bytes as the mask has."""
    return np.int64(load64(mem, place)) & mask


@kernel
def decode(code, base, step):
    """The number that a code stands for."""
    return np.float64(as_float(np.int32(base + code * step))) if code != 0 else 0.0


@kernel
def pack_field(values, out, stride, at, size):
    """Write one field of consecutive records, the ``size`` bytes from byte ``at`` of each on."""
    for i in range(len(values)):
        value = np.int64(values[i])
        for byte in range(size):
            out[i * stride + at + byte] = np.uint8((value >> (8 * byte)) & 255)


@kernel
def unpack_field(mem, first, base, stride, at, size, out):
    """Read one field of the records from ``first`` on."""
    mask = (np.int64(1) << (8 * size)) - 1
    for i in range(len(out)):
        out[i] = np.int32(field(mem, base + (first + i) * stride + at, mask))
