"""The immutable model and the questions it answers."""

from __future__ import annotations

import math
import os
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plre.errors import ModelFileError, PlreError, TextError, UsageError
from plre.model import _spreading as spreading
from plre.model import _texts as texts
from plre.model import check, neighbours, storage
from plre.model.component import Component
from plre.model.plan import Plan
from plre.model.scoring import Scored, Tally, score_ids, score_lines, score_text, tally_text
from plre.model.steps import Context, State, Step, Stepper, Word, checked, log10, split, whole
from plre.progress import Progress
from plre.text.encode import TextOptions
from plre.text.sources import Errors, Source
from plre.text.tokens import with_tokens
from plre.text.vocabulary import BOS, EOS, NOTHING, UNK, Vocabulary
from plre.threads import cpu_count, parallel

_LINES_A_TASK = 4096
_CONTEXTS_A_TASK = 8
_MARKER = "the sentence holds <s> or </s>; plre adds them by itself (bos=True, eos=True)"


class LanguageModel:
    """A trained model: one component or several over one vocabulary (``component.py``).

    Make one with :func:`plre.train` or open one with :func:`plre.load`.

    Scores are base 10 logarithms, as in KenLM and ARPA files. A context is a list of words or one string, oldest word
    first, or a state; it may start with ``<s>``. Words that the model does not know count as ``<unk>``. Where a word is
    asked for, its id will do.
    """

    def __init__(
        self,
        vocab: Vocabulary,
        components: Sequence[Component],
        metadata: Mapping[str, Any],
        path: str | None = None,
    ) -> None:
        self.vocab = vocab
        self.components = tuple(components)
        self.metadata = metadata
        self.path = path
        self._file = None if path is None else os.path.abspath(path)
        self.order: int = metadata["order"]
        self.markers: bool = metadata["markers"]
        self.plan = Plan(vocab, self.components)
        #: The longest n-gram that has a say; classes may have longer ones than words.
        self.reach = self.plan.reach
        self._steps = Stepper(vocab, self.plan)
        self._begin = np.int32(BOS).tobytes() if self.markers else b""

    # --- making, saving, loading -------------------------------------------------------------------------------------

    @property
    def nbytes(self) -> int:
        """Bytes of all that the model consists of, which is nearly the size of its file."""
        return storage.size_of(self)

    @property
    def digest(self) -> str:
        """A checksum of the model."""
        if "digest" not in self.metadata:
            self.metadata = {**self.metadata, "digest": storage.checksum(self)}
        return str(self.metadata["digest"])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file, replacing an old one only when the new one is complete."""
        name = os.fspath(path)
        self.metadata = storage.save(self, name)
        self.path = name
        self._file = os.path.abspath(name)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> LanguageModel:
        """Open a model file; it is mapped into memory, not read."""
        name = os.fspath(path)
        stored = storage.load(name)
        try:
            return LanguageModel(stored.vocab, stored.components, stored.metadata, name)
        except (ValueError, KeyError, OverflowError) as error:
            raise ModelFileError(f"{name}: is damaged ({error}); copy or train the model again") from None

    def verify(self) -> None:
        """Read all of the model and raise :class:`ModelFileError` if a byte has changed since it was made.

        Then check that everything in it fits together, which finds a file that was made on purpose to be wrong.
        """
        check.verify(self)

    def __reduce__(self) -> tuple[Any, ...]:
        if self._file is None:
            raise PlreError("a model is pickled as the path of its file: save it first with lm.save(path)")
        return LanguageModel.load, (self._file,)

    def __repr__(self) -> str:
        name = f" from {self.path}" if self.path else ""
        return f"<plre.LanguageModel: {self.metadata['method']}, order {self.order}, {len(self.vocab)} words{name}>"

    # --- sentences ---------------------------------------------------------------------------------------------------

    def score(self, sentence: str, bos: bool = True, eos: bool = True) -> float:
        """log10 probability of a sentence: from ``<s>`` (``bos``) and to ``</s>`` (``eos``) unless told otherwise."""
        try:
            data = sentence.encode("utf-8", "surrogatepass")
        except AttributeError:
            raise _not_a_sentence(sentence) from None
        score = self.score_bytes(data, bos, eos)
        if score is None:
            raise TextError(_MARKER)
        return score

    def score_bytes(self, sentence: bytes, bos: bool = True, eos: bool = True) -> float | None:
        """:meth:`score` of UTF-8; None if it holds ``<s>`` or ``</s>``."""
        score = self._score_line(self.plan.texts, sentence, bos and self.markers, eos and self.markers)
        return None if score == math.inf else score

    def full_scores(self, sentence: str, bos: bool = True, eos: bool = True) -> Iterator[tuple[float, int, bool]]:
        """For each word (and ``</s>``): log10 probability, order of the n-gram matched, whether it is unknown."""
        scored = self._sentence(sentence, bos, eos)
        for i in range(scored.first, len(scored.ids)):
            yield log10(scored.probs[i]), int(scored.matched[i]), bool(scored.ids[i] == UNK)

    def score_lines(
        self, lines: Iterable[str], bos: bool = True, eos: bool = True, *, threads: int | None = None
    ) -> NDArray[np.float64]:
        """log10 probability of each line, on all cores; the same numbers as :meth:`score`, to rounding."""
        if isinstance(lines, str):
            raise UsageError("score_lines takes a list of lines; for one line use score")
        lines = lines if isinstance(lines, list) else list(lines)
        for line in lines:
            if not isinstance(line, str):
                raise _not_a_sentence(line)
        bos, eos = bos and self.markers, eos and self.markers

        def run(first: int) -> NDArray[np.float64]:
            text = "".join([line.replace("\n", " ") + "\n" for line in lines[first : first + _LINES_A_TASK]])
            data = text.encode("utf-8", "surrogatepass")
            _, scores, bad = score_lines(self, data, bos=bos, eos=eos)
            if bad >= 0:
                raise TextError(
                    f"line {first + data.count(10, 0, bad) + 1}: holds <s> or </s>; plre adds them by itself"
                )
            return scores

        parts = parallel(run, range(0, len(lines), _LINES_A_TASK), threads or cpu_count())
        return np.concatenate(parts) if parts else np.empty(0)

    def _sentence(self, sentence: str, bos: bool, eos: bool) -> Scored:
        if not isinstance(sentence, str):
            raise _not_a_sentence(sentence)
        words, bad = self.vocab.encode(sentence.encode("utf-8", "surrogatepass"), NOTHING)
        if bad >= 0:
            raise TextError(_MARKER)
        bos, eos = bos and self.markers, eos and self.markers
        ids = np.concatenate([np.full(int(bos), BOS, np.int32), words, np.full(int(eos), EOS, np.int32)])
        return score_ids(self, ids, int(bos))

    @cached_property
    def _score_line(self) -> Callable[..., float]:
        return texts.score_line.entry

    # --- texts -------------------------------------------------------------------------------------------------------

    def perplexity(self, text: Source, *, errors: Errors = "strict", threads: int | None = None) -> float:
        """Perplexity of a text: all words and ``</s>`` counted, unknown words as ``<unk>``."""
        return self.tally(text, errors=errors, threads=threads).perplexity()

    def tally(
        self,
        text: Source,
        *,
        skip_markers: bool = False,
        errors: Errors = "strict",
        threads: int | None = None,
        progress: Progress | None = None,
        also: Callable[[Scored], object] | None = None,
    ) -> Tally:
        """Counts and log10 probabilities over a text, from which every kind of perplexity follows.

        ``also`` is called with the text piece by piece, each position with its probability.
        """
        options = TextOptions(self.markers, skip_markers, errors)
        return tally_text(
            self,
            with_tokens(text, self.metadata),
            also=also,
            options=options,
            threads=threads or cpu_count(),
            progress=progress or Progress(),
        )

    def score_text(
        self,
        text: Source,
        *,
        skip_markers: bool = False,
        errors: Errors = "strict",
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> Iterator[NDArray[np.float64]]:
        """log10 probability of each line of a text of any size, in pieces of some thousand lines."""
        options = TextOptions(self.markers, skip_markers, errors)
        pieces = score_text(
            self,
            with_tokens(text, self.metadata),
            each=True,
            options=options,
            threads=threads or cpu_count(),
            progress=progress or Progress(),
        )
        return (scores for _, scores in pieces)

    # --- states ------------------------------------------------------------------------------------------------------

    def begin_state(self) -> State:
        """The state at the start of a sentence."""
        return self._begin

    def null_state(self) -> State:
        """The state that knows nothing of what came before."""
        return b""

    @cached_property
    def advance(self) -> Callable[[State, Word], tuple[float, State]]:
        """The compiled function of a step: ``advance(state, word)`` is log10 P(word | state) and the state after it."""
        return self._steps.advance()

    def full_advance(self, state: State, word: Word) -> Step:
        """:meth:`advance` with more to tell: the order of the n-gram matched, and whether the word is unknown."""
        made = self._steps.many(checked([state]), [word])
        return Step(log10(made.probs[0]), made.states[0], int(made.matched[0]), bool(made.ids[0] == UNK))

    def advance_many(self, state: State, words: Sequence[Word]) -> tuple[NDArray[np.float64], list[State]]:
        """:meth:`advance` for each of several words after one state, as for the candidates of a beam."""
        made = self._steps.many(checked([state]), words)
        return made.logprobs, made.states

    def advance_batch(self, states: Sequence[State], words: Sequence[Word]) -> tuple[NDArray[np.float64], list[State]]:
        """:meth:`advance` for many states, each with a word of its own."""
        if len(states) != len(words):
            raise UsageError(f"there are {len(states)} states but {len(words)} words; give one word for each state")
        made = self._steps.many(checked(states), words)
        return made.logprobs, made.states

    def start_again(self, state: State) -> float:
        """What an ARPA file says of ``<s>`` after a state, which other models never predict: log10 P, or -inf."""
        return self._steps.start_again(checked([state])[0])

    def share_unknown(self, types: int | None = None) -> LanguageModel:
        """The same model with P(``<unk>``) divided among the words that it stands for, so that each gets its share.

        A model says how probable it is that *some* unknown word comes: as a word among others that is too much.
        ``types`` is how many such words there are; by default the model's own estimate, from words that its text had
        once or twice. What is said of all words that are known does not change; with all unknown ones it sums to one.
        """
        wanted = self.unknown_types if types is None else whole("types", types)
        if types is not None and not wanted:
            raise UsageError("types must be a whole number from 1 up, not 0")
        if not wanted:
            raise UsageError(
                f"{self.path or 'the model'} does not say how many words <unk> stands for; give their number, 1 or more"
            )
        made = [each.with_share(len(self.vocab), UNK, 1 / wanted) for each in self.components]
        about = {name: value for name, value in self.metadata.items() if name != "digest"}
        shared = {"unknown_types": 1, "unknown_shared": wanted * about.get("unknown_shared", 1)}
        return LanguageModel(self.vocab, made, {**about, **shared})

    @property
    def unknown_types(self) -> int | None:
        """How many words ``<unk>`` stands for, as far as the text said: None if that is not known."""
        found = self.metadata.get("unknown_types")
        return max(found, 1) if isinstance(found, int) else None

    def context(self, state: State) -> list[str]:
        """The words that a state stands for, oldest first: as much of the past as still matters."""
        return [self.vocab.word(int(w)) for w in self._steps.context(checked([state])[0])]

    # --- words -------------------------------------------------------------------------------------------------------

    def prob(self, word: Word, context: Context = ()) -> float:
        """P(word | context)."""
        return float(self._steps.many([context], [word]).probs[0])

    def distribution(self, context: Context = ()) -> NDArray[np.float64]:
        """P(w | context) for the whole vocabulary, by word id; sums to one. ``<s>`` has probability 0."""
        return self.distributions([context])[0]

    def distributions(
        self, contexts: Sequence[Context], *, out: NDArray[np.float64] | None = None, threads: int | None = None
    ) -> NDArray[np.float64]:
        """:meth:`distribution` for many contexts or states, on all cores, as a table with a row for each.

        ``out`` is a table to fill, which saves making a new one: new memory takes as long as the answers.
        """
        if isinstance(contexts, str | bytes):
            raise UsageError("distributions takes a list of contexts; for one use distribution")
        table, sizes = self._steps.contexts(contexts)
        size = len(table), len(self.vocab)
        probs = np.empty(size) if out is None else out
        if (
            not isinstance(probs, np.ndarray)
            or probs.shape != size
            or probs.dtype != np.float64
            or not probs.flags.carray
        ):
            raise UsageError(f"out must be a writable array of float64 in C order with the shape {size}")
        plan = self.plan.spreading

        def run(first: int) -> None:
            part = slice(first, first + _CONTEXTS_A_TASK)
            with self.plan.room() as room:
                spreading.spread_many(plan, room.work, room.buffer, table[part], sizes[part], probs[part])

        parallel(run, range(0, len(table), _CONTEXTS_A_TASK), threads or cpu_count())
        return probs

    def _allowed(self, unknown: bool) -> NDArray[np.bool_]:
        """Which of ``<unk>``, ``<s>`` and ``</s>`` may come next."""
        return np.array([unknown, False, self.markers])

    def next_words(self, context: Context = (), k: int = 10, *, special: bool = False) -> list[tuple[str, float]]:
        """The ``k`` most probable next words with their probabilities; ``special`` lets ``<unk>`` in."""
        table, sizes = self._steps.contexts([context])
        best = np.empty(min(whole("k", k), len(self.vocab)), np.int64)
        with self.plan.room() as room:
            probs = room.probs
            spreading.spread_many(self.plan.spreading, room.work, room.buffer, table, sizes, probs[None])
            count = spreading.top_words(probs, self._allowed(special), best) if len(best) else 0
            return [(self.vocab.word(int(w)), float(probs[w])) for w in best[:count]]

    def sample(
        self,
        context: Context = (),
        *,
        max_words: int = 100,
        temperature: float = 1.0,
        seed: int | None = None,
    ) -> str:
        """A random sentence that goes on from ``context`` (from the start of a sentence if there is none).

        ``temperature`` below 1 prefers likely words, above 1 unlikely ones. ``<unk>`` is never drawn.
        """
        return self.samples(1, context, max_words=max_words, temperature=temperature, seed=seed)[0]

    def samples(
        self,
        count: int,
        context: Context = (),
        *,
        max_words: int = 100,
        temperature: float = 1.0,
        seed: int | None = None,
        threads: int | None = None,
    ) -> list[str]:
        """So many random sentences, on all cores; the first is what :meth:`sample` gives for the same seed."""
        if not 0 < temperature < math.inf:
            raise UsageError(f"temperature must be above 0, not {temperature}")
        seed = secrets.randbits(63) if seed is None else whole("seed", seed)
        start = self.context(context) if isinstance(context, bytes) else split(context)
        words = [word for word in start if word not in ("", "<s>", "</s>", BOS, EOS)]
        ids = self._steps.ids([BOS, *words] if self.markers else words)
        given = [word if isinstance(word, str) else self.vocab.word(word) for word in words]
        plan, longest = self.plan.sampling, whole("max_words", max_words)

        def run(number: int) -> str:
            found = np.empty(longest, np.int32)
            own_seed = np.uint64((seed + number * _APART) % 2**64)
            with self.plan.room() as room:
                n = spreading.sample(
                    plan, room.work, room.buffer, ids, self._allowed(False), float(temperature), own_seed, room.probs,
                    found,
                )  # fmt: skip
            return " ".join([*given, *(self.vocab.word(int(w)) for w in found[:n])])

        return parallel(run, range(whole("count", count)), threads or cpu_count())

    # --- what is inside ----------------------------------------------------------------------------------------------

    def __contains__(self, word: object) -> bool:
        return word in self.vocab

    def neighbours(self, word: Word, k: int = 10) -> list[tuple[str, float]]:
        """Words used like ``word``, with how much alike they are, from 0 to 1 (``neighbours.py`` says how)."""
        if isinstance(word, str) and word not in self.vocab:
            raise UsageError(f"the model does not know the word {word!r}")
        return neighbours.nearest(self, self._steps.word_id(word), whole("k", k))

    def ngrams(self, n: int) -> Iterator[tuple[tuple[str, ...], float]]:
        """All n-grams of one order that were seen in training, with P(last word | the others).

        Of a model of several components: those of the first one that is of word n-grams.
        """
        found = [each.body.ngrams() for each in self.components if each.symbols is None]
        bodies = [body for body in found if body is not None]
        if not bodies:
            raise UsageError("this model has no n-grams of words")
        if not 1 <= n <= bodies[0].reach:
            raise UsageError(f"the model has orders 1 to {bodies[0].reach}, not {n}")
        return bodies[0].columns(n).ngrams(n, self.vocab)

    def info(self) -> dict[str, Any]:
        """What the model is, how it was made, and how many bytes each part takes."""
        return storage.describe(self)


#: The seeds of samples lie this far apart.
_APART = 0xD1342543DE82EF95


def _not_a_sentence(given: object) -> UsageError:
    return UsageError(f"a sentence is one string with its words separated by spaces, not {type(given).__name__}")
