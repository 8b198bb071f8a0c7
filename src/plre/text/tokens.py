"""Texts of tokens: numbers in arrays and files, and text that a tokenizer takes apart.

For the rest of the code a token is a word whose letters are its number: ``"17 4 33"``.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plre.errors import TextError, UsageError
from plre.text.sources import Errors, Source, read_blocks
from plre.text.vocabulary import Vocabulary

#: Tokens that are made words of together.
_PIECE = 1 << 16
#: Lines that a tokenizer gets together.
_LINES = 1 << 10
_TYPES = ("uint8", "uint16", "uint32", "int16", "int32", "int64")


class Tokens:
    """Numbers of tokens as sentences: of an array, which may be mapped from a file.

    ``end`` is the token that ends a sentence, or a document; without one the text is one stream.
    """

    def __init__(self, ids: Any, end: int | None = None) -> None:
        array = np.asanyarray(ids)
        if array.ndim != 1 or array.dtype.kind not in "iu":
            raise UsageError(f"tokens are an array of one dimension of whole numbers, not {array.dtype}, {array.shape}")
        if end is not None and (not isinstance(end, int | np.integer) or end < 0):
            raise UsageError(f"the token that ends a sentence is a whole number from 0 up, not {end!r}")
        self.ids: NDArray[Any] = array
        self.end = end

    @cached_property
    def size(self) -> int:
        """One more than the largest number."""
        parts = range(0, len(self.ids), _PIECE)
        if any(int(self.ids[start : start + _PIECE].min()) < 0 for start in parts):
            raise TextError("a token has a number below 0")
        return 1 + max((int(self.ids[start : start + _PIECE].max()) for start in parts), default=-1)

    def __iter__(self) -> Iterator[str]:
        """Each sentence, or pieces of the stream, as numbers with spaces between them."""
        names = list(map(str, range(self.size)))
        waiting: list[str] = []
        for start in range(0, len(self.ids), _PIECE):
            piece = np.asarray(self.ids[start : start + _PIECE])
            begin = 0
            for stop in () if self.end is None else np.flatnonzero(piece == self.end).tolist():
                yield " ".join([*waiting, *(names[token] for token in piece[begin:stop].tolist())])
                waiting, begin = [], stop + 1
            waiting += [names[token] for token in piece[begin:].tolist()]
            if self.end is None:
                yield " ".join(waiting)
                waiting = []
        if waiting:
            yield " ".join(waiting)


def open_tokens(path: str | os.PathLike[str], dtype: str | None = None, end: int | None = None) -> Tokens:
    """The tokens in a file: ``.npy``, or nothing but numbers of type ``dtype``; it is mapped, not read."""
    name = os.fspath(path)
    if not name.endswith(".npy") and dtype not in _TYPES:
        raise UsageError(f"{name}: say what its numbers are, for example uint16; one of {', '.join(_TYPES)}")
    try:
        size = os.path.getsize(name)
        ids = np.load(name, mmap_mode="r") if name.endswith(".npy") else None
        if ids is None and size % np.dtype(dtype).itemsize == 0:
            ids = np.memmap(name, np.dtype(dtype), "r")
    except (OSError, ValueError, EOFError) as error:
        raise TextError(f"{name}: cannot be read as tokens ({error})") from None
    if ids is None:
        raise TextError(f"{name}: has {size} bytes, which are no whole numbers of type {dtype}")
    return Tokens(ids, end)


class Tokenizer:
    """A tokenizer in a file of Hugging Face's tokenizers (``.json``) or of SentencePiece (``.model``)."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        try:
            content = Path(path).read_bytes()
        except OSError as error:
            raise UsageError(f"{self.path}: cannot be read ({error.strerror})") from None
        #: What tells it from others.
        self.digest = hashlib.sha256(content).hexdigest()
        make = _huggingface if self.path.endswith(".json") else _sentencepiece
        self.size, self.encode = make(self.path)

    def describe(self) -> dict[str, Any]:
        """What a model says of it."""
        return {"file": os.path.basename(self.path), "sha256": self.digest, "tokens": self.size}


Encode = Callable[[list[str]], list[list[int]]]


def _huggingface(path: str) -> tuple[int, Encode]:
    """The size of a tokenizer, and its function."""
    try:
        from tokenizers import Tokenizer as Fast
    except ImportError:
        raise UsageError(f"{path}: needs the package tokenizers: pip install tokenizers") from None
    try:
        found = Fast.from_file(path)
    except Exception as error:  # the package raises nothing more precise
        raise UsageError(f"{path}: is no tokenizer of Hugging Face ({error})") from None

    def encode(lines: list[str]) -> list[list[int]]:
        return [each.ids for each in found.encode_batch(lines, add_special_tokens=False)]

    return found.get_vocab_size(), encode


def _sentencepiece(path: str) -> tuple[int, Encode]:
    """The size of a tokenizer, and its function."""
    try:
        from sentencepiece import SentencePieceProcessor
    except ImportError:
        raise UsageError(f"{path}: needs the package sentencepiece: pip install sentencepiece") from None
    try:
        found = SentencePieceProcessor(model_file=path)
    except (OSError, RuntimeError) as error:
        raise UsageError(f"{path}: is no model of SentencePiece ({error})") from None
    return found.get_piece_size(), found.encode


class Tokenized:
    """A text whose lines a tokenizer takes apart: sentences of tokens."""

    def __init__(self, source: Source, tokenizer: Tokenizer, errors: Errors = "strict") -> None:
        self.source = source
        self.tokenizer = tokenizer
        self.errors = errors
        #: Words, characters and bytes of the text that was gone through last.
        self.letters = np.zeros(3, np.int64)

    def __iter__(self) -> Iterator[str]:
        """Each line as numbers with spaces between them."""
        self.letters[:] = 0
        for block in read_blocks(self.source, errors=self.errors):
            text = block.data.decode()
            self.letters += np.array([len(block.data.split()), len(text), len(block.data)])
            lines = text.split("\n")[:-1]
            for start in range(0, len(lines), _LINES):
                for ids in self.tokenizer.encode(lines[start : start + _LINES]):
                    yield " ".join(map(str, ids))


class TokenText:
    """A training text of tokens, whatever they come from."""

    def __init__(self, text: Tokens | Tokenized) -> None:
        self.text: Any = text

    @staticmethod
    def of(text: Any, tokenizer: Tokenizer | str | os.PathLike[str] | None, errors: Errors) -> TokenText | None:
        """A text that consists of tokens, or that a tokenizer makes such of; None for any other."""
        if isinstance(text, Tokens | np.ndarray):
            if tokenizer is not None:
                raise UsageError("the text is numbers of tokens already; a tokenizer is for text")
            return TokenText(text if isinstance(text, Tokens) else Tokens(text))
        if tokenizer is None:
            return None
        return TokenText(
            Tokenized(text, tokenizer if isinstance(tokenizer, Tokenizer) else Tokenizer(tokenizer), errors)
        )

    @property
    def markers(self) -> bool:
        """Whether it has sentences."""
        return not isinstance(self.text, Tokens) or self.text.end is not None

    @property
    def vocabulary(self) -> Vocabulary:
        """All tokens that there are."""
        size = self.text.size if isinstance(self.text, Tokens) else self.text.tokenizer.size
        return Vocabulary.from_words(map(str, range(size)))

    def like(self, other: Any) -> Any:
        """Another text of the same kind."""
        return with_tokens(other, self.describe(), self.text.tokenizer if isinstance(self.text, Tokenized) else None)

    def describe(self) -> dict[str, Any]:
        """What a model file says of it."""
        if isinstance(self.text, Tokenized):
            return {"tokenizer": self.text.tokenizer.describe()}
        return {"token_end": self.text.end}


def with_tokens(text: Any, about: Mapping[str, Any], tokenizer: Tokenizer | None = None) -> Any:
    """A text as a model that says this of itself reads it: tokens end where its own do, its tokenizer is used."""
    if isinstance(text, np.ndarray):
        return Tokens(text, about.get("token_end"))
    if isinstance(text, Tokens) and text.end is None:
        return Tokens(text.ids, about.get("token_end"))
    known = about.get("tokenizer")
    tokenizer = text.tokenizer if isinstance(text, Tokenized) else tokenizer
    if isinstance(text, Tokens) or (known is None and tokenizer is None):
        return text
    if known is None:
        raise UsageError("the model was not trained with a tokenizer; it reads words")
    if tokenizer is None:
        raise UsageError(f"the model reads tokens of {known['file']}; give that with --tokenizer (tokenizer=...)")
    if tokenizer.digest != known["sha256"]:
        raise UsageError(f"{tokenizer.path}: is not the tokenizer that the model was trained with ({known['file']})")
    return text if isinstance(text, Tokenized) else Tokenized(text, tokenizer)
