"""Leaving out n-grams that occur too rarely to be worth their place.

An n-gram occurs no more often than its context and its suffix, so whatever is kept has both. Contexts remember how much
of their count went: smoothing hands that to shorter contexts, beside what it discounts.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from plre.counts import _kernels as kernels
from plre.counts.ngrams import Counts, NgramTable
from plre.scratch import Column, Growing, Scratch
from plre.threads import overlapped


def cut(counts: Counts, least: int, first: int, *, threads: int = 1, scratch: Scratch | None = None) -> Counts:
    """Counts without the n-grams, of orders ``first`` (2 or more) and up, that occur fewer than ``least`` times.

    What must fit into memory is 4 bytes for each n-gram of the second highest order.
    """
    if least <= 1 or first > counts.order:
        return counts
    tables = list(counts.tables[: first - 1])
    lost = {}
    numbers = np.arange(len(tables[-1]), dtype=np.int32)
    for table in counts.tables[first - 1 :]:
        made, lost[table.order], numbers = _cut(
            table, least, numbers, table.order < counts.order, threads, scratch or Scratch()
        )
        tables.append(made)
    return replace(counts, tables=tuple(tables), lost=lost)


def _cut(
    table: NgramTable, least: int, numbers: NDArray[np.int32], wanted: bool, threads: int, scratch: Scratch
) -> tuple[NgramTable, Column, NDArray[np.int32]]:
    """A table without rare n-grams, and what each context that is kept lost. ``numbers`` are the new numbers of the
    n-grams of the order below, -1 for those that are gone; those of this order come back if they are ``wanted``."""
    columns = [Growing(scratch, np.int32) for _ in range(6)]
    words = columns[0]
    renumbered = np.empty(len(table) if wanted else 0, np.int32)

    def run(piece: tuple[int, int]) -> tuple[slice, list[NDArray[np.int32]], NDArray[np.int32]]:
        children = table.children[piece[0] : piece[1] + 1]
        part = slice(int(children[0]), int(children[-1]))
        size, contexts = part.stop - part.start, piece[1] - piece[0]
        ngrams, own = np.empty((4, size), np.int32), np.empty(size, np.int32)
        starts, lost = np.empty((2, contexts), np.int32)
        n, c = kernels.cut_rare(
            children, numbers[slice(*piece)], table.words[part], table.suffixes[part], table.raw[part],
            table.adjusted[part], numbers, least, ngrams, own, starts, lost,
        )  # fmt: skip
        return part, [*(each[:n].copy() for each in ngrams), starts[:c], lost[:c]], own

    for _, (part, made, own) in overlapped(run, table.pieces(), threads):
        base = np.int32(words.size)
        if wanted:
            renumbered[part] = np.where(own < 0, own, own + base)
        made[4] += base
        for column, values in zip(columns, made, strict=True):
            column.append(values)
    columns[4].append(np.array([words.size], np.int32))
    last, suffixes, raw, adjusted, children, gone = (column.finish() for column in columns)
    return NgramTable(table.order, last, children, suffixes, raw, adjusted), gone, renumbered
