"""Models in pyctcdecode, the decoder that Hugging Face's ``Wav2Vec2ProcessorWithLM`` uses.

>>> from plre.integrations.pyctcdecode import build_decoder  # doctest: +SKIP
>>> decoder = build_decoder(labels, "model.plre")  # doctest: +SKIP
>>> decoder.decode(logits)  # doctest: +SKIP
"""

from __future__ import annotations

import json
import math
import os
import shutil
from collections.abc import Collection, Sequence
from typing import Any

from pyctcdecode import BeamSearchDecoderCTC
from pyctcdecode import language_model as theirs
from pyctcdecode.alphabet import Alphabet
from pyctcdecode.constants import AVG_TOKEN_LEN, DEFAULT_ALPHA, DEFAULT_BETA, DEFAULT_SCORE_LM_BOUNDARY

from plre.errors import UsageError
from plre.integrations.unknown import log_share
from plre.interop.opening import open_model
from plre.model.lm import LanguageModel
from plre.text.vocabulary import SPECIAL

_NATURAL = math.log(10)
#: Names in a saved folder; pyctcdecode and Hugging Face know them.
_ATTRIBUTES, _UNIGRAMS, _MODEL = "attrs.json", "unigrams.txt", "lm.bin"


class LmState(getattr(theirs, "AbstractLMState", object)):  # type: ignore[misc]  # it came after version 0.5
    """What the decoder carries from word to word."""

    __slots__ = ("words",)

    def __init__(self, words: bytes) -> None:
        self.words = words

    def get_mp_safe_state(self) -> LmState:
        """Itself: it can be sent to another process."""
        return self

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LmState) and self.words == other.words

    def __hash__(self) -> int:
        return hash(self.words)


class PlreLanguageModel(theirs.AbstractLanguageModel):  # type: ignore[misc]
    """A model as pyctcdecode wants it: its own ``LanguageModel``, which needs the ``kenlm`` module, in all but that.

    unigrams          the words that exist; those of the model unless told otherwise
    alpha, beta       the weight of the model, and what each word gets
    unk_score_offset  log10 of an unknown word's share of ``<unk>``; by default what the model estimates
    unknown_types     or how many words ``<unk>`` stands for, from which that follows
    score_boundary    whether sentences begin and end where the audio does
    """

    def __init__(
        self,
        model: LanguageModel | str | os.PathLike[str],
        unigrams: Collection[str] | None = None,
        alpha: float = DEFAULT_ALPHA,
        beta: float = DEFAULT_BETA,
        unk_score_offset: float | None = None,
        score_boundary: bool = DEFAULT_SCORE_LM_BOUNDARY,
        *,
        unknown_types: int | None = None,
    ) -> None:
        self.lm = model if isinstance(model, LanguageModel) else open_model(model)
        words = list(self.lm.vocab)[len(SPECIAL) :]
        self.unigrams = frozenset(words if unigrams is None else (set(unigrams) & set(words)))
        self._beginnings = frozenset(word[:end] for word in self.unigrams for end in range(len(word) + 1))
        self.alpha = alpha
        self.beta = beta
        self.unk_score_offset = log_share(self.lm, unknown_types) if unk_score_offset is None else unk_score_offset
        self.score_boundary = score_boundary
        self._advance = self.lm.advance

    @property
    def order(self) -> int:
        """How many words, the predicted one included, the model looks at."""
        return self.lm.reach

    def reset_params(self, **params: Any) -> None:
        """Change some of alpha, beta, unk_score_offset and score_boundary."""
        for name in ("alpha", "beta", "unk_score_offset", "score_boundary"):
            value = params.get(name)
            if value is not None:
                wanted = bool if name == "score_boundary" else float
                if not isinstance(value, wanted):
                    raise ValueError(f"{name} must be a {wanted.__name__}. Got {type(value)}.")
                setattr(self, name, value)

    def get_start_state(self) -> LmState:
        """The state before the first word."""
        return LmState(self.lm.begin_state() if self.score_boundary else self.lm.null_state())

    def score_partial_token(self, partial_token: str) -> float:
        """What a word that is not complete costs: nothing, unless no word begins so."""
        if partial_token in self._beginnings:
            return 0.0
        return self.unk_score_offset * max(1.0, len(partial_token) / AVG_TOKEN_LEN)

    def score(self, prev_state: LmState, word: str, is_last_word: bool = False) -> tuple[float, LmState]:
        """The natural logarithm of P(word), weighted, and the state after the word."""
        logprob, state = self._advance(prev_state.words, word)
        if word not in self.unigrams:
            logprob += self.unk_score_offset
        if is_last_word and self.score_boundary:
            logprob += self._advance(state, "</s>")[0]
        return self.alpha * logprob * _NATURAL + self.beta, LmState(state)

    def save_to_dir(self, filepath: str) -> None:
        """Write the model and its options to a folder, from which pyctcdecode reads them, too."""
        os.makedirs(filepath, exist_ok=True)
        names = ("alpha", "beta", "unk_score_offset", "score_boundary")
        with open(os.path.join(filepath, _ATTRIBUTES), "w", encoding="utf-8") as out:
            json.dump({name: getattr(self, name) for name in names}, out)
        with open(os.path.join(filepath, _UNIGRAMS), "w", encoding="utf-8") as out:
            out.writelines(f"{word}\n" for word in sorted(self.unigrams))
        target = os.path.join(filepath, _MODEL)
        if self.lm.path is None or not os.path.exists(self.lm.path):
            self.lm.save(target)
        elif not os.path.exists(target) or not os.path.samefile(self.lm.path, target):
            shutil.copyfile(self.lm.path, target)

    @classmethod
    def load_from_dir(cls, filepath: str, unigram_encoding: str | None = "utf-8") -> PlreLanguageModel:
        """What :meth:`save_to_dir` wrote."""
        with open(os.path.join(filepath, _ATTRIBUTES), encoding="utf-8") as file:
            attributes = json.load(file)
        with open(os.path.join(filepath, _UNIGRAMS), encoding=unigram_encoding) as file:
            unigrams = file.read().split("\n")[:-1]
        return cls(os.path.join(filepath, _MODEL), unigrams, **attributes)


def build_decoder(
    labels: Sequence[str], model: LanguageModel | str | os.PathLike[str], **options: Any
) -> BeamSearchDecoderCTC:
    """A decoder for the labels of an acoustic model; ``options`` are those of :class:`PlreLanguageModel`."""
    return BeamSearchDecoderCTC(Alphabet.build_alphabet(list(labels)), PlreLanguageModel(model, **options))


def save_processor(
    folder: str | os.PathLike[str], labels: Sequence[str], model: LanguageModel | str | os.PathLike[str], **options: Any
) -> None:
    """Put a decoder into the folder of a Hugging Face processor, as ``Wav2Vec2ProcessorWithLM`` expects it there.

    The folder is that of a ``Wav2Vec2Processor`` (``processor.save_pretrained``), ``labels`` are its tokens by their
    ids. Whoever loads it calls ``plre.kenlm.install()`` first: the model is opened through the ``kenlm`` module.
    """
    path = os.fspath(folder)
    if not os.path.isdir(path):
        raise UsageError(f"{path}: is no folder; save a Wav2Vec2Processor there first")
    decoder = build_decoder(labels, model, **options)
    with open(os.path.join(path, "alphabet.json"), "w", encoding="utf-8") as out:
        out.write(decoder._alphabet.dumps())
    decoder._language_model.save_to_dir(os.path.join(path, "language_model"))
