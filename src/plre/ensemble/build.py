"""Counts and a recipe to a model: discounts, layers, factors, probabilities, order by order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plre._jit import even_ranges, parallel
from plre.counts.ngrams import Counts
from plre.ensemble import _kernels as kernels
from plre.ensemble.ladder import split
from plre.ensemble.recipe import Recipe, Rung
from plre.lowrank.blocks import Blocks, Factors, stack
from plre.lowrank.factorise import factorise
from plre.model.file import Tensors
from plre.model.lm import LanguageModel
from plre.progress import Progress
from plre.smoothing.discounts import Discount, Steps, estimate
from plre.text.vocabulary import BOS, EOS, Vocabulary

_RANGES = 64


class Builder:
    """Builds models from one set of counts. Nothing that was factorised once is factorised again."""

    def __init__(
        self,
        counts: Counts,
        vocab: Vocabulary,
        recipe: Recipe,
        *,
        discounts: list[Discount] | None = None,
        threads: int = 1,
        progress: Progress | None = None,
    ) -> None:
        self.counts = counts
        self.vocab = vocab
        self.recipe = recipe
        self.threads = threads
        self.progress = progress or Progress()
        counted = [self._counts(n) for n in range(1, recipe.order + 1)]
        self.discounts: list[Discount] = list(discounts or estimate(counted, [recipe.discount] * recipe.order))
        self._factors: dict[tuple[int, tuple[Rung, ...]], Factors] = {}

    def _counts(self, n: int) -> NDArray[np.int32]:
        """The counts that smoothing works on."""
        return self.counts[n].adjusted if self.recipe.continuation else self.counts[n].raw

    def _table(self, n: int, powers: list[float]) -> tuple[list[NDArray[np.float64]], NDArray[np.float64]]:
        """Layers and remainder for every count up to the largest of order n."""
        largest = int(self._counts(n).max(initial=0))
        return split(np.arange(largest + 1), self.discounts[n - 1], powers)

    def factors(self, n: int, rungs: tuple[Rung, ...]) -> Factors:
        """The factors of order n's low rank layers, all rungs together."""
        key = (n, rungs)
        if key not in self._factors:
            table, shorter = self.counts[n], self.counts[n - 1]
            blocks = Blocks(shorter.children, shorter.suffixes, table.children, table.suffixes)
            smaller = blocks.smaller_side()
            layers, _ = self._table(n, [rung.power for rung in rungs])
            counts = self._counts(n)
            parts = []
            name = f"factorising order {n}"
            steps = self.recipe.stopping(n).steps
            with self.progress.stage(name, steps * len(rungs), "steps") as advance:
                for number, (rung, layer) in enumerate(zip(rungs, layers[1:], strict=True)):
                    parts.append(
                        factorise(
                            blocks,
                            layer.astype(np.float32)[counts],
                            rung.rank(smaller),
                            stopping=self.recipe.stopping(n),
                            seed=(self.recipe.seed, n, number),
                            threads=self.threads,
                            advance=lambda share: advance(share * steps),
                        )
                    )
            self._factors[key] = stack(blocks, parts)
        return self._factors[key]

    def build(self, metadata: dict[str, Any] | None = None, recipe: Recipe | None = None) -> LanguageModel:
        """The model; ``recipe`` may differ from the builder's in its rungs."""
        recipe = recipe or self.recipe
        tensors: Tensors = {"order1.prob": self._unigrams()}
        factors = {n: self.factors(n, rungs) for n, rungs in recipe.rungs.items() if rungs}
        size = sum(len(self.counts[n]) for n in range(2, recipe.order + 1))
        with self.progress.stage("assembling", size, "n-grams") as advance:
            for n in range(2, recipe.order + 1):
                powers = [rung.power for rung in recipe.rungs.get(n, ())]
                self._add_order(n, powers, factors.get(n), tensors)
                advance(len(self.counts[n]))
            tensors["vocab.bytes"] = self.vocab.arena
            tensors["vocab.starts"] = self.vocab.starts
            tensors["vocab.slots"] = self.vocab.slots
            about = {
                "order": recipe.order,
                "markers": self.counts.markers,
                **recipe.describe(),
                "discounts": [[d.one, d.two, d.three] if isinstance(d, Steps) else repr(d) for d in self.discounts],
                **(metadata or {}),
            }
            return LanguageModel.from_tensors(about, tensors)

    def _unigrams(self) -> NDArray[np.float32]:
        counts = self._counts(1).astype(np.int64)
        total = counts.sum()
        possible = np.ones(len(counts))
        possible[BOS] = 0
        if not self.counts.markers:
            possible[EOS] = 0
        if self.recipe.uniform:
            rest = self.discounts[0](counts)
            probs = (counts - rest) / total + rest.sum() / total * possible / possible.sum()
        else:
            probs = counts / total
        return probs.astype(np.float32)

    def _add_order(self, n: int, powers: list[float], factors: Factors | None, tensors: Tensors) -> None:
        table, shorter = self.counts[n], self.counts[n - 1]
        counts = self._counts(n)
        (kept, *_), remains = self._table(n, powers)
        contexts = len(shorter)
        totals = np.empty(contexts)
        backoff = np.empty(contexts, np.float32)
        prob = np.empty(len(table), np.float32)
        lower = tensors[f"order{n - 1}.prob"]
        ranges = even_ranges(table.children, 0, contexts, _RANGES)

        def run(function: Callable[..., None], *arguments: Any) -> None:
            parallel(lambda piece: function(*piece, *arguments), ranges, self.threads)

        run(kernels.context_weights, table.children, counts, remains, totals, backoff)
        run(kernels.add_layers, table.children, counts, table.suffixes, kept, totals, backoff, lower, prob)
        if factors is not None:
            both = np.concatenate([factors.left, factors.right])
            right = both[len(factors.left) :]
            run(kernels.scale_contexts, factors.right_start, totals, right)
            run(kernels.add_low_rank, table.children, table.suffixes, shorter.suffixes, shorter.children,
                factors.rank, both, factors.left_start, len(factors.left), factors.right_start, prob)  # fmt: skip
            tensors[f"order{n}.rank"] = factors.rank
            tensors[f"order{n}.left"] = both[: len(factors.left)]
            tensors[f"order{n}.left_start"] = factors.left_start[:-1].astype(np.int32)
            tensors[f"order{n}.right"] = right
            tensors[f"order{n}.right_start"] = factors.right_start[:-1].astype(np.int32)
        tensors[f"order{n - 1}.backoff"] = backoff
        tensors[f"order{n}.words"] = table.words
        tensors[f"order{n}.children"] = table.children
        tensors[f"order{n}.prob"] = prob
