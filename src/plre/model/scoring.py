"""Scoring whole texts: blocks are read, encoded and scored side by side, in constant memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from plre.errors import TextError, UsageError
from plre.model import _texts as kernels
from plre.model._plan import COLUMNS
from plre.progress import Progress
from plre.text.encode import TextOptions, describe, encode_block, refuse_marker, sentences
from plre.text.sources import Block, Source, raw_blocks, sized, valid
from plre.text.vocabulary import BOS, END_AND_START
from plre.threads import overlapped

if TYPE_CHECKING:
    from plre.model.lm import LanguageModel


#: Bytes of UTF-8 below that, with their sign, are not the first of a letter.
_FIRST_OF_LETTER = -64


@dataclass(frozen=True)
class Scored:
    """A piece of text with the probability of each position, from ``first`` on (before that is context).

    ``text`` is the piece as it was written, without the context, if it comes from a text.
    """

    ids: NDArray[np.int32]
    probs: NDArray[np.float64]
    matched: NDArray[np.int8]
    first: int = 0
    text: bytes = b""


class Tally:
    """Sums over a text."""

    def __init__(self, order: int) -> None:
        self.order = order
        #: Known words, unknown words, sentence ends.
        self.counts = np.zeros(3, np.int64)
        #: Base 10 logarithms of their probabilities, added up.
        self.logprob10 = np.zeros(3)
        #: How many positions matched an n-gram of order 1, 2, ...
        self.hits = np.zeros(order, np.int64)
        #: Characters and bytes of the text, white space included.
        self.letters = np.zeros(2, np.int64)

    def add(self, other: Tally) -> None:
        """Add another text's sums to this one's."""
        self.counts += other.counts
        self.logprob10 += other.logprob10
        self.hits += other.hits
        self.letters += other.letters

    def perplexity(self, *, oov: bool = True, eos: bool = True) -> float:
        """10 to the mean of -log10 P, with or without unknown words and sentence ends."""
        kinds = [True, oov, eos]
        tokens = int(self.counts[kinds].sum())
        return float(10 ** (-self.logprob10[kinds].sum() / tokens)) if tokens else float("nan")


def score_ids(lm: LanguageModel, ids: NDArray[np.int32], first: int = 0, text: bytes = b"") -> Scored:
    """The probability of each position given those before it."""
    return _score_padded(lm, np.concatenate([np.full(lm.reach, len(lm.vocab), np.int32), ids]), first, text)


def _score_padded(lm: LanguageModel, padded: NDArray[np.int32], first: int = 0, text: bytes = b"") -> Scored:
    """:func:`score_ids` for ids that have as many words before them as the model can use."""
    ids = padded[lm.reach :]
    probs, matched = np.empty(len(ids)), np.empty(len(ids), np.int8)
    plan = lm.plan
    kernels.score_ids(plan.texts, padded, plan.work_space(), probs, matched)
    return Scored(ids, probs, matched, first, text)


def score_orders(lm: LanguageModel, ids: NDArray[np.int32]) -> NDArray[np.float64]:
    """The probability of each position as each order has it, the lowest first, of a model of n-grams alone."""
    if len(lm.components) > 1 or lm.components[0].body.ngrams() is None:
        raise UsageError("only a model of one component has orders")
    probs = np.empty((lm.order, len(ids)))
    padded = np.concatenate([np.full(lm.reach, len(lm.vocab), np.int32), ids])
    plan = lm.plan
    kernels.score_orders(plan.texts, padded, plan.work_space(), np.empty((lm.order, COLUMNS)), probs)
    return probs


def score_lines(
    lm: LanguageModel, data: bytes, *, bos: bool, eos: bool, skip_markers: bool = False, each: bool = True
) -> tuple[Tally, NDArray[np.float64], int]:
    """Sums over whole lines, the log10 probability of each (if asked for), and the place of a stray marker or -1."""
    encoded, bad = lm.vocab.encode(data, END_AND_START, skip_markers=skip_markers)
    lines = np.empty(data.count(b"\n") if each else 0)
    if bad >= 0:
        return Tally(lm.order), lines, bad
    padded = np.full(lm.reach + len(encoded), len(lm.vocab), np.int32)
    padded[lm.reach :][:1] = BOS
    padded[lm.reach + 1 :] = encoded[:-1]
    if not bos:
        padded[padded == BOS] = len(lm.vocab)
    scored = _score_padded(lm, padded, text=data)
    if each:
        kernels.line_scores(scored.ids, scored.probs, eos, lines)
    return tally_scored(lm, scored), lines, bad


def score_text(
    lm: LanguageModel, source: Source, *, each: bool, options: TextOptions, threads: int, progress: Progress
) -> Iterator[tuple[Tally, NDArray[np.float64]]]:
    """The sums, and the score of each line if asked for, of the blocks of a text whose lines are sentences."""
    source, total = sized(source)

    def run(block: Block) -> tuple[Tally, NDArray[np.float64]]:
        block = valid(block, options.errors)
        tally, lines, bad = score_lines(
            lm, block.data, bos=lm.markers, eos=lm.markers, skip_markers=options.skip_markers, each=each
        )
        refuse_marker(block, bad)
        return tally, lines

    with progress.stage("scoring", total, "B") as advance:
        for block, result in overlapped(run, raw_blocks(source), threads):
            yield result
            advance(block.read)


def score_words(
    lm: LanguageModel, source: Source, *, options: TextOptions, threads: int, progress: Progress
) -> Iterator[Scored]:
    """Every position of a text, piece by piece: pieces of whole sentences, or of one stream of words."""
    source, total = sized(source)

    def encode(block: Block) -> tuple[NDArray[np.int32], bytes]:
        block = valid(block, options.errors)
        ids = encode_block(lm.vocab, block, options)
        return (sentences(ids) if lm.markers else ids), block.data

    with progress.stage("scoring", total, "B") as advance:

        def pieces() -> Iterator[tuple[NDArray[np.int32], int, bytes]]:
            """Ids, how many of them only are the context of the others, and the others as they are written."""
            context = np.empty(0, np.int32)
            for block, (ids, text) in overlapped(encode, raw_blocks(source, stream=not lm.markers), threads):
                yield np.concatenate([context, ids]), len(context), text
                if not lm.markers:
                    context = np.concatenate([context, ids])[max(0, len(context) + len(ids) - lm.reach + 1) :]
                advance(block.read)

        for _, scored in overlapped(lambda piece: score_ids(lm, *piece), pieces(), threads):
            yield scored


def tally_scored(lm: LanguageModel, scored: Scored) -> Tally:
    """The sums of one piece."""
    tally = Tally(lm.order)
    part = slice(scored.first, None)
    kernels.tally(
        scored.ids[part],
        scored.probs[part],
        scored.matched[part],
        len(lm.vocab),
        tally.counts,
        tally.logprob10,
        tally.hits,
    )
    letters = np.frombuffer(scored.text, np.int8)
    tally.letters += np.array([np.count_nonzero(letters >= _FIRST_OF_LETTER), len(letters)])
    return tally


def tally_text(
    lm: LanguageModel,
    source: Source,
    *,
    also: Callable[[Scored], object] | None,
    options: TextOptions,
    threads: int,
    progress: Progress,
) -> Tally:
    """The sums of a whole text; ``also`` is shown its pieces, in order."""
    whole = Tally(lm.order)
    if lm.markers and also is None:
        for part, _ in score_text(lm, source, each=False, options=options, threads=threads, progress=progress):
            whole.add(part)
    else:
        for scored in score_words(lm, source, options=options, threads=threads, progress=progress):
            whole.add(tally_scored(lm, scored))
            if also:
                also(scored)
    if not whole.counts.sum():
        raise TextError(f"{describe(source)}: holds no words; there is nothing to score")
    return whole
