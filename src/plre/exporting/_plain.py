"""Comparing n-grams with what backing off gives."""

from __future__ import annotations

import numpy as np

from plre._jit import kernel


@kernel
def raise_logs(children, suffixes, weights, lower, logs):
    """Raise log P(w | h) to log weight(h) + log P(w | h'), where that is more, but to no more than 0."""
    for h in range(len(children) - 1):
        for i in range(children[h], children[h + 1]):
            logs[i] = max(logs[i], min(weights[h] + lower[suffixes[i]], np.float32(0)))
