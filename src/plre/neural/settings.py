"""The settings of a log-bilinear model and of its training, as one value that is stored with it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from plre.errors import UsageError


@dataclass(frozen=True)
class NeuralSettings:
    """Options of :func:`plre.neural.train`, checked."""

    #: How many words before the predicted one are seen.
    context: int = 5
    #: Features of a word.
    dimensions: int = 100
    #: Whether a word is represented by the same features where it is seen and where it is predicted.
    shared: bool = True
    #: How many of the most frequent words are predicted at once; 0: all (see ``bands.py``).
    head: int = 500
    #: The share of features that is left out at random while training.
    dropout: float = 0.2
    #: Adam's step.
    rate: float = 0.005
    #: Words whose gradients make one step.
    batch: int = 2048
    #: At most so many times through the text.
    epochs: int = 30
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("context", "dimensions", "batch", "epochs"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} must be at least 1, not {getattr(self, name)}")
        for name in ("head", "seed"):
            if getattr(self, name) < 0:
                raise UsageError(f"{name} must be 0 or more, not {getattr(self, name)}")
        if not 0 <= self.dropout < 1:
            raise UsageError(f"dropout must be at least 0 and below 1, not {self.dropout}")
        if not self.rate > 0:
            raise UsageError(f"rate must be above 0, not {self.rate}")

    def as_dict(self) -> dict[str, Any]:
        """The settings as the header of a file has them."""
        return asdict(self)
