"""Comparing methods in one call: the paper's evaluation on any text."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from plre._version import __version__
from plre.comparison.methods import ENSEMBLE, REFERENCE
from plre.comparison.outputs import write_outputs
from plre.comparison.plan import ComparisonSettings, Job, Texts, key, main_jobs, make_settings, rank_jobs, waves
from plre.comparison.results import Comparison, Row
from plre.comparison.run import JobOutcome, JobWatcher, run_jobs
from plre.comparison.statistics import gains, spreads
from plre.comparison.store import Files, Result, ResultStore
from plre.comparison.texts import TextPath, read_text, sentence_tokens
from plre.comparison.work import Task
from plre.errors import PlreError, UsageError
from plre.reporting.machine import describe_machine
from plre.scratch import OF_PROCESS, SMALLEST_MEMORY, memory_size, scratch_within
from plre.text.sources import Errors
from plre.threads import cpu_count


def compare(
    train: TextPath,
    dev: TextPath,
    test: TextPath,
    output: str | os.PathLike[str],
    *,
    methods: Iterable[str] | None = None,
    orders: Sequence[int] = (2, 3, 4),
    min_count: int = 2,
    classes: int | None = None,
    ranks: Sequence[int] = (5, 10, 20, 50, 100),
    seed: int = 0,
    skip_markers: bool = False,
    errors: Errors = "strict",
    jobs: int | None = None,
    threads: int | None = None,
    memory: int | str | None = None,
    tmp: str | os.PathLike[str] | None = None,
    keep_models: bool = True,
    watcher: JobWatcher | None = None,
) -> Comparison:
    """Train every method at every order, and report how they compare in the folder ``output``.

    The texts are paths (or globs). Jobs that were done before, with the same texts, options and version of plre, are
    not run again: an interrupted comparison goes on where it was, and another method or order costs only itself.

    methods      names as in :func:`plre.train`, or linear mixtures of them such as "mkn+class"; all without it.
                 "mkn" is always among them: gains are measured against it
    orders       lengths of the longest n-gram
    min_count    words seen less often in ``train`` become ``<unk>``
    classes      how many, for the class-based model
    ranks        of the low rank bigram, tried at the middle order for one of the pictures; () for none
    skip_markers treat ``<s>`` and ``</s>`` in the texts as white space instead of refusing them
    errors       "replace" goes on over invalid UTF-8
    jobs         models trained side by side, each in a process of its own; without it as many as there are cores
    threads      cores to use, shared by the jobs
    memory       bytes, or for example "4G": what all jobs together may take. Without it, four fifths of the memory of
                 the machine, or of the container
    tmp          the folder for temporary files
    keep_models  False: model files are removed at the end
    watcher      is called when jobs begin, go on and end
    """
    settings = make_settings(methods, orders, min_count, classes, ranks, seed, skip_markers, errors)
    cores = cpu_count() if threads is None else threads
    cells, tries = main_jobs(settings), rank_jobs(settings)
    side_by_side = min(cores, len(cells) + len(tries)) if jobs is None else jobs
    if cores < 1 or side_by_side < 1:
        raise UsageError(f"threads and jobs must be at least 1, not {cores} and {side_by_side}")
    limit = memory_size(memory)
    # A process takes some memory of its own; one of these is not counted, here as elsewhere.
    side_by_side = min(side_by_side, (limit + OF_PROCESS) // (SMALLEST_MEMORY + OF_PROCESS))
    scratch_within(limit, tmp)  # which says what is wrong with the folder
    store = ResultStore(output)
    reading = settings.reading()
    texts = Texts(*(read_text(text, **reading) for text in (train, dev, test)))
    store.prepare()
    runner = _JobRunner(
        settings,
        texts,
        store,
        side_by_side,
        max(1, cores // side_by_side),
        (limit + OF_PROCESS) // side_by_side - OF_PROCESS,
        tmp,
        watcher or JobWatcher(),
    )
    outcomes = runner.run([*cells, *tries])
    if not any(outcome.result for outcome in outcomes.values()):
        raise PlreError(f"every job failed; the first one: {next(iter(outcomes.values())).error}")
    tokens = sentence_tokens(texts.test, errors)
    comparison = Comparison(
        settings,
        texts,
        tuple(_rows(runner, cells, outcomes, tokens)),
        tuple(Row(job, outcomes[job].result, outcomes[job].error) for job in tries),
        store.folder,
        __version__,
        describe_machine(),
        _command(settings, texts, output),
    )
    write_outputs(comparison)
    if not keep_models:
        for job in outcomes:
            runner.files(job).discard_model()
    return comparison


class _JobRunner:
    """Runs those jobs of a comparison that have not been done before, and knows where their files are."""

    def __init__(
        self,
        settings: ComparisonSettings,
        texts: Texts,
        store: ResultStore,
        workers: int,
        threads: int,
        memory: int,
        tmp: str | os.PathLike[str] | None,
        watcher: JobWatcher,
    ) -> None:
        self.settings = settings
        self.texts = texts
        self.store = store
        self.workers = workers
        self.threads = threads
        self.memory = memory
        self.tmp = None if tmp is None else os.path.abspath(tmp)
        self.watcher = watcher

    def files(self, job: Job) -> Files:
        """The files of a job."""
        return self.store.files(job, key(job, self.settings, self.texts))

    def run(self, jobs: list[Job]) -> dict[Job, JobOutcome]:
        """Run what has not been done; returns the outcome of every job, and of the parts of mixtures."""
        outcomes: dict[Job, JobOutcome] = {}
        plain, mixed = waves(jobs)
        for job in (*plain, *mixed):
            if result := self.files(job).load():
                outcomes[job] = JobOutcome(result)
        needed = {part for job in mixed if job not in outcomes for part in job.parts}
        for part in needed:
            if not self.files(part).model.exists():
                outcomes.pop(part, None)
        self.watcher.plan(len(plain) + len(mixed), len(outcomes))
        for wave in (plain, mixed):
            ready = [job for job in wave if job not in outcomes]
            for job in list(ready):
                if broken := [part.name for part in job.parts if not outcomes[part].result]:
                    outcomes[job] = JobOutcome(error=f"without {' and '.join(broken)} there is nothing to mix")
                    self.watcher.ended(job, outcomes[job])
                    ready.remove(job)
            outcomes |= run_jobs(ready, self._task, self._keep, workers=self.workers, watcher=self.watcher)
        return outcomes

    def _task(self, job: Job) -> Task:
        files = self.files(job)
        return Task(
            job.method,
            job.order,
            job.options(self.settings),
            train=list(self.texts.train.paths),
            dev=list(self.texts.dev.paths),
            test=list(self.texts.test.paths),
            parts=[str(self.files(part).model.absolute()) for part in job.parts],
            model=str(files.model.absolute()),
            scores=str(files.scores.absolute()),
            threads=self.threads,
            memory=self.memory,
            tmp=self.tmp,
            reading=self.settings.reading(),
        )

    def _keep(self, job: Job, result: Result) -> Result:
        """Write a result down, with how it was run: its times depend on that."""
        whole = {**result, "version": __version__, "run": {"jobs": self.workers, "threads": self.threads}}
        self.files(job).save(whole)
        return whole


def _rows(runner: _JobRunner, jobs: list[Job], outcomes: dict[Job, JobOutcome], tokens: NDArray[np.int64]) -> list[Row]:
    """The rows of the tables, order by order, each with its statistics."""
    rows: list[Row] = []
    seed = runner.settings.seed
    for order in runner.settings.orders:
        here = [job for job in jobs if job.order == order]
        scores = {job: runner.files(job).load_scores() for job in here if outcomes[job].result}
        scores = {job: each for job, each in scores.items() if np.isfinite(each).all()}
        columns = np.column_stack(list(scores.values())) if scores else np.empty((len(tokens), 0))
        spread = dict(zip(scores, spreads(columns, tokens, seed), strict=True))
        reference = Job(REFERENCE, order)
        gain = {}
        if reference in scores:
            gain = dict(zip(scores, gains(columns, scores[reference], tokens, seed), strict=True))
            del gain[reference]
        for job in here:
            parts = tuple(result for part in job.parts if (result := outcomes[part].result))
            outcome = outcomes[job]
            rows.append(Row(job, outcome.result, outcome.error, spread.get(job), gain.get(job), parts))
    return rows


def _command(settings: ComparisonSettings, texts: Texts, output: str | os.PathLike[str]) -> str:
    words: list[object] = ["plre", "compare"]
    for name, text in texts.named().items():
        words += [f"--{name}", text.given]
    words += ["-o", os.fspath(output), "--orders", ",".join(map(str, settings.orders))]
    words += ["--methods", ",".join(settings.methods), "--min-count", settings.min_count]
    if settings.classes is not None:
        words += ["--classes", settings.classes]
    if ENSEMBLE in settings.methods:
        words += ["--ranks", ",".join(map(str, settings.ranks))]
    words += ["--skip-markers"] * settings.skip_markers
    if settings.errors != "strict":
        words += ["--errors", settings.errors]
    return shlex.join(map(str, [*words, "--seed", settings.seed]))
