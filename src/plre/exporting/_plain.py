"""Comparing n-grams with what backing off gives."""

from __future__ import annotations

from plre._jit import kernel


@kernel
def raise_logs(children, suffixes, weights, lower, logs):
    """Raise log P(w | h) to log weight(h) + log P(w | h'), where that is more."""
    for h in range(len(children) - 1):
        for i in range(children[h], children[h + 1]):
            logs[i] = max(logs[i], weights[h] + lower[suffixes[i]])
