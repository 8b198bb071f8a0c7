"""Every word of a text with its probability, as a table or as KenLM prints it."""

from __future__ import annotations

import json
import math
from collections.abc import Callable

from plre.model.lm import LanguageModel
from plre.model.scoring import Scored
from plre.text.vocabulary import BOS, EOS, UNK


class WordLines:
    """Writes a line for each word: ``sentence TAB word TAB log10 probability TAB order matched``.

    In the style "json" each line is a JSON object; in the style "kenlm" there is a line for each sentence. Call it with
    the pieces of a text, in order. Unknown words appear as ``<unk>``.
    """

    def __init__(self, lm: LanguageModel, write: Callable[[str], object], style: str = "text") -> None:
        self.lm = lm
        self.write = write
        self.style = style
        self.sentence = 1
        self.shown: list[str] = []
        self.score = 0.0
        self.unknown = 0

    def __call__(self, piece: Scored) -> None:
        """Write the words of a piece."""
        for i in range(piece.first, len(piece.ids)):
            w = int(piece.ids[i])
            if w == BOS:
                continue
            word, matched = self.lm.vocab.word(w), int(piece.matched[i])
            logprob = math.log10(piece.probs[i]) if piece.probs[i] > 0 else -math.inf
            if self.style == "kenlm":
                self.shown.append(f"{word}={w} {matched} {logprob:.7g}")
                self.score += logprob
                self.unknown += w == UNK
                if w == EOS:
                    self.finish()
            elif self.style == "json":
                known = logprob if math.isfinite(logprob) else None
                row = {"sentence": self.sentence, "word": word, "logprob10": known, "order": matched}
                self.write(json.dumps(row, ensure_ascii=False))
            else:
                self.write(f"{self.sentence}\t{word}\t{logprob:.6f}\t{matched}")
            self.sentence += w == EOS

    def finish(self) -> None:
        """Write what is left of a sentence."""
        if self.shown:
            self.write("\t".join(self.shown) + f"\tTotal: {self.score:.7g} OOV: {self.unknown}")
        self.shown, self.score, self.unknown = [], 0.0, 0
