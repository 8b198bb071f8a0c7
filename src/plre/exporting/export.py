"""A model as an ARPA file: as it is where it is n-grams and nothing else, otherwise as well as n-grams can say it."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from plre._version import __version__
from plre.errors import UsageError
from plre.exporting.arpa import NEVER, write_arpa
from plre.exporting.plain import Below, LogColumns, above_backoff, log_columns, logarithms, without_empty, without_words
from plre.exporting.project import project
from plre.interop.opening import open_model
from plre.model.columns import Columns
from plre.model.component import Component
from plre.model.lm import LanguageModel
from plre.model.ngrams import assemble
from plre.progress import Progress
from plre.scratch import parse_size, scratch_within
from plre.text.vocabulary import SPECIAL, UNK, Vocabulary
from plre.threads import cpu_count

#: How words are spelled: as they are; or, if they are numbers of tokens, as the letter that many places after 100.
Spelling = Literal["words", "nemo"]
#: N-grams for each word of a model that has none of words itself.
_NGRAMS_A_WORD = 30
#: Bytes of the numbers of a line.
_NUMBERS = 19
#: The letter of token 0, in NeMo.
_FIRST_LETTER = 100


@dataclass(frozen=True)
class Exported:
    """What was written: how many n-grams of each order, and the model whose n-grams they are."""

    ngrams: list[int]
    model: LanguageModel
    #: Whether the file says just what the model says that was exported.
    exact: bool


def export_arpa(
    model: LanguageModel | str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    ngrams: int | None = None,
    size: int | str | None = None,
    order: int | None = None,
    start: float = NEVER,
    below: Below = "keep",
    spelling: Spelling = "words",
    threads: int | None = None,
    memory: int | str | None = None,
    tmp: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Exported:
    """Write a model (or the one in a file) to an ARPA file, compressed if its name ends in ``.gz``.

    Models that are n-grams of words and nothing else are written as they are. For others those n-grams are found that
    say best what the model says (``exporting/project.py``): with as many as a Kneser-Ney model has they are better than
    that, with three times as many they have about half of what the model gains over it.

    ngrams    how many there may be; by default as many as the model has n-grams of words
    size      bytes of the file, about, or for example "500M", instead
    order     length of the longest n-gram; by default the model's
    start     log10 P of ``<s>``, which is never predicted: most programs write -99, some want 0
    below     n-grams that are less probable than what backing off gives: "raise" them to that, or "drop" them where no
              other n-gram needs them, for readers that take the best of all paths, such as k2's
    spelling  "nemo": words are numbers of tokens, and spelled as NeMo does, as one letter
    memory    bytes, or for example "4G": what this may take
    """
    progress, threads = progress or Progress(), threads or cpu_count()
    if ngrams is not None and size is not None:
        raise UsageError("give the number of n-grams or the size of the file, one of the two")
    if ngrams is not None and ngrams < 1:
        raise UsageError(f"the number of n-grams must be 1 or more, not {ngrams}")
    if not -math.inf < start <= 0:
        raise UsageError(f"log10 P of <s> must be a number up to 0, not {start}")
    if below not in get_args(Below) or spelling not in _SPELLINGS:
        raise UsageError(f"below is one of {get_args(Below)}, spelling one of {tuple(_SPELLINGS)}")
    lm = model if isinstance(model, LanguageModel) else open_model(model, threads=threads, progress=progress)
    if order is not None and not 1 <= order <= lm.reach:
        raise UsageError(f"the model looks at n-grams of order 1 to {lm.reach}, not {order}")
    scratch = scratch_within(memory, tmp)
    if not lm.markers:
        progress.note(
            "the model knows no sentences: <s> and </s> are in the file because readers want them, at log10 -99"
        )
    columns = None if order not in (None, lm.order) else log_columns(lm)
    if size is not None:
        ngrams = int(parse_size(str(size)) / _bytes_a_line(lm))
    exact = columns is not None and (ngrams is None or sum(columns.sizes) <= ngrams)
    said = lm
    if not exact:
        wanted = _own_ngrams(lm) if ngrams is None else ngrams
        found = project(lm, wanted, order=order, threads=threads, progress=progress, scratch=scratch)
        columns, said = logarithms(found), _as_model(lm, found, threads)
    assert columns is not None
    vocab, left_out = _SPELLINGS[spelling](lm.vocab)
    if left_out.any():
        number = int(left_out.sum())
        progress.note(f"{number:,} words cannot be written in an ARPA file; n-grams with them are left out")
    unwanted = left_out.copy()
    unwanted[UNK] |= spelling == "nemo"  # whose reader knows it as a word only
    if unwanted.any():
        columns = without_words(columns, unwanted)
    columns = LogColumns(without_empty(above_backoff(columns, below).columns))
    exact = exact and not unwanted.any() and below == "keep"
    sizes = write_arpa(
        columns, vocab, os.fspath(path), left_out=left_out, start=start, threads=threads, progress=progress
    )
    return Exported(sizes, said, exact)


def _as_model(lm: LanguageModel, columns: Columns, threads: int) -> LanguageModel:
    """N-grams that stand for a model, as one."""
    about = {"order": 1 + len(columns.orders), "method": "projection", "markers": lm.markers, "version": __version__}
    body = assemble(columns, threads=threads)
    return LanguageModel(lm.vocab, [Component(body, about={"method": "projection"})], about)


def _own_ngrams(lm: LanguageModel) -> int:
    """How many n-grams of words a model has."""
    bodies = [each.body.ngrams() for each in lm.components if each.symbols is None]
    return next((sum(body.sizes) for body in bodies if body is not None), _NGRAMS_A_WORD * len(lm.vocab))


def _bytes_a_line(lm: LanguageModel) -> float:
    """Bytes that a line of an ARPA file takes on average: two numbers, and words as long as frequent ones are."""
    lengths = np.diff(lm.vocab.starts)[len(SPECIAL) :]
    usual = float(np.average(lengths, weights=1 / np.arange(1, len(lengths) + 1))) if len(lengths) else 1.0
    return _NUMBERS + (usual + 1) * lm.order


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
