"""Which tensors a model has, and the directory by which kernels find them.

For each order n, in a model of order N:

    order{n}.words        n >= 2   last word of each n-gram, sorted within a context
    order{n}.children     n >= 2   for each (n-1)-gram, where its n-grams start
    order{n}.prob                  P(w | h) of each n-gram, all orders and layers included
    order{n}.backoff      n < N    for each n-gram as a context: the weight of the shorter context
    order{n}.rank ...     if order n has low rank layers: rank of each slice, and where the factors of
                          a slice (left) and of a context (right) start; rows of a slice and contexts are (n-1)-grams

and the vocabulary: ``vocab.bytes``, ``vocab.starts``, ``vocab.slots``. A kernel gets all data as one array of 4-byte
words and the directory: where in it each of these starts.
"""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from plre.errors import ModelFileError
from plre.model.file import Tensors
from plre.text.vocabulary import SPECIAL

FORMAT = 1

#: Fields of the directory, for each order, in this sequence.
FIELDS = ("words", "children", "prob", "backoff", "rank", "left_start", "left", "right_start", "right")
WORDS, CHILDREN, PROB, BACKOFF, RANK, LEFT_START, LEFT, RIGHT_START, RIGHT = range(len(FIELDS))
WIDTH = len(FIELDS)
#: Fields that an order has all of, or none.
LOW_RANK = FIELDS[RANK:]


def directory(tensors: Tensors, data: NDArray[np.uint8], order: int) -> NDArray[np.int64]:
    """Where in ``data``, in 4-byte words, each field of each order starts; -1 where there is none."""
    base = data.__array_interface__["data"][0]
    places = np.full(order * WIDTH, -1, np.int64)
    for n in range(1, order + 1):
        for field, name in enumerate(FIELDS):
            tensor = tensors.get(f"order{n}.{name}")
            if tensor is not None:
                places[(n - 1) * WIDTH + field] = (tensor.__array_interface__["data"][0] - base) // 4
    return places


def words_of_memory(data: NDArray[np.uint8]) -> NDArray[np.int32]:
    """All data as 4-byte words (what is left over at the end are bytes of the vocabulary)."""
    return data[: len(data) // 4 * 4].view(np.int32)


def check_metadata(about: Any) -> None:
    """Raise ValueError, KeyError or TypeError where what a file says about its model cannot be used."""
    for key, kind in {"format": int, "order": int, "markers": bool, "method": str, "digest": str}.items():
        if type(about[key]) is not kind:
            raise ValueError(f"{key} is {about[key]!r}")
    if not 1 <= about["order"] <= 64:
        raise ValueError(f"order is {about['order']}")


def check(path: str, tensors: Tensors, order: int) -> None:
    """Refuse a file whose tensors do not fit together. Looks only at shapes and ends, so it takes no time."""

    def refuse(why: str) -> NoReturn:
        raise ModelFileError(f"{path}: is damaged ({why}); copy or train the model again")

    def need(name: str, dtype: type, size: int | None = None) -> NDArray[Any]:
        tensor = tensors.get(name)
        if tensor is None:
            refuse(f"the tensor {name} is missing")
        if tensor.dtype != dtype or tensor.ndim != 1:
            refuse(f"the tensor {name} has the wrong type or shape")
        if size is not None and len(tensor) != size:
            refuse(f"the tensor {name} has {len(tensor)} entries instead of {size}")
        expected.add(name)
        return tensor

    def need_ends(name: str, starts: NDArray[Any], end: int) -> None:
        if not len(starts) or starts[0] != 0 or starts[-1] != end:
            refuse(f"the tensor {name} does not cover what it points to")

    def room(name: str, size: int) -> int:
        """What is left of the factors for the last slice or context."""
        starts = need(f"{name}_start", np.int32, size)
        return len(need(name, np.float32)) - (int(starts[-1]) if size else 0)

    expected: set[str] = set()
    starts = need("vocab.starts", np.int32)
    need_ends("vocab.starts", starts, len(need("vocab.bytes", np.uint8)))
    vocab = len(starts) - 1
    slots = len(need("vocab.slots", np.int32))
    if vocab < len(SPECIAL) or slots & (slots - 1) or slots <= 2 * vocab:
        refuse("the vocabulary has the wrong size")
    before, shorter = 1, 1  # numbers of (n-2)-grams and of (n-1)-grams
    for n in range(1, order + 1):
        grams = vocab if n == 1 else len(need(f"order{n}.words", np.int32))
        need(f"order{n}.prob", np.float32, grams)
        if n < order:
            need(f"order{n}.backoff", np.float32, grams)
        if n > 1:
            need_ends(f"order{n}.children", need(f"order{n}.children", np.int32, shorter + 1), grams)
        if any(f"order{n}.{field}" in tensors for field in LOW_RANK):
            rank = need(f"order{n}.rank", np.int32, before)
            left = room(f"order{n}.left", before)
            right = room(f"order{n}.right", shorter)
            last_rows = shorter - (int(tensors[f"order{n - 1}.children"][-2]) if n > 2 and before else 0)
            wrong_left = left != last_rows * int(rank[-1]) if before else left != 0
            if wrong_left or (right != rank[0] if before == 1 else right < 0):
                refuse(f"the low rank layers of order {n} do not have the size that their ranks ask for")
        before, shorter = shorter, grams
    if unknown := set(tensors) - expected:
        refuse(f"it has a tensor {min(unknown)} that a model of order {order} does not have")
