"""N-grams with logarithms as ARPA files have them: taken from a model, and made to fit what reads them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from plre.exporting import _plain as kernels
from plre.model.columns import Columns, Order
from plre.model.logs import LogNgrams
from plre.text.vocabulary import UNK

if TYPE_CHECKING:
    from plre.model.lm import LanguageModel

#: What becomes of n-grams that are less probable than what backing off gives.
Below = Literal["keep", "raise", "drop"]

_NONE = np.empty(0, np.float32)
_LEAST = 1e-9


@dataclass(frozen=True)
class LogColumns:
    """The n-grams of all orders with base 10 logarithms of probabilities and weights, sorted by their words."""

    columns: Columns

    @property
    def order(self) -> int:
        """The highest order."""
        return 1 + len(self.columns.orders)

    @property
    def sizes(self) -> list[int]:
        """How many n-grams of each order there are."""
        return [len(self.columns.prob), *map(len, self.columns.orders)]

    def children(self, n: int) -> NDArray[np.int32]:
        """Where the n-grams of each context start; words have one context, the empty one."""
        return np.array([0, self.sizes[0]], np.int32) if n == 1 else np.asarray(self.columns.orders[n - 2].children)

    def words(self, n: int) -> NDArray[np.int32]:
        """The last word of each n-gram."""
        return np.arange(self.sizes[0], dtype=np.int32) if n == 1 else np.asarray(self.columns.orders[n - 2].words)

    def logs(self, n: int) -> NDArray[np.float32]:
        """log10 P of each n-gram."""
        return np.asarray(self.columns.prob if n == 1 else self.columns.orders[n - 2].prob)

    def weights(self, n: int) -> NDArray[np.float32]:
        """log10 of each n-gram's weight as a context; empty in the highest order."""
        if n == self.order:
            return _NONE
        return np.asarray(self.columns.backoff if n == 1 else self.columns.orders[n - 2].backoff)

    def contexts(self, n: int, first: int, last: int) -> NDArray[np.int32]:
        """The words of some contexts of order n, a row for each place."""
        found = np.empty((n - 1, last - first), np.int32)
        at = np.arange(first, last)
        for k in range(n - 1, 0, -1):
            found[k - 1] = self.words(k)[at]
            at = np.searchsorted(self.children(k), at, "right") - 1
        return found

    def select(self, kept: list[NDArray[np.bool_]]) -> LogColumns:
        """Only some n-grams of each order; the context of each must be among them. All words stay."""
        orders = []
        for n, order in enumerate(self.columns.orders, 2):
            before = np.concatenate([[0], np.cumsum(kept[n - 1])])
            children = before[np.asarray(order.children)]
            children = np.append(children[:-1][kept[n - 2]], children[-1]).astype(np.int32)
            own, weights = kept[n - 1], order.backoff
            backoff = None if weights is None else np.asarray(weights)[own]
            orders.append(Order(self.words(n)[own], children, self.logs(n)[own], backoff))
        return LogColumns(Columns(self.columns.prob, self.columns.backoff, None, orders))


def log_columns(lm: LanguageModel) -> LogColumns | None:
    """The n-grams of a model that is n-grams of words and nothing else, which an ARPA file can hold; None otherwise."""
    component = lm.components[0]
    body = component.body.ngrams()
    if len(lm.components) > 1 or component.symbols is not None or body is None or body.missing:
        return None
    return LogColumns(body.log_columns()) if isinstance(body, LogNgrams) else logarithms(body.columns())


def logarithms(columns: Columns) -> LogColumns | None:
    """Probabilities and weights as logarithms; None if there are low rank layers."""
    if any(each.factors is not None for each in columns.orders):
        return None
    orders = [
        Order(each.words, each.children, _log(each.prob), None if each.backoff is None else _log(each.backoff))
        for each in columns.orders
    ]
    return LogColumns(Columns(_log(columns.prob), _log(columns.backoff), None, orders))


def _log(values: NDArray[np.float32]) -> NDArray[np.float32]:
    with np.errstate(divide="ignore"):
        return np.log10(np.asarray(values), dtype=np.float64).astype(np.float32)


def without_empty(columns: Columns) -> Columns:
    """Without highest orders that have no n-grams."""
    orders = list(columns.orders)
    while orders and not len(orders[-1]):
        orders.pop()
        if orders:
            orders[-1] = replace(orders[-1], backoff=None)
    return replace(columns, orders=orders)


def without_words(columns: LogColumns, left_out: NDArray[np.bool_]) -> LogColumns:
    """Only n-grams without these words. As unigrams they stay, but ``<unk>`` gets what they have: that they are now."""
    others = left_out.copy()
    others[UNK] = False
    prob = columns.columns.prob.copy()
    prob[UNK] = np.log10(np.sum(10.0 ** prob[[UNK, *np.flatnonzero(others)]].astype(np.float64)))
    columns = LogColumns(replace(columns.columns, prob=prob))
    kept = [np.ones(columns.sizes[0], np.bool_)]
    good = ~left_out
    for n in range(2, columns.order + 1):
        good = np.repeat(good, np.diff(columns.children(n))) & ~left_out[columns.words(n)]
        kept.append(good)
    lost = [
        np.bincount(
            np.repeat(np.arange(len(columns.children(n)) - 1), np.diff(columns.children(n))),
            ~kept[n - 1],
            columns.sizes[n - 2],
        )
        > 0
        for n in range(2, columns.order + 1)
    ]
    return _reweighted(columns.select(kept), [each[own] for each, own in zip(lost, kept, strict=False)])


def _reweighted(columns: LogColumns, some: list[NDArray[np.bool_]]) -> LogColumns:
    """The same with weights of some contexts of each length that make everything sum to one again."""
    weights = []
    for n in range(2, columns.order + 1):
        size = len(columns.children(n)) - 1
        owners = np.repeat(np.arange(size), np.diff(columns.children(n)))
        lower = columns.logs(n - 1)[columns.columns.suffixes(n)]
        logs = columns.logs(n), lower
        own, covered = (np.bincount(owners, 10.0 ** values.astype(np.float64), size) for values in logs)
        found = np.log10(np.maximum(1 - own, _LEAST) / np.maximum(1 - covered, _LEAST)).astype(np.float32)
        weights.append(np.where(some[n - 2], found, columns.weights(n - 1)))
    if not weights:
        return columns
    orders = [
        replace(order, backoff=each) for order, each in zip(columns.columns.orders, [*weights[1:], None], strict=True)
    ]
    return LogColumns(replace(columns.columns, backoff=weights[0], orders=orders))


def above_backoff(columns: LogColumns, below: Below) -> LogColumns:
    """N-grams that are never less probable than what backing off gives: for readers that take the best of all paths.

    Those that are get that probability ("raise"), or are left out, if they are no context of others ("drop").
    """
    if below == "keep":
        return columns
    prob, kept = columns.columns.prob, [np.ones(columns.sizes[0], np.bool_)]
    orders: list[Order] = []
    for n in range(2, columns.order + 1):
        order = columns.columns.orders[n - 2]
        raised = np.array(columns.logs(n))
        suffixes = columns.columns.suffixes(n)
        lower = prob if n == 2 else orders[-1].prob
        kernels.raise_logs(columns.children(n), suffixes, columns.weights(n - 1), np.asarray(lower), raised)
        kept.append(raised == columns.logs(n))
        orders.append(Order(order.words, order.children, raised, order.backoff))
    found = LogColumns(Columns(prob, columns.columns.backoff, None, orders))
    if below == "raise":
        return found
    for n in range(columns.order, 2, -1):  # contexts and suffixes of what is there stay
        needed = np.zeros(columns.sizes[n - 2], np.bool_)
        needed[columns.columns.suffixes(n)[kept[n - 1]]] = True
        own = kept[n - 1].astype(np.int64)
        needed |= np.diff(np.concatenate([[0], np.cumsum(own)])[columns.children(n)]) > 0
        kept[n - 2] |= needed
    return found.select(kept)
