"""The words a model knows, as flat arrays that can live in a memory-mapped file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plre.errors import ModelFileError, TextError
from plre.text import _kernels as kernels
from plre.text._kernels import BOS, END, END_AND_START, EOS, NOTHING, UNK

SPECIAL = ("<unk>", "<s>", "</s>")
#: Words that ``repr`` of a vocabulary shows, and letters of each.
_SHOWN, _LETTERS = 8, 20

__all__ = ["BOS", "END", "END_AND_START", "EOS", "NOTHING", "SPECIAL", "UNK", "Vocabulary"]


class Vocabulary:
    """Words and their ids: 0, 1, 2 are ``<unk>``, ``<s>``, ``</s>``; others come by falling frequency, or as listed.

    >>> vocab = Vocabulary.from_words(["the", "cat"])
    >>> vocab["cat"], vocab["dog"], vocab.word(3), len(vocab)
    (4, 0, 'the', 5)
    """

    def __init__(self, arena: NDArray[np.uint8], starts: NDArray[np.int32], slots: NDArray[np.int32]) -> None:
        self.arena = flat(arena, np.uint8)
        self.starts = flat(starts, np.int32)
        self.slots = flat(slots, np.int32)
        #: What kernels need to know of these arrays, which are kept as long as that.
        self.fields = fields(slots, starts, len(starts) - 1, arena)
        self._kept = slots, starts, arena
        self._address = self.fields.ctypes.data

    def __reduce__(self) -> tuple[type[Vocabulary], tuple[NDArray[Any], ...]]:
        """Copies have arrays, and so addresses, of their own."""
        return Vocabulary, (self.arena, self.starts, self.slots)

    @classmethod
    def from_arena(cls, arena: NDArray[np.uint8], starts: NDArray[np.int32]) -> Vocabulary:
        """Index words that lie end to end in ``arena``; the first three are the special ones."""
        n = len(starts) - 1
        hashes = np.empty(n, np.uint64)
        kernels.hash_words(flat(arena, np.uint8), flat(starts, np.int32), hashes)
        slots = np.empty(2 * table_size(n), np.int32)
        kernels.fill_slots(slots, hashes, n)
        return cls(arena, starts, slots)

    @classmethod
    def from_words(cls, words: Iterable[str]) -> Vocabulary:
        """The special words, then ``words`` in the order given, each once."""
        encoded = [word.encode() for word in dict.fromkeys((*SPECIAL, *words))]
        starts = np.zeros(len(encoded) + 1, np.int32)
        starts[1:] = np.cumsum([len(word) for word in encoded])
        return cls.from_arena(np.frombuffer(b"".join(encoded), np.uint8).copy(), starts)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __repr__(self) -> str:
        """How many words there are, and the first of them.

        >>> Vocabulary.from_words(["the", "cat"])
        <plre.Vocabulary of 5 words: <unk>, <s>, </s>, the, cat>
        """
        try:
            words = [self.word(i) for i in range(min(len(self), _SHOWN))]
        except ModelFileError:
            return f"<plre.Vocabulary of {len(self):,} words, damaged>"
        shown = [word if len(word) <= _LETTERS else f"{word[:_LETTERS]}..." for word in words]
        more = ", ..." if len(self) > _SHOWN else ""
        return f"<plre.Vocabulary of {len(self):,} words: {', '.join(shown)}{more}>"

    def __iter__(self) -> Iterator[str]:
        return (self.word(i) for i in range(len(self)))

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and self._find(word) >= 0

    def __getitem__(self, word: str) -> int:
        """The id of a word; 0 (``<unk>``) for one that is not known."""
        if not isinstance(word, str):
            raise TypeError(f"a vocabulary is asked for words, not {word!r}; vocab.word(5) is the word of an id")
        return max(self._find(word), UNK)

    def word(self, index: int) -> str:
        """The word with this id."""
        if not 0 <= index < len(self):
            raise IndexError(f"no word has the id {index}: the vocabulary has {len(self)} words")
        start, stop = int(self.starts[index]), int(self.starts[index + 1])
        try:
            if not 0 <= start <= stop <= len(self.arena):
                raise ValueError("it is not among the letters")
            return self.arena[start:stop].tobytes().decode()
        except ValueError as error:  # letters that are not UTF-8 are one, too
            raise ModelFileError(
                f"the vocabulary is damaged: word {index} cannot be read ({error}); check the model with plre verify"
            ) from None

    def _find(self, word: str) -> int:
        """The id of a word, or -1."""
        data = word.encode("utf-8", "surrogatepass")
        if not data:
            return -1
        return int(kernels.word_id(self._address, data))

    def encode(self, data: bytes, newline: int, *, skip_markers: bool = False) -> tuple[NDArray[np.int32], int]:
        """The ids of all words in ``data`` and the byte position of a stray ``<s>`` or ``</s>``, or -1.

        ``newline`` says what a newline becomes: ``NOTHING``, ``END`` (``</s>``) or ``END_AND_START`` (``</s> <s>``).
        """
        ids = np.empty(2 * len(data) + 2, np.int32)  # only what is written takes memory
        batch = np.empty(3 * kernels.BATCH, np.int64)
        n, bad = kernels.encode_words(self._address, data, newline, skip_markers, batch, ids)
        return ids[:n], bad


def flat(array: NDArray[Any], dtype: Any) -> NDArray[Any]:
    """An array that has one dimension and numbers of this type without gaps, which kernels rely on."""
    if array.ndim != 1 or array.dtype != dtype or not array.flags.c_contiguous:
        raise ValueError(
            f"the vocabulary has an array of {array.dtype}, shape {array.shape}, where {dtype.__name__} go"
        )
    return array


def fields(
    slots: NDArray[np.int32], starts: NDArray[np.int32], words: int, arena: NDArray[np.uint8], *more: NDArray[Any]
) -> NDArray[np.int64]:
    """What kernels need to know of a vocabulary's arrays, which must outlive all use of it (``_kernels.py``)."""
    arrays: tuple[NDArray[Any], ...] = (slots, starts, arena, *more)
    places = [array.ctypes.data for array in arrays]
    return np.array([places[0], len(slots) // 2, places[1], words, places[2], len(arena), *places[3:]], np.int64)


def table_size(words: int) -> int:
    """Slots of a hash table for this many words: a power of two, at least a quarter of it free."""
    return 1 << max(3, (4 * words // 3).bit_length())


def resize(array: NDArray[Any], size: int) -> NDArray[Any]:
    """A longer copy of ``array``; what is new is zero."""
    longer = np.zeros(size, array.dtype)
    longer[: len(array)] = array
    return longer


class VocabularyBuilder:
    """A vocabulary that grows while text is read. Not shared between threads: each has its own, merged at the end."""

    def __init__(self) -> None:
        special = Vocabulary.from_words([])
        self._words = len(special)
        self.slots = np.empty(2 * 4096, np.int32)
        self.hashes = np.zeros(2048, np.uint64)
        self.starts = resize(special.starts, 2049)
        self.counts = np.zeros(2048, np.int64)
        self.arena = resize(special.arena, 1 << 16)
        kernels.hash_words(special.arena, special.starts, self.hashes)
        kernels.fill_slots(self.slots, self.hashes, len(self))

    def __len__(self) -> int:
        return self._words

    def learn(self, data: bytes, newline: int, *, skip_markers: bool) -> tuple[NDArray[np.int32], int]:
        """The ids of all words in ``data`` (this builder's own), which are added and counted; and the byte position of
        a stray ``<s>`` or ``</s>``, or -1.
        """
        ids = np.empty(2 * len(data) + 2, np.int32)  # only what is written takes memory
        batch = np.empty(3 * kernels.BATCH, np.int64)
        needed = int(self.starts[len(self)]) + len(data)
        if needed >= 2**31:
            raise TextError(
                "the different words of the text may have more than 2 GB of letters; list those to keep with --vocab"
            )
        if needed > len(self.arena):
            self.arena = resize(self.arena, 2 * needed)
        n = at = 0
        while True:
            own = fields(self.slots, self.starts, len(self), self.arena, self.hashes, self.counts)
            written, at, bad = kernels.learn_words(own.ctypes.data, data, at, newline, skip_markers, batch, ids[n:])
            self._words = int(own[kernels.WORDS])
            n += written
            if bad >= 0 or at == len(data):
                return ids[:n], bad
            self._grow()

    def _grow(self) -> None:
        words = 2 * len(self.hashes)
        self.hashes = resize(self.hashes, words)
        self.starts = resize(self.starts, words + 1)
        self.counts = resize(self.counts, words)
        self.slots = np.empty(4 * words, np.int32)
        kernels.fill_slots(self.slots, self.hashes, len(self))


def merge(builders: list[VocabularyBuilder], min_count: int) -> tuple[Vocabulary, list[NDArray[np.int32]], int]:
    """One vocabulary from several builders, the new id of each builder's words, and how many words are unknown.

    Words seen less than ``min_count`` times become ``<unk>``; unknown are these and those that the text does not have,
    of which the number is estimated. Ids fall with frequency and ties fall by the hash, so the
    result does not depend on how the text was shared out among the builders.
    """
    hashes = np.concatenate([b.hashes[: len(b)] for b in builders])
    lengths = np.concatenate([np.diff(b.starts[: len(b) + 1]) for b in builders])
    counts = np.concatenate([b.counts[: len(b)] for b in builders])
    arena = np.concatenate([b.arena[: b.starts[len(b)]] for b in builders])
    starts = np.zeros(len(hashes) + 1, np.int64)
    np.cumsum(lengths, out=starts[1:])

    # A word is known by its 64-bit hash here: among ten million words the chance that two share one is 3 in a million.
    _, first, group = np.unique(hashes, return_index=True, return_inverse=True)
    total = np.bincount(group, weights=counts).astype(np.int64)
    special = group[:3]
    kept = total >= min_count
    kept[special] = False
    words = np.flatnonzero(kept)
    words = words[np.lexsort((hashes[first[words]], -total[words]))]
    order = np.concatenate([special, words])

    number = np.full(len(first), UNK, np.int32)
    number[order] = np.arange(len(order), dtype=np.int32)

    picked = first[order]
    if lengths[picked].sum(dtype=np.int64) >= 2**31:
        raise TextError("the words of the vocabulary have more than 2 GB of letters; raise --min-count")
    new_arena = np.empty(int(lengths[picked].sum(dtype=np.int64)), np.uint8)
    new_starts = np.empty(len(order) + 1, np.int32)
    kernels.reorder_words(arena, starts, picked, new_arena, new_starts)
    vocab = Vocabulary.from_arena(new_arena, new_starts)

    ends = np.cumsum([len(b) for b in builders])
    numbers = [number[group[end - len(b) : end]] for b, end in zip(builders, ends, strict=True)]
    return vocab, numbers, len(first) - len(order) + _never_seen(np.delete(total, special))


def _never_seen(counts: NDArray[np.int64]) -> int:
    """How many words there are that a text does not have, from how many it has once and twice (Chao 1984).

    >>> _never_seen(np.array([1, 1, 1, 1, 2, 7]))
    3
    """
    once, twice = (int(np.count_nonzero(counts == k)) for k in (1, 2))
    return once * (once - 1) // (2 * (twice + 1))
