"""Counts and a recipe to a model: discounts, layers, factors, probabilities, order by order.

Orders are put together from the lowest up, each in pieces of contexts. A piece of order n gives the probabilities of
its n-grams and completes its contexts, which are (n-1)-grams: their weights and their children are known now.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plre.counts.ngrams import Counts
from plre.ensemble import _kernels as kernels
from plre.ensemble.ladder import split
from plre.ensemble.recipe import Recipe, Rung
from plre.lowrank.blocks import Blocks, Factors, average, stack
from plre.lowrank.factorise import factorise
from plre.model.columns import Columns, Order
from plre.model.compact import compress
from plre.model.component import Body, Component
from plre.model.lm import LanguageModel
from plre.model.ngrams import assemble
from plre.progress import Advance, Progress
from plre.scratch import Column, Growing, Scratch, slices
from plre.smoothing.discounts import Discount, counts_of_counts, estimate
from plre.smoothing.jelinek_mercer import Shares
from plre.text.vocabulary import BOS, EOS, Vocabulary
from plre.threads import overlapped

#: N-grams that are looked at together.
_PIECE = 1 << 20


class Builder:
    """Builds models from one set of counts. Nothing that was factorised once is factorised again."""

    def __init__(
        self,
        counts: Counts,
        vocab: Vocabulary,
        recipe: Recipe,
        *,
        discounts: Sequence[Discount] | None = None,
        lost: Mapping[int, NDArray[np.int64]] | None = None,
        warn: bool = True,
        threads: int = 1,
        progress: Progress | None = None,
        scratch: Scratch | None = None,
    ) -> None:
        self.counts = counts
        self.lost = lost or {}
        self.vocab = vocab
        self.recipe = recipe
        self.threads = threads
        self.progress = progress or Progress()
        self.scratch = scratch or Scratch()
        #: The largest count of each order, for which layers are made.
        self._largest = []
        seen = []
        for n in range(1, recipe.order + 1):
            largest, found = 0, np.zeros(4, np.int64)
            for part in slices(len(counts[n]), _PIECE):
                counted = self._counts(n)[part]
                largest = max(largest, int(counted.max()))
                found += counts_of_counts(counted)
            self._largest.append(largest)
            seen.append(found.tolist())
        self.discounts: Sequence[Discount]
        if discounts:
            self.discounts = discounts
        elif recipe.discount == "jm":
            self.discounts = [Shares()] * recipe.order
        else:
            self.discounts = estimate(seen, [recipe.discount_of(n) for n in range(1, recipe.order + 1)], warn)
        self._factors: dict[tuple[int, tuple[Rung, ...]], Factors] = {}

    def _counts(self, n: int) -> Column:
        """The counts that smoothing works on."""
        return self.counts[n].adjusted if self.recipe.continuation else self.counts[n].raw

    def _table(self, n: int, powers: list[float]) -> tuple[list[NDArray[np.float64]], NDArray[np.float64]]:
        """Layers and remainder for every count up to the largest of order n."""
        return split(np.arange(self._largest[n - 1] + 1), self.discounts[n - 1], powers)

    def factors(self, n: int, rungs: tuple[Rung, ...]) -> Factors:
        """The factors of order n's low rank layers, all rungs together."""
        key = (n, rungs)
        if key not in self._factors:
            table, shorter = self.counts[n], self.counts[n - 1]
            blocks = Blocks(shorter.children[:], shorter.suffixes[:], table.children[:], table.suffixes[:])
            smaller, entries = blocks.smaller_side(), blocks.entries()
            layers, _ = self._table(n, [rung.power for rung in rungs])
            counts = self._counts(n)
            parts = []
            name = f"factorising order {n}"
            recipe = self.recipe
            steps = recipe.stopping(n).steps
            with self.progress.stage(name, steps * len(rungs) * recipe.starts, "steps") as advance:
                for number, (rung, layer) in enumerate(zip(rungs, layers[1:], strict=True)):
                    found = [
                        factorise(
                            blocks,
                            _values(layer, counts),
                            rung.rank(smaller, entries),
                            stopping=recipe.stopping(n),
                            seed=(recipe.seed, n, number, start)[: 4 if start else 3],
                            threads=self.threads,
                            memory=self.scratch.memory // 2 if self.scratch.memory else None,
                            advance=lambda share: advance(share * steps),
                        )
                        for start in range(recipe.starts)
                    ]
                    parts.append(average(blocks, found, threads=self.threads))
            self._factors[key] = stack(blocks, parts, threads=self.threads)
        return self._factors[key]

    def has_factors(self, n: int, rungs: tuple[Rung, ...]) -> bool:
        """Whether these were factorised before."""
        return (n, rungs) in self._factors

    def keep_factors(self, wanted: Collection[tuple[int, tuple[Rung, ...]]]) -> None:
        """Forget all factors but these."""
        self._factors = {key: factors for key, factors in self._factors.items() if key in wanted}

    def component(
        self, recipe: Recipe | None = None, *, leaks: NDArray[np.float64] | None = None, bits: int = 32
    ) -> Component:
        """The n-grams as a component; ``recipe`` may differ from the builder's in its rungs.

        ``bits`` is what a probability takes.

        With ``leaks`` it is one that leads others (``model/gates.py``): the share of what goes from a context to the
        shorter one that goes to the others instead, for each order and each bucket of the context's total.
        """
        recipe = recipe or self.recipe
        factors = {n: self.factors(n, rungs) for n, rungs in recipe.rungs.items() if rungs}
        sizes = [len(self.counts[n]) for n in range(1, recipe.order + 1)]
        with self.progress.stage("assembling", 2 * sum(sizes), "n-grams") as advance:
            unigrams = self._unigrams() if leaks is None else self._unigrams() * np.float32(1 - leaks[0, 0])
            # What the probabilities after a context sum to beyond 1: the context without words, to begin with.
            sums = np.array([unigrams.sum(dtype=np.float64) - 1], np.float32)
            prob: Column = unigrams
            made = []
            for n in range(2, recipe.order + 1):
                powers = [rung.power for rung in recipe.rungs.get(n, ())]
                own_leaks = None if leaks is None else leaks[n - 1]
                made.append(self._add_order(n, powers, factors.get(n), own_leaks, prob, sums, advance))
                prob, sums = made[-1].prob, made[-1].sums
            orders = [
                Order(
                    self.counts[n].words, self.counts[n].children, order.prob,
                    made[n - 1].backoff if n < recipe.order else None,
                    made[n - 1].missing if n < recipe.order and leaks is not None else None, order.factors,
                )
                for n, order in enumerate(made, 2)
            ]  # fmt: skip
            backoff = np.asarray(made[0].backoff[:]) if made else np.ones(len(unigrams), np.float32)
            missing = None if leaks is None else np.zeros(len(unigrams), np.float32)
            if made and leaks is not None:
                missing = np.asarray(made[0].missing[:])
            columns = Columns(unigrams, backoff, missing, orders)
            body: Body
            if bits < 32:
                body = compress(columns, bits)
            else:
                body = assemble(columns, threads=self.threads, scratch=self.scratch)
            advance(sum(sizes))
        about = {
            "method": recipe.method,
            "rungs": recipe.describe()["rungs"],
            "discounts": [discount.describe() for discount in self.discounts],
        }
        return Component(body, about=about)

    def build(
        self, metadata: dict[str, Any] | None = None, recipe: Recipe | None = None, *, bits: int = 32
    ) -> LanguageModel:
        """The model of these n-grams alone. ``bits`` is what a probability takes."""
        recipe = recipe or self.recipe
        component = self.component(recipe, bits=bits)
        about = {
            "order": recipe.order,
            "markers": self.counts.markers,
            **recipe.describe(),
            "bits": bits,
            "discounts": component.about["discounts"],
            **(metadata or {}),
        }
        return LanguageModel(self.vocab, [component], about)

    @property
    def uniform(self) -> float:
        """The probability of a word if all that can be predicted are equally likely."""
        return 1 / (len(self.vocab) - (1 if self.counts.markers else 2))

    def _unigrams(self) -> NDArray[np.float32]:
        counts = self._counts(1)[:].astype(np.int64)
        total = counts.sum()
        uniform = np.full(len(counts), self.uniform)
        uniform[BOS] = 0
        if not self.counts.markers:
            uniform[EOS] = 0
        if self.recipe.uniform:
            rest = self.discounts[0](counts)
            probs = (counts - rest) / total + rest.sum() / total * uniform
        else:
            probs = counts / total
        return probs.astype(np.float32)

    def _add_order(
        self,
        n: int,
        powers: list[float],
        factors: Factors | None,
        leaks: NDArray[np.float64] | None,
        lower: NDArray[np.float32],
        sums: NDArray[np.float32],
        advance: Advance,
    ) -> _Added:
        """Probabilities of order n, and the weights of its contexts, whose probabilities are ``lower``.

        The back-off form, and leaks, need to know what those sum to beyond 1 after each context, ``sums``, and give the
        same of order n.
        """
        table, shorter = self.counts[n], self.counts[n - 1]
        counts = self._counts(n)
        discount = self.discounts[n - 1]
        if isinstance(discount, Shares):
            shares = np.array(discount.by_bucket)
        else:
            (kept, *_), remains = self._table(n, powers)
        middles = shorter.children[:] if factors else np.empty(0, np.int32)
        right = factors.right.copy() if factors else np.empty(0, np.float32)
        highest = n == self.recipe.order
        prob = Growing(self.scratch, np.float32) if highest else np.empty(len(table), np.float32)
        weights, missing = Growing(self.scratch, np.float32), Growing(self.scratch, np.float32)
        backing_off = self.recipe.form == "backoff"
        new_sums = np.empty(len(shorter) if (backing_off or leaks is not None) and not highest else 0, np.float32)

        def run(piece: tuple[int, int]) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
            first, last = piece
            children = table.children[first : last + 1]
            start, stop = int(children[0]), int(children[-1])
            own, suffixes = counts[start:stop], table.suffixes[start:stop]
            totals = np.empty(last - first)
            backoff = np.empty(last - first, np.float32)
            made = np.empty(stop - start, np.float32) if isinstance(prob, Growing) else prob[start:stop]
            slices_of = shorter.suffixes[first:last]
            own_sums = np.empty(0, np.float32)
            if isinstance(discount, Shares):
                kernels.share_out(children, own, suffixes, shares, lower, totals, backoff, made)
            elif backing_off:
                own_sums = sums[slices_of]
                kernels.back_off(children, own, suffixes, kept, remains, lower, own_sums, totals, backoff, made)
                if not highest:
                    new_sums[first:last] = own_sums
            else:
                totals[:] = self.lost[n][first:last] if n in self.lost else 0
                kernels.context_weights(children, own, remains, totals, backoff)
                if leaks is not None:
                    own_sums = sums[slices_of]
                    kernels.leak(totals, leaks, backoff, own_sums)
                    if not highest:
                        new_sums[first:last] = own_sums
                kernels.add_layers(children, own, suffixes, kept, totals, backoff, lower, made)
            if factors is not None:
                right_start = factors.right_start[first : last + 1]
                kernels.scale_contexts(right_start, totals, right)
                kernels.add_factor_products(children, suffixes, slices_of, middles, factors.rank, factors.left,
                                     factors.left_start, right, right_start, made)  # fmt: skip
            return made, backoff, -own_sums if leaks is not None else own_sums

        for (first, last), (made, backoff, lacking) in overlapped(run, table.pieces(), self.threads):
            if isinstance(prob, Growing):
                prob.append(made)
            weights.append(backoff)
            if leaks is not None:
                missing.append(lacking)
            advance(last - first)
        done = prob.finish() if isinstance(prob, Growing) else prob
        scaled = None if factors is None else replace(factors, right=right)
        return _Added(done, new_sums, weights.finish(), missing.finish() if leaks is not None else None, scaled)


@dataclass(frozen=True)
class _Added:
    """One order: its probabilities, what they sum to beyond 1 after each context, and the weights of its contexts."""

    prob: Column
    sums: NDArray[np.float32]
    backoff: Column
    missing: Column
    factors: Factors | None


def _values(layer: NDArray[np.float64], counts: Column) -> NDArray[np.float32]:
    """The value of a layer for every count."""
    values = np.empty(len(counts), np.float32)
    for part in slices(len(counts), _PIECE):
        values[part] = layer[counts[part]]
    return values
