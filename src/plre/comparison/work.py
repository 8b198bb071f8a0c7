"""One job, in a process of its own, so that its time and its memory are nobody else's.

python -m plre.comparison.work     reads a :class:`Task` as JSON from standard input, trains, saves, evaluates, and
                                   writes lines of JSON: {"stage": what runs now}, at last {"result"} or {"error"}
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

import plre
from plre.comparison.methods import PRESET_OF
from plre.errors import NoRoomError, PlreError
from plre.evaluation.report import evaluate
from plre.machinecode.notice import announce_compilation
from plre.model.lm import LanguageModel
from plre.progress import Advance, Progress
from plre.text.sources import Source, read_blocks
from plre.training import train

#: Sentences on which the kernels are loaded, or compiled, before the clock starts.
_WARM_UP = 500
_QUERIES = 3
#: Where machine code cannot be cached, a process compiles each time; after so many times its figures have that in them.
_ATTEMPTS = 3


@dataclass(frozen=True)
class Task:
    """Everything that a process needs to do one job."""

    method: str
    order: int
    options: dict[str, Any]
    train: list[str]
    dev: list[str]
    test: list[str]
    #: Model files of which a mixture is made.
    parts: list[str]
    #: Where the model goes, and the log10 probability of each sentence of the test text.
    model: str
    scores: str
    threads: int
    memory: int
    tmp: str | None = None
    #: How text is read, where it is not as usual; ``options`` has it too.
    reading: dict[str, Any] = field(default_factory=dict)


def perform(task: Task, progress: Progress, checkpoint: Callable[[], None] = lambda: None) -> dict[str, Any]:
    """Train and save a model, and measure what it cost and what it is worth.

    ``checkpoint`` is called where a process that had to compile may start again.
    """
    train_text, dev, test = ([Path(path) for path in paths] for paths in (task.train, task.dev, task.test))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with progress.stage("loading kernels"):
            _warm_up(task)
        checkpoint()
        caught.clear()
        before, start = peak_memory(), time.perf_counter()
        lm = make_model(task, train_text, dev, progress)
        with progress.stage("writing"):
            lm.save(task.model)
        seconds = time.perf_counter() - start
        peak = peak_memory()
        checkpoint()
    lm = LanguageModel.load(task.model)
    reports = {
        name: evaluate(lm, text, threads=task.threads, progress=progress, **task.reading)
        for name, text in (("dev", dev), ("test", test))
    }
    scores = np.concatenate(list(lm.score_text(test, threads=task.threads, progress=progress, **task.reading)))
    np.save(task.scores, scores)
    with progress.stage("measuring the query rate"):
        fastest = min(evaluate(lm, test, threads=task.threads, **task.reading).seconds for _ in range(_QUERIES))
    return {
        "seconds": seconds,
        "peak_bytes": peak,
        "start_bytes": before,
        "model_bytes": os.path.getsize(task.model),
        "tokens_per_second": reports["test"].tokens / fastest,
        "vocabulary": len(lm.vocab),
        "train": {name: lm.metadata.get(name) for name in ("tokens", "sentences")},
        "rungs": lm.metadata.get("rungs", {}),
        "signature": reports["test"].signature,
        "warnings": sorted({str(warning.message) for warning in caught}),
        **{name: report.as_dict() for name, report in reports.items()},
    }


def make_model(task: Task, text: Source, dev: Source, progress: Progress) -> LanguageModel:
    """Train it; or mix the saved models, with weights fitted on the dev text."""
    if task.parts:
        return plre.mix(
            task.parts, dev=dev, threads=task.threads, memory=task.memory, tmp=task.tmp, progress=progress,
            **task.reading,
        )  # fmt: skip
    preset = PRESET_OF.get(task.method)
    return train(
        text,
        order=task.order,
        method="plre" if preset else task.method,
        preset=None if "rungs" in task.options else preset,
        dev=dev,
        threads=task.threads,
        memory=task.memory,
        tmp=task.tmp,
        progress=progress,
        **task.options,
    )


def _warm_up(task: Task) -> None:
    """Do the task with a few sentences, so that kernels are loaded; errors are left to the real run."""
    text, dev = (_first_lines(paths) for paths in (task.train, task.dev))
    with contextlib.suppress(PlreError):
        lm = make_model(task, text, dev, Progress())
        evaluate(lm, dev, **task.reading)
        lm.score_lines(dev)


def _first_lines(paths: list[str]) -> list[str]:
    block = next(read_blocks([Path(path) for path in paths], errors="replace"))
    return [line.decode() for line in islice(block.data.split(b"\n"), _WARM_UP)]


def peak_memory() -> int | None:
    """Bytes of memory that this process has had at most.

    Linux's own count is preferred to ``getrusage``, in which a child begins with the peak of the process it was started
    from: under a parent that holds a large model every job would seem to need as much.
    """
    status = Path("/proc/self/status")
    if status.exists() and (found := re.search(r"VmHWM:\s*(\d+) kB", status.read_text())):
        return int(found[1]) * 1024
    try:
        import resource
    except ImportError:
        return None
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


class _StageLines(Progress):
    """Prints the stage that runs now, for the process that waits."""

    @contextlib.contextmanager
    def draw(self, name: str, total: float | None, unit: str) -> Iterator[Advance]:
        """One line when a stage begins."""
        _print_line(stage=name)
        yield lambda amount: None


def _print_line(**said: Any) -> None:
    print(json.dumps(said), flush=True)


def main(attempt: int) -> int:
    """Read the task, do it, and say how it went; 0 if it went well."""
    task = Task(**json.load(sys.stdin))
    compiled = False

    def noticed() -> None:
        nonlocal compiled
        compiled = True
        _print_line(stage="compiling kernels")

    def start_again() -> None:
        if compiled and attempt < _ATTEMPTS and os.name == "posix":
            os.lseek(0, 0, os.SEEK_SET)
            os.execv(sys.executable, [sys.executable, "-m", "plre.comparison.work", str(attempt + 1)])

    announce_compilation(lambda message: noticed())
    try:
        _print_line(result=perform(task, _StageLines(), start_again))
    except KeyboardInterrupt:
        return 130
    except NoRoomError as error:
        _print_line(error=f"{error}, or fewer --jobs side by side")
        return 1
    except MemoryError:
        _print_line(error="not enough memory")
        return 1
    except Exception as error:  # whatever it is, the other jobs go on and the report shows it
        _print_line(error=str(error) if isinstance(error, PlreError) else f"{type(error).__name__}: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 1))
