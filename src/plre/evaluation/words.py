"""Every word of a text with its surprisal, as a table or as KenLM prints it."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator

from plre.model.lm import LanguageModel
from plre.model.scoring import Scored
from plre.text.vocabulary import BOS, EOS, UNK

#: The columns of the table.
COLUMNS = ("sentence", "position", "word", "oov", "surprisal", "logprob10", "order")
_MARKERS = (b"<s>", b"</s>")


class WordLines:
    """Writes a line for each word: its sentence, its place there, the word as it is written, whether it is unknown (1),
    its surprisal in bits, log10 of its probability, and the length of the n-gram matched.

    In the style "tsv" or "text" that is a table with a head; in the style "json" each line is a JSON object; in the
    style "kenlm" there is a line for each sentence, as KenLM prints it. Call it with the pieces of a text, in order.
    """

    def __init__(self, lm: LanguageModel, write: Callable[[str], object], style: str = "tsv") -> None:
        self.lm = lm
        self.write = write
        self.style = style
        self.sentence = self.position = 1
        self.shown: list[str] = []
        self.score = 0.0
        self.unknown = 0
        if style in ("tsv", "text"):
            write("\t".join(COLUMNS))

    def __call__(self, piece: Scored) -> None:
        """Write the words of a piece."""
        written = self._written(piece)
        for i in range(piece.first, len(piece.ids)):
            w = int(piece.ids[i])
            if w == BOS:
                continue
            word, matched = "</s>" if w == EOS else next(written), int(piece.matched[i])
            logprob = math.log10(piece.probs[i]) if piece.probs[i] > 0 else -math.inf
            surprisal = -math.log2(piece.probs[i]) if piece.probs[i] > 0 else math.inf
            if self.style == "kenlm":
                self.shown.append(f"{word if w else '<unk>'}={w} {matched} {logprob:.7g}")
                self.score += logprob
                self.unknown += w == UNK
                if w == EOS:
                    self.finish()
            elif self.style == "json":
                values = (self.sentence, self.position, word, w == UNK, surprisal, logprob, matched)
                known = (value if not isinstance(value, float) or math.isfinite(value) else None for value in values)
                self.write(json.dumps(dict(zip(COLUMNS, known, strict=True)), ensure_ascii=False))
            else:
                place = f"{self.sentence}\t{self.position}\t{word}\t{int(w == UNK)}"
                self.write(f"{place}\t{surprisal:.6f}\t{logprob:.6f}\t{matched}")
            self.position = 1 if w == EOS else self.position + 1
            self.sentence += w == EOS

    def _written(self, piece: Scored) -> Iterator[str]:
        """The words of a piece as the text has them; without a text, as the model does."""
        if piece.text:
            return (word.decode("utf-8", "replace") for word in piece.text.split() if word not in _MARKERS)
        return (self.lm.vocab.word(int(w)) for w in piece.ids[piece.first :] if w not in (BOS, EOS))

    def finish(self) -> None:
        """Write what is left of a sentence."""
        if self.shown:
            self.write("\t".join(self.shown) + f"\tTotal: {self.score:.7g} OOV: {self.unknown}")
        self.shown, self.score, self.unknown = [], 0.0, 0
