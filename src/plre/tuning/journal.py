"""The journal of a search: its trials, line by line in a file beside the model, from which it goes on when interrupted.

Every line has the key of its search (a checksum of texts, options and version), so that one file may hold several and
nothing is mistaken for something else. Lines are only ever added, each when its trial is over.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from plre.errors import UsageError
from plre.tuning.settings import Settings

TrialOutcome = Literal["done", "dropped", "failed"]
#: Kind of work, how much of it, and the seconds it took.
Made = tuple[str, float, float]


@dataclass(frozen=True)
class Trial:
    """One recipe that was tried, and what came of it."""

    number: int
    kind: str
    change: str
    settings: Settings
    outcome: TrialOutcome
    seconds: float
    perplexity: float | None = None
    bytes: int | None = None
    #: The perplexity in an early look, if there was one, and that of the best trial so far under the same conditions.
    early: tuple[float, float] | None = None
    #: Why it was dropped or failed.
    reason: str = ""
    made: tuple[Made, ...] = ()

    def describe(self) -> dict[str, Any]:
        """The trial as JSON, for a line of the journal."""
        return asdict(self) | {"settings": self.settings.describe()}

    @classmethod
    def read(cls, data: dict[str, Any]) -> Trial:
        """A trial from JSON, the inverse of :meth:`describe`."""
        data = dict(data)
        early = data.pop("rehearsed", None) or data.get("early")  # the first is what journals used to call it
        return cls(
            **data
            | {
                "settings": Settings.read(data["settings"]),
                "early": None if early is None else (early[0], early[1]),
                "made": tuple((kind, work, seconds) for kind, work, seconds in data["made"]),
            }
        )


def best_of(trials: Sequence[Trial]) -> Trial | None:
    """The trial with the lowest perplexity, if there is any; the first of equals."""
    done = [trial for trial in trials if trial.perplexity is not None and trial.outcome == "done"]
    return min(done, key=lambda trial: trial.perplexity or 0.0) if done else None


class Journal:
    """The trials of one search; in memory only if there is no path."""

    def __init__(self, path: str | os.PathLike[str] | None, identity: dict[str, Any]) -> None:
        self.path = None if path is None else Path(path)
        self.identity = identity
        written = json.dumps(identity, sort_keys=True)
        self.key = hashlib.blake2b(written.encode(), digest_size=8).hexdigest()
        self.trials: list[Trial] = []
        #: How many of them were done by earlier runs.
        self.before = 0
        if self.path is not None and self.path.exists():
            self._read(self.path)

    def _read(self, path: Path) -> None:
        """Take what belongs to this search. A last line without an end was cut off by an interruption."""
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"{path}: is not the journal of a search ({error}); move it away") from None
        for number, line in enumerate(text.split("\n")[:-1], 1):
            try:
                said = json.loads(line)
                if said["key"] == self.key and "trial" in said:
                    self.trials.append(replace(Trial.read(said["trial"]), number=len(self.trials) + 1))
            except (ValueError, KeyError, TypeError):
                raise UsageError(f"{path}:{number}: is not a line of a search's journal; move the file away") from None
        self.before = len(self.trials)

    def open(self) -> None:
        """Make sure that the file can be written to, ends with a whole line, and says what the search is about."""
        if self.path is None:
            return
        try:
            if self.path.exists():
                with self.path.open("rb+") as file:
                    file.truncate(file.read().rfind(b"\n") + 1)
            if not self.trials:
                self._append({"key": self.key, "search": self.identity})
        except OSError as error:
            raise UsageError(f"{self.path}: the journal cannot be written ({error.strerror or error})") from None

    def add(self, trial: Trial) -> None:
        """Add a trial, and write its line."""
        self.trials.append(trial)
        if self.path is not None:
            self._append({"key": self.key, "trial": trial.describe()})

    def _append(self, said: dict[str, Any]) -> None:
        assert self.path is not None
        line = json.dumps(said, ensure_ascii=False, allow_nan=False) + "\n"
        with self.path.open("ab") as file:
            file.write(line.encode())
            file.flush()
            os.fsync(file.fileno())

    @property
    def best(self) -> Trial | None:
        """The best trial so far."""
        return best_of(self.trials)

    @property
    def seconds(self) -> float:
        """The time that all trials took together."""
        return sum(trial.seconds for trial in self.trials)
