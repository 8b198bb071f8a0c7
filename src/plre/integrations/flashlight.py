"""Models in flashlight-text, the decoder behind ``torchaudio.models.decoder.ctc_decoder``.

>>> from plre.integrations.flashlight import ctc_decoder  # doctest: +SKIP
>>> decoder = ctc_decoder(lexicon="lexicon.txt", tokens="tokens.txt", lm="model.plre")  # doctest: +SKIP
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from flashlight.lib.text.decoder import LM, LMState

from plre.integrations.unknown import log_share
from plre.interop.opening import open_model
from plre.model.lm import LanguageModel
from plre.text.vocabulary import EOS, UNK

_FINISH = -1


class PlreLM(LM):  # type: ignore[misc]
    """A model as flashlight wants it: scores are log10 P, as those of its own ``KenLM`` are.

    ``words`` is the dictionary of the decoder: its word (or token) with each number. Unknown words get their share of
    ``<unk>``; ``unknown_types`` is how many words that stands for, by default what the model estimates.
    """

    def __init__(
        self,
        model: LanguageModel | str | os.PathLike[str],
        words: Sequence[str],
        *,
        unknown_types: int | None = None,
    ) -> None:
        LM.__init__(self)
        self.lm = model if isinstance(model, LanguageModel) else open_model(model)
        self._ids = [self.lm.vocab[word] for word in words]
        self._extra = [log_share(self.lm, unknown_types) if w == UNK else 0.0 for w in self._ids]
        self._advance = self.lm.advance
        #: flashlight's states are its own, and compared by which they are; ours are known by them.
        self._states: dict[LMState, bytes] = {}

    def start(self, start_with_nothing: bool) -> LMState:
        """The state before the first word. What was known of sentences before is forgotten."""
        self._states.clear()
        state = LMState()
        self._states[state] = self.lm.null_state() if start_with_nothing else self.lm.begin_state()
        return state

    def score(self, state: LMState, index: int) -> tuple[LMState, float]:
        """The state after a word of the dictionary, and log10 P of that."""
        return self._step(state, index, self._ids[index], self._extra[index])

    def finish(self, state: LMState) -> tuple[LMState, float]:
        """The state after the end of a sentence, and log10 P of that."""
        return self._step(state, _FINISH, EOS, 0.0)

    def _step(self, state: LMState, index: int, word: int, extra: float) -> tuple[LMState, float]:
        logprob, after = self._advance(self._states[state], word)
        out = state.child(index)
        self._states[out] = after
        return out, logprob + extra
