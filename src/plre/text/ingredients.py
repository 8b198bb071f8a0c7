"""Texts as ingredients: read, parted, sampled."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from plre.store import Get, Ingredient, Resources
from plre.text.encode import EncodedText, TextOptions, encode_text
from plre.text.holdout import held_out_ids, hold_out, sample_text
from plre.text.sources import Source
from plre.text.vocabulary import Vocabulary

Pair = tuple[EncodedText, NDArray[np.int32]]


class Text(Ingredient):
    """A text as ids, whatever was done to it."""

    @property
    def origin(self) -> Text:
        """The text that was read."""
        return self


@dataclass(frozen=True)
class ReadText(Text):
    """A text as ids. Its vocabulary is one that is given, or that of another text, or its own.

    A source may be anything that gives sentences, perhaps only once: each is a text of its own.
    """

    kind: ClassVar[str] = "reading"
    source: Source = field(compare=False, repr=False)
    options: TextOptions = field(default_factory=TextOptions)
    min_count: int = 2
    vocab: Vocabulary | None = field(default=None, compare=False)
    like: ReadText | None = None
    token: str = field(default_factory=lambda: uuid.uuid4().hex, repr=False)

    def make(self, get: Get, how: Resources) -> EncodedText:
        """Read it once."""
        vocab = get(self.like).vocab if self.like else self.vocab
        return encode_text(self.source, min_count=self.min_count, vocab=vocab, options=self.options, **how.named)


@dataclass(frozen=True)
class TextIds(Ingredient):
    """The ids of a held-out text, or of a sample of one that is very long."""

    text: Text

    def make(self, get: Get, how: Resources) -> NDArray[np.int32]:
        """Take them from all over the text."""
        return held_out_ids(get(self.text), how.progress)


@dataclass(frozen=True)
class TextSample(Ingredient):
    """The ids of a sample of a text."""

    text: Text

    def make(self, get: Get, how: Resources) -> NDArray[np.int32]:
        """Take it from all over the text."""
        return sample_text(get(self.text))


@dataclass(frozen=True)
class PartedText(Ingredient):
    """A text of which a part is held out: what is left, and the ids of that part; None if the text is too short."""

    text: Text

    def make(self, get: Get, how: Resources) -> Pair | None:
        """Hold out pieces from all over the text."""
        return hold_out(get(self.text), how.scratch, how.progress)


@dataclass(frozen=True)
class KeptText(Text):
    """What is left of a text when a part is held out."""

    parts: PartedText

    def make(self, get: Get, how: Resources) -> EncodedText:
        """The larger of the parts."""
        return get(self.parts)[0]  # type: ignore[no-any-return]

    @property
    def origin(self) -> Text:
        """The text that was parted."""
        return self.parts.text.origin


@dataclass(frozen=True)
class HeldOutIds(Ingredient):
    """The ids of the part of a text that is held out."""

    parts: PartedText

    def make(self, get: Get, how: Resources) -> NDArray[np.int32]:
        """The smaller of the parts."""
        return get(self.parts)[1]  # type: ignore[no-any-return]
