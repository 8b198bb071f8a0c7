"""Counting in memory: 20 bytes a word of text besides the tables, one pass of refinement for each order."""

from __future__ import annotations

import numpy as np

from plre.counts import _kernels as kernels
from plre.counts.ngrams import Counts, NgramTable
from plre.progress import Progress
from plre.text.encode import EncodedText
from plre.text.vocabulary import BOS


def count_ngrams(text: EncodedText, order: int, *, threads: int = 1, progress: Progress | None = None) -> Counts:
    """All n-grams of ``text`` up to ``order`` with raw and adjusted counts.

    ``<s>`` is only ever context. Nothing reaches across a sentence's start; without markers the text is one stream.
    It runs on one thread, however many it is offered.
    """
    progress = progress or Progress()
    ids = text.ids
    tables: list[NgramTable] = []
    with progress.stage("counting n-grams", order * len(ids), "words") as advance:
        raw = np.bincount(ids, minlength=len(text.vocab)).astype(np.int32)
        raw[BOS] = 0  # never predicted
        words = np.arange(len(text.vocab), dtype=np.int32)
        root = np.array([0, len(words)], np.int32)
        tables.append(NgramTable(1, words, root, np.zeros(len(words), np.int32), raw, raw))
        advance(len(ids))

        by_word = np.empty(len(ids), np.int32)
        kernels.sort_positions(ids, len(words), by_word)
        grams = ids
        for n in range(2, order + 1):
            table, grams = _refine(ids, grams, by_word, tables[-1], n)
            tables.append(table)
            advance(len(ids))
        for n in range(1, order):
            tables[n - 1] = _adjusted(tables[n - 1], tables[n])
    return Counts(tuple(tables), text.markers, len(ids) - text.sentences)


def _refine(
    ids: np.ndarray, grams: np.ndarray, by_word: np.ndarray, shorter: NgramTable, n: int
) -> tuple[NgramTable, np.ndarray]:
    """The table of order n from the text's positions, each of which knows the (n-1)-gram that ends there."""
    contexts = len(shorter)
    ends = np.empty(contexts, np.int32)
    positions = np.empty(len(ids), np.int32)
    total = kernels.group_positions(ids, grams, contexts, by_word, BOS, ends, positions)

    children = np.empty(contexts + 1, np.int32)
    words, suffixes, raw = (np.empty(total, np.int32) for _ in range(3))
    next_grams = np.empty(len(ids), np.int32)
    size = kernels.number_ngrams(ids, grams, contexts, positions, ends, children, words, suffixes, raw, next_grams)
    words, suffixes, raw = words[:size].copy(), suffixes[:size].copy(), raw[:size].copy()
    return NgramTable(n, words, children, suffixes, raw, raw), next_grams


def _adjusted(table: NgramTable, longer: NgramTable) -> NgramTable:
    adjusted = np.empty(len(table), np.int32)
    kernels.count_predecessors(longer.suffixes, table.raw, adjusted)
    return NgramTable(table.order, table.words, table.children, table.suffixes, table.raw, adjusted)
