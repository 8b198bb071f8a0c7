"""Counts to a component: discounts, layers, factors, probabilities, order by order.

Orders are put together from the lowest up, each in pieces of contexts. A piece of order n gives the probabilities of
its n-grams and completes its contexts, which are (n-1)-grams: their weights and their children are known now.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from plre.counts.lookup import look_up
from plre.counts.ngrams import Counts
from plre.ensemble import _kernels as kernels
from plre.ensemble.ladder import split
from plre.ensemble.recipe import LowRank, Smoothing
from plre.lowrank.blocks import Blocks, Factors, average, check_ranks, stack
from plre.lowrank.factorise import bytes_needed, factorise
from plre.model.columns import Columns, Order
from plre.model.compact import compress
from plre.model.component import Body, Component
from plre.model.ngrams import assemble
from plre.progress import Advance
from plre.scratch import Column, Growing, Scratch, slices
from plre.smoothing.discounts import Discount, Steps, counts_of_counts, estimate
from plre.smoothing.fit import fit_steps
from plre.smoothing.jelinek_mercer import Shares, fit_shares
from plre.store import Resources
from plre.text.vocabulary import BOS, EOS
from plre.threads import overlapped

#: N-grams that are looked at together.
_PIECE = 1 << 20
#: What becomes of counts below this is looked up in tables that are made once.
_SMALL = 1 << 16
#: What stays in memory of each n-gram that may be a context while the order above it is put together: its probability
#: and later its slot; and what probabilities sum to after it and after its suffix, if that matters.
_BYTES_OF_CONTEXT, _BYTES_OF_SUMS = 8, 8
_NO_SUMS = np.empty(0, np.float32)
_NO_LAYERS = "choose lower ranks, or a preset without low rank layers (--preset fast)"
_FEWER = "use a lower --order, a higher --min-count or less text"


def smoothed_counts(counts: Counts, smoothing: Smoothing, n: int) -> Column:
    """The counts of an order that smoothing works on."""
    return counts[n].adjusted if smoothing.continuation else counts[n].raw


def uniform_share(counts: Counts) -> float:
    """The probability of a word if all that can be predicted are equally likely."""
    return 1 / (len(counts[1]) - (1 if counts.markers else 2))


def find_discounts(counts: Counts, smoothing: Smoothing, warn: bool) -> Sequence[Discount]:
    """The discounts of each order that the counts of counts ask for; Jelinek-Mercer's are only to begin with."""
    if "jm" in smoothing.discounts:
        return [Shares()] * counts.order
    seen = np.zeros((counts.order, 4), np.int64)
    for n in range(1, counts.order + 1):
        column = smoothed_counts(counts, smoothing, n)
        for part in slices(len(column), _PIECE):
            seen[n - 1] += counts_of_counts(column[part])
    return estimate(seen.tolist(), smoothing.discounts, warn)


def fit_discounts(
    counts: Counts,
    smoothing: Smoothing,
    discounts: Sequence[Discount],
    ids: NDArray[np.int32],
    leave_one_out: bool,
    how: Resources,
) -> Sequence[Discount]:
    """The discounts of each order under which a text is likeliest; ``leave_one_out`` if it is one that was counted."""
    with how.progress.stage("fitting discounts"):
        events = look_up(counts, ids, adjusted=smoothing.continuation, threads=how.threads)
        uniform = uniform_share(counts)
        if "jm" in smoothing.discounts:
            return fit_shares(events, uniform, leave_one_out=leave_one_out, threads=how.threads)
        start = [steps for steps in discounts if isinstance(steps, Steps)]
        return fit_steps(events, start, uniform, threads=how.threads)


class CountLayers:
    """The layers of counts and what remains of them (``ladder.split``), in tables: of small counts made once."""

    def __init__(self, discount: Discount, powers: Sequence[float]) -> None:
        self.discount, self.powers = discount, powers
        self._small = self._table(np.arange(_SMALL))

    def _table(self, counts: NDArray[np.int64]) -> NDArray[np.float64]:
        layers, rest = split(counts, self.discount, self.powers)
        return np.array([*layers, rest])

    def of(self, counts: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """The place of each count in tables, and these: a row for each layer and one for what remains."""
        large = np.unique(counts[counts >= _SMALL])
        if not len(large):
            return counts, self._small
        places = np.where(counts < _SMALL, counts, _SMALL + np.searchsorted(large, counts)).astype(np.int32)
        return places, np.concatenate([self._small, self._table(large.astype(np.int64))], axis=1)


def slices_of(counts: Counts, n: int, scratch: Scratch) -> Blocks:
    """The matrices of an order that are factorised: one for each (n-2)-gram, of what stands before and after it."""
    table, shorter = counts[n], counts[n - 1]
    scratch.check_room(8 * len(table) + 16 * len(shorter), f"low rank layers of order {n}", _NO_LAYERS)
    return Blocks(shorter.children[:], shorter.suffixes[:], table.children[:], table.suffixes[:])


def check_factors(
    counts: Counts, low_rank: LowRank, ranks: Sequence[NDArray[np.int32]], scratch: Scratch
) -> tuple[Blocks, int | None]:
    """The matrices to factorise, and the memory for work on them if there is a limit; refuses what a model could not
    hold, and what takes more memory than there is."""
    n = low_rank.order
    blocks = slices_of(counts, n, scratch)
    for rank in ranks:
        check_ranks(blocks, rank)
    made, largest = zip(*(bytes_needed(blocks, rank) for rank in ranks), strict=True)
    # Of several starts, and then of several rungs, the factors are set side by side.
    starts = low_rank.starts
    kept = 8 * len(counts[n]) + 24 * len(counts[n - 1]) + starts * sum(made) * (2 if len(ranks) > 1 else 1)
    kept += 3 * starts * max(made) // 2 if starts > 1 else 0
    scratch.check_room(kept + max(largest), f"low rank layers of order {n}", _NO_LAYERS)
    if scratch.memory is None:
        return blocks, None
    return blocks, max(*largest, min(scratch.memory // 2, scratch.free - kept), 1)


def find_factors(
    counts: Counts,
    smoothing: Smoothing,
    discounts: Sequence[Discount],
    low_rank: LowRank,
    ranks: Sequence[NDArray[np.int32]],
    how: Resources,
) -> Factors:
    """The factors of an order's low rank layers, all rungs together; ``ranks`` are those of its slices, by rung."""
    n = low_rank.order
    blocks, memory = check_factors(counts, low_rank, ranks, how.scratch)
    column = smoothed_counts(counts, smoothing, n)
    layers = CountLayers(discounts[n - 1], low_rank.powers)
    steps = low_rank.stopping.steps
    parts = []
    all_steps = steps * len(low_rank.rungs) * low_rank.starts
    with how.progress.stage(f"factorising order {n}", all_steps, "steps") as advance:
        for number, rank in enumerate(ranks):
            found = [
                factorise(
                    blocks,
                    _values(layers, 1 + number, column),
                    rank,
                    stopping=low_rank.stopping,
                    seed=(low_rank.seed, n, number, start)[: 4 if start else 3],
                    threads=how.threads,
                    memory=memory,
                    advance=lambda share: advance(share * steps),
                )
                for start in range(low_rank.starts)
            ]
            parts.append(average(blocks, found, threads=how.threads))
    factors = stack(blocks, parts, threads=how.threads)
    how.scratch.count(factors.left, factors.right, factors.right_start)
    return factors


def unigram_probs(counts: Counts, smoothing: Smoothing, discount: Discount) -> NDArray[np.float32]:
    """The probability of each word without context."""
    own = smoothed_counts(counts, smoothing, 1)[:].astype(np.int64)
    total = own.sum()
    uniform = np.full(len(own), uniform_share(counts))
    uniform[BOS] = 0
    if not counts.markers:
        uniform[EOS] = 0
    if smoothing.uniform:
        rest = discount(own)
        probs = (own - rest) / total + rest.sum() / total * uniform
    else:
        probs = own / total
    return probs.astype(np.float32)


@dataclass(frozen=True)
class NgramParts:
    """What a component of n-grams is put together from."""

    counts: Counts
    smoothing: Smoothing
    discounts: Sequence[Discount]
    factors: Mapping[LowRank, Factors] = field(default_factory=dict)

    def factors_of(self, n: int) -> tuple[list[float], Factors | None]:
        """The powers of an order's low rank layers, and their factors."""
        return next(((each.powers, found) for each, found in self.factors.items() if each.order == n), ([], None))

    def component(self, how: Resources, *, leaks: NDArray[np.float64] | None = None, bits: int = 32) -> Component:
        """The n-grams as a component; ``bits`` is what a probability takes.

        With ``leaks`` it is one that leads others (``model/gates.py``): the share of what goes from a context to the
        shorter one that goes to the others instead, for each order and each bucket of the context's total.
        """
        counts = self.counts
        sizes = [len(table) for table in counts.tables]
        # What is quantised is worked on in double precision.
        copies = 1 if bits == 32 else 8
        has_sums = leaks is not None or self.smoothing.form == "backoff"
        need = (_BYTES_OF_CONTEXT + (_BYTES_OF_SUMS if has_sums else 0)) * max(sizes[:-1], default=0)
        for each in self.factors.values():
            need += int(copies * (each.left.nbytes + each.right.nbytes)) + 2 * each.right_start.nbytes
        how.scratch.check_room(need, "a model of these n-grams", _FEWER)
        with how.progress.stage("assembling", 2 * sum(sizes), "n-grams") as advance:
            unigrams = unigram_probs(counts, self.smoothing, self.discounts[0])
            if leaks is not None:
                unigrams = unigrams * np.float32(1 - leaks[0, 0])
            # What the probabilities after a context sum to beyond 1: the context without words, to begin with.
            sums = np.array([unigrams.sum(dtype=np.float64) - 1], np.float32)
            prob: Column = unigrams
            made = []
            for n in range(2, counts.order + 1):
                made.append(self._add_order(n, leaks, prob, sums, how, advance))
                if n > 2:  # so far they were looked up at random
                    made[-2] = replace(made[-2], prob=how.scratch.column(made[-2].prob), sums=_NO_SUMS)
                prob, sums = made[-1].prob, made[-1].sums
            orders = [
                Order(
                    counts[n].words, counts[n].children, order.prob,
                    made[n - 1].backoff if n < counts.order else None,
                    made[n - 1].missing if n < counts.order and leaks is not None else None, order.factors,
                )
                for n, order in enumerate(made, 2)
            ]  # fmt: skip
            backoff = np.asarray(made[0].backoff[:]) if made else np.ones(len(unigrams), np.float32)
            missing = None if leaks is None else np.zeros(len(unigrams), np.float32)
            if made and leaks is not None:
                missing = np.asarray(made[0].missing[:])
            columns = Columns(unigrams, backoff, missing, orders)
            del made, prob, sums
            body: Body
            how.scratch.tidy()
            if bits < 32:
                body = compress(columns, bits, scratch=how.scratch)
            else:
                body = assemble(columns, threads=how.threads, scratch=how.scratch)
            advance(sum(sizes))
        return Component(body, about={"discounts": [discount.describe() for discount in self.discounts]})

    def _add_order(
        self,
        n: int,
        every_leak: NDArray[np.float64] | None,
        lower: NDArray[np.float32],
        sums: NDArray[np.float32],
        how: Resources,
        advance: Advance,
    ) -> _Added:
        """Probabilities of order n, and the weights of its contexts, whose probabilities are ``lower``.

        The back-off form, and leaks, need to know what those sum to beyond 1 after each context, ``sums``, and give the
        same of order n.
        """
        table, shorter = self.counts[n], self.counts[n - 1]
        counts = smoothed_counts(self.counts, self.smoothing, n)
        discount = self.discounts[n - 1]
        powers, factors = self.factors_of(n)
        leaks = None if every_leak is None else every_leak[n - 1]
        lost = self.counts.lost.get(n)
        if isinstance(discount, Shares):
            shares = np.array(discount.by_bucket)
        else:
            layers = CountLayers(discount, powers)
        middles = shorter.children[:] if factors else np.empty(0, np.int32)
        scaled = Growing(how.scratch, np.float32)
        highest = n == self.counts.order
        prob = Growing(how.scratch, np.float32) if highest else np.empty(len(table), np.float32)
        weights, missing = Growing(how.scratch, np.float32), Growing(how.scratch, np.float32)
        backing_off = self.smoothing.form == "backoff"
        new_sums = np.empty(len(shorter) if (backing_off or leaks is not None) and not highest else 0, np.float32)

        def run(piece: tuple[int, int]) -> list[NDArray[np.float32]]:
            first, last = piece
            children = table.children[first : last + 1]
            start, stop = int(children[0]), int(children[-1])
            own, suffixes = counts[start:stop], table.suffixes[start:stop]
            totals = np.empty(last - first)
            backoff = np.empty(last - first, np.float32)
            made = np.empty(stop - start, np.float32) if isinstance(prob, Growing) else prob[start:stop]
            middles_of = shorter.suffixes[first:last]
            own_sums = np.empty(0, np.float32)
            if isinstance(discount, Shares):
                kernels.share_out(children, own, suffixes, shares, lower, totals, backoff, made)
            elif backing_off:
                own_sums = sums[middles_of]
                places, table_of = layers.of(own)
                kernels.back_off(
                    children, own, places, suffixes, table_of[0], table_of[-1], lower, own_sums, totals, backoff, made
                )
                if not highest:
                    new_sums[first:last] = own_sums
            else:
                totals[:] = 0 if lost is None else lost[first:last]
                places, table_of = layers.of(own)
                kernels.context_weights(children, own, places, table_of[-1], totals, backoff)
                if leaks is not None:
                    own_sums = sums[middles_of]
                    kernels.leak(totals, leaks, backoff, own_sums)
                    if not highest:
                        new_sums[first:last] = own_sums
                kernels.add_layers(children, places, suffixes, table_of[0], totals, backoff, lower, made)
            right = np.empty(0, np.float32)
            if factors is not None:
                right_start = factors.right_start[first : last + 1]
                right, right_start = (
                    factors.right[right_start[0] : right_start[-1]].copy(),
                    right_start - right_start[0],
                )
                kernels.scale_contexts(right_start, totals, right)
                kernels.add_factor_products(children, suffixes, middles_of, middles, factors.rank, factors.left,
                                     factors.left_start, right, right_start, made)  # fmt: skip
            return [made, right, backoff, -own_sums if leaks is not None else own_sums]

        for (first, last), (made, right, backoff, lacking) in overlapped(run, table.pieces(), how.threads):
            if isinstance(prob, Growing):
                prob.append(made)
            scaled.append(right)
            weights.append(backoff)
            if leaks is not None:
                missing.append(lacking)
            advance(last - first)
        done = prob.finish() if isinstance(prob, Growing) else prob
        own_factors = None if factors is None else replace(factors, right=scaled.finish())
        return _Added(done, new_sums, weights.finish(), missing.finish() if leaks is not None else None, own_factors)


@dataclass(frozen=True)
class _Added:
    """One order: its probabilities, what they sum to beyond 1 after each context, and the weights of its contexts."""

    prob: Column
    sums: NDArray[np.float32]
    backoff: Column
    missing: Column
    factors: Factors | None


def _values(layers: CountLayers, which: int, counts: Column) -> NDArray[np.float32]:
    """The value of a layer for every count."""
    values = np.empty(len(counts), np.float32)
    for part in slices(len(counts), _PIECE):
        places, tables = layers.of(counts[part])
        values[part] = tables[which][places]
    return values
