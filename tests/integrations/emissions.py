"""What an acoustic model might say: letters of sentences by frame, made unsure by noise with a fixed seed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

#: Of pyctcdecode; the empty one is CTC's blank.
LABELS = [" ", *"abcdefghijklmnopqrstuvwxyz0123456789'.,-", ""]


def emissions(sentence: str, noise: float, seed: int, labels: Sequence[str] = LABELS) -> NDArray[np.float64]:
    """Log probabilities of labels for each frame: two frames a letter, a blank between letters."""
    rng = np.random.default_rng(seed)
    blank = labels.index("")
    frames: list[int] = []
    for letter in sentence:
        frames += [labels.index(letter)] * 2 + [blank]
    logits = rng.normal(0.0, noise, (len(frames), len(labels)))
    logits[np.arange(len(frames)), frames] += 4.0
    found: NDArray[np.float64] = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    return found
