"""Finished jobs on disk: a rerun finds them again by their keys, so that it only does what is new."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plre.comparison.plan import Job
from plre.errors import UsageError
from plre.files import check_writable_folder, write_whole

Result = dict[str, Any]


@dataclass(frozen=True)
class Files:
    """The files of one job: result, scores of the test text, model."""

    result: Path
    scores: Path
    model: Path

    def load(self) -> Result | None:
        """The result, or None if the job has not been done (or not to the end)."""
        try:
            found: Result = json.loads(self.result.read_text())
            np.load(self.scores, mmap_mode="r", allow_pickle=False)  # whether it is there, and whole
        except (OSError, ValueError, EOFError):
            return None
        return found

    def save(self, result: Result) -> None:
        """Keep a result; it appears when it is complete."""
        write_whole(self.result, json.dumps(result, indent=2, ensure_ascii=False, allow_nan=False) + "\n")

    def load_scores(self) -> NDArray[np.float64]:
        """log10 probability of each sentence of the test text."""
        scores: NDArray[np.float64] = np.load(self.scores, allow_pickle=False)
        return scores

    def discard_model(self) -> None:
        """Remove the model, if there is one."""
        self.model.unlink(missing_ok=True)


class ResultStore:
    """The folder of a comparison."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        if self.folder.exists() and not self.folder.is_dir():
            raise UsageError(f"{folder}: is a file; give a folder for the report and the models")

    def prepare(self) -> None:
        """Make the folders, and make sure that files can be written there."""
        try:
            for name in ("results", "models"):
                (self.folder / name).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"{self.folder}: the folder cannot be made ({error.strerror or error})") from None
        for folder in (self.folder, self.folder / "results", self.folder / "models"):
            check_writable_folder(folder)

    def files(self, job: Job, key: str) -> Files:
        """The files of a job; the key is part of their names, so that other options have other files."""
        name = f"{job.method}-{job.order}" + (f"-rank{job.rank}" if job.rank else "") + f"-{key}"
        results = self.folder / "results"
        return Files(results / f"{name}.json", results / f"{name}.npy", self.folder / "models" / f"{name}.plre")
