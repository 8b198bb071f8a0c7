"""Numbers of a few bits each, packed end to end or as fields of records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plre.tables import _placing as kernels

#: Packed numbers are read 8 bytes at a time: so many bytes follow the last.
PADDING = 8


def bits_of(largest: int) -> int:
    """Bits that a number takes."""
    return max(1, largest.bit_length())


def packed_bytes(count: int, bits: int) -> int:
    """Bytes of so many packed numbers."""
    return -(-count * bits // 8) + PADDING


def pack(values: NDArray[np.integer], bits: int) -> NDArray[np.uint8]:
    """Numbers of so many bits each, end to end."""
    return pack_records([(values, bits)], len(values))


def pack_records(fields: Sequence[tuple[NDArray[Any], int]], count: int) -> NDArray[np.uint8]:
    """Records of these fields, each with its number of bits; fields that are too short end with zeros."""
    stride, first = sum(bits for _, bits in fields), 0
    out = np.zeros(packed_bytes(count, stride), np.uint8)
    for values, bits in fields:
        kernels.pack(values, stride, first, out)
        first += bits
    return out


def unpack(
    packed: NDArray[np.uint8], count: int, bits: int, first: int = 0, stride: int | None = None
) -> NDArray[np.int64]:
    """So many numbers that :func:`pack` wrote, or a field of records: from bit ``first`` on, every ``stride`` bits."""
    stride = bits if stride is None else stride
    if packed_bytes(count, stride) > len(packed):
        raise ValueError("a list of numbers is too short")
    out = np.empty(count, np.int64)
    kernels.unpack(packed, stride, first, bits, out)
    return out
