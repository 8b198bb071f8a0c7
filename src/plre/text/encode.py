"""Text to ids: the one pass over the training text, and the same for text that a model is asked about."""

from __future__ import annotations

import queue
import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plre.errors import PlreWarning, TextError, UsageError
from plre.progress import Progress
from plre.scratch import Column, Growing, Runs, Scratch
from plre.text import _kernels as kernels
from plre.text.sources import Block, Errors, Source, raw_blocks, read_blocks, sized, valid
from plre.text.vocabulary import BOS, END_AND_START, EOS, NOTHING, SPECIAL, UNK, Vocabulary, VocabularyBuilder, merge
from plre.threads import overlapped


@dataclass(frozen=True)
class TextOptions:
    """How text is read; a model remembers ``markers`` and applies it to what it is asked about."""

    markers: bool = True
    skip_markers: bool = False
    errors: Errors = "strict"

    def __post_init__(self) -> None:
        if self.errors not in ("strict", "replace"):
            raise UsageError(f"errors must be 'strict' or 'replace', not {self.errors!r}")

    @property
    def newline(self) -> int:
        """The code of what a newline becomes, for kernels."""
        return END_AND_START if self.markers else NOTHING


@dataclass(frozen=True)
class EncodedText:
    """A text as ids. With markers each sentence is ``<s> words </s>``; without, the text is one stream of words."""

    ids: Column
    vocab: Vocabulary
    markers: bool
    sentences: int
    unknown: int
    #: How many different words ``<unk>`` stands for; None if that is not known.
    types: int | None = None

    @property
    def words(self) -> int:
        """Words of the text, sentence markers not counted."""
        return len(self.ids) - 2 * self.sentences


def encode_text(
    source: Source,
    *,
    min_count: int = 2,
    vocab: Vocabulary | None = None,
    options: TextOptions | None = None,
    threads: int = 1,
    progress: Progress | None = None,
    scratch: Scratch | None = None,
) -> EncodedText:
    """Read the text once and give it as ids.

    The vocabulary is ``vocab`` if given, else every word of the text seen at least ``min_count`` times.
    """
    options = options or TextOptions()
    progress = progress or Progress()
    if min_count < 1:
        raise UsageError(f"min_count must be at least 1, not {min_count}")
    resolved, total = sized(source)

    builders: queue.SimpleQueue[VocabularyBuilder] = queue.SimpleQueue()
    everyone = [VocabularyBuilder() for _ in range(max(threads, 1))] if vocab is None else []
    for builder in everyone:
        builders.put(builder)

    def encode_one(block: Block) -> tuple[int, NDArray[np.int32]]:
        block = valid(block, options.errors)
        if vocab is not None:
            return 0, encode_block(vocab, block, options).copy()
        builder = builders.get()
        try:
            ids, bad = builder.learn(block.data, options.newline, skip_markers=options.skip_markers)
        finally:
            builders.put(builder)
        refuse_marker(block, bad)
        return everyone.index(builder), ids.copy()

    scratch = scratch or Scratch()
    owners: list[int] = []
    pieces = Runs(scratch, np.int32)
    ids = Growing(scratch, np.int32)
    counts = np.zeros(3, np.int64)
    with progress.stage("reading text", total, "B") as advance:
        blocks = raw_blocks(resolved, stream=not options.markers)
        for block, (owner, piece) in overlapped(encode_one, blocks, threads):
            owners.append(owner)
            pieces.append(piece)
            advance(block.read)
        numbers, types = None, None
        if vocab is None:
            vocab, numbers, types = merge(everyone, min_count)
            given = sum(int(builder.counts[UNK]) for builder in everyone)
            types = None if given else types
            if min_count > 1 and given:
                progress.note(
                    f"the text itself holds <unk> {given:,} times, and words seen less than {min_count} times join it; "
                    "text in which rare words are <unk> already, such as WikiText, is trained with --min-count 1"
                )

        def finished(run: int) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
            """The ids of a block in the vocabulary that all share, and how many are special."""
            piece = pieces.take(run)
            if numbers is not None:
                kernels.renumber(piece, numbers[owners[run]])
            return piece, np.bincount(piece[piece <= EOS], minlength=3)

        if options.markers:  # newlines gave </s> <s>: the first <s> is missing, the last too many
            ids.append(np.full(min(len(owners), 1), BOS, np.int32))
        for run, (piece, special) in overlapped(finished, iter(range(len(owners))), threads):
            counts += special
            ids.append(piece[:-1] if options.markers and run == len(owners) - 1 else piece)
    text = EncodedText(ids.finish(), vocab, options.markers, int(counts[EOS]), int(counts[UNK]), types)
    if not text.words:
        raise TextError(f"{describe(source)}: holds no words; there is nothing to learn from")
    if text.unknown == text.words:
        warnings.warn(
            f"{describe(source)}: no word of it is in the vocabulary, all are <unk>; lower --min-count",
            PlreWarning,
            stacklevel=2,
        )
    return text


def describe(source: Source) -> str:
    """A short name of a source for messages."""
    if isinstance(source, str):
        return source
    if hasattr(source, "__fspath__"):
        return str(source)
    if isinstance(source, list | tuple) and source and hasattr(source[0], "__fspath__"):
        return ", ".join(map(str, source[:3])) + (", ..." if len(source) > 3 else "")
    return "the text"


def encode_block(vocab: Vocabulary, block: Block, options: TextOptions) -> NDArray[np.int32]:
    """The ids of one block under a fixed vocabulary; a sentence marker in the text is an error."""
    ids, bad = vocab.encode(block.data, options.newline, skip_markers=options.skip_markers)
    refuse_marker(block, bad)
    return ids


def sentences(encoded: NDArray[np.int32]) -> NDArray[np.int32]:
    """Lines as ``<s> words </s>``. Newlines gave ``</s> <s>``: the first ``<s>`` is missing, the last too much."""
    ids = np.empty(len(encoded), np.int32)
    ids[:1] = BOS
    ids[1:] = encoded[:-1]
    return ids


def refuse_marker(block: Block, bad: int) -> None:
    """Raise where a block holds a sentence marker at ``bad`` (-1: it holds none)."""
    if bad >= 0:
        word = block.data[bad : bad + 4].split()[0].decode()
        raise TextError(
            f"{block.locate(bad)}: the text holds {word}, which marks sentences and is added by plre itself; "
            "--skip-markers (skip_markers=True) treats it as white space"
        )


def read_vocabulary(source: Source, errors: Errors = "strict") -> Vocabulary:
    """The words of a file (or of a list), separated by white space, in their order there."""
    words = [word.decode() for block in read_blocks(source, errors=errors) for word in block.data.split()]
    vocab = Vocabulary.from_words(words)
    if len(vocab) <= len(SPECIAL):
        raise TextError(f"{describe(source)}: lists no words; it should hold one word a line")
    return vocab
