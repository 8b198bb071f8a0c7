"""Holding out part of a text, to fit weights to it that are then used with all of the text."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from plre.scratch import Growing, Scratch, slices
from plre.text.encode import EncodedText
from plre.text.vocabulary import BOS, UNK

#: What is held out: so many pieces from all over the text, together this share of it, but not more words than this.
#: Whole pieces rather than single sentences, since a sentence is easier to guess after the ones around it.
_PIECES = 16
_SHARE = 0.05
_LARGEST = 1 << 19
_READ = 1 << 20


def hold_out(text: EncodedText, scratch: Scratch) -> tuple[EncodedText, NDArray[np.int32]] | None:
    """The text without what was held out, and that; None if the text is too short.

    Words that occur only in what was held out are ``<unk>`` there, as unknown words will be.
    """
    whole = len(text.ids)
    size = int(min(_SHARE * whole, _LARGEST) / _PIECES)
    if size < 16:
        return None
    kept, held = Growing(scratch, np.int32), []
    counts = np.zeros(len(text.vocab), np.int64)
    sentences = 0
    at = 0
    for k in range(_PIECES + 1):
        start = max(at, _boundary(text, (2 * k + 1) * whole // (2 * _PIECES) - size)) if k < _PIECES else whole
        for part in slices(start - at, _READ):
            ids = text.ids[at + part.start : at + part.stop]
            kept.append(ids)
            counts += np.bincount(ids, minlength=len(counts))
        if k < _PIECES:
            at = _boundary(text, start + size)
            held.append(np.asarray(text.ids[start:at]))
            if not text.markers:
                held[-1] = np.append(np.int32(BOS), held[-1])
            sentences += int(np.sum(held[-1] == BOS))
    ids = np.concatenate(held)
    ids = np.where((counts[ids] == 0) & (ids != BOS), UNK, ids).astype(np.int32)
    return replace(text, ids=kept.finish(), sentences=text.sentences - sentences if text.markers else 0), ids


def _boundary(text: EncodedText, at: int) -> int:
    """The first place from here on where a sentence begins; any place in a text without markers."""
    at = max(at, 0)
    while text.markers and at < len(text.ids):
        begins = np.flatnonzero(text.ids[at : at + 1024] == BOS)
        if len(begins):
            return at + int(begins[0])
        at += 1024
    return min(at, len(text.ids))
