"""N-grams whose numbers are base 10 logarithms: models from ARPA files, which answer as KenLM does (``_logs.py``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from plre._jit import CKernel
from plre.model import _logs
from plre.model import _plan as p
from plre.model.columns import Columns
from plre.model.ngrams import Ngrams
from plre.scratch import Column
from plre.tables.reading import expect
from plre.tensorfile import Tensors

#: No log probability is larger, to rounding.
_MOST = 1e-5


class LogNgrams(Ngrams):
    """A component of n-grams in hash tables, whose numbers are logarithms."""

    IMPOSSIBLE: ClassVar[float] = -np.inf
    NO_WEIGHT: ClassVar[float] = -0.0

    @classmethod
    def from_tensors(cls, described: Mapping[str, Any], tensors: Tensors) -> Self:
        """The component that was described so, which leads no others and has no low rank layers."""
        made = super().from_tensors(described, tensors)
        expect(not made.missing and not made.low_rank, "a component of logarithms makes no sense")
        return made

    @property
    def kernels(self) -> Mapping[int, CKernel]:
        """Its compiled functions, by their fields in a plan."""
        return {**super().kernels, p.ANSWER: _logs.answer_logs, p.SPREAD: _logs.spread_logs}

    @staticmethod
    def told_apart(backoff: NDArray[np.float32], seen: NDArray[np.bool_]) -> NDArray[np.float32]:
        """Weights that are -0.0 only where nothing depends on a context."""
        return np.where(seen & (backoff == 0), np.float32(0), backoff)

    def describe(self) -> dict[str, Any]:
        """What a file's metadata says of it."""
        return {**super().describe(), "kind": "logs"}

    def columns(self, highest: int | None = None) -> Columns:
        """All n-grams as plain columns of probabilities, up to the order ``highest`` if that is given."""
        logs = self.log_columns(highest)
        orders = [
            replace(own, prob=_power(own.prob), backoff=None if own.backoff is None else _power(own.backoff))
            for own in logs.orders
        ]
        return Columns(_power(logs.prob), _power(logs.backoff), None, orders)

    def log_columns(self, highest: int | None = None) -> Columns:
        """The same columns with logarithms."""
        return super().columns(highest)

    def check_numbers(self, columns: Columns) -> None:
        """Raise :class:`ValueError` if something is no log probability, or no weight."""
        logs, weights = self.log_columns(), self.tensors["weights"].reshape(-1, 2)
        expect(not np.any(weights[-1]) and not np.any(weights[:, 1]), "what is not known has a weight")
        for values in (logs.prob, *(own.prob for own in logs.orders)):
            expect(np.all(np.asarray(values) <= _MOST), "a number is none")
        for values in (weights, *(own.backoff for own in logs.orders if own.backoff is not None)):
            expect(np.all(np.isfinite(np.asarray(values))), "a number is none")


def _power(logs: Column) -> NDArray[np.float32]:
    """What has these logarithms."""
    return np.power(10.0, np.asarray(logs), dtype=np.float64).astype(np.float32)
