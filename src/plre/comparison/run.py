"""Running jobs side by side, each in a process of its own; one that fails does not stop the others."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass

from plre.comparison.plan import Job
from plre.comparison.store import Result
from plre.comparison.work import Task

#: Seconds that a process has to end by itself.
_GRACE = 5.0


class JobError(Exception):
    """A job that ended without a result; never leaves this package."""


@dataclass(frozen=True)
class JobOutcome:
    """The end of a job: a result, or why there is none."""

    result: Result | None = None
    error: str | None = None


class JobWatcher:
    """Is called when jobs begin, go on and end, and does nothing; the command line has watchers that draw."""

    def plan(self, jobs: int, done: int) -> None:
        """The comparison begins: how many jobs there are, and how many of them were done before."""

    def began(self, job: Job) -> None:
        """A job begins."""

    def stage(self, job: Job, name: str) -> None:
        """A job enters a stage."""

    def ended(self, job: Job, outcome: JobOutcome) -> None:
        """A job is over."""


class Processes:
    """The processes that run now, so that they can be stopped."""

    def __init__(self) -> None:
        self._running: set[subprocess.Popen[str]] = set()
        self._lock = threading.Lock()
        self.stopped = False

    def run(self, task: Task, stage: Callable[[str], None]) -> Result:
        """Do a task in a new process; ``stage`` is called with the name of what runs now."""
        with tempfile.TemporaryFile("w+") as order, tempfile.TemporaryFile("w+", errors="replace") as complaints:
            json.dump(asdict(task), order)
            order.seek(0)
            with self._lock:
                if self.stopped:
                    raise JobError("stopped")
                # In a session of its own, so that Ctrl-C reaches only this process, which then stops the others.
                process = subprocess.Popen(
                    [sys.executable, "-m", "plre.comparison.work"],
                    stdin=order,
                    stdout=subprocess.PIPE,
                    stderr=complaints,
                    text=True,
                    start_new_session=True,
                )
                self._running.add(process)
            try:
                with process:
                    return _listen(process, stage)
            except JobError as error:
                complaints.seek(0)
                last = complaints.read().strip().splitlines()[-1:]
                raise JobError(": ".join([str(error), *last])) from None
            finally:
                with self._lock:
                    self._running.discard(process)

    def stop(self) -> None:
        """End all of them, and let no new one start."""
        with self._lock:
            self.stopped = True
            for process in self._running:
                process.terminate()
            for process in self._running:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(_GRACE)
                process.kill()


def _listen(process: subprocess.Popen[str], stage: Callable[[str], None]) -> Result:
    """Read what a process prints until it ends; returns its result."""
    assert process.stdout is not None
    result: Result | None = None
    for line in process.stdout:
        said = json.loads(line)
        if "error" in said:
            raise JobError(said["error"])
        if "stage" in said:
            stage(said["stage"])
        result = said.get("result", result)
    code = process.wait()
    if code < 0:
        hint = "; probably the memory was not enough: try fewer jobs side by side" if -code == signal.SIGKILL else ""
        raise JobError(f"its process was ended by signal {-code}{hint}")
    if result is None:
        raise JobError(f"its process ended with code {code}")
    return result


def run_jobs(
    jobs: Iterable[Job],
    task: Callable[[Job], Task],
    finish: Callable[[Job, Result], Result],
    *,
    workers: int,
    watcher: JobWatcher,
) -> dict[Job, JobOutcome]:
    """Run jobs, so many side by side; ``finish`` keeps each result as soon as it is there.

    An interruption ends the processes and leaves finished results in place.
    """
    processes = Processes()

    def run(job: Job) -> JobOutcome:
        watcher.began(job)
        try:
            outcome = JobOutcome(finish(job, processes.run(task(job), lambda name: watcher.stage(job, name))))
        except JobError as error:
            outcome = JobOutcome(error=str(error))
        if not processes.stopped:
            watcher.ended(job, outcome)
        return outcome

    outcomes: dict[Job, JobOutcome] = {}
    with ThreadPoolExecutor(workers) as pool:
        futures = {pool.submit(run, job): job for job in jobs}
        try:
            for future in as_completed(futures):
                outcomes[futures[future]] = future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            processes.stop()
            raise
    return outcomes
