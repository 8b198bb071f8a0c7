"""Compile everything that users need, on all cores, so that later nothing has to be compiled (Dockerfiles, CI).

Which kernels those are, and for which types, nobody has to write down: real work is done on a little text. Each topic
is a process of its own (numba compiles one kernel at a time in a process); kernels that several of them need are
compiled by whoever comes first (``machinecode/turns.py``).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

import plre
from plre.errors import PlreError
from plre.lowrank.blocks import Blocks
from plre.lowrank.factorise import Stopping, factorise
from plre.machinecode.baseline import baseline_of, compiling_for_baseline
from plre.machinecode.notice import announce_compilation
from plre.machinecode.store import store
from plre.machinecode.turns import Turns
from plre.model.lm import LanguageModel
from plre.progress import Progress
from plre.threads import cpu_count

_SENTENCES = 1200
_ARPA = r"""\data\
ngram 1=5
ngram 2=2
ngram 3=1

\1-grams:
-1 <unk>
-99 <s> -0.5
-0.5 w1 -0.25
-0.75 w2
-0.75 </s>

\2-grams:
-0.125 <s> w1 -0.1
-0.5 w1 </s>

\3-grams:
-0.25 <s> w1 </s>

\end\
"""


@dataclass(frozen=True)
class Warmth:
    """What a warm-up has done."""

    #: Kernels compiled, each for certain types.
    compiled: int
    #: Where they are kept.
    folder: Path
    #: The files of machine code that were there before and have been used.
    used: frozenset[Path]
    seconds: float
    #: Why machine code that came with the installation could not be used; None if it was.
    misfit: str | None


def warmup(*, baseline: bool = False, jobs: int | None = None, progress: Progress | None = None) -> Warmth:
    """Compile what all methods and questions need, and keep it; ``jobs`` processes do it, one for each core.

    With ``baseline`` it is compiled not for this processor but for all that have what x86-64-v3 has.
    """
    progress = progress or Progress()
    if store.place is None:
        raise PlreError("there is no folder to keep machine code in; name one in NUMBA_CACHE_DIR")
    if baseline and not baseline_of(store.about["processor"]):
        raise PlreError("this processor has less than the baseline x86-64-v3")
    start = time.perf_counter()
    compiled, used = 0, set()
    variables = compiling_for_baseline() if baseline else {}
    with progress.stage("compiling"), Compiling(list(TOPICS), jobs, variables) as compiling:
        for topic, told in compiling.finished():
            compiled += told["compiled"]
            used |= set(map(Path, told["used"]))
            progress.note(f"{topic}: {told['compiled']} kernels compiled")
    return Warmth(compiled, store.place.folder, frozenset(used), time.perf_counter() - start, store.packed.misfit)


class Compiling:
    """Processes that compile topics, ``jobs`` at a time; whoever leaves before they are done ends them."""

    def __init__(
        self, topics: Sequence[str], jobs: int | None = None, variables: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        self._topics = topics
        self._pool = ThreadPoolExecutor(jobs or cpu_count())
        self._variables = variables
        self._processes: list[subprocess.Popen[str]] = []
        self._left = False
        self._folder = tempfile.TemporaryDirectory(prefix="plre-")

    def __enter__(self) -> Compiling:
        _Work(Path(self._folder.name)).write_text()
        self._running = {self._pool.submit(self._run, topic): topic for topic in self._topics}
        return self

    def __exit__(self, *error: object) -> None:
        self._left = True
        for process in list(self._processes):
            process.kill()
        self._pool.shutdown(cancel_futures=True)
        self._folder.cleanup()

    def finished(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Each topic with what its process told at its end, as soon as it has."""
        for done in as_completed(self._running):
            yield self._running[done], done.result()

    def _run(self, topic: str) -> dict[str, Any]:
        # In a group of its own: Ctrl-C is for this process, which then ends those.
        process = subprocess.Popen(
            [sys.executable, "-m", "plre.warmup", topic, self._folder.name],
            env={**os.environ, **self._variables}, stdout=subprocess.PIPE, text=True, process_group=0,
        )  # fmt: skip
        self._processes.append(process)
        if self._left:
            process.kill()
        said, _ = process.communicate()
        if process.returncode:
            raise PlreError(f"compiling failed ({topic}); what the process said is above")
        told: dict[str, Any] = json.loads(said)
        return told


class _Work:
    """Small real work in a folder that has a text."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.text, self.dev = folder / "text", folder / "dev"

    def write_text(self) -> None:
        """Sentences with a long tail of rare words, as in any language."""
        random = np.random.default_rng(0)
        for path, sentences in ((self.text, _SENTENCES), (self.dev, _SENTENCES // 10)):
            lengths = random.integers(1, 15, sentences)
            lines = (" ".join(f"w{int(1500**share)}" for share in random.random(length)) for length in lengths)
            path.write_text("\n".join(lines) + "\n")

    # --- the topics --------------------------------------------------------------------------------------------------

    def words(self) -> None:
        """N-grams of words."""
        self._ask(self._train(method="mkn"))

    def low_rank(self) -> None:
        """Low rank layers; matrices first, since text is what the other topics begin with."""
        side, columns = 8, 6
        blocks = Blocks(
            row_start=np.array([0, side, 2 * side], np.int32),
            column_block=np.repeat(np.arange(2, dtype=np.int32), columns),
            column_start=np.arange(0, 2 * side * columns + 1, side, dtype=np.int32),
            rows=np.concatenate([np.tile(np.arange(side, dtype=np.int32), columns) + b * side for b in range(2)]),
        )
        values = 1 + np.arange(len(blocks.rows), dtype=np.float32) % 7
        factorise(blocks, values, np.array([1, 3], np.int32), stopping=Stopping(8))
        self._ask(self._train(preset="paper", dev=self.dev))
        self._train(rungs=["2:0.5:3", "3:0.5:2", "3:0.25:2"], starts=2)

    def classes(self) -> None:
        """Classes of words."""
        plre.cluster(self.text, 30)
        self._ask(self._train(method="class", classes=30))

    def ensembles(self) -> None:
        """The default: words, classes and contexts together."""
        self._ask(self._train())
        self._ask(self._train(preset="fast", dev=self.dev))

    def methods(self) -> None:
        """The other baselines."""
        for method in ("kn", "abs", "bo-kn", "bo-mkn", "mkn-dev", "jm"):
            self._ask(self._train(method=method, dev=self.dev if method in ("mkn-dev", "jm") else None))

    def smaller(self) -> None:
        """Models that were pruned, quantised or mixed."""
        words, full = self._train(method="mkn"), self._train(preset="paper", dev=self.dev)
        for lm in (words, full, self._train()):
            self._ask(plre.prune(lm, threshold=1e-5))
        for bits in (8, 16):
            self._ask(self._train(method="mkn", quantise=bits))
        self._ask(plre.mix([words, full], dev=self.dev))

    def arpa(self) -> None:
        """A model from an ARPA file."""
        path = Path(self.folder, "words.arpa")
        path.write_text(_ARPA)
        self._ask(plre.import_arpa(path))

    # --- what they share ---------------------------------------------------------------------------------------------

    def _train(self, **options: Any) -> LanguageModel:
        return plre.train(self.text, **options)

    def _ask(self, lm: LanguageModel) -> None:
        """Ask everything, of the model in memory and of the one that is read from its file."""
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            lm.save(Path(folder, "model"))
            for model in (lm, plre.load(Path(folder, "model"))):
                self._ask_all(model)

    def _ask_all(self, lm: LanguageModel) -> None:
        sentence = "w1 w2 w3"
        lm.score(sentence)
        list(lm.full_scores(sentence))
        lm.score_lines([sentence, sentence])
        for _ in lm.score_text(self.dev):
            pass
        plre.evaluate(lm, self.dev)
        lm.prob("w1", ["w2"])
        lm.next_words(sentence)
        lm.sample(seed=0, max_words=5)
        _, state = lm.advance(lm.begin_state(), "w1")
        lm.full_advance(state, "w1")
        lm.advance_many(state, ["w1", "w2"])
        lm.advance_batch([state, state], ["w1", "w2"])
        lm.distributions([state, "w1 w2"])
        lm.context(state)
        lm.info()
        lm.verify()


TOPICS: dict[str, Callable[[_Work], None]] = {
    "words": _Work.words,
    "low rank": _Work.low_rank,
    "classes": _Work.classes,
    "ensembles": _Work.ensembles,
    "methods": _Work.methods,
    "smaller models": _Work.smaller,
    "ARPA files": _Work.arpa,
}


def main(topic: str, folder: str) -> None:
    """Do one topic, and print how many kernels were compiled and which files were used."""
    announce_compilation(None)
    warnings.simplefilter("ignore")  # there is too little text for some methods
    if store.place:
        store.turns = Turns(store.place.folder)
    TOPICS[topic](_Work(Path(folder)))
    print(json.dumps({"compiled": len(store.compiled), "used": [str(path) for path in store.loaded]}))


if __name__ == "__main__":
    main(*sys.argv[1:])
