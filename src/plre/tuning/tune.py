"""Tuning in one call: from two texts to the best model that can be found in a given time."""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from plre._version import __version__
from plre.counts.ingredients import CountedText
from plre.errors import PlreError, UsageError
from plre.model.lm import LanguageModel
from plre.progress import Progress
from plre.scratch import scratch_within, slices
from plre.store import Engine, Resources, Store
from plre.text.encode import EncodedText, TextOptions, read_vocabulary
from plre.text.ingredients import ReadText, TextIds
from plre.text.sources import Errors, Source, sized
from plre.threads import cpu_count
from plre.training import text_facts
from plre.tuning.journal import Journal, Trial
from plre.tuning.result import TuneResult
from plre.tuning.search import Budget, Search, TrialWatcher
from plre.tuning.space import Limits

_PIECE = 1 << 20
_UNITS = {"h": 3600, "m": 60, "s": 1}


def parse_budget(budget: str | float) -> float:
    """Seconds from what a person writes.

    >>> parse_budget("10m"), parse_budget("1h30m"), parse_budget("45s"), parse_budget(90)
    (600.0, 5400.0, 45.0, 90.0)
    """
    text = str(budget).strip().lower()
    try:
        parts = re.findall(r"([\d.]+)\s*([hms])", text)
        if parts and re.fullmatch(r"(?:[\d.]+\s*[hms]\s*)+", text):
            seconds = sum(float(number) * _UNITS[unit] for number, unit in parts)
        else:
            seconds = float(text)
        if not 0 < seconds < float("inf"):
            raise ValueError
    except ValueError:
        raise UsageError(f"a budget is a time above 0, for example 10m, 90s or 1h30m, not {budget!r}") from None
    return seconds


def tune(
    text: Source,
    *,
    dev: Source,
    budget: str | float = "10m",
    trials: int | None = None,
    journal: str | os.PathLike[str] | None = None,
    output: str | os.PathLike[str] | None = None,
    order: int = 3,
    min_count: int = 2,
    vocab: Source | None = None,
    markers: bool = True,
    skip_markers: bool = False,
    errors: Errors = "strict",
    seed: int = 0,
    threads: int | None = None,
    memory: int | str | None = None,
    tmp: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    watcher: TrialWatcher | None = None,
    engine: Engine | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> TuneResult:
    """Search for the recipe with the lowest perplexity of ``dev``, and build its model.

    ``text`` and ``dev`` are what :func:`plre.train` takes, and so are the options that are not named here.

    budget   seconds, or for example "10m": what reading, all trials and building the model may take. The first trial is
             made in any case. What trials of earlier runs took, by the journal, counts too
    trials   no more than so many in this run
    journal  a file that keeps every trial; the same call goes on from there, and does none of them again
    output   where a model of an earlier run may lie: if it is that of the best trial, and there is no time left to
             search, it is taken as it is
    engine   where things are made; usually in this process
    watcher  is called when trials begin and end; ``progress`` for the stages within one

    An interruption (Ctrl-C) ends the search; the best model so far is built. A second one ends that too.
    """
    begun = clock()
    threads = cpu_count() if threads is None else threads
    if threads < 1:
        raise UsageError(f"threads must be at least 1, not {threads}")
    if trials is not None and trials < 0:
        raise UsageError(f"the number of trials must be 0 or more, not {trials}")
    limit = Budget(parse_budget(budget), clock, begun, trials=trials)
    progress = progress or Progress()
    how = Resources(threads, progress, scratch_within(memory, tmp, ensemble=True))
    # One thing after the other, so that it is known how long each takes.
    store = Store(how, engine, one_by_one=True, clock=clock)
    source, _ = sized(dev)
    options = TextOptions(markers, skip_markers, errors)
    fixed = None if vocab is None else read_vocabulary(vocab, errors)
    read = ReadText(text, options, min_count, fixed)
    ids = TextIds(ReadText(source, options, like=read))
    encoded, held_out = store.get_all([read, ids])
    identity = {
        "train": text_digest(encoded),
        "dev": text_digest(replace(encoded, ids=held_out)),
        "order": order,
        "seed": seed,
        "version": __version__,
    }
    known = Journal(journal, identity)
    known.open()
    limit.before = known.seconds
    about = text_facts(encoded, None if fixed else min_count)
    if known.before:
        progress.note(f"{known.before} trials were made before, in {known.seconds:.0f} s; going on from there")
    store.get(CountedText(read, order))
    store.get(CountedText(read, max(order, 2)))  # the work of clustering depends on how many bigrams there are
    limits = Limits(order, len(encoded.vocab))
    del encoded
    search = Search(store, read, ids, about, known, limit, limits, seed, watcher or TrialWatcher())
    interrupted = False
    try:
        ended = search.run()
    except KeyboardInterrupt:
        ended, interrupted = "interrupted", True
        if known.best is None:
            progress.note("interrupted before the first trial was over; the same call begins again")
            raise
        progress.note("interrupted; building the best model so far")
    if known.best is None:
        raise UsageError(f"no trial gave a model: {known.trials[-1].reason if known.trials else ended}")
    model = _from_before(output, known.best, known.key) if len(known.trials) == known.before else None
    if model is None:
        model = search.finish(known.best, {"tuned": _describe(known, known.best)})
    wording = ["--vocab", "FILE"] if fixed is not None else ["--min-count", str(min_count)]
    wording += [] if markers else ["--no-markers"]
    facts = {**identity, **about}
    return TuneResult(tuple(known.trials), model, order, seed, tuple(wording), ended, interrupted, facts)


def text_digest(text: EncodedText) -> str:
    """A checksum of a text as models see it: of its ids and its words, wherever they were read from."""
    digest = hashlib.blake2b(digest_size=16)
    digest.update(bytes([text.markers]))
    digest.update(np.ascontiguousarray(text.vocab.arena).data)
    digest.update(np.ascontiguousarray(text.vocab.starts).data)
    for part in slices(len(text.ids), _PIECE):
        digest.update(np.ascontiguousarray(text.ids[part]).data)
    return digest.hexdigest()


def _describe(journal: Journal, best: Trial) -> dict[str, Any]:
    """The entry about the search in the model's file."""
    return {
        "search": journal.key,
        "trial": best.number,
        "trials": len(journal.trials),
        "settings": best.settings.describe(),
    }


def _from_before(output: str | os.PathLike[str] | None, best: Trial, key: str) -> LanguageModel | None:
    """The model in a file, if it is that of this search's best trial."""
    if output is None or not os.path.exists(output):
        return None
    try:
        found = LanguageModel.load(output)
    except (PlreError, OSError):
        return None
    tuned = found.metadata.get("tuned") or {}
    same = tuned.get("search") == key and tuned.get("settings") == best.settings.describe()
    return found if same else None
