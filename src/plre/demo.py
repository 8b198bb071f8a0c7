"""The whole story on text that every machine has: the documentation inside Python and our dependencies."""

from __future__ import annotations

import ast
import contextlib
import hashlib
import importlib.util
import os
import re
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from plre.errors import PlreError
from plre.evaluation.report import Report, evaluate
from plre.machinecode.notice import compiling
from plre.machinecode.store import store
from plre.model.lm import LanguageModel
from plre.progress import Progress
from plre.training import train
from plre.warmup import Compiling

#: What plre depends on, directly or not.
PACKAGES = ("numpy", "numba", "llvmlite", "click", "rich", "pygments", "markdown_it")
_SKIPPED = {"site-packages", "dist-packages", "test", "tests", "idle_test", "__pycache__"}
_LEAST_WORDS = 4
#: What of ``plre warmup`` the contest needs.
_TOPICS = ("ensembles", "low rank")

_DOCTEST = re.compile(r"^\s*(>>>|\.\.\. ).*$", re.MULTILINE)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n\s*\n|\n\s*[-*=~^]{3,}\s*\n")
_WORD = re.compile(r"[a-z]+(?:'[a-z]+)?|\d+|[.,;:!?()]")


@dataclass
class Splits:
    """Sentences, shared out by module so that no module is in two parts."""

    train: list[str] = field(default_factory=list)
    dev: list[str] = field(default_factory=list)
    test: list[str] = field(default_factory=list)
    #: Words that were read, repeated sentences included.
    words_read: int = 0

    def of(self, module: str) -> list[str]:
        """The part that a module belongs to: a tenth each for dev and test."""
        share = hashlib.blake2b(module.encode(), digest_size=4).digest()[0] % 10
        return self.test if share == 0 else self.dev if share == 1 else self.train


@dataclass(frozen=True)
class Contender:
    """One method's model with what it cost and what it is worth."""

    name: str
    lm: LanguageModel
    seconds: float
    dev: Report
    test: Report


def source_files() -> list[tuple[str, Path]]:
    """Module name and path of every Python file of the standard library and of our dependencies."""
    roots = [("", Path(os.__file__).parent)]
    for package in PACKAGES:
        spec = importlib.util.find_spec(package)
        if spec and spec.submodule_search_locations:
            roots.append((package + "/", Path(next(iter(spec.submodule_search_locations)))))
    found = []
    for prefix, root in roots:
        for directory, folders, names in os.walk(root):
            folders[:] = sorted(set(folders) - _SKIPPED)
            for name in sorted(names):
                if name.endswith(".py"):
                    path = Path(directory, name)
                    found.append((prefix + path.relative_to(root).as_posix(), path))
    return found


def documentation(path: Path) -> Iterator[str]:
    """The long strings of a Python file: its docstrings and whatever else is written as prose."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            tree = ast.parse(path.read_bytes())
        except (SyntaxError, ValueError, RecursionError, OSError):
            return
    for node in ast.walk(tree):
        value = node.value if isinstance(node, ast.Constant) else None
        if isinstance(value, str) and value.count(" ") >= _LEAST_WORDS:
            yield value


def plain_sentences(text: str) -> Iterator[str]:
    """Plain lower-case sentences of a docstring, examples left out.

    >>> list(plain_sentences("Return the sum.  See also `numpy.add`.\\n\\n    >>> add(1)\\n"))
    ['return the sum .', 'see also numpy . add .']
    """
    for sentence in _SENTENCE_END.split(_DOCTEST.sub("", text)):
        words = _WORD.findall(sentence.lower())
        if sum(word[0].isalpha() for word in words) >= 2:
            yield " ".join(words)


def collect(progress: Progress) -> Splits:
    """Sentences of all documentation on this machine; sentences seen before are left out."""
    splits = Splits()
    seen: set[str] = set()
    files = source_files()
    with progress.stage("reading docstrings", len(files), "files") as advance:
        for module, path in files:
            part = splits.of(module)
            for text in documentation(path):
                for sentence in plain_sentences(text):
                    splits.words_read += sentence.count(" ") + 1
                    if sentence not in seen:
                        seen.add(sentence)
                        part.append(sentence)
            advance(1)
    return splits


def collect_and_compile(progress: Progress) -> Splits:
    """:func:`collect`, while other processes compile what the contest will use if nothing was compiled here yet."""
    if not store.is_empty or store.place is None:
        return collect(progress)
    compiling(lambda: store.place and store.place.folder)
    with Compiling(_TOPICS) as compiled:
        splits = collect(progress)
        with progress.stage("compiling"), contextlib.suppress(PlreError):  # then the contest compiles for itself
            list(compiled.finished())
    return splits


def contest(splits: Splits, *, order: int, threads: int | None, progress: Progress) -> Iterator[Contender]:
    """Kneser-Ney, modified Kneser-Ney, PLRE as published and PLRE at its best, on the same text."""
    with progress.stage("warming up"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        few = splits.train[:2000]  # compiles all kernels, so that no method's time has that in it
        evaluate(train(few, order=order, rungs=["2:0.5:2"]), few)
        evaluate(train(few, order=order, dev=splits.dev[:200]), few)
    for name, options in (
        ("Kneser-Ney", {"method": "kn"}),
        ("modified Kneser-Ney", {"method": "mkn"}),
        ("PLRE as published", {"preset": "paper", "dev": splits.dev}),
        ("PLRE", {"preset": "best", "dev": splits.dev}),
    ):
        start = time.perf_counter()
        lm = train(splits.train, order=order, threads=threads, progress=progress, **options)
        seconds = time.perf_counter() - start
        yield Contender(name, lm, seconds, evaluate(lm, splits.dev), evaluate(lm, splits.test))
