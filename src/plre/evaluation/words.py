"""Every word of a text with its probability, as lines of a table or as KenLM prints them."""

from __future__ import annotations

import math
from collections.abc import Iterator

from plre.model.lm import LanguageModel
from plre.text.sources import Errors, Source
from plre.text.vocabulary import BOS, EOS, UNK


def word_lines(
    lm: LanguageModel,
    text: Source,
    style: str = "text",
    *,
    skip_markers: bool = False,
    errors: Errors = "strict",
    threads: int | None = None,
) -> Iterator[str]:
    """Lines ``sentence TAB word TAB log10 probability TAB order matched``; or, for "kenlm", one line a sentence."""
    sentence = 1
    shown: list[str] = []
    score, unknown = 0.0, 0
    for piece in lm.scored_words(text, skip_markers=skip_markers, errors=errors, threads=threads):
        for i in range(piece.first, len(piece.ids)):
            w = int(piece.ids[i])
            if w == BOS:
                continue
            word, logprob, matched = lm.vocab.word(w), math.log10(piece.probs[i]), int(piece.matched[i])
            if style != "kenlm":
                yield f"{sentence}\t{word}\t{logprob:.6f}\t{matched}"
            else:
                shown.append(f"{word}={w} {matched} {logprob:.7g}")
                score += logprob
                unknown += w == UNK
                if w == EOS:
                    yield "\t".join(shown) + f"\tTotal: {score:.7g} OOV: {unknown}"
                    shown, score, unknown = [], 0.0, 0
            sentence += w == EOS
    if shown:
        yield "\t".join(shown) + f"\tTotal: {score:.7g} OOV: {unknown}"
