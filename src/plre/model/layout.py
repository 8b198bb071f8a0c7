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

import numpy as np
from numpy.typing import NDArray

from plre.errors import ModelFileError
from plre.model.file import Tensors

FORMAT = 1

#: Fields of the directory, for each order, in this sequence.
FIELDS = ("words", "children", "prob", "backoff", "rank", "left_start", "left", "right_start", "right")
WORDS, CHILDREN, PROB, BACKOFF, RANK, LEFT_START, LEFT, RIGHT_START, RIGHT = range(len(FIELDS))
WIDTH = len(FIELDS)


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


def check(path: str, tensors: Tensors, order: int) -> None:
    """Refuse a file whose tensors do not fit together."""

    def size(name: str) -> int:
        if name not in tensors:
            raise ModelFileError(f"{path}: the tensor {name} is missing; copy or train the model again")
        return tensors[name].size

    def need(name: str, wanted: int) -> None:
        if size(name) != wanted:
            raise ModelFileError(
                f"{path}: the tensor {name} has {size(name)} entries instead of {wanted}; copy or train the model again"
            )

    if not 1 <= order <= 64:
        raise ModelFileError(f"{path}: its order is {order}; the file is damaged")
    vocab = size("vocab.starts") - 1
    size("vocab.bytes"), size("vocab.slots")
    shorter, before = 1, 1
    grams = vocab
    for n in range(1, order + 1):
        grams = vocab if n == 1 else size(f"order{n}.words")
        need(f"order{n}.prob", grams)
        if n < order:
            need(f"order{n}.backoff", grams)
        if n > 1:
            need(f"order{n}.children", shorter + 1)
        if f"order{n}.rank" in tensors:
            need(f"order{n}.rank", before)
            need(f"order{n}.left_start", before)
            need(f"order{n}.right_start", shorter)
        before, shorter = shorter, grams
