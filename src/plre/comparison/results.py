"""A comparison as one object, from which every output is made."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from plre.comparison.methods import REFERENCE, display_name
from plre.comparison.plan import ComparisonSettings, Job, Texts
from plre.comparison.statistics import Gain, Spread
from plre.comparison.store import Result


@dataclass(frozen=True)
class Row:
    """One method at one order: its result and how sure it is, or why there is none.

    ``gain`` is None for the reference itself and where the reference has failed.
    """

    job: Job
    result: Result | None = None
    error: str | None = None
    spread: Spread | None = None
    gain: Gain | None = None
    #: The results of a mixture's parts.
    parts: tuple[Result, ...] = ()

    @property
    def name(self) -> str:
        """The paper's name of the method."""
        return display_name(self.job.method)

    @property
    def dev(self) -> float | None:
        """Perplexity of the dev text."""
        return self.result["dev"]["perplexity"] if self.result else None

    @property
    def test(self) -> float | None:
        """Perplexity of the test text."""
        return self.result["test"]["perplexity"] if self.result else None

    @property
    def parts_seconds(self) -> float:
        """The time that a mixture's parts took to train."""
        return float(sum(part["seconds"] for part in self.parts))

    @property
    def seconds(self) -> float | None:
        """The time of training; of a mixture, with that of its parts."""
        return self.result["seconds"] + self.parts_seconds if self.result else None

    @property
    def peak_bytes(self) -> int | None:
        """Memory of training; of a mixture, the most that it or a part needed."""
        peaks = [each["peak_bytes"] for each in (self.result, *self.parts) if each]
        return max(peaks, default=None) if self.result and None not in peaks else None

    def as_dict(self) -> dict[str, Any]:
        """The row as ``results.json`` has it."""
        about = {"name": self.name, **asdict(self.job), "error": self.error}
        costs = {"seconds": self.seconds, "peak_bytes": self.peak_bytes}
        sure = {"spread": self.spread and asdict(self.spread), "gain": self.gain and asdict(self.gain)}
        return {**about, **costs, **sure, "result": self.result}


@dataclass(frozen=True)
class Comparison:
    """The result of :func:`plre.compare`: a row for each method and order, and one for each rank that was tried."""

    settings: ComparisonSettings
    texts: Texts
    rows: tuple[Row, ...]
    ranks: tuple[Row, ...]
    folder: Path
    version: str
    machine: str
    #: The command that repeats it.
    command: str

    def of_order(self, order: int) -> list[Row]:
        """The rows of one order."""
        return [row for row in self.rows if row.job.order == order]

    def of_method(self, method: str) -> list[Row]:
        """The rows of one method that have a result."""
        return [row for row in self.rows if row.job.method == method and row.result]

    def row(self, method: str, order: int) -> Row:
        """The row of a method at an order."""
        return next(row for row in self.of_order(order) if row.job.method == method)

    def reference(self, order: int) -> Row:
        """The row that gains at this order are measured against."""
        return self.row(REFERENCE, order)

    def finished(self) -> Iterator[Row]:
        """All rows that have a result; the rows of ranks too."""
        return (row for row in (*self.rows, *self.ranks) if row.result)

    def facts(self) -> Result:
        """The sizes of texts and vocabulary, from a result that has them: a mixture does not know its training text."""
        results = [row.result for row in self.finished() if row.result]
        known = next((result for result in results if result["train"]["tokens"]), results[0])
        train = known["train"]
        words = train["tokens"] - train["sentences"] if train["tokens"] else None
        return {**known, "train": {**train, "words": words}}

    def failed(self) -> list[Row]:
        """All rows that have no result; the rows of ranks too."""
        return [row for row in (*self.rows, *self.ranks) if not row.result]

    def best(self) -> Row | None:
        """The row with the lowest test perplexity."""
        tested = [row for row in self.rows if row.test is not None]
        return min(tested, key=lambda row: row.test or 0.0, default=None)

    def as_dict(self) -> dict[str, Any]:
        """The comparison as ``results.json`` has it."""
        return {
            "version": self.version,
            "machine": self.machine,
            "command": self.command,
            "settings": asdict(self.settings),
            "texts": {name: {"path": text.given, **text.identity()} for name, text in self.texts.named().items()},
            "rows": [row.as_dict() for row in self.rows],
            "ranks": [row.as_dict() for row in self.ranks],
        }
