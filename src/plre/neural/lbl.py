"""The log-bilinear model as one that answers questions, and its training from text in one call."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from plre._version import __version__
from plre.errors import ModelFileError, UsageError
from plre.neural import storage
from plre.neural.checkpoint import Checkpoint
from plre.neural.fitting import Trainer, score
from plre.neural.network import Network
from plre.neural.settings import NeuralSettings
from plre.progress import Progress
from plre.text.encode import EncodedText, TextOptions, encode_text, read_vocabulary
from plre.text.sources import Errors, Source, sized
from plre.text.vocabulary import BOS, EOS, Vocabulary
from plre.threads import cpu_count

_KIND = "log-bilinear model"


class LogBilinear:
    """A trained log-bilinear model. Make one with :func:`plre.neural.train`, open one with :func:`plre.neural.load`.

    Text is one stream of words, as for an n-gram model with ``markers=False``: lines mean nothing, and every word is
    predicted from the ``context`` words before it, the first ones from as many as there are.
    """

    def __init__(
        self, vocab: Vocabulary, counts: NDArray[np.int64], settings: NeuralSettings, about: dict[str, Any]
    ) -> None:
        self.vocab = vocab
        self.counts = counts
        self.settings = settings
        self.metadata = about
        by_frequency = np.argsort(-counts, kind="stable")
        #: Ids by falling frequency, without the markers: they are no words of a stream.
        self._ids = by_frequency[(by_frequency != BOS) & (by_frequency != EOS)]
        self.network = Network(counts[self._ids], settings)
        self._rows = np.full(len(vocab), self.network.bands.nothing)
        self._rows[self._ids] = self.network.bands.rows

    # --- saving, loading ---------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file, replacing an old one only when the new one is complete."""
        words = {
            "vocab.bytes": torch.tensor(self.vocab.arena),
            "vocab.starts": torch.tensor(self.vocab.starts),
            "vocab.counts": torch.tensor(self.counts),
        }
        about = {"settings": self.settings.as_dict(), "about": self.metadata}
        storage.write(path, _KIND, about, {**words, **self.network.weights})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> LogBilinear:
        """Open a model file."""
        about, tensors = storage.read(path, _KIND)
        try:
            vocab = Vocabulary.from_arena(tensors["vocab.bytes"].numpy(), tensors["vocab.starts"].numpy())
            lm = cls(vocab, tensors["vocab.counts"].numpy(), NeuralSettings(**about["settings"]), about["about"])
            for name, weights in lm.network.weights.items():
                weights.copy_(tensors[name])
        except (KeyError, TypeError, ValueError, RuntimeError, IndexError) as error:
            raise ModelFileError(f"{os.fspath(path)}: is damaged ({error}); copy or train the model again") from None
        return lm

    def __repr__(self) -> str:
        s = self.settings
        return f"<plre.neural.LogBilinear: {s.context} words, {s.dimensions} features, {len(self.vocab)} words known>"

    # --- questions ---------------------------------------------------------------------------------------------------

    def perplexity(self, text: Source, *, errors: Errors = "strict", threads: int | None = None) -> float:
        """Perplexity of a text: all words counted, unknown ones as ``<unk>``."""
        return float(10 ** -self.score_words(text, errors=errors, threads=threads).mean())

    def score_words(
        self, text: Source, *, errors: Errors = "strict", threads: int | None = None
    ) -> NDArray[np.float64]:
        """log10 probability of every word of a text."""
        encoded = encode_text(text, vocab=self.vocab, options=TextOptions(markers=False, errors=errors))
        logs = score(self.network, self.rows(encoded), self.settings.context, threads or cpu_count())
        return logs.numpy() / math.log(10)

    def prob(self, word: str, context: str | Sequence[str] = ()) -> float:
        """P(word | context)."""
        return float(self.distribution(context)[self.vocab[word]])

    def distribution(self, context: str | Sequence[str] = ()) -> NDArray[np.float64]:
        """P(w | context) for the whole vocabulary, by word id; sums to one. Sentence markers have probability 0."""
        words = [word.decode() for word in context.encode().split()] if isinstance(context, str) else context
        n = self.settings.context
        rows = [self._rows[self.vocab[word]] for word in words[-n:]]
        padded = [self.network.bands.nothing] * (n - len(rows)) + rows
        probs = np.zeros(len(self.vocab))
        probs[self._ids] = self.network.distribution(torch.tensor([padded])).exp()[0].numpy()
        return probs

    def rows(self, text: EncodedText) -> Tensor:
        """A text as rows of the network's matrices."""
        return torch.from_numpy(self._rows[text.ids[:]])


def train(
    text: Source,
    *,
    context: int = NeuralSettings.context,
    dev: Source | None = None,
    min_count: int = 2,
    vocab: Source | None = None,
    dimensions: int = NeuralSettings.dimensions,
    shared: bool = NeuralSettings.shared,
    head: int = NeuralSettings.head,
    dropout: float = NeuralSettings.dropout,
    rate: float = NeuralSettings.rate,
    batch: int = NeuralSettings.batch,
    epochs: int = NeuralSettings.epochs,
    errors: Errors = "strict",
    seed: int = 0,
    threads: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> LogBilinear:
    """Train a log-bilinear model on a text that is read as one stream of words.

    ``text`` and ``dev`` are a path (or glob, or ``"-"``), or an iterable of sentences, or of ``pathlib.Path``.

    context      how many words before the predicted one are seen
    dev          held-out text: training stops when it gets no better, and the best weights are kept. Without it, the
                 training text itself is watched
    min_count    words seen less often become ``<unk>``
    vocab        the words to know, as a file or a list, instead of ``min_count``
    dimensions   features of a word
    shared       False: words have other features where they are predicted than where they are seen
    head         so many frequent words are predicted at once, rarer ones in two steps; 0: all at once (slow)
    dropout      the share of features that is left out at random while training
    rate, batch  Adam's step, and the words whose gradients make one
    epochs       at most so many times through the text
    seed         same text, options and seed: same model, whatever the number of threads (up to two are of use)
    checkpoint   a file that is written after every epoch; if it is there, training goes on where it stopped
    """
    progress = progress or Progress()
    threads = cpu_count() if threads is None else threads
    if threads < 1:
        raise UsageError(f"threads must be at least 1, not {threads}")
    settings = NeuralSettings(context, dimensions, shared, head, dropout, rate, batch, epochs, seed)
    if dev is not None:
        dev, _ = sized(dev)  # a missing file is better noticed now than after the training text was read
    options = TextOptions(markers=False, errors=errors)
    fixed = None if vocab is None else read_vocabulary(vocab, errors)
    encoded = encode_text(text, min_count=min_count, vocab=fixed, options=options, threads=threads, progress=progress)
    counts = np.bincount(encoded.ids[:], minlength=len(encoded.vocab))
    about: dict[str, Any] = {"min_count": None if fixed else min_count, "tokens": encoded.words, "version": __version__}
    lm = LogBilinear(encoded.vocab, counts, settings, about)
    held_out = None if dev is None else lm.rows(encode_text(dev, vocab=encoded.vocab, options=options, threads=threads))
    trainer = Trainer(lm.network, settings)
    saved = Checkpoint(checkpoint, trainer, about) if checkpoint is not None else None
    trainer.run(lm.rows(encoded), held_out, threads, progress, saved.write if saved else lambda: None)
    course = trainer.course
    about |= {"perplexities": course.perplexities, "converged": course.converged, "processor_seconds": course.seconds}
    return lm
