"""Smaller models: n-grams that hardly matter are left out, by a threshold or until a file is small enough."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from plre.errors import UsageError
from plre.interop.opening import open_model
from plre.model.lm import LanguageModel
from plre.model.storage import header_size
from plre.progress import Progress
from plre.pruning.entropy import Judgement, Pruner
from plre.pruning.tables import read_tables, write_tables
from plre.reporting import numbers
from plre.scratch import Scratch, parse_size, scratch_within
from plre.threads import cpu_count

#: Thresholds among which one is looked for: at the first nothing goes that matters, at the last all that can.
_LEAST, _MOST = 1e-15, 100.0
#: A file that is smaller than asked for by no more than this share is good enough.
_CLOSE = 0.002
_STEPS = 40
#: Bytes that what a file says about its pruning may take, for each component.
_WORDS = 512
#: Bytes of memory that an n-gram takes while it is judged, about.
_BYTES = 90


def prune(
    model: LanguageModel | str | os.PathLike[str],
    *,
    size: int | str | None = None,
    threshold: float | None = None,
    threads: int | None = None,
    memory: int | str | None = None,
    progress: Progress | None = None,
) -> LanguageModel:
    """A smaller model (of a model or a model file): without the n-grams that change its predictions least.

    threshold  n-grams go whose loss changes the relative entropy by at most this, in nats a word; that is nearly the
               relative change of perplexity. 1e-8 costs little, 1e-6 a lot
    size       bytes that the file may have, or for example "50M", instead of a threshold
    memory     bytes, or for example "4G": what this may take. All n-grams are worked on in memory, some 90 bytes for
               each; if that is more, it is refused. Without it, four fifths of the memory of the machine, or of the
               container

    What remains still sums to one. Words always stay. Every component of n-grams is pruned, at the same threshold.
    """
    progress = progress or Progress()
    threads = threads or cpu_count()
    if (size is None) == (threshold is None):
        raise UsageError("give a threshold (--threshold 1e-8) or the size of the file (--size 50M), one of the two")
    if threshold is not None:
        check_threshold(threshold)
    limit = None if size is None else parse_size(str(size))
    lm = model if isinstance(model, LanguageModel) else open_model(model)
    if limit is not None and lm.nbytes <= limit:
        progress.note(f"the model has {numbers.size(lm.nbytes)} already; nothing is left out")
        return lm
    ngrams = sum(sum(body.sizes) for each in lm.components if (body := each.body.ngrams()) is not None)
    check_room(ngrams, scratch_within(memory, None))
    lm.verify()  # pruning goes through all n-grams without looking whether they fit together
    work = _Work(lm, threads, progress)
    if limit is not None:
        found = _fitting(work, limit, progress)
    else:
        assert threshold is not None
        with progress.stage("judging n-grams"):
            found = work.judge(threshold)
    with progress.stage("assembling"):
        return work.finish(found)


def check_room(ngrams: int, scratch: Scratch) -> None:
    """Refuse to prune so many n-grams if that takes more memory than there is."""
    scratch.check_room(
        _BYTES * ngrams, f"pruning {ngrams:,} n-grams", "train on less text or with a higher --min-count"
    )


def check_threshold(threshold: float) -> None:
    """Refuse what is no threshold."""
    if not 0 <= threshold < math.inf:
        raise UsageError(f"the threshold must be a number from 0 up, for example 1e-8, not {threshold}")


@dataclass(frozen=True)
class _Found:
    """What stays of each component at a threshold, and the bytes of the file."""

    threshold: float
    judged: Mapping[int, Judgement]
    bytes: int


class _Work:
    """A model that is being pruned, component by component."""

    def __init__(self, lm: LanguageModel, threads: int, progress: Progress) -> None:
        self.lm = lm
        self.threads = threads
        self.pruners: dict[int, Pruner] = {}
        #: The components of n-grams; hybrid contexts stay as they are.
        found = {k: each.body.ngrams() for k, each in enumerate(lm.components)}
        self.bodies = {k: body for k, body in found.items() if body is not None}
        with progress.stage("weighing contexts", sum(sum(b.sizes) for b in self.bodies.values()), "n-grams") as advance:
            for k, body in self.bodies.items():
                self.pruners[k] = Pruner(read_tables(body), lm.markers, threads)
                advance(sum(body.sizes))
        pruned = sum(tensor.nbytes for body in self.bodies.values() for tensor in body.tensors.values())
        self._others = lm.nbytes - pruned + header_size(lm) + _WORDS * (1 + len(lm.components))

    def judge(self, threshold: float) -> _Found:
        """What stays at a threshold.

        A component counts by its weight: relative entropy is convex, so what a mixture loses is at most that share of
        what the component does.
        """
        weights = {k: self.lm.components[k].weight for k in self.bodies}
        judged = {
            k: pruner.judge(threshold / weights[k] if weights[k] else math.inf) for k, pruner in self.pruners.items()
        }
        return _Found(threshold, judged, self._others + sum(self._size(k, found) for k, found in judged.items()))

    def _size(self, k: int, found: Judgement) -> int:
        """Bytes of what would be left of a component."""
        body, pruner = self.bodies[k], self.pruners[k]
        factors = {n: pruner.factor_count(found, n) for n in body.low_rank}
        return body.planned_size(found.sizes, factors)

    @property
    def floor(self) -> str:
        """What a model consists of that cannot be pruned."""
        kept = ["words"]
        if any(pruner.low_rank_bigrams for pruner in self.pruners.values()):
            kept.append("the low rank layers of their bigrams")
        if len(self.bodies) < len(self.lm.components):
            kept.append("hybrid contexts")
        return " and ".join(kept)

    def finish(self, found: _Found) -> LanguageModel:
        """The model that is left."""
        made = list(self.lm.components)
        for k, body in self.bodies.items():
            tables = self.pruners[k].pruned(found.judged[k])
            gates = made[k].gates
            if gates is not None:
                gates = replace(gates, root=float(1 - tables[0].prob.sum(dtype=np.float64)))
            earlier = made[k].about.get("pruned")
            before = earlier.get("before", list(body.sizes)) if isinstance(earlier, dict) else list(body.sizes)
            pruned = {"threshold": found.threshold, "before": before, "after": list(found.judged[k].sizes)}
            smaller = write_tables(tables, body, self.threads)
            made[k] = replace(made[k], body=smaller, gates=gates, about={**made[k].about, "pruned": pruned})
        about = {name: value for name, value in self.lm.metadata.items() if name not in ("components", "digest")}
        alone = len(made) == 1 and self.bodies
        pruned = made[0].about["pruned"] if alone else {"threshold": found.threshold}
        return LanguageModel(self.lm.vocab, made, {**about, "pruned": pruned})


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
                f"the model cannot be pruned to less than {best.bytes:,} bytes: so much are its {work.floor}, which "
                f"stay; {limit:,} were asked for. Give a larger size, or train with a higher --min-count"
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
