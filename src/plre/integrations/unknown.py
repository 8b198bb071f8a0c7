"""What an unknown word gets of the probability of ``<unk>``, which stands for all of them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from plre.errors import UsageError

if TYPE_CHECKING:
    from plre.model.lm import LanguageModel

#: log10 of an unknown word's share where nobody knows how many unknown words there are: the usual penalty of decoders.
PENALTY = -10.0


def log_share(lm: LanguageModel, unknown_types: int | None = None) -> float:
    """log10 of an unknown word's share of ``<unk>``, if that stands for so many words.

    Without a number it is the model's own estimate: words that its text had too seldom, and, from those that it had
    once or twice, words that it did not have. A model whose text held ``<unk>`` itself, or an ARPA file, has none.
    """
    if unknown_types is None:
        unknown_types = lm.unknown_types
        if unknown_types is None:
            return PENALTY
    if not isinstance(unknown_types, int) or unknown_types < 1:
        raise UsageError(f"the number of unknown words must be a whole number from 1 up, not {unknown_types!r}")
    return -math.log10(unknown_types)
