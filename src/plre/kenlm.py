"""The surface of the ``kenlm`` module, for models of any kind: ``import plre.kenlm as kenlm``.

Names, arguments, defaults and results are those of KenLM's Python module, its peculiarities included, so that programs
which use that run unchanged: base 10 logarithms, text split at ASCII white space only, ``"<unk>" in model`` is False,
a model's ``path`` is bytes, a file that cannot be read is an ``OSError``. Files are plre's own or ARPA files,
compressed or not. Beyond that, states can be pickled and copied.

>>> model = Model("model.plre")  # doctest: +SKIP
>>> model.score("this is a sentence .")  # doctest: +SKIP
-12.86
>>> state, out = State(), State()  # doctest: +SKIP
>>> model.BeginSentenceWrite(state)  # doctest: +SKIP
>>> model.BaseScore(state, "this", out)  # doctest: +SKIP
-2.09
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterator
from functools import total_ordering
from typing import Any

from plre.errors import PlreError
from plre.interop.opening import open_model
from plre.model.lm import LanguageModel as _Model
from plre.text.vocabulary import BOS, UNK

__all__ = ["ARPALoadComplain", "Config", "FullScoreReturn", "LanguageModel", "LoadMethod", "Model", "State", "install"]


def install() -> None:
    """Let ``import kenlm`` mean this module, for libraries that do so. Call it before they are imported."""
    sys.modules["kenlm"] = sys.modules[__name__]


class LoadMethod:
    """How KenLM reads binary files. Files of plre are always mapped into memory."""

    LAZY, POPULATE_OR_LAZY, POPULATE_OR_READ, READ, PARALLEL_READ = range(5)


class ARPALoadComplain:
    """Of which slow ways to open a model KenLM complains."""

    ALL, EXPENSIVE, NONE = range(3)


class Config:
    """How a model is opened. Nothing in it changes what a model answers."""

    def __init__(self) -> None:
        self.load_method = LoadMethod.POPULATE_OR_READ
        self.show_progress = True
        self.arpa_complain = ARPALoadComplain.ALL


class FullScoreReturn:
    """What :meth:`Model.BaseFullScore` says of a word."""

    __slots__ = ("log_prob", "ngram_length", "oov")

    def __init__(self, log_prob: float, ngram_length: int, oov: bool) -> None:
        self.log_prob = log_prob
        self.ngram_length = ngram_length
        self.oov = oov

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.log_prob!r}, {self.ngram_length!r}, {self.oov!r})"


@total_ordering
class State:
    """What a decoder carries from word to word: the words that still matter, as ids of 4 bytes, oldest first.

    States of one model compare equal when no longer context can make a difference.
    """

    __slots__ = ("words",)

    def __init__(self) -> None:
        self.words = b""

    def __eq__(self, other: object) -> bool:
        return self.words == other.words if isinstance(other, State) else NotImplemented

    def __lt__(self, other: object) -> bool:
        if not isinstance(other, State):
            return NotImplemented
        return (len(self.words), self.words) < (len(other.words), other.words)

    def __hash__(self) -> int:
        return hash(self.words)

    def __copy__(self) -> State:
        made = State()
        made.words = self.words
        return made

    def __deepcopy__(self, memo: object = None) -> State:
        return self.__copy__()

    def __reduce__(self) -> tuple[Any, ...]:
        return _state_of, (self.words,)


def _state_of(words: bytes) -> State:
    made = State()
    made.words = words
    return made


def _as_bytes(data: object) -> bytes:
    if isinstance(data, bytes):
        return data
    if isinstance(data, str):
        return data.encode("utf8")
    raise TypeError(f"Cannot convert {type(data)} to string")


class Model:
    """A model that answers KenLM's questions."""

    def __init__(self, path: str | bytes | os.PathLike[str], config: Config | None = None) -> None:
        given = os.fspath(path)
        self.path = os.path.abspath(_as_bytes(given))
        try:
            self.lm: _Model = open_model(os.fsdecode(self.path))
        except (PlreError, OSError) as error:
            message = str(error).replace("\n", " ")
            raise OSError(f"Cannot read model '{given!s}' ({message})") from error
        self._advance = self.lm.advance

    @property
    def order(self) -> int:
        """How many words the model looks at, the predicted one included: decoders keep so much of the past."""
        return self.lm.reach

    def score(self, sentence: str | bytes, bos: bool = True, eos: bool = True) -> float:
        """log10 P of a string: of a sentence, unless told that it does not begin or end there."""
        data = _as_bytes(sentence)
        if bos and eos:
            data = data.partition(b"\0")[0]  # whole sentences end there
        score = self.lm.score_bytes(data, bos, eos)
        if score is not None:
            return score
        return math.fsum(logprob for logprob, _, _ in self._steps(data.split(), bos, eos))

    def perplexity(self, sentence: str | bytes) -> float:
        """Perplexity of a sentence, its end included."""
        words = len(_as_bytes(sentence).split()) + 1
        return float(10.0 ** (-self.score(sentence) / words))

    def full_scores(
        self, sentence: str | bytes, bos: bool = True, eos: bool = True
    ) -> Iterator[tuple[float, int, bool]]:
        """For each word, and the end: log10 P, length of the n-gram matched, whether the word is unknown."""
        return self._steps(_as_bytes(sentence).split(), bos, eos)

    def BeginSentenceWrite(self, state: State) -> None:  # noqa: N802
        """Make a state that of the start of a sentence."""
        state.words = self.lm.begin_state()

    def NullContextWrite(self, state: State) -> None:  # noqa: N802
        """Make a state that of knowing nothing."""
        state.words = b""

    def BaseScore(self, in_state: State, word: str, out_state: State) -> float:  # noqa: N802
        """log10 P(word | in_state); the state after the word goes to ``out_state``."""
        if word == "<s>":
            return self._start(in_state, out_state)
        logprob, out_state.words = self._advance(in_state.words, word)
        return logprob

    def BaseFullScore(self, in_state: State, word: str, out_state: State) -> FullScoreReturn:  # noqa: N802
        """:meth:`BaseScore` with the length of the n-gram matched, and whether the word is unknown."""
        if word == "<s>":
            return FullScoreReturn(self._start(in_state, out_state), 1, False)
        step = self.lm.full_advance(in_state.words, word)
        out_state.words = step.state
        return FullScoreReturn(step.logprob, step.matched, step.unknown)

    def __contains__(self, word: str | bytes) -> bool:
        return self._id(_as_bytes(word)) != UNK

    def __repr__(self) -> str:
        return f"<Model from {os.path.basename(self.path)!r}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.path,)

    def _id(self, word: bytes) -> int:
        return self.lm.vocab[word.decode("utf-8", "surrogateescape")]

    def _steps(self, words: list[bytes], bos: bool, eos: bool) -> Iterator[tuple[float, int, bool]]:
        state, out = State(), State()
        if bos:
            self.BeginSentenceWrite(state)
        for word in [*words, *([b"</s>"] if eos else [])]:
            if word:
                found = self.BaseFullScore(state, word.decode("utf-8", "surrogateescape"), out)
                yield found.log_prob, found.ngram_length, found.oov
                state, out = out, state

    def _start(self, in_state: State, out_state: State) -> float:
        """What ``<s>`` costs: what an ARPA file says of it, else nothing."""
        logprob = self.lm.start_again(in_state.words)
        _, out_state.words = self._advance(in_state.words, BOS)
        return logprob if logprob > -math.inf else 0.0


class LanguageModel(Model):
    """The name that :class:`Model` once had."""
