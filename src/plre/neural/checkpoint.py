"""Training that can be stopped: all of its state in one file, written after every epoch."""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import Any

from torch import Tensor

from plre.errors import UsageError
from plre.neural import storage
from plre.neural.fitting import Course, Trainer

_KIND = "log-bilinear model in training"


class Checkpoint:
    """The file of a trainer. If it is there already, the trainer goes on from it, also for more epochs than before."""

    def __init__(self, path: str | os.PathLike[str], trainer: Trainer, about: dict[str, Any]) -> None:
        self.path = path
        self.trainer = trainer
        settings = {name: value for name, value in trainer.settings.as_dict().items() if name != "epochs"}
        self.run = {"settings": settings, "about": dict(about)}
        if os.path.exists(path):
            self._resume()

    def write(self) -> None:
        """Write where training is."""
        storage.write(self.path, _KIND, {**self.run, "course": asdict(self.trainer.course)}, self._tensors())

    def _resume(self) -> None:
        about, tensors = storage.read(self.path, _KIND)
        if {key: about[key] for key in self.run} != self.run:
            raise UsageError(
                f"{os.fspath(self.path)}: is of a training with other options or another text; "
                "remove it, or name another file"
            )
        self.trainer.start_optimiser()
        self.trainer.course = Course(**about["course"])
        for name, tensor in self._tensors().items():
            tensor.copy_(tensors[name].view(tensor.shape))

    def _tensors(self) -> dict[str, Tensor]:
        """The weights now, the best so far, and what Adam remembers of each."""
        now = self.trainer.network.weights
        found = {f"now.{name}": weights for name, weights in now.items()}
        found |= {f"best.{name}": weights for name, weights in self.trainer.best.items()}
        for name, weights in now.items():
            found |= {f"adam.{name}.{key}": value for key, value in self.trainer.optimiser.state[weights].items()}
        return found
