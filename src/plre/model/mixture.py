"""Models put together: a weighted sum of models of n-grams, each over words or over classes of words.

    P(w | h) = sum over parts of  weight * share(w) * P_part(symbol(w) | symbols of h)

A class-based model is the case of one part: its n-grams are of classes, a word's symbol is its class, and its share is
P(word | class). Words that a part does not know are its ``<unk>`` and share that one's probability. A part may lead
those after it: then the weights of all of them depend on the context (``gates.py``).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plre.errors import UsageError
from plre.model import file, layout, parts
from plre.model.gates import Gates
from plre.model.lm import LanguageModel, digest
from plre.model.neighbours import alike
from plre.model.ngrams import NgramModel
from plre.model.parts import MixtureLayout, PartLayout
from plre.model.state import State
from plre.model.tree import TreeModel
from plre.text.vocabulary import SPECIAL, UNK, Vocabulary


@dataclass(frozen=True)
class Part:
    """A model of n-grams within a mixture; without ``symbols`` its words are the mixture's.

    One with ``gates`` leads as many of the parts after it as those say; they all have its weight.
    """

    model: NgramModel | TreeModel
    weight: float
    symbols: NDArray[np.int32] | None = None
    shares: NDArray[np.float32] | None = None
    gates: Gates | None = None

    @property
    def members(self) -> int:
        """How many of the parts after it this one leads; -1 if it has no gates."""
        return self.gates.members if self.gates else -1

    @property
    def classes(self) -> int:
        """How many classes its n-grams are of; 0 if they are of words."""
        if isinstance(self.model, TreeModel) or self.model.metadata["method"] != "class":
            return 0
        return len(self.model.vocab) - len(SPECIAL)

    def open_gate(self, state: int) -> list[float]:
        """The weights of this part and of those it leads, after what a state of it stands for."""
        assert self.gates is not None
        assert isinstance(self.model, NgramModel)
        row, rest = self.model.open_gate(state, self.gates.root)
        keep, *others = self.gates.table[row].tolist()
        left = self.weight * (1 - keep * (1 - rest))
        return [self.weight * keep, *(left * share for share in others)]


class Mixture(LanguageModel):
    """A weighted sum of models; :func:`assemble` makes one from its parts, :func:`combine` from other models."""

    @staticmethod
    def check(name: str, metadata: Mapping[str, Any], tensors: file.Tensors) -> None:
        """Refuse a file whose tensors do not fit together. Looks only at shapes and ends, so it takes no time."""
        try:
            for about in metadata["parts"]:
                layout.check_metadata(about)
            orders = [about["order"] for about in metadata["parts"]]
            if any(about["markers"] != metadata["markers"] for about in metadata["parts"]):
                raise ValueError(f"markers is {metadata['markers']}")
        except (ValueError, KeyError, TypeError) as error:
            layout.refuse(name, error)
        parts.check(name, tensors, orders, metadata["order"])

    @property
    def reach(self) -> int:
        """The longest n-gram of any part."""
        return max(part.model.order for part in self.parts)

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """The models that are mixed."""
        found = MixtureLayout.of(self.tensors)
        directory = found.directory()
        made = []
        for k, (part, about) in enumerate(zip(found.parts, self.metadata["parts"], strict=True), 1):
            start, size = directory[layout.FIRST_PART + (k - 1) * layout.PART_WIDTH :][: layout.BYTES + 1]
            kind = NgramModel if isinstance(part.layout, layout.Layout) else TreeModel
            model = kind(about, parts.part_tensors(self.tensors, k), self.memory[start : start + size])
            symbols, shares = self.tensors.get(f"part{k}.symbols"), self.tensors.get(f"part{k}.shares")
            gates = Gates.of(self.tensors[f"part{k}.gates"], model.order) if part.gates else None
            made.append(Part(model, part.weight, symbols, shares, gates))
        return tuple(made)

    # --- states ------------------------------------------------------------------------------------------------------

    def begin_state(self) -> tuple[int, ...]:
        """The state at the start of a sentence."""
        return tuple(part.model.begin_state() for part in self.parts)

    def null_state(self) -> tuple[int, ...]:
        """The state that knows nothing of what came before."""
        return (0,) * len(self.parts)

    def advance(self, state: State, word: str) -> tuple[float, State]:
        """log10 P(word | state), and the state after the word."""
        w = self._ids[word]
        total = 0.0
        after = []
        led: Iterator[float] = iter(())
        for part, own in self._states(state):
            logprob, own_after = part.model.step(own, w if part.symbols is None else int(part.symbols[w]))
            weight = next(led, part.weight)
            if part.gates is not None:
                weight, *others = part.open_gate(own)
                led = iter(others)
            total += weight * (1.0 if part.shares is None else float(part.shares[w])) * 10**logprob
            after.append(own_after)
        return math.log10(total) if total > 0 else -math.inf, tuple(after)

    def context(self, state: State) -> list[str]:
        """What a state stands for, oldest first: the longest memory of any part, in its words or classes."""
        known = self._states(state)
        return max((part.model.context(own) for part, own in known if isinstance(part.model, NgramModel)), key=len)

    def _states(self, state: State) -> Iterator[tuple[Part, int]]:
        """Each part and its state."""
        if not isinstance(state, tuple) or len(state) != len(self.parts):
            raise UsageError(f"{state!r} is not a state of this model")
        return zip(self.parts, state, strict=True)

    # --- what is inside ----------------------------------------------------------------------------------------------

    def neighbours(self, word: str, k: int = 10) -> list[tuple[str, float]]:
        """Words used like ``word``, as the first part with a low rank bigram of words sees it.

        Without one: words of the same class, in as many clusterings as possible, frequent ones first; the number says
        in which share of the clusterings.
        """
        for part in self.parts:
            if isinstance(part.model, NgramModel) and not part.classes and "order2.rank" in part.model.tensors:
                return part.model.neighbours(word, k)
        clusterings = [part.symbols for part in self.parts if part.classes and part.symbols is not None]
        if not clusterings:
            raise UsageError("neighbours are found by a low rank bigram or by classes, which no part of this model has")
        return alike(self.vocab, clusterings, word, k)

    def ngrams(self, n: int) -> Iterator[tuple[tuple[str, ...], float]]:
        """Not for mixtures: each part has n-grams of its own (``lm.parts[k].model.ngrams(n)``)."""
        raise UsageError(
            "a mixture has no n-grams of its own; ask a part of it, for example lm.parts[0].model.ngrams(2)"
        )

    def info(self) -> dict[str, Any]:
        """What the model is, how it was made, and how many bytes each part takes."""
        taken: dict[str, int] = {}
        for name, tensor in self.tensors.items():
            section = name.partition(".")[0]
            taken[section] = taken.get(section, 0) + tensor.nbytes
        orders = [part.model.layout.sizes for part in self.parts if isinstance(part.model, NgramModel)]
        longest = max(map(len, orders))
        return {
            **self.metadata,
            "path": self.path,
            "vocabulary": len(self.vocab),
            "ngrams": [sum(sizes[n] for sizes in orders if n < len(sizes)) for n in range(longest)],
            "parts": [{**part.model.info(), "weight": part.weight} for part in self.parts],
            "bytes": {section: taken[section] for section in sorted(taken)},
        }


def assemble(vocab: Vocabulary, made: Sequence[Part], metadata: Mapping[str, Any]) -> Mixture:
    """A mixture over these words of these parts, whose bytes are copied into one piece of memory."""
    layouts = tuple(PartLayout(part.model.layout, part.weight, part.symbols is not None, part.members) for part in made)
    where = MixtureLayout(len(vocab), len(vocab.slots), len(vocab.arena), layouts)
    shapes = where.shapes()
    data = np.zeros(file.data_size(shapes), np.uint8)
    tensors = file.views(shapes, data)
    tensors["directory"][:] = where.directory()
    tensors["vocab.bytes"][: len(vocab.arena)] = vocab.arena
    tensors["vocab.starts"][:] = vocab.starts
    tensors["vocab.slots"][:] = vocab.slots
    for k, part in enumerate(made, 1):
        if part.symbols is not None and part.shares is not None:
            tensors[f"part{k}.symbols"][:] = part.symbols
            tensors[f"part{k}.shares"][:] = part.shares
        if part.gates is not None:
            tensors[f"part{k}.gates"][:] = part.gates.flat()
        for name, tensor in part.model.tensors.items():
            tensors[f"part{k}.{name}"][:] = tensor
    about = {
        "format": layout.FORMAT,
        "order": where.order,
        "markers": made[0].model.metadata["markers"],
        **metadata,
        "parts": [dict(part.model.metadata) for part in made],
        "digest": digest(data),
    }
    return Mixture(about, tensors, data)


def combine(models: Sequence[LanguageModel], weights: Sequence[float], metadata: Mapping[str, Any]) -> Mixture:
    """A mixture of models. If their words differ it has all of them.

    A word that a model does not know has a share of its ``<unk>``: that is divided evenly among all such words and
    ``<unk>`` itself, so that every model still sums to one.
    """
    vocab = all_words([model.vocab for model in models])
    made = []
    for model, weight in zip(models, weights, strict=True):
        known = renumber(vocab, model.vocab)
        for part in parts_of(model):
            symbols, shares = part.symbols, part.shares
            if known is not None:
                symbols = known.ids if symbols is None else symbols[known.ids]
                shares = known.shares if shares is None else shares[known.ids] * known.shares
            made.append(Part(part.model, weight * part.weight, symbols, shares, part.gates))
    return assemble(vocab, made, metadata)


def parts_of(model: LanguageModel) -> tuple[Part, ...]:
    """The parts of a mixture; a model of n-grams is its own only part."""
    if isinstance(model, Mixture):
        return model.parts
    if isinstance(model, NgramModel):
        return (Part(model, 1.0),)
    raise UsageError(f"only models of plre can be mixed, not {type(model).__name__}")


def all_words(vocabs: Sequence[Vocabulary]) -> Vocabulary:
    """The words of the first, then what the others have besides."""
    if all(_same(vocabs[0], vocab) for vocab in vocabs):
        return vocabs[0]
    return Vocabulary.from_words([word for vocab in vocabs for word in vocab])


@dataclass(frozen=True)
class Renumbering:
    """For each word of one vocabulary its id in another, and its share of that word's probability."""

    ids: NDArray[np.int32]
    shares: NDArray[np.float32]


def renumber(vocab: Vocabulary, own: Vocabulary) -> Renumbering | None:
    """What the words of ``vocab`` are in a model's ``own``; None if both have the same."""
    if _same(vocab, own):
        return None
    ids = np.array([own[word] for word in vocab], np.int32)
    unknown = ids == UNK
    return Renumbering(ids, np.where(unknown, 1.0 / unknown.sum(), 1.0).astype(np.float32))


def _same(one: Vocabulary, other: Vocabulary) -> bool:
    return np.array_equal(one.starts, other.starts) and np.array_equal(one.arena, other.arena)
