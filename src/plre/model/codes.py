"""Positive numbers as codes of 8 or 16 bits, for models that must be small."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Backoff weights are shares; below this one nothing is lost by calling it nothing. The back-off forms have some above
#: 1, where hardly any word is unseen: few are above 4, and 8 bits have no codes to spare for those.
_SMALLEST_BACKOFF = 2.0**-20
_LARGEST_BACKOFF = {8: 4.0, 16: 2.0**20}


@dataclass(frozen=True)
class Code:
    """How positive numbers become codes: evenly spaced bit patterns of floats.

    ``value = float with the bits (base + code * step)``, and code 0 is 0. The relative error is about the same for
    large and small numbers.
    """

    base: int
    step: int

    @classmethod
    def between(cls, low: float, high: float, bits: int) -> Code:
        """Codes of so many bits for numbers from ``low`` to ``high``."""
        first, last = (int(np.float32(x).view(np.int32)) for x in (low, max(low, high)))
        step = max(1, -(-(last - first) // (2**bits - 2)))
        return cls(first - step, step)

    @classmethod
    def of(cls, pieces: Iterable[NDArray[np.float32]], bits: int, smallest: float = 0.0) -> Code:
        """Codes for these numbers; what is smaller than the largest by the factor ``smallest`` counts as nothing."""
        high, low = 2.0**-60, 1.0
        for values in pieces:
            high = float(values.max(initial=high))
            low = float(values[values > 0].min(initial=low))
        return cls.between(min(max(low, high * smallest), high), high, bits)

    def encode(self, values: NDArray[np.float32], bits: int) -> NDArray[np.int64]:
        """The nearest codes; what is less than half of the smallest becomes 0."""
        patterns = np.ascontiguousarray(values, np.float32).view(np.int32).astype(np.int64)
        low = np.int32(self.base + self.step).view(np.float32)
        codes = np.clip((patterns - self.base + self.step // 2) // self.step, 1, 2**bits - 1)
        return np.where(values < low / 2, 0, codes)

    def decode(self, codes: NDArray[Any]) -> NDArray[np.float32]:
        """The numbers that codes stand for."""
        wide = codes.astype(np.int64)
        return np.where(wide == 0, 0, self.base + wide * self.step).astype(np.int32).view(np.float32)


def backoff_code(bits: int) -> Code:
    """Codes of backoff weights and of missing mass."""
    return Code.between(_SMALLEST_BACKOFF, _LARGEST_BACKOFF[bits], bits)
