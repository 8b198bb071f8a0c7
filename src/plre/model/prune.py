"""Smaller models: n-grams that hardly matter are left out, by a threshold or until a file is small enough."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from plre._jit import cpu_count
from plre.errors import UsageError
from plre.model import file
from plre.model.entropy import Judgement, Pruner
from plre.model.layout import AnyLayout
from plre.model.lm import LanguageModel
from plre.model.mixture import Mixture, assemble, parts_of
from plre.model.ngrams import NgramModel
from plre.model.parts import MixtureLayout, PartLayout
from plre.model.tables import layout_like, read_tables, write_tables
from plre.progress import Progress
from plre.scratch import parse_size

#: Thresholds among which one is looked for: at the first nothing goes that matters, at the last all that can.
_LEAST, _MOST = 1e-15, 100.0
#: A file that is smaller than asked for by no more than this share is good enough.
_CLOSE = 0.002
_STEPS = 40
#: Bytes that what a file says about its pruning may take, for each part.
_WORDS = 512


def prune(
    model: LanguageModel | str | os.PathLike[str],
    *,
    size: int | str | None = None,
    threshold: float | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> LanguageModel:
    """A smaller model (of a model or a model file): without the n-grams that change its predictions least.

    threshold  n-grams go whose loss changes the relative entropy by at most this, in nats a word; that is nearly the
               relative change of perplexity. 1e-8 costs little, 1e-6 a lot
    size       bytes that the file may have, or for example "50M", instead of a threshold

    What remains still sums to one. Words always stay. Every part of a mixture is pruned, at the same threshold.
    """
    progress = progress or Progress()
    threads = threads or cpu_count()
    if (size is None) == (threshold is None):
        raise UsageError("give a threshold (--threshold 1e-8) or the size of the file (--size 50M), one of the two")
    if threshold is not None:
        check_threshold(threshold)
    limit = None if size is None else parse_size(str(size))
    lm = model if isinstance(model, LanguageModel) else LanguageModel.load(model)
    work = _Work(lm, threads, progress)
    if limit is not None:
        found = _fitting(work, limit, progress)
    else:
        assert threshold is not None
        with progress.stage("judging n-grams"):
            found = work.judge(threshold)
    with progress.stage("assembling"):
        return work.finish(found)


def check_threshold(threshold: float) -> None:
    """Refuse what is no threshold."""
    if not 0 <= threshold < math.inf:
        raise UsageError(f"the threshold must be a number from 0 up, for example 1e-8, not {threshold}")


@dataclass(frozen=True)
class _Found:
    """What stays of each part at a threshold, and the bytes of the file."""

    threshold: float
    judged: Mapping[int, Judgement]
    bytes: int


class _Work:
    """A model that is being pruned, part by part."""

    def __init__(self, lm: LanguageModel, threads: int, progress: Progress) -> None:
        self.lm = lm
        self.threads = threads
        self.parts = parts_of(lm)
        self.pruners: dict[int, Pruner] = {}
        #: The parts that are models of n-grams; trees of contexts stay as they are.
        self.models = {k: part.model for k, part in enumerate(self.parts) if isinstance(part.model, NgramModel)}
        total = sum(sum(model.layout.sizes) for model in self.models.values())
        with progress.stage("weighing contexts", total, "n-grams") as advance:
            for k, model in self.models.items():
                self.pruners[k] = Pruner(read_tables(model, threads), lm.markers, threads)
                advance(sum(model.layout.sizes))
        text = json.dumps(lm.metadata, ensure_ascii=False)
        self._header = len(file.header({"plre": text}, file.shapes(lm.tensors))) + _WORDS * (1 + len(self.parts))

    def judge(self, threshold: float) -> _Found:
        """What stays at a threshold.

        A part counts by its weight: relative entropy is convex, so what a mixture loses is at most that share of what
        the part does.
        """
        weights = {k: self.parts[k].weight for k in self.models}
        judged = {
            k: pruner.judge(threshold / weights[k] if weights[k] else math.inf) for k, pruner in self.pruners.items()
        }
        return _Found(threshold, judged, self._header + file.data_size(self._layout(judged).shapes()))

    def _layout(self, judged: Mapping[int, Judgement]) -> AnyLayout:
        """The layout of the model that would be left."""
        layouts = {
            k: layout_like(model, judged[k].sizes, self.pruners[k].low_rank(judged[k]))
            for k, model in self.models.items()
        }
        if not isinstance(self.lm, Mixture):
            return layouts[0]
        own = [
            PartLayout(layouts.get(k, part.model.layout), part.weight, part.symbols is not None, part.members)
            for k, part in enumerate(self.parts)
        ]
        vocab = self.lm.vocab
        return MixtureLayout(len(vocab), len(vocab.slots), len(vocab.arena), tuple(own))

    def finish(self, found: _Found) -> LanguageModel:
        """The model that is left."""
        made = list(self.parts)
        for k, model in self.models.items():
            about = {**model.metadata, "pruned": self._about(model, found.threshold, found.judged[k])}
            tables = self.pruners[k].pruned(found.judged[k])
            smaller = write_tables(model, tables, about, self.threads)
            if not isinstance(self.lm, Mixture):
                return smaller
            gates = made[k].gates
            if gates is not None:
                gates = replace(gates, root=float(1 - tables[0].prob.sum(dtype=np.float64)))
            made[k] = replace(made[k], model=smaller, gates=gates)
        return assemble(self.lm.vocab, made, {**self.lm.metadata, "pruned": {"threshold": found.threshold}})

    @staticmethod
    def _about(model: NgramModel, threshold: float, judged: Judgement) -> dict[str, Any]:
        """What a model says about its pruning."""
        earlier = model.metadata.get("pruned", {})
        before = earlier.get("before", list(model.layout.sizes))
        return {"threshold": threshold, "before": before, "after": list(judged.sizes)}


def _fitting(work: _Work, limit: int, progress: Progress) -> _Found:
    """What stays at the lowest threshold at which the file has at most ``limit`` bytes, by bisection."""
    with progress.stage("looking for the threshold", _STEPS, "thresholds") as advance:
        best = work.judge(0.0)
        advance(1)
        if best.bytes <= limit:
            return best
        best = work.judge(_MOST)
        advance(1)
        if best.bytes > limit:
            raise UsageError(
                f"the model cannot be smaller than {best.bytes:,} bytes, which is its words"
                + (
                    " and the low rank layers of their bigrams"
                    if any(p.low_rank_bigrams for p in work.pruners.values())
                    else ""
                )
                + f"; {limit:,} were asked for. Give a larger size, or train with a higher --min-count"
            )
        low, high = math.log(_LEAST), math.log(_MOST)
        for _ in range(_STEPS - 2):
            if best.bytes >= limit * (1 - _CLOSE):
                break
            middle = (low + high) / 2
            tried = work.judge(math.exp(middle))
            advance(1)
            if tried.bytes <= limit:
                best, high = tried, middle
            else:
                low = middle
    return best
