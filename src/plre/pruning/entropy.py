"""Which n-grams a model can do without, and the model without them (Stolcke 1998, for models as ours are).

    P(w | h) = stored  if hw is there,  else  low rank layers(hw) + backoff(h) P(w | h')

An n-gram goes if the relative entropy between the model with and without it, over the text that the model would say by
itself (``stationary.py``), is at most a threshold. Orders are judged from the highest down, each n-gram by itself.

What an n-gram that goes had said over and above the back-off, the order below now has to say. So it is mixed into the
probabilities there, in proportion to how often either is asked. Without that the lower orders of Kneser-Ney, which are
made for what the higher ones leave over, would have to speak of things that they know nothing about. Then, from the
lowest order up, back-off weights are set so that everything sums to what it did before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from plre.pruning import _kernels as kernels
from plre.pruning.stationary import Stationary, low_rank_shares, stationary
from plre.pruning.tables import Table, row_starts, select
from plre.threads import even_ranges, parallel

_PIECES = 64
_NOTHING = np.empty(0)
#: A context that leads others leaves them something, if only this.
_SMALLEST_MISSING = 1e-6

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class _Contexts:
    """The contexts of one order, before anything goes; see ``_pruning.measure``."""

    unseen: Floats
    others: Floats
    #: What the low rank layers say after each; empty if there are none.
    layers: Floats


@dataclass(frozen=True)
class Judgement:
    """What stays at one threshold, order by order; contexts of order n + 1 are at place n."""

    keep: list[NDArray[np.bool_]]
    #: With what n-grams that went left behind, before back-off weights are set anew.
    prob: list[NDArray[np.floating]]
    low: list[Floats]
    backoff: list[Floats]
    #: What each context's old probabilities were multiplied by when others were mixed in.
    scale: list[Floats]

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many n-grams of each order stay."""
        return tuple(int(kept.sum()) for kept in self.keep)


class Pruner:
    """Judges the n-grams of one model at any threshold: what does not depend on that is computed once.

    To see what each idea is worth, contexts may be weighed otherwise than by the model's own ``text``, and with
    ``hand_down=False`` the probabilities of lower orders stay as they are.
    """

    def __init__(
        self,
        tables: Sequence[Table],
        markers: bool,
        threads: int = 1,
        *,
        text: Stationary | None = None,
        hand_down: bool = True,
    ) -> None:
        self.tables = list(tables)
        self.threads = threads
        self._hand_down = hand_down
        self._low = low_rank_shares(tables, threads)
        self._text = text or stationary(tables, self._low, markers)
        self._contexts: list[_Contexts] = []
        below = np.array([tables[0].prob.sum(dtype=np.float64)])
        for n in range(2, len(tables) + 1):
            table, context = tables[n - 1], tables[n - 2]
            found = _Contexts(
                np.empty(len(context)), np.empty(len(context)), self._layers(n, np.ones(len(context), np.bool_))
            )
            sums = np.empty(len(context))
            self._by_context(
                n, kernels.measure, context.children, table.suffixes, context.suffixes, table.prob, self._low[n - 1],
                context.backoff, context.prob, below, found.layers, found.unseen, found.others, sums,
            )  # fmt: skip
            self._contexts.append(found)
            below = sums

    def _by_context(self, n: int, kernel: Callable[..., None], *arrays: object) -> None:
        """Run a kernel over all contexts of order n's n-grams."""
        context = self.tables[n - 2]
        pieces = even_ranges(context.children, 0, len(context), _PIECES)
        parallel(lambda piece: kernel(*piece, *arrays), pieces, self.threads)

    def _layers(self, n: int, kept: NDArray[np.bool_]) -> Floats:
        """What the low rank layers of order n say after each context, if these rows are kept."""
        f, context = self.tables[n - 1].factors, self.tables[n - 2]
        if f is None:
            return _NOTHING
        sums = np.empty(len(context))
        kernels.layer_sums(
            kept, context.suffixes, row_starts(self.tables, n), f.rank, f.left, f.left_start, f.right, f.right_start,
            sums,
        )  # fmt: skip
        return sums

    def judge(self, threshold: float) -> Judgement:
        """What stays if each n-gram must be worth more than ``threshold``. Words always stay."""
        order = len(self.tables)
        found = Judgement(
            [np.zeros(len(table), np.bool_) for table in self.tables],
            [table.prob for table in self.tables],
            list(self._low),
            [table.backoff.astype(np.float64) for table in self.tables[:-1]],
            [np.ones(len(table)) for table in self.tables[:-1]],
        )
        received = _NOTHING
        for n in range(order, 1, -1):
            table, context = self.tables[n - 1], self.tables[n - 2]
            about, usage = self._contexts[n - 2], self._text.usage[n - 2].copy()
            others = about.others.copy()
            if n < order:
                found.prob[n - 1] = table.prob.astype(np.float64)
                found.low[n - 1] = self._low[n - 1].copy()
                self._by_context(
                    n, kernels.receive, context.children, received, found.prob[n - 1], found.low[n - 1],
                    found.backoff[n - 2], others, usage, found.scale[n - 2],
                )  # fmt: skip
            same = context.children, table.suffixes, found.prob[n - 1], found.low[n - 1], found.backoff[n - 2]
            keep = found.keep[n - 1]
            met = self._text.mass[n - 2]
            self._by_context(n, kernels.judge, *same, context.prob, about.unseen, others, met, threshold, keep)
            received = np.zeros(len(context))
            kernels.hand_down(*same, context.prob, usage, keep, received, found.keep[n - 2])
            received *= self._hand_down
        found.keep[0][:] = True
        if order > 1:
            words = self._text.words
            found.prob[0] = (words * self.tables[0].prob + received) / (words + received.sum())
        return found

    @property
    def low_rank_bigrams(self) -> bool:
        """Whether bigrams have low rank layers; words stay, and so do these."""
        return len(self.tables) > 1 and self.tables[1].factors is not None

    def factor_count(self, found: Judgement, n: int) -> int:
        """How many factors of order n stay."""
        factors = self.tables[n - 1].factors
        if factors is None:
            return 0
        rank, kept = factors.rank, found.keep[n - 2]
        rows = np.repeat(rank, np.diff(row_starts(self.tables, n)))
        columns = rank[self.tables[n - 2].suffixes]
        return int(rows[kept].sum(dtype=np.int64)) + int(columns[kept].sum(dtype=np.int64))

    def pruned(self, found: Judgement) -> list[Table]:
        """The tables of what stays."""
        made = [replace(self.tables[0], prob=found.prob[0].astype(np.float32))]
        below = np.array([made[0].prob.sum(dtype=np.float64)])
        for n in range(2, len(self.tables) + 1):
            table, context, about = self.tables[n - 1], self.tables[n - 2], self._contexts[n - 2]
            scale = found.scale[n - 2]
            before, after, factors = _NOTHING, _NOTHING, table.factors
            if factors is not None:
                before, after = scale * about.layers, scale * self._layers(n, found.keep[n - 2])
                ranks = factors.rank[context.suffixes]
                factors = replace(factors, right=factors.right * np.repeat(scale, ranks).astype(np.float32))
            backoff, sums = np.empty(len(context), np.float32), np.empty(len(context))
            self._by_context(
                n, kernels.share_rest, context.children, table.suffixes, context.suffixes, found.prob[n - 1],
                found.low[n - 1], found.keep[n - 1], made[-1].prob, below, before, after, found.backoff[n - 2],
                about.unseen, backoff, sums,
            )  # fmt: skip
            made[-1] = replace(made[-1], backoff=backoff)
            if context.missing is not None:
                # Where nothing stays the shorter context speaks, and says what is left.
                silent = ~np.logical_or.reduceat(np.append(found.keep[n - 1], False), context.children[:-1])
                silent |= np.diff(context.children) == 0
                if factors is not None:
                    silent &= after <= 0
                missing = np.where(silent, 0, np.maximum(1 - sums, _SMALLEST_MISSING))
                made[-1] = replace(made[-1], missing=missing.astype(np.float32))
            made.append(replace(table, prob=found.prob[n - 1].astype(np.float32), factors=factors))
            below = sums
        return select(made, found.keep)
