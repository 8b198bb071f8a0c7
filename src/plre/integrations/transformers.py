"""Models of tokens beside neural ones in Hugging Face's transformers: shallow fusion, and drafts to be checked.

>>> from plre.integrations.transformers import PlreLogitsProcessor  # doctest: +SKIP
>>> fused = PlreLogitsProcessor("tokens.plre", weight=0.3)  # doctest: +SKIP
>>> model.generate(**inputs, logits_processor=[fused])  # doctest: +SKIP
"""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from transformers import LogitsProcessor

from plre.errors import UsageError
from plre.interop.opening import open_model
from plre.model.lm import LanguageModel
from plre.text.vocabulary import BOS, EOS, SPECIAL


class TokenModel:
    """A model of tokens, asked by their numbers. ``end`` is the token that ends a sentence, if there is one."""

    def __init__(self, model: LanguageModel | str | os.PathLike[str], end: int | None = None) -> None:
        self.lm = model if isinstance(model, LanguageModel) else open_model(model)
        words = list(self.lm.vocab)[len(SPECIAL) :]
        if not all(word.isdecimal() for word in words):
            raise UsageError("this is no model of tokens: train one with --tokenizer or --tokens")
        self.end = self.lm.metadata.get("token_end") if end is None else end
        #: The id of each token.
        self.ids = np.zeros(1 + max(map(int, words), default=0), np.int64)
        self.ids[[int(word) for word in words]] = np.arange(len(SPECIAL), len(self.lm.vocab))

    def context(self, tokens: Sequence[int]) -> bytes:
        """The state after some tokens: of those since the last end."""
        last = [int(token) for token in tokens[-self.lm.reach :]]
        start = len(tokens) <= self.lm.reach
        if self.end in last:
            last, start = last[len(last) - last[::-1].index(self.end) :], True
        known = [int(self.ids[token]) if token < len(self.ids) else 0 for token in last]
        ids = [BOS, *known] if start and self.lm.markers else known
        return np.array(ids[-self.lm.reach :], np.int32).tobytes()

    def log_probs(self, rows: Sequence[Sequence[int]], size: int) -> NDArray[np.float64]:
        """Natural logarithms of P(token), for tokens below ``size``, after each row of tokens."""
        probs = self.lm.distributions([self.context(row) for row in rows])
        table = np.zeros((len(rows), max(size, len(self.ids))))
        known = self.ids >= len(SPECIAL)
        table[:, : len(self.ids)][:, known] = probs[:, self.ids[known]]
        if self.end is not None and self.end < table.shape[1]:
            table[:, self.end] = probs[:, EOS]
        with np.errstate(divide="ignore"):
            return np.log(table[:, :size])  # type: ignore[no-any-return]

    def continuations(self, tokens: Sequence[int], k: int = 4, length: int = 5) -> list[tuple[list[int], float]]:
        """The ``k`` most probable continuations of some tokens by up to ``length`` others, by a beam search, and the
        natural logarithm of their probability: drafts that a large model checks all at once."""
        beams: list[tuple[list[int], float]] = [([], 0.0)]
        for _ in range(length):
            going = [beam for beam in beams if not beam[0] or beam[0][-1] != self.end]
            if not going:
                break
            table = self.log_probs([[*tokens, *beam] for beam, _ in going], len(self.ids))
            found = [beam for beam in beams if beam[0] and beam[0][-1] == self.end]
            for (beam, score), row in zip(going, table, strict=True):
                best = np.argsort(-row, kind="stable")[:k]
                found += [([*beam, int(token)], score + float(row[token])) for token in best]
            beams = sorted(found, key=lambda each: -each[1])[:k]
        return beams


class PlreLogitsProcessor(LogitsProcessor):  # type: ignore[misc]
    """Shallow fusion: adds ``weight`` times log P(token) of a model of tokens to what a neural model says.

    Tokens that the model of tokens finds impossible get no less than ``lowest`` (a natural logarithm).
    """

    def __init__(
        self,
        model: LanguageModel | str | os.PathLike[str],
        weight: float = 0.3,
        *,
        end: int | None = None,
        lowest: float = -30.0,
    ) -> None:
        self.tokens = TokenModel(model, end)
        self.weight = weight
        self.lowest = lowest

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """The scores of all tokens after each row."""
        said = self.tokens.log_probs(input_ids.cpu().tolist(), scores.shape[1])
        fused: Tensor = scores + self.weight * torch.from_numpy(np.maximum(said, self.lowest)).to(scores)
        return fused
