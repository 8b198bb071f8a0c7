"""Words after contexts and states, one question at a time or many."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from types import MethodType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from plre.errors import UsageError
from plre.model import _steps as kernels
from plre.model.plan import Plan
from plre.text.vocabulary import Vocabulary

#: What a decoder carries from word to word: the words that still matter, as ids of 4 bytes, oldest first. Equal states
#: give equal futures. Being bytes, states can be hashed, compared, copied and pickled for nothing.
State = bytes
#: A word, or its id.
Word = str | int
#: What stands before a word: a text, a list of words, or a state.
Context = str | bytes | Sequence[Word]


class Step(NamedTuple):
    """What :meth:`LanguageModel.full_advance` says."""

    logprob: float
    state: State
    #: The length of the longest n-gram that was found.
    matched: int
    unknown: bool


class StepTable(NamedTuple):
    """The same for many words."""

    probs: NDArray[np.float64]
    states: list[State]
    matched: NDArray[np.int8]
    ids: NDArray[np.int32]

    @property
    def logprobs(self) -> NDArray[np.float64]:
        """log10 of the probabilities."""
        with np.errstate(divide="ignore"):
            return np.log10(self.probs)


class Stepper:
    """The steps of a model from context to context."""

    def __init__(self, vocab: Vocabulary, plan: Plan) -> None:
        self._vocab = vocab
        self._plan = plan
        self._known: dict[str, int] = {}

    def ids(self, words: Sequence[Word]) -> NDArray[np.int32]:
        """The ids of words."""
        return np.array([self.word_id(word) for word in words], np.int32)

    def word_id(self, word: Word) -> int:
        """The id of a word, which may be given as its id."""
        if isinstance(word, str):
            w = self._known.get(word)
            if w is None:
                w = self._vocab[word]
                if w:  # unknown words are not kept: there is no end to them
                    self._known[word] = w
            return w
        if isinstance(word, int | np.integer) and not isinstance(word, bool) and 0 <= word < len(self._vocab):
            return int(word)
        raise UsageError(f"{word!r} is neither a word nor the id of one: ids are 0 to {len(self._vocab) - 1}")

    def context(self, context: Context) -> NDArray[np.int32]:
        """Ids of as much of a context as the model can use."""
        if isinstance(context, bytes):
            ids = np.frombuffer(context, np.int32) if len(context) % 4 == 0 else None
            size = len(self._vocab)
            if ids is None or len(ids) > self._plan.reach or (len(ids) and not 0 <= ids.min() <= ids.max() < size):
                raise not_a_state(context)
            return ids
        return self.ids(split(context)[-self._plan.reach :])

    def contexts(self, contexts: Sequence[Context]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Contexts as rows of ids, right-aligned, and how many ids each has."""
        rows = [self.context(context) for context in contexts]
        table = np.full((len(rows), self._plan.reach), len(self._vocab), np.int32)
        for row, ids in zip(table, rows, strict=True):
            row[len(row) - len(ids) :] = ids
        return table, np.array([len(ids) for ids in rows], np.int64)

    def many(self, contexts: Sequence[Context], words: Sequence[Word]) -> StepTable:
        """One step for each word; one context may serve for all words."""
        if isinstance(words, str | bytes):
            raise UsageError("give a list of words; for one word use advance")
        table, sizes = self.contexts(contexts)
        ids = self.ids(words)
        probs, matched, kept = np.empty(len(ids)), np.empty(len(ids), np.int8), np.empty(len(ids), np.int64)
        with self._plan.room() as room:
            kernels.step_many(self._plan.steps, room.work, table, sizes, ids, probs, matched, kept)
        after = np.concatenate([np.broadcast_to(table, (len(ids), table.shape[1])), ids[:, None]], axis=1)
        data, width = after.astype(np.int32).tobytes(), 4 * after.shape[1]
        ends = range(width, len(data) + 1, width)
        states = [data[end - 4 * n : end] for end, n in zip(ends, kept.tolist(), strict=True)]
        return StepTable(probs, states, matched, ids)

    def start_again(self, state: State) -> float:
        """log10 of what components say of ``<s>``."""
        table, sizes = self.contexts([state])
        with self._plan.room() as room:
            return log10(kernels.start_again(self._plan.steps, room.work, table[0], int(sizes[0])))

    def advance(self) -> Callable[[State, Word], tuple[float, State]]:
        """A function for single steps: the compiled one itself, as a method of the plan's address."""
        address = _Address(np.int64(self._plan.steps).tobytes())
        address.plan = self._plan
        return MethodType(kernels.step.entry, address)


class _Address(bytes):
    """The address of a plan, as bytes, since those are passed fastest; the plan lives as long as its address does."""

    plan: Plan


def checked(states: Sequence[State]) -> Sequence[State]:
    """States, if all of them may be some."""
    for state in states:
        if type(state) is not bytes:
            raise not_a_state(state)
    return states


def not_a_state(given: object) -> UsageError:
    """The error for what is none."""
    return UsageError(f"{given!r} is not a state of this model")


def log10(p: float) -> float:
    """The logarithm of a probability, which may be 0."""
    return math.log10(p) if p > 0 else -math.inf


def whole(name: str, given: object) -> int:
    """A whole number from 0 up that was given as an argument of this name."""
    if not isinstance(given, int | np.integer) or isinstance(given, bool) or given < 0:
        raise UsageError(f"{name} must be a whole number from 0 up, not {given!r}")
    return int(given)


def split(context: Context) -> list[Word]:
    """A context as words; a string is split as text is, at ASCII white space only."""
    if not isinstance(context, str):
        try:
            return list(context)
        except TypeError:
            raise UsageError(f"a context is a text, a list of words or a state, not {context!r}") from None
    return [word.decode("utf-8", "surrogatepass") for word in context.encode("utf-8", "surrogatepass").split()]
