"""Leaving out n-grams that occur too rarely to be worth their place.

An n-gram occurs no more often than its context and its suffix, so whatever is kept has both. Contexts remember how much
of their count went: smoothing hands that to shorter contexts, beside what it discounts.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from plre.counts.ngrams import Counts


def cut(counts: Counts, least: int, first: int) -> Counts:
    """Counts without the n-grams, of orders ``first`` (2 or more) and up, that occur fewer than ``least`` times.

    All in memory: this is for counts that are small, as those of classes are.
    """
    if least <= 1 or first > counts.order:
        return counts
    tables = list(counts.tables[: first - 1])
    lost = {}
    kept = np.ones(len(tables[-1]), bool)  # of the order below
    number = np.arange(len(kept), dtype=np.int32)
    for table in counts.tables[first - 1 :]:
        children = np.asarray(table.children[:])
        raw, adjusted = np.asarray(table.raw[:]), np.asarray(table.adjusted[:])
        own = raw >= least
        kept_before = np.concatenate([[0], np.cumsum(own, dtype=np.int32)])
        gone_before = np.concatenate([[0], np.cumsum(np.where(own, 0, adjusted), dtype=np.int64)])
        lost[table.order] = (gone_before[children[1:]] - gone_before[children[:-1]])[kept]
        starts = kept_before[children].astype(np.int32)
        tables.append(
            replace(
                table,
                words=np.asarray(table.words[:])[own],
                children=np.append(starts[:-1][kept], starts[-1]),
                suffixes=number[np.asarray(table.suffixes[:])[own]],
                raw=raw[own],
                adjusted=adjusted[own],
            )
        )
        kept, number = own, kept_before[:-1].astype(np.int32)
    return replace(counts, tables=tuple(tables), lost=lost)
