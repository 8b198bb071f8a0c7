"""Clustering in one call: from text to classes of words."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from typing import TextIO

import numpy as np
from numpy.typing import NDArray

from plre.clustering.exchange import SWEEPS
from plre.clustering.ingredients import Clusters
from plre.counts.ingredients import Bigrams, CountedText
from plre.errors import PlreError, UsageError
from plre.progress import Progress
from plre.scratch import scratch_within
from plre.store import Engine, Resources, Store
from plre.text.encode import TextOptions, read_vocabulary
from plre.text.ingredients import ReadText
from plre.text.sources import Errors, Source
from plre.text.vocabulary import Vocabulary
from plre.threads import cpu_count


@dataclass(frozen=True)
class Clustering:
    """Words in classes, each word in one.

    >>> found = cluster(["a cat sat", "a dog sat", "the cat ran", "the dog ran"], classes=3, min_count=1)
    >>> sorted(found.words(found["cat"]))
    ['cat', 'dog']
    """

    vocab: Vocabulary
    #: The class of each word by its id; -1 for ``<s>``, ``</s>`` and words that do not occur.
    classes: NDArray[np.int32]
    #: How often each word occurs.
    counts: NDArray[np.int32]
    #: ln of the probability that class bigrams give the text: P(class | class before) P(word | class).
    loglikelihood: float
    #: exp of minus the mean of that over all words that are predicted.
    perplexity: float
    #: How often every word was offered a move.
    sweeps: int

    def __len__(self) -> int:
        """How many classes there are."""
        return int(self.classes.max(initial=-1)) + 1

    def __getitem__(self, word: str) -> int:
        """The class of a word; that of ``<unk>`` for one that is not known."""
        return int(self.classes[self.vocab[word]])

    @cached_property
    def _order(self) -> NDArray[np.intp]:
        """Words by class and then by falling frequency; those without a class left out."""
        order = np.lexsort((np.arange(len(self.classes)), -self.counts.astype(np.int64), self.classes))
        return order[np.count_nonzero(self.classes < 0) :]

    def words(self, number: int) -> list[str]:
        """The words of a class by falling frequency."""
        if not 0 <= number < len(self):
            raise IndexError(f"there is no class {number}: there are {len(self)}")
        ordered = self.classes[self._order]
        first, last = np.searchsorted(ordered, [number, number + 1])
        return [self.vocab.word(i) for i in self._order[first:last]]

    def write(self, out: TextIO) -> None:
        """Lines of a word, a tab and its class; words by class and then by falling frequency."""
        for i in self._order.tolist():
            out.write(f"{self.vocab.word(i)}\t{self.classes[i]}\n")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write those lines to a file; it gets its name when it is complete."""
        target = os.path.realpath(path)
        plain = not os.path.exists(target) or os.path.isfile(target)  # not a pipe, nor a device
        half = f"{target}.{os.getpid()}" if plain else target
        try:
            with open(half, "w", encoding="utf-8", newline="\n") as out:
                self.write(out)
            if plain:
                os.replace(half, target)
        except OSError as error:
            raise PlreError(f"{os.fspath(path)}: could not be written ({error.strerror})") from None
        finally:
            if plain and os.path.exists(half):
                os.remove(half)

    def __str__(self) -> str:
        """The number of classes and words, and how good the classes are, in a line."""
        return (
            f"{len(self):,} classes of {len(self._order):,} words, log-likelihood {self.loglikelihood:,.0f}, "
            f"perplexity of the class bigrams {self.perplexity:.3f}, {self.sweeps} sweeps"
        )


def cluster(
    text: Source,
    classes: int = 500,
    *,
    min_count: int = 2,
    vocab: Source | None = None,
    markers: bool = True,
    skip_markers: bool = False,
    errors: Errors = "strict",
    sweeps: int = SWEEPS,
    seed: int = 0,
    threads: int | None = None,
    memory: int | str | None = None,
    tmp: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    engine: Engine | None = None,
) -> Clustering:
    """Put the words of a text into classes of words that are used alike.

    ``text`` is a path (or glob, or ``"-"``), or an iterable of sentences, or of ``pathlib.Path``.

    classes      how many
    min_count    words seen less often become ``<unk>``, which is a word like any other here
    vocab        the words to know, as a file or a list, instead of ``min_count``
    markers      False: the text is one stream without sentence starts and ends
    skip_markers treat ``<s>`` and ``</s>`` in the text as white space instead of refusing it
    errors       "replace" goes on over invalid UTF-8
    sweeps       how often every word is offered a move at most; fewer are faster, more are better
    seed         same seed, same classes
    memory       bytes, or for example "2G": what counting may take. What does not fit goes to files in ``tmp``
    tmp          the folder for temporary files
    engine       where things are made; usually in this process
    """
    threads = cpu_count() if threads is None else threads
    if threads < 1:
        raise UsageError(f"threads must be at least 1, not {threads}")
    how = Resources(threads, progress or Progress(), scratch_within(memory, tmp))
    store = Store(how, engine)
    fixed = None if vocab is None else read_vocabulary(vocab, errors)
    options = TextOptions(markers, skip_markers, errors)
    read = ReadText(text, options, min_count, fixed)
    counted = CountedText(read, 2)
    words, counts = store.get_all([read, counted], keep=())
    found = store.get(Clusters(Bigrams(counted), classes, seed, sweeps))
    times = np.asarray(counts[1].raw[:])
    return Clustering(words.vocab, found.assignment, times, found.loglikelihood, found.perplexity, found.sweeps)
