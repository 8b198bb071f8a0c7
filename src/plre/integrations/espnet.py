"""Models in beam searches that score the whole vocabulary, such as ESPnet's.

>>> from plre.integrations.espnet import PlreScorer  # doctest: +SKIP
>>> beam_search.full_scorers["ngram"] = PlreScorer("model.plre", token_list)  # doctest: +SKIP
>>> beam_search.weights["ngram"] = 0.3  # doctest: +SKIP

It has the methods of ESPnet's ``BatchScorerInterface`` and ``BatchPartialScorerInterface``, which a beam search calls.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from plre.integrations.unknown import log_share
from plre.interop.opening import open_model
from plre.model.lm import LanguageModel
from plre.text.vocabulary import EOS, UNK

_ENDS = ("<eos>", "<sos/eos>", "</s>")


class PlreScorer:
    """A model that gives natural logarithms of P(token) for all tokens of a list, after prefixes of token numbers.

    ``<eos>`` and ``<sos/eos>`` are the end of a sentence. Tokens that the model does not know get their share of
    ``<unk>``; ``unknown_types`` is how many such there are, by default what the model estimates.
    """

    def __init__(
        self, model: LanguageModel | str | os.PathLike[str], tokens: Sequence[str], *, unknown_types: int | None = None
    ) -> None:
        self.lm = model if isinstance(model, LanguageModel) else open_model(model)
        self._ids = np.array([EOS if token in _ENDS else self.lm.vocab[token] for token in tokens], np.int64)
        self._extra = np.where(self._ids == UNK, log_share(self.lm, unknown_types) * np.log(10), 0.0)

    def init_state(self, x: Any = None) -> bytes | None:
        """The state before any token."""
        return None

    batch_init_state = init_state

    def select_state(self, state: Any, i: int, new_id: int | None = None) -> Any:
        """The state of one of several continuations: that of the prefix, which says all."""
        return state

    def merge_states(self, states: Sequence[Any]) -> Any:
        """No state has anything to be merged."""
        return None

    def final_score(self, state: Any) -> float:
        """What an end costs beyond its own score: nothing."""
        return 0.0

    def score(self, y: Tensor, state: Any, x: Any = None) -> tuple[Tensor, Any]:
        """The logarithms for all tokens after a prefix, which begins with the start of the sentence."""
        scores, _ = self.batch_score(y[None], [state], x)
        return scores[0], None

    def batch_score(self, ys: Tensor, states: Sequence[Any], xs: Any = None) -> tuple[Tensor, list[Any]]:
        """:meth:`score` of several prefixes of one length, as a table with a row for each."""
        rows = self._ids[ys[:, 1:].cpu().numpy()]
        contexts = [self.lm.begin_state() + row.astype(np.int32).tobytes() for row in rows]
        reach = 4 * self.lm.reach
        probs = self.lm.distributions([context[-reach:] for context in contexts])[:, self._ids]
        with np.errstate(divide="ignore"):
            scores = np.log(probs) + self._extra
        return torch.from_numpy(scores).to(ys.device, torch.float32), [None] * len(rows)

    def score_partial(self, y: Tensor, next_tokens: Tensor, state: Any, x: Any = None) -> tuple[Tensor, Any]:
        """:meth:`score` for some tokens only."""
        scores, _ = self.score(y, state, x)
        return scores[next_tokens], None

    def batch_score_partial(
        self, ys: Tensor, next_tokens: Tensor, states: Sequence[Any], xs: Any = None
    ) -> tuple[Tensor, list[Any]]:
        """:meth:`batch_score` for some tokens of each row only."""
        scores, after = self.batch_score(ys, states, xs)
        return scores.gather(1, next_tokens), after
