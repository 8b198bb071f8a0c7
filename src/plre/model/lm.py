"""The immutable model and the questions it answers."""

from __future__ import annotations

import hashlib
import json
import math
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plre._jit import cpu_count, parallel
from plre.errors import ModelFileError, PlreError, TextError, UsageError
from plre.model import _parts, _texts, file, layout
from plre.model.scoring import Scored, Tally, score_ids, score_lines, score_text, tally_text
from plre.model.state import State
from plre.progress import Progress
from plre.text.encode import TextOptions
from plre.text.sources import Errors, Source
from plre.text.vocabulary import BOS, EOS, NOTHING, UNK, Vocabulary

_LINES_A_TASK = 4096
_MARKER = "the sentence holds <s> or </s>; plre adds them by itself (bos=True, eos=True)"


class _Ids(dict[str, int]):
    """The ids of words that were asked for before, so that the next time they are found at once."""

    def __init__(self, vocab: Vocabulary) -> None:
        super().__init__()
        self.vocab = vocab

    def __missing__(self, word: str) -> int:
        w = self.vocab[word]
        if w:  # unknown words are not kept: there is no end to them
            self[word] = w
        return w


class LanguageModel(ABC):
    """A trained model: one of n-grams (``ngrams.py``), or a mixture of such (``mixture.py``).

    Make one with :func:`plre.train` or open one with :func:`plre.load`.

    Scores are base 10 logarithms, as in KenLM and ARPA files. A context is a list of words or one string, oldest word
    first; it may start with ``<s>``. Words that the model does not know count as ``<unk>``.
    """

    def __init__(
        self,
        metadata: Mapping[str, Any],
        tensors: file.Tensors,
        data: NDArray[np.uint8],
        path: str | None = None,
        backing: Any = None,
    ) -> None:
        self.metadata = metadata
        #: The file without a name that ``data`` is in, if it is in one.
        self._backing = backing
        self.path = path
        self._file = None if path is None else os.path.abspath(path)
        self.order: int = metadata["order"]
        self.markers: bool = metadata["markers"]
        self.tensors = tensors
        letters = tensors["vocab.bytes"][: int(tensors["directory"][layout.LETTER_COUNT])]
        self.vocab = Vocabulary(letters, tensors["vocab.starts"], tensors["vocab.slots"])
        #: What the kernels work on: the whole model, as bytes.
        self.memory = data
        #: The same as an address and a size, which are faster to pass on than an array.
        self._address, self._size = data.ctypes.data, data.nbytes
        self._ids = _Ids(self.vocab)

    # --- making, saving, loading -------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file, replacing an old one only when the new one is complete."""
        name = os.fspath(path)
        text = json.dumps(self.metadata, ensure_ascii=False, separators=(",", ":"))
        descriptor = None if self._backing is None else self._backing.file.fileno()
        file.write(name, file.header({"plre": text}, file.shapes(self.tensors)), self.memory, descriptor)
        self.path = name
        self._file = os.path.abspath(name)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> LanguageModel:
        """Open a model file; it is mapped into memory, not read."""
        from plre.model.mixture import Mixture
        from plre.model.ngrams import NgramModel

        name = os.fspath(path)
        raw, tensors, data = file.read(name)
        try:
            metadata = json.loads(raw["plre"])
            other = dict(metadata).get("kind")
            if other is None:
                layout.check_metadata(metadata)
        except (ValueError, KeyError, TypeError) as error:
            raise ModelFileError(f"{name}: its header is damaged ({error}); copy or train the model again") from None
        if other is not None:
            raise ModelFileError(f"{name}: is a {other}; open it with plre.neural.load")
        version = metadata["format"]
        if version != layout.FORMAT:
            raise ModelFileError(
                f"{name}: has format {version}, this plre reads format {layout.FORMAT}; "
                + ("train it again" if version < layout.FORMAT else "install a newer plre")
            )
        kind = Mixture if "parts" in metadata else NgramModel
        kind.check(name, metadata, tensors)
        return kind(metadata, tensors, data, name)

    @staticmethod
    @abstractmethod
    def check(name: str, metadata: Mapping[str, Any], tensors: file.Tensors) -> None:
        """Refuse a file whose tensors do not fit together. Looks only at shapes and ends, so it takes no time."""

    def verify(self) -> None:
        """Read all of the model and raise :class:`ModelFileError` if a byte has changed since it was made."""
        if digest(self.memory) != self.metadata["digest"]:
            raise ModelFileError(f"{self.path}: its data was damaged after it was written; copy or train it again")

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
        score = self._score_line(self._address, self._size, data, bos and self.markers, eos and self.markers)
        if score != score:
            raise TextError(_MARKER)
        return score

    def full_scores(self, sentence: str, bos: bool = True, eos: bool = True) -> Iterator[tuple[float, int, bool]]:
        """For each word (and ``</s>``): log10 probability, order of the n-gram matched, whether it is unknown."""
        scored = self._sentence(sentence, bos, eos)
        for i in range(scored.first, len(scored.ids)):
            yield _log10(scored.probs[i]), int(scored.matched[i]), bool(scored.ids[i] == UNK)

    def score_lines(
        self, lines: Iterable[str], bos: bool = True, eos: bool = True, *, threads: int | None = None
    ) -> NDArray[np.float64]:
        """log10 probability of each line, on all cores; the same numbers as :meth:`score`, to rounding."""
        if isinstance(lines, str):
            raise UsageError("score_lines takes a list of lines; for one line use score")
        lines = lines if isinstance(lines, list) else list(lines)
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
        ids = np.empty(len(words) + bos + eos, np.int32)
        ids[int(bos) : int(bos) + len(words)] = words
        if bos:
            ids[0] = BOS
        if eos:
            ids[-1] = EOS
        return score_ids(self, ids, int(bos))

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
            self, text, also=also, options=options, threads=threads or cpu_count(), progress=progress or Progress()
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
            self, text, each=True, options=options, threads=threads or cpu_count(), progress=progress or Progress()
        )
        return (scores for _, scores in pieces)

    # --- words -------------------------------------------------------------------------------------------------------

    def prob(self, word: str, context: str | Sequence[str] = ()) -> float:
        """P(word | context)."""
        ids = np.append(self._context(context), np.int32(self.vocab[word]))
        return 0.0 if ids[-1] == BOS else float(score_ids(self, ids).probs[-1])

    def distribution(self, context: str | Sequence[str] = ()) -> NDArray[np.float64]:
        """P(w | context) for the whole vocabulary, by word id; sums to one. ``<s>`` has probability 0."""
        ids = self._context(context)
        probs = np.empty(len(self.vocab))
        _parts.spread(self.memory, ids, probs)
        return probs

    def next_words(
        self, context: str | Sequence[str] = (), k: int = 10, *, special: bool = False
    ) -> list[tuple[str, float]]:
        """The ``k`` most probable next words with their probabilities; ``special`` lets ``<unk>`` in."""
        probs = self.distribution(context)
        probs[BOS] = -1.0
        if not special:
            probs[UNK] = -1.0
        if not self.markers:
            probs[EOS] = -1.0
        k = min(max(k, 0), int((probs >= 0).sum()))
        best = np.argsort(-probs, kind="stable")[:k]
        return [(self.vocab.word(int(i)), float(probs[i])) for i in best]

    def sample(
        self,
        context: str | Sequence[str] = (),
        *,
        max_words: int = 100,
        temperature: float = 1.0,
        seed: int | None = None,
    ) -> str:
        """A random sentence that goes on from ``context`` (from the start of a sentence if there is none).

        ``temperature`` below 1 prefers likely words, above 1 unlikely ones. ``<unk>`` is never drawn.
        """
        if not 0 < temperature < math.inf:
            raise UsageError(f"temperature must be above 0, not {temperature}")
        if seed is not None and seed < 0:
            raise UsageError(f"the seed must be 0 or more, not {seed}")
        random = np.random.default_rng(seed)
        never = [UNK, BOS] if self.markers else [UNK, BOS, EOS]
        start = [word for word in _split(context) if word not in ("", "<s>", "</s>")]
        history = [*(["<s>"] if self.markers else []), *start]
        words = list(start)
        for _ in range(max_words):
            probs = self.distribution(history)
            probs[never] = 0.0
            if not probs.any():
                break
            weights = (probs / probs.max()) ** (1 / temperature)
            weights[never] = 0.0
            cumulated = np.cumsum(weights)
            drawn = int(np.searchsorted(cumulated, random.random() * cumulated[-1], side="right"))
            if drawn == EOS:
                break
            words.append(self.vocab.word(drawn))
            history.append(words[-1])
        return " ".join(words)

    @property
    def reach(self) -> int:
        """The longest n-gram that has a say; in a mixture others than words may have longer ones than ``order``."""
        return self.order

    def _context(self, context: str | Sequence[str]) -> NDArray[np.int32]:
        """Ids of as much of the context as the model can use."""
        words = _split(context)[-(self.reach - 1) :] if self.reach > 1 else []
        return np.array([self.vocab[word] for word in words], np.int32)

    @cached_property
    def _score_line(self) -> Callable[..., float]:
        return _texts.score_line.entry

    # --- states ------------------------------------------------------------------------------------------------------

    @abstractmethod
    def begin_state(self) -> State:
        """The state at the start of a sentence."""

    @abstractmethod
    def null_state(self) -> State:
        """The state that knows nothing of what came before."""

    @abstractmethod
    def advance(self, state: State, word: str) -> tuple[float, State]:
        """log10 P(word | state), and the state after the word."""

    @abstractmethod
    def context(self, state: State) -> list[str]:
        """The words that a state stands for, oldest first: as much of the past as still matters."""

    # --- what is inside ----------------------------------------------------------------------------------------------

    def __contains__(self, word: object) -> bool:
        return word in self.vocab

    @abstractmethod
    def neighbours(self, word: str, k: int = 10) -> list[tuple[str, float]]:
        """Words used like ``word``: their latent classes in the low rank bigram overlap (1 is complete overlap)."""

    @abstractmethod
    def ngrams(self, n: int) -> Iterator[tuple[tuple[str, ...], float]]:
        """All n-grams of one order that were seen in training, with P(last word | the others)."""

    @abstractmethod
    def info(self) -> dict[str, Any]:
        """What the model is, how it was made, and how many bytes each part takes."""


def digest(data: NDArray[np.uint8]) -> str:
    """A checksum of a model's data."""
    return hashlib.blake2b(data.data, digest_size=8).hexdigest()


def _not_a_sentence(given: object) -> UsageError:
    return UsageError(f"a sentence is one string with its words separated by spaces, not {type(given).__name__}")


def _log10(p: float) -> float:
    return math.log10(p) if p > 0 else -math.inf


def _split(context: str | Sequence[str]) -> list[str]:
    """A context as words; a string is split as text is, at ASCII white space only."""
    if not isinstance(context, str):
        return list(context)
    return [word.decode("utf-8", "surrogatepass") for word in context.encode("utf-8", "surrogatepass").split()]
