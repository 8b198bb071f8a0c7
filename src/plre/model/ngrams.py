"""A model of n-grams: their tables, and what follows from them for states and lists."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plre.errors import UsageError
from plre.model import _bytes, _gates, _probabilities, file, layout
from plre.model.layout import Layout
from plre.model.lm import LanguageModel
from plre.model.neighbours import nearest
from plre.model.state import State
from plre.text.vocabulary import BOS


class NgramModel(LanguageModel):
    """P(w | h) from stored n-grams, back-off weights and low rank layers; what :func:`plre.train` mostly makes."""

    @cached_property
    def layout(self) -> Layout:
        """Where each byte is."""
        return Layout.from_directory(self.tensors["directory"])

    @staticmethod
    def check(name: str, metadata: Mapping[str, Any], tensors: file.Tensors) -> None:
        """Refuse a file whose tensors do not fit together. Looks only at shapes and ends, so it takes no time."""
        layout.check(name, tensors, metadata["order"])

    # --- states ------------------------------------------------------------------------------------------------------

    def begin_state(self) -> int:
        """The state at the start of a sentence."""
        return self._step(self._address, self._size, 0, BOS)[1] if self.markers else 0

    def null_state(self) -> int:
        """The state that knows nothing of what came before."""
        return 0

    @cached_property
    def _step(self) -> Callable[..., tuple[float, int]]:
        return _probabilities.advance.entry

    def advance(self, state: State, word: str) -> tuple[float, State]:
        """log10 P(word | state), and the state after the word."""
        return self.step(state, self._ids[word])

    def step(self, state: State, w: int) -> tuple[float, int]:
        """As :meth:`advance`, for a word's id."""
        try:
            return self._step(self._address, self._size, state, w)
        except (ValueError, TypeError, OverflowError):
            raise UsageError(f"{state!r} is not a state of this model") from None

    def open_gate(self, state: int, root: float) -> tuple[int, float]:
        """In a mixture that this model leads: the row of its gates after a state, and what its probabilities lack."""
        return _gates.open_gate.entry(self._address, self._size, state, root)

    def context(self, state: State) -> list[str]:
        """The words that a state stands for, oldest first: as much of the past as still matters."""
        n = self.order - 1
        if not isinstance(state, int):
            raise UsageError(f"{state!r} is not a state of this model")
        while n > 0 and state < self._first(n):
            n -= 1
        if not 0 <= state < (self._first(n) + self.layout.sizes[n - 1] if n else 1):
            raise UsageError(f"{state!r} is not a state of this model")
        words: list[int] = []
        gram = state - self._first(n) if n else 0
        while n > 1:
            words.append(int(self.column(n, "word", gram, gram + 1)[0]))
            gram = self._parent(n, gram)
            n -= 1
        return [self.vocab.word(w) for w in reversed([*words, gram] if n else words)]

    def _first(self, n: int) -> int:
        return int(self.tensors["directory"][(n - 1) * layout.WIDTH + layout.FIRST])

    def _parent(self, n: int, gram: int) -> int:
        """The context of an n-gram: the last (n-1)-gram whose children start at or before it."""
        low, high = 0, self.layout.sizes[n - 2]
        while high - low > 1:
            middle = (low + high) // 2
            if self.column(n - 1, "children", middle, middle + 1)[0] <= gram:
                low = middle
            else:
                high = middle
        return low

    # --- what is inside ----------------------------------------------------------------------------------------------

    def neighbours(self, word: str, k: int = 10) -> list[tuple[str, float]]:
        """Words used like ``word``: their latent classes in the low rank bigram overlap (1 is complete overlap)."""
        return nearest(self, word, k)

    def column(self, n: int, name: str, first: int = 0, last: int | None = None) -> NDArray[Any]:
        """One field of the n-grams of one order (see ``layout.py``), of those from ``first`` to ``last``."""
        places, stride = self.layout.places(n)
        at, size = places[name]
        where = self.tensors["directory"][(n - 1) * layout.WIDTH :]
        records = self.layout.records(n) if name == "children" else self.layout.sizes[n - 1]
        out = np.empty((records if last is None else last) - first, np.int32)
        _bytes.unpack_field(self.memory, first, int(where[layout.GRAMS]), stride, at, size, out)
        if name not in ("prob", "backoff", "rest"):
            return out
        code = self.layout.prob_codes[n - 1] if name == "prob" else layout.backoff_code(self.layout.size)
        return code.decode(out.view(np.uint32))

    def factors(self, n: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """The left and right factors of order n's low rank layers, flat."""
        size, low_rank = self.layout.size, self.layout.low_rank[n]
        left, right = self.tensors[f"order{n}.left"], self.tensors[f"order{n}.right"]
        return (left, right) if size == 4 else (low_rank.left_code.decode(left), low_rank.right_code.decode(right))

    def ngrams(self, n: int) -> Iterator[tuple[tuple[str, ...], float]]:
        """All n-grams of one order that were seen in training, with P(last word | the others)."""
        if not 1 <= n <= self.order:
            raise UsageError(f"the model has orders 1 to {self.order}, not {n}")
        words = [np.arange(len(self.vocab)), *(self.column(k, "word") for k in range(2, n + 1))]
        children = [self.column(k, "children") for k in range(1, n)]
        probs = self.column(n, "prob")

        def below(prefix: tuple[str, ...], start: int, stop: int) -> Iterator[tuple[tuple[str, ...], float]]:
            depth = len(prefix)
            for i in range(start, stop):
                gram = (*prefix, self.vocab.word(int(words[depth][i])))
                if depth < n - 1:
                    yield from below(gram, int(children[depth][i]), int(children[depth][i + 1]))
                elif n > 1 or i != BOS:
                    yield gram, float(probs[i])

        yield from below((), 0, len(self.vocab))

    def info(self) -> dict[str, Any]:
        """What the model is, how it was made, and how many bytes each part takes."""
        sizes: dict[str, int] = {}
        for name, tensor in self.tensors.items():
            section, _, part = name.partition(".")
            if part == "index":
                section += ".index"
            elif section.startswith("order") and part != "grams":
                section += ".lowrank"
            sizes[section] = sizes.get(section, 0) + tensor.nbytes
        return {
            **self.metadata,
            "path": self.path,
            "vocabulary": len(self.vocab),
            "ngrams": list(self.layout.sizes),
            "bytes": {section: sizes[section] for section in sorted(sizes)},
        }
