"""Parts of a text: one that is held out, to fit weights to it that are then used with all of the text; a sample."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from plre.progress import Progress
from plre.scratch import Growing, Scratch, slices
from plre.text.encode import EncodedText
from plre.text.vocabulary import BOS, EOS, UNK

#: What is held out: so many pieces from all over the text, together this share of it, but not more words than this.
#: Whole pieces rather than single sentences, since a sentence is easier to guess after the ones around it.
_PIECES = 16
_SHARE = 0.05
_LARGEST = 1 << 19
#: A piece is lengthened to whole sentences unless the pieces together get longer than this many times what was wanted.
_LENGTHENED = 4
_READ = 1 << 20
#: Words of a sample of a long text, and the pieces it is taken in.
_SAMPLE = 1 << 19
#: Of a longer held-out text a sample of so many words is used: what weights need of a word takes some 100 bytes.
MOST_HELD_OUT = 1 << 20
_SAMPLE_PIECES = 64

Range = tuple[int, int]


def hold_out(
    text: EncodedText, scratch: Scratch, progress: Progress | None = None
) -> tuple[EncodedText, NDArray[np.int32]] | None:
    """The text without what was held out, and that; None if the text is too short.

    Words that occur only in what was held out are ``<unk>`` there, as unknown words will be. Pieces of a text without
    markers begin with ``<s>``; so do those that are cut out of sentences, where these are too long to be held out.
    """
    size = int(min(_SHARE * len(text.ids), _LARGEST) / _PIECES)
    if size < 16:
        return None
    whole_sentences = text.markers
    pieces = _sentences(text, size) if text.markers else _words(text, size)
    if text.markers and not 0 < sum(stop - start for start, stop in pieces) <= _LENGTHENED * size * _PIECES:
        whole_sentences = False
        pieces = _words(text, size)
        if progress:
            progress.note("the lines of the text are too long to hold out whole ones; parts of them are held out")
    kept = Growing(scratch, np.int32)
    counts = np.zeros(len(text.vocab), np.int64)
    for (_, start), (stop, _) in pairwise([(0, 0), *pieces, (len(text.ids), 0)]):
        for part in slices(stop - start, _READ):
            ids = text.ids[start + part.start : start + part.stop]
            kept.append(ids)
            counts += np.bincount(ids, minlength=len(counts))
    begin = np.full(0 if whole_sentences else 1, BOS, np.int32)
    held = np.concatenate([each for start, stop in pieces for each in (begin, text.ids[start:stop])])
    held = np.where((counts[held] == 0) & (held != BOS), UNK, held).astype(np.int32)
    return replace(text, ids=kept.finish(), sentences=text.sentences - int(np.sum(held == EOS))), held


def _wanted(text: EncodedText, size: int) -> list[int]:
    """Where pieces of this size would start if they could start anywhere."""
    return [(2 * k + 1) * len(text.ids) // (2 * _PIECES) - size for k in range(_PIECES)]


def _sentences(text: EncodedText, size: int) -> list[Range]:
    """Pieces of at least this size that begin and end between sentences."""
    pieces: list[Range] = []
    at = 0
    for wanted in _wanted(text, size):
        start = max(at, _next_sentence(text, wanted))
        at = _next_sentence(text, start + size)
        pieces.append((start, at))
    return pieces


def _words(text: EncodedText, size: int) -> list[Range]:
    """Pieces of about this size that begin and end between two words of a sentence: what is left is sentences, too."""
    return [(_inside(text, start), _inside(text, start + size)) for start in _wanted(text, size)]


def _next_sentence(text: EncodedText, at: int) -> int:
    """The first place from here on where a sentence begins, or the end of the text."""
    while at < len(text.ids):
        begins = np.flatnonzero(text.ids[at : at + 1024] == BOS)
        if len(begins):
            return at + int(begins[0])
        at += 1024
    return len(text.ids)


def _inside(text: EncodedText, at: int) -> int:
    """This place, or the next one if a sentence begins here."""
    return at + int(text.ids[at : at + 1][0] == BOS)


def sample_text(text: EncodedText, most: int | None = None) -> NDArray[np.int32]:
    """At most so many words of a text, from all over it; the whole text if it has no more.

    Each piece begins with ``<s>``, so what stood before it is not missed; with a sentence, where these are short.
    """
    most = _SAMPLE if most is None else most
    if len(text.ids) <= most:
        return np.asarray(text.ids[:])
    starts = range(0, len(text.ids), -(-len(text.ids) // _SAMPLE_PIECES))
    pieces = [text.ids[start : start + most // _SAMPLE_PIECES] for start in starts]
    sample = np.concatenate([piece[np.cumsum(piece == BOS) > 0] for piece in pieces])
    if 2 * len(sample) < most:
        begin = np.array([BOS], np.int32)
        sample = np.concatenate([part for piece in pieces for part in (begin, piece[int(piece[0] == BOS) :])])
    return sample


def held_out_ids(text: EncodedText, progress: Progress) -> NDArray[np.int32]:
    """The ids of a text that weights are fitted to, or of a sample if it is very long."""
    ids = sample_text(text, MOST_HELD_OUT)
    if len(ids) < len(text.ids):
        progress.note(
            f"the held-out text is long: {len(ids):,} of its {len(text.ids):,} words, from all over it, will do"
        )
    return ids
