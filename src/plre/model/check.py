"""Whether a model is undamaged and fits together: what ``verify`` finds out."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from plre.errors import ModelFileError
from plre.model import storage
from plre.model import tables as t
from plre.model.compact import CompactNgrams
from plre.model.component import Component
from plre.model.contexts import Contexts
from plre.model.file import Tensors
from plre.model.ngrams import Ngrams
from plre.scratch import Scratch
from plre.text.vocabulary import SPECIAL

if TYPE_CHECKING:
    from plre.model.lm import LanguageModel

#: Contexts, taken evenly from the vocabulary, after which all probabilities are added up; and how far from one the sum
#: may be: a model of 8 bits a number is off by some percent.
_SAMPLE = 16
_TOLERANCE = 0.1
#: No backoff weight is larger: those of the back-off forms are where hardly any word was left unseen.
_LARGEST_WEIGHT = 1e6


def verify(lm: LanguageModel) -> None:
    """Raise :class:`ModelFileError` for a model that was changed, or whose parts do not fit together."""
    if "digest" in lm.metadata and storage.checksum(lm) != lm.metadata["digest"]:
        raise ModelFileError(f"{lm.path}: its data was damaged after it was written; copy or train it again")
    try:
        _check_words(lm)
        for component in lm.components:
            _check_component(component, len(lm.vocab))
        some = np.linspace(0, len(lm.vocab) - 1, _SAMPLE).astype(int).tolist()
        contexts = [(), *([w] for w in some), *([v, w] for v in some[:4] for w in some[:4])]
        sums = lm.distributions(contexts).sum(axis=1)
        _expect(np.all(np.abs(sums - 1) < _TOLERANCE), "its probabilities do not sum to one")
    except _WrongError as error:
        raise ModelFileError(f"{lm.path}: is not a sound model ({error}); train it again") from None


class _WrongError(Exception):
    pass


def _expect(holds: bool | np.bool_, what: str) -> None:
    if not holds:
        raise _WrongError(what)


def _check_words(lm: LanguageModel) -> None:
    starts, slots = lm.vocab.starts, lm.vocab.slots[1::2]
    _expect(np.all(np.diff(starts) >= 0), "its words overlap")
    _expect(np.array_equal(np.sort(slots[slots >= 0]), np.arange(len(lm.vocab))), "its words are not all to be found")
    _expect(tuple(map(lm.vocab.word, range(len(SPECIAL)))) == SPECIAL, "its special words are others")
    for w in range(0, len(lm.vocab), max(1, len(lm.vocab) // 1000)):
        try:
            _expect(lm.vocab[lm.vocab.word(w)] == w, "its words are not all to be found")
        except (UnicodeDecodeError, IndexError) as error:
            raise _WrongError(f"word {w} makes no sense") from error


def _check_component(component: Component, words: int) -> None:
    body = component.body
    if component.symbols is not None:
        own = component.symbols
        _expect(np.all((own >= 0) & (own <= body.symbols)) and own[-1] == body.symbols, "a symbol is not there")
    if component.shares is not None:
        _numbers(component.shares, 1.0)
    if component.gates is not None:
        _numbers(component.gates.table, 1.0)
    _numbers(body.tensors["unigrams"], 1.0)
    if isinstance(body, Ngrams):
        _check_ngrams(body)
    elif isinstance(body, CompactNgrams):
        _check_compact(body)
    else:
        _check_contexts(body)


def _numbers(values: NDArray[np.float32], most: float = np.inf) -> None:
    """Numbers must be finite and not negative; probabilities are at most 1, to rounding."""
    _expect(np.all((values >= 0) & (values <= most * (1 + 1e-5))) and np.all(np.isfinite(values)), "a number is none")


def _check_ngrams(body: Ngrams) -> None:
    weights = body.tensors["weights"]
    _numbers(weights[::2], _LARGEST_WEIGHT)
    _numbers(weights[1::2], 1.0)
    _expect(weights[-2] == 1 and weights[-1] == 0, "what is not known has a weight")
    keys: NDArray[np.uint64] = np.arange(body.symbols, dtype=np.uint64)
    slots = None
    for n in range(2, body.order + 1):
        shape_of = partial(body.shape, n)
        keys, slots, values = _check_table(body.tensors, f"order{n}", body.symbols, keys, slots, shape_of)
        _numbers(values[0], 1.0)
        for number, most in zip(values[1:], (_LARGEST_WEIGHT, 1.0), strict=False):
            _numbers(number, most)
        if f"order{n}.factors" in body.tensors:
            _numbers(body.tensors[f"order{n}.factors"])
    if body.order > 2:
        columns = body.columns()
        for n in range(3, body.order + 1):
            suffixes, below = columns.suffixes(n), columns.orders[n - 3]
            _expect(np.all(suffixes < len(below)), "an n-gram has no suffix")
            _expect(np.array_equal(below.words[suffixes], columns.orders[n - 2].words), "an n-gram has no suffix")


def _check_compact(body: CompactNgrams) -> None:
    _numbers(body.tensors["weights"])
    columns = body.columns()
    owners = body.symbols
    for n, order in enumerate(columns.orders, 2):
        words, children = np.asarray(order.words), np.asarray(order.children)
        _expect(np.all(words < body.symbols), "a symbol is not there")
        covered = len(children) == owners + 1 and children[0] == 0 and children[-1] == len(words)
        _expect(covered and np.all(np.diff(children) >= 0), "records do not fit together")
        contexts = np.repeat(np.arange(owners), np.diff(children))
        inner = (np.diff(contexts) == 0) & (np.diff(words) <= 0)
        _expect(not inner.any(), "records are not sorted")
        _numbers(np.asarray(order.prob), 1.0)
        if n > 2:
            suffixes = columns.suffixes(n)
            _expect(np.all(suffixes < owners), "an n-gram has no suffix")
        owners = len(words)


def _check_contexts(body: Contexts) -> None:
    for number, count in enumerate(body.counts):
        own = body.tensors[f"map{number}"]
        _expect(np.all((own >= 0) & (own <= count)) and own[-1] == count, "a symbol is not there")
    keys: NDArray[np.uint64] = np.zeros(1, np.uint64)
    slots = None
    for level in range(1, len(body.chain) + 1):
        name, symbols = f"level{level}", body.slot_symbols(level - 1)
        shape_of = partial(body.shape, level, "contexts")
        keys, slots, values = _check_table(body.tensors, f"{name}.contexts", symbols, keys, slots, shape_of)
        _numbers(values[0])
        shape_of = partial(body.shape, level, "events")
        _, _, values = _check_table(body.tensors, f"{name}.events", body.symbols, keys, slots, shape_of)
        _numbers(values[0], 1.0)


def _check_table(
    tensors: Tensors,
    name: str,
    symbols: int,
    owners: NDArray[np.uint64],
    owner_slots: NDArray[np.int64] | None,
    shape_of: Callable[[int], t.Shape],
) -> tuple[NDArray[np.uint64], NDArray[np.int64], list[NDArray[np.float32]]]:
    """Check one table against its list: everything that is listed must be found, with an owner and a symbol.

    Gives keys, slots and numbers of its records.
    """
    listed = t.unpack(tensors[f"{name}.symbols"], t.width_of(symbols - 1))
    starts = t.unpack(tensors[f"{name}.runs"], t.width_of(len(listed)))
    starts = starts[: len(owners)] if owner_slots is None else starts[owner_slots]
    _expect(np.all(listed < symbols), "a listed symbol is not there")
    used = starts[starts < len(listed)]
    ends = np.unpackbits(tensors[f"{name}.ends"].view(np.uint8), bitorder="little")[: len(listed)]
    _expect(len(listed) == 0 or ends[-1] == 1, "the last run of a list does not end")
    after_end = np.concatenate([[0], np.flatnonzero(ends) + 1])[: int(ends.sum())]
    _expect(np.array_equal(used, after_end), "runs of a list do not fit together")
    children = np.append(np.where(starts < len(listed), starts, len(listed)), len(listed))
    children = np.minimum.accumulate(children[::-1])[::-1].astype(np.int32)
    inner = np.diff(listed) <= 0
    _expect(not np.any(inner & ~ends[:-1].astype(bool)), "a list is not sorted")
    keys = np.asarray(t.child_keys(children, owners, listed.astype(np.int32), Scratch()))
    shape = shape_of(len(listed))
    slots, values = t.read_slots(keys, tensors[f"{name}.lines"], tensors[f"{name}.seeds"], shape)
    _expect(np.all(slots >= 0), "a listed record is not to be found")
    _expect(len(np.unique(slots)) == len(slots), "two listed records share a slot")
    return keys, slots, values
