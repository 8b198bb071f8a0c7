"""A model as an ARPA file: exactly, where it is n-grams and nothing else."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from plre.errors import UsageError
from plre.exporting.arpa import NEVER, write_arpa
from plre.exporting.plain import Below, above_backoff, log_columns, without_words
from plre.model.lm import LanguageModel
from plre.progress import Progress
from plre.text.vocabulary import SPECIAL, UNK, Vocabulary
from plre.threads import cpu_count

#: How words are spelled: as they are; or, if they are numbers of tokens, as the letter that many places after 100.
Spelling = Literal["words", "nemo"]
#: The letter of token 0, in NeMo.
_FIRST_LETTER = 100


def export_arpa(
    lm: LanguageModel,
    path: str | os.PathLike[str],
    *,
    start: float = NEVER,
    below: Below = "keep",
    spelling: Spelling = "words",
    threads: int | None = None,
    progress: Progress | None = None,
) -> list[int]:
    """Write a model to an ARPA file, compressed if its name ends in ``.gz``; gives how many n-grams of each order.

    start     log10 P of ``<s>``, which is never predicted: most programs write -99, some want 0
    below     n-grams that are less probable than what backing off gives: "raise" them to that, or "drop" them where no
              other n-gram needs them, for readers that take the best of all paths, such as k2's
    spelling  "nemo": words are numbers of tokens, and spelled as NeMo does, as one letter
    """
    progress, threads = progress or Progress(), threads or cpu_count()
    columns = log_columns(lm)
    if columns is None:
        raise UsageError("this model is more than n-grams of words; say how many n-grams may stand for it")
    vocab, left_out = _SPELLINGS[spelling](lm.vocab)
    if left_out.any():
        number = int(left_out.sum())
        progress.note(f"{number:,} words cannot be written in an ARPA file; n-grams with them are left out")
        columns = without_words(columns, left_out)
    columns = above_backoff(columns, below)
    return write_arpa(
        columns, vocab, os.fspath(path), left_out=left_out, start=start, threads=threads, progress=progress
    )


def _as_words(vocab: Vocabulary) -> tuple[Vocabulary, NDArray[np.bool_]]:
    """Words as they are; readers take ``<UNK>`` for ``<unk>``."""
    left_out = np.zeros(len(vocab), np.bool_)
    left_out[max(vocab["<UNK>"], UNK)] = True
    left_out[UNK] = False
    return vocab, left_out


def _as_letters(vocab: Vocabulary) -> tuple[Vocabulary, NDArray[np.bool_]]:
    """Tokens as letters; those that are white space, or no letters, cannot be written."""
    words, left_out = [], np.zeros(len(vocab), np.bool_)
    for number, word in enumerate(list(vocab)[len(SPECIAL) :], len(SPECIAL)):
        if not word.isdecimal() or int(word) + _FIRST_LETTER > 0x10FFFF:
            raise UsageError(f"the spelling of NeMo is for models of tokens: words are their numbers, not {word!r}")
        letter = chr(int(word) + _FIRST_LETTER)
        left_out[number] = letter.isspace() or 0xD800 <= ord(letter) < 0xE000
        words.append(word if left_out[number] else letter)
    return Vocabulary.from_words(words), left_out


_SPELLINGS: dict[Spelling, Callable[[Vocabulary], tuple[Vocabulary, NDArray[np.bool_]]]] = {
    "words": _as_words,
    "nemo": _as_letters,
}
