"""Scoring whole texts: blocks are read, encoded and scored side by side, in constant memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from plre.errors import TextError
from plre.model import _kernels as kernels
from plre.progress import Progress
from plre.text.encode import TextOptions, describe, encode_block, overlapped, sentences
from plre.text.sources import Block, Source, read_blocks, sized
from plre.text.vocabulary import EOS

if TYPE_CHECKING:
    from plre.model.lm import LanguageModel

R = TypeVar("R")


@dataclass(frozen=True)
class Scored:
    """A piece of text with the probability of each position, from ``first`` on (before that is context)."""

    ids: NDArray[np.int32]
    probs: NDArray[np.float64]
    matched: NDArray[np.int8]
    first: int = 0


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

    def add(self, other: Tally) -> None:
        """Add another text's sums to this one's."""
        self.counts += other.counts
        self.logprob10 += other.logprob10
        self.hits += other.hits

    def perplexity(self, *, oov: bool = True, eos: bool = True) -> float:
        """10 to the mean of -log10 P, with or without unknown words and sentence ends."""
        kinds = [True, oov, eos]
        tokens = int(self.counts[kinds].sum())
        return float(10 ** (-self.logprob10[kinds].sum() / tokens)) if tokens else float("nan")


def find_grams(lm: LanguageModel, ids: NDArray[np.int32]) -> NDArray[np.int32]:
    """For each order (row) and position (column) the n-gram that ends there, or -1; ``<s>`` cuts off what is before."""
    grams = np.empty((lm.order, len(ids)), np.int32)
    kernels.find_grams(lm.memory, lm.where, lm.order, ids, grams)
    return grams


def probabilities(lm: LanguageModel, ids: NDArray[np.int32], grams: NDArray[np.int32] | None = None) -> Scored:
    """The probability of each position given those before it; ``grams`` if they are known already."""
    probs = np.empty(len(ids))
    matched = np.empty(len(ids), np.int8)
    grams = find_grams(lm, ids) if grams is None else grams
    kernels.combine(lm.memory, lm.where, lm.order, ids, grams, probs, matched)
    return Scored(ids, probs, matched)


def map_text(
    lm: LanguageModel,
    source: Source,
    each: Callable[[Scored], R],
    *,
    by_line: bool,
    options: TextOptions,
    threads: int,
    progress: Progress,
) -> Iterator[R]:
    """``each`` of the scored pieces of a text, in order: pieces of whole lines, or of one stream of words."""
    source, total = sized(source)
    blocks = read_blocks(source, stream=not by_line, errors=options.errors)

    def encode(block: Block) -> NDArray[np.int32]:
        return encode_block(lm.vocab, block, replace(options, markers=by_line))

    def score_block(block: Block) -> R:
        return each(probabilities(lm, sentences(encode(block), lm.markers)))

    with progress.stage("scoring", total, "B") as advance:
        if by_line:
            for block, result in overlapped(score_block, blocks, threads):
                yield result
                advance(block.read)
            return
        context = np.empty(0, np.int32)
        for block, encoded in overlapped(encode, blocks, threads):
            scored = probabilities(lm, np.concatenate([context, encoded]))
            yield each(replace(scored, first=len(context)))
            context = scored.ids[max(0, len(scored.ids) - lm.order + 1) :].copy()
            advance(block.read)


def tally_ids(lm: LanguageModel, ids: NDArray[np.int32]) -> Tally:
    """The sums of a text that is already encoded, markers included."""
    return _tally(lm.order, probabilities(lm, ids))


def _tally(order: int, scored: Scored) -> Tally:
    tally = Tally(order)
    kernels.tally(scored.ids, scored.probs, scored.matched, scored.first, tally.counts, tally.logprob10, tally.hits)
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

    def each(scored: Scored) -> tuple[Tally, Scored | None]:
        return _tally(lm.order, scored), scored if also else None

    whole = Tally(lm.order)
    parts = map_text(lm, source, each, by_line=lm.markers, options=options, threads=threads, progress=progress)
    for part, scored in parts:
        whole.add(part)
        if also and scored:
            also(scored)
    if not whole.counts.sum():
        raise TextError(f"{describe(source)}: holds no words; there is nothing to score")
    return whole


def line_scores(scored: Scored, *, eos: bool) -> NDArray[np.float64]:
    """log10 probability of each sentence of a piece of text with markers, with or without its ``</s>``."""
    scores = np.empty(int((scored.ids == EOS).sum()))
    kernels.score_lines(scored.ids, scored.probs, eos, scores)
    return scores
