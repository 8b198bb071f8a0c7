"""N-grams that stand for a model which knows more than n-grams can say, as well as so many of them can.

A back-off model has some n-grams with probabilities of their own; after each context all other words get what the
shorter context says, times a weight. So two things are to be found: which n-grams those are, and what shorter contexts
should say, to which nobody comes but for words that the longer ones do not have.

    every context h of the text, with the probability of all words after it, as the model has it
        words that are worth an n-gram: what each adds to the log-likelihood of the model's own text is more than a
        threshold (Stolcke's relative entropy pruning, the other way round)
        what is left goes to the shorter context: how often each word is asked for there
    each shorter context: from what was left to it, by EM (after Suresh et al. 2021), up to the words alone

A context is looked at with all longer ones that end in it, so a tree of suffixes is gone through, word by word, and
only what was chosen is kept of it.
"""

from __future__ import annotations

import queue
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from plre.errors import UsageError
from plre.exporting import _project as kernels
from plre.exporting.plain import without_empty
from plre.model.columns import Columns, Order
from plre.model.lm import LanguageModel
from plre.progress import Advance, Progress
from plre.pruning.stationary import low_rank_shares, stationary
from plre.pruning.tables import Table, read_tables
from plre.scratch import Scratch
from plre.text.vocabulary import BOS, EOS
from plre.threads import overlapped, parallel

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]

#: Bytes of rows of probabilities that a thread has at once.
_ROWS = 64_000_000
#: Longer contexts from which it is seen what a context says on average: for good, and to estimate a threshold.
_MEAN_OF, _SAMPLED_MEAN_OF = 128, 8
_STEPS, _TOLERANCE = 50, 1e-7
#: Bytes of memory for each n-gram while they are put in order.
_BYTES = 60
#: No word is impossible.
_LEAST = 1e-12
#: Thresholds that are tried on a sample, in occurrences in a text of as many words as there are n-grams to choose.
_GRID = np.geomspace(30, 1e-3, 14)
#: The sample: contexts of each length that are met most, and some of the others.
_MOST_MET, _OTHERS = 200, 800
#: A little more is chosen than there is room for; then what is worth least is left out.
_MORE = 1.02
#: By how much the threshold rises if contexts alone take more than there is room for.
_HIGHER = 1.5


@dataclass(frozen=True)
class Histories:
    """The contexts of a model's text by length, from the empty one on: how often each is met, and what follows."""

    #: The last word of each, the context without that, and the one without the oldest word.
    words: list[Ints]
    owners: list[Ints]
    suffixes: list[Ints]
    mass: list[Floats]
    #: Those that end in each context, one word longer: their numbers, and where those of each start.
    longer: list[tuple[Ints, NDArray[np.int64]]]

    def ids(self, n: int, numbers: Ints) -> Ints:
        """The words of contexts of length n, a row for each."""
        found = np.empty((len(numbers), n), np.int32)
        for k in range(n, 0, -1):
            found[:, k - 1] = self.words[k][numbers]
            numbers = self.owners[k][numbers]
        return found

    def followers(self, n: int, number: int) -> Ints:
        """The words after a context of length n in the text."""
        if n + 1 >= len(self.words):
            return np.empty(0, np.int32)
        start, stop = np.searchsorted(self.owners[n + 1], [number, number + 1])
        return self.words[n + 1][start:stop]

    def ending_in(self, n: int, number: int) -> Ints:
        """The contexts that are a word longer than one of length n and end in it."""
        if n + 1 >= len(self.words):
            return np.empty(0, np.int32)
        numbers, starts = self.longer[n]
        return numbers[starts[number] : starts[number + 1]]


def histories(lm: LanguageModel, order: int, threads: int) -> Histories:
    """The contexts of a model's word n-grams, and how often they are met; just the words if it has none."""
    size, none = len(lm.vocab), np.empty(0, np.int32)
    bodies = [each.body.ngrams() for each in lm.components if each.symbols is None]
    tables = next((_by_words_alone(read_tables(each)) for each in bodies if each is not None and each.order > 1), [])
    words, owners, suffixes = [none, np.arange(size, dtype=np.int32)], [none, np.zeros(size, np.int32)], [none, none]
    suffixes[1] = owners[1]
    for shorter, table in pairwise(tables[: order - 1]):
        words.append(table.words)
        owners.append(np.repeat(np.arange(len(shorter), dtype=np.int32), np.diff(shorter.children)))
        suffixes.append(table.suffixes)
    if tables:
        masses = stationary(tables, low_rank_shares(tables, threads), lm.markers).mass
        if len(words) > len(tables):
            masses = [*masses, masses[-1][owners[-1]] * tables[-1].prob]
    else:
        masses = [lm.distribution(())]
        masses[0][BOS] = masses[0][EOS]
    longer = []
    for n in range(1, len(words)):
        # What ends a sentence is no context.
        inside = np.flatnonzero(words[n] != EOS).astype(np.int32)
        numbers = inside[np.argsort(suffixes[n][inside], kind="stable")]
        counts = np.bincount(suffixes[n][inside], minlength=1 if n == 1 else len(words[n - 1]))
        longer.append((numbers, np.concatenate([[0], np.cumsum(counts)])))
    return Histories(words, owners, suffixes, [np.ones(1), *masses], longer)


def _by_words_alone(tables: Sequence[Table]) -> list[Table]:
    """N-grams without low rank layers, and without others that they lead: contexts say what these would have said."""
    made = []
    for n, table in enumerate(tables):
        backoff = table.backoff
        if n + 1 < len(tables):
            longer = tables[n + 1]
            owners = np.repeat(np.arange(len(table)), np.diff(table.children))
            given = table.prob[longer.suffixes]
            kept, covered = (np.bincount(owners, values, len(table)) for values in (longer.prob, given))
            backoff = (np.maximum(1 - kept, _LEAST) / np.maximum(1 - covered, _LEAST)).astype(np.float32)
        made.append(replace(table, backoff=backoff, missing=None, factors=None))
    unigram = made[0].prob / made[0].prob.sum(dtype=np.float64)
    made[0] = replace(made[0], prob=unigram.astype(np.float32))
    return made


@dataclass(frozen=True)
class _Offer:
    """The words that a context may have n-grams of, and what each must be worth; usually that is ``price``."""

    words: Ints
    prices: Floats
    price: float

    @staticmethod
    def of_all(size: int, price: float) -> _Offer:
        """All words but ``<s>``, which never comes next."""
        words = np.delete(np.arange(size, dtype=np.int32), BOS)
        return _Offer(words, np.full(len(words), price), price)


@dataclass(frozen=True)
class _Visited:
    """What was found of one context."""

    #: Words with n-grams of their own, what these are worth, and their probabilities.
    words: Ints
    gains: NDArray[np.float32]
    probs: Floats
    #: How often the shorter context is asked instead.
    left: float


@dataclass
class _Chosen:
    """The n-grams after contexts of one length, which are known by their numbers."""

    contexts: list[int] = field(default_factory=list)
    visited: list[_Visited] = field(default_factory=list)

    def add(self, contexts: Sequence[int], visited: Sequence[_Visited]) -> None:
        """Keep what was found of some contexts, if they have n-grams."""
        for context, each in zip(contexts, visited, strict=True):
            if len(each.words):
                self.contexts.append(context)
                self.visited.append(each)

    def __len__(self) -> int:
        return sum(len(each.words) for each in self.visited)


class _Visitor:
    """Visits contexts; each thread has one of its own."""

    def __init__(self, lm: LanguageModel, known: Histories, order: int) -> None:
        self.lm, self.known, self.order = lm, known, order
        self._buffers: dict[int, Floats] = {}
        self._words, self._gains = np.empty(len(lm.vocab), np.int32), np.empty(len(lm.vocab), np.float32)
        self.step = max(1, _ROWS // (8 * len(lm.vocab)))

    def rows(self, n: int, numbers: Ints) -> Floats:
        """P of all words after some contexts of length n; good until the next time that this length is asked for."""
        if n not in self._buffers:
            self._buffers[n] = np.empty((self.step, len(self.lm.vocab)))
        states = [row.tobytes() for row in self.known.ids(n, numbers)]
        return self.lm.distributions(states, out=self._buffers[n][: len(numbers)], threads=1)

    def choose(self, row: Floats, mass: float, lower: Floats, offer: _Offer) -> _Visited:
        """The words that are worth an n-gram."""
        count, kept = kernels.choose(row, mass, lower, offer.words, offer.prices, self._words, self._gains)
        words = self._words[:count].copy()
        return _Visited(words, self._gains[:count].copy(), row[words], mass * max(1 - kept, 0.0))

    def mean(self, n: int, number: int, row: Floats, longer: Ints, most: int) -> tuple[Floats, Floats]:
        """What is said after a context on average, by longer ones that end in it and where there is none; and their
        rows, if these are all."""
        alone, mass = self.alone(n, number, longer), self.known.mass[n + 1]
        some = longer if len(longer) <= min(most, self.step) else longer[:: -(-len(longer) // min(most, self.step))]
        rows = self.rows(n + 1, some)
        share = mass[longer].sum() / max(mass[some].sum(), _LEAST)
        total = share * (mass[some] @ rows) + alone * row
        return total / total.sum(), rows

    def alone(self, n: int, number: int, longer: Ints) -> float:
        """How often a context is met where the word before makes no longer one."""
        return max(float(self.known.mass[n][number] - self.known.mass[n + 1][longer].sum()), _LEAST)

    def longer(self, n: int, number: int) -> Ints:
        """The longer contexts that are looked at."""
        return self.known.ending_in(n, number) if n + 1 < self.order else np.empty(0, np.int32)

    def offer(self, n: int, number: int, found: Ints, before: _Offer) -> _Offer:
        """What the longer contexts of one can choose from: the words that were found worth an n-gram there, and those
        that follow it in the text, for which they have to pay an n-gram of the shorter context, too."""
        followers = self.known.followers(n, number)
        words = np.union1d(found, followers[np.isin(followers, before.words)]).astype(np.int32)
        return _Offer(words, np.where(np.isin(words, found), before.price, 2 * before.price), before.price)

    def visit(
        self, n: int, number: int, row: Floats, offer: _Offer, lower: Floats, chosen: list[_Chosen], out: Floats
    ) -> _Visited:
        """Choose n-grams after a context of length n and after all longer ones that end in it.

        ``row`` is what the model says after it, ``lower`` what the shorter one says. What is left to that is added to
        ``out``.
        """
        longer = self.longer(n, number)
        if not len(longer):
            found = self.choose(row, float(self.known.mass[n][number]), lower, offer)
            kernels.add_rest(row, float(self.known.mass[n][number]), found.words, out)
            return found
        mean, rows = self.mean(n, number, row, longer, _MEAN_OF)
        alone = self.alone(n, number, longer)
        words = self.choose(mean, alone + float(self.known.mass[n + 1][longer].sum()), lower, offer).words
        below = with_words(lower, mean, words)
        offered = self.offer(n, number, words, offer)
        rest = alone * row
        visited = []
        for start in range(0, len(longer), self.step):
            part = longer[start : start + self.step]
            if len(rows) != len(longer):
                rows = self.rows(n + 1, part)
            visited += [
                self.visit(n + 1, each, own, offered, below, chosen, rest)
                for each, own in zip(part.tolist(), rows, strict=True)
            ]
        words = np.unique(np.concatenate([words, *(each.words for each in visited)]))
        probs = shorter_says(words, rest, visited)
        chosen[n + 1].add(longer.tolist(), visited)
        rest[words] = 0
        out += rest
        return _Visited(words, np.zeros(len(words), np.float32), probs, float(rest.sum()))


def with_words(lower: Floats, row: Floats, words: Ints) -> Floats:
    """What is said after a context: of some words what ``row`` says, of others what the shorter context says."""
    weight = max(1 - row[words].sum(), _LEAST) / max(1 - lower[words].sum(), _LEAST)
    found = lower * weight
    found[words] = row[words]
    return found


def shorter_says(words: Ints, rest: Floats, longer: Sequence[_Visited]) -> Floats:
    """The probabilities of a context's own words, from how often each is asked for there after longer contexts."""
    starts = np.concatenate([[0], np.cumsum([len(each.words) for each in longer])])
    places = np.searchsorted(words, np.concatenate([words[:0], *(each.words for each in longer)])).astype(np.int32)
    counts = np.maximum(rest[words], 0)
    others = max(float(rest.sum() - rest[words].sum()), _LEAST)
    probs = counts / (counts.sum() + others)
    left = np.array([each.left for each in longer])
    kernels.maximise(counts, starts, places, left, others, _STEPS, _TOLERANCE, probs)
    return np.maximum(probs, _LEAST)


class _Sizes:
    """How many n-grams there would be at each threshold, from a sample of contexts."""

    def __init__(self, visitor: _Visitor, unigram: Floats, thresholds: Floats) -> None:
        self.visitor, self.unigram, self.thresholds = visitor, unigram, thresholds

    def of_length(self, n: int, advance: Advance) -> Floats:
        """N-grams after all contexts of length n, at each threshold."""
        mass = self.visitor.known.mass[n]
        numbers = np.flatnonzero(self.visitor.known.words[n] != EOS)
        numbers = numbers[np.argsort(-mass[numbers], kind="stable")]
        most, others = numbers[:_MOST_MET], numbers[_MOST_MET:]
        step = max(1, len(others) // _OTHERS)
        total = np.zeros(len(self.thresholds))
        for some, times in (
            (most, 1.0),
            (others[step // 2 :: step], len(others) / max(len(others[step // 2 :: step]), 1)),
        ):
            for number in some.tolist():
                total += times * self._chosen_after(n, number)
                advance(1)
        return total

    def _chosen_after(self, n: int, number: int) -> Floats:
        """N-grams after one context, at each threshold: of words that the shorter contexts have at that, too."""
        known, chain = self.visitor.known, [number]
        for k in range(n, 1, -1):
            chain.append(int(known.suffixes[k][chain[-1]]))
        rows = []
        for k, each in enumerate(reversed(chain), 1):
            row = self.visitor.rows(k, np.array([each], np.int32))[0].copy()
            longer = self.visitor.longer(k, each)
            if len(longer):
                row = self.visitor.mean(k, each, row, longer, _SAMPLED_MEAN_OF)[0]
            rows.append((row, float(known.mass[k][each])))
        counts = np.zeros(len(self.thresholds))
        for place, threshold in enumerate(self.thresholds.tolist()):
            offer, lower = _Offer.of_all(len(self.unigram), threshold), self.unigram
            for k, (row, mass) in enumerate(rows, 1):
                words = self.visitor.choose(row, mass, lower, offer).words
                lower = with_words(lower, row, words)
                if k < n:
                    offer = self.visitor.offer(k, chain[n - k], words, offer)
            counts[place] = len(words)
        return counts


def find_threshold(
    lm: LanguageModel, known: Histories, order: int, unigram: Floats, ngrams: int, threads: int, progress: Progress
) -> float:
    """The threshold at which there are about so many n-grams beside the words."""
    thresholds = _GRID / ngrams
    lengths = range(1, min(order, len(known.words)))
    with progress.stage("choosing a threshold", float(len(lengths) * (_MOST_MET + _OTHERS)), "contexts") as advance:
        sizes = parallel(
            lambda n: _Sizes(_Visitor(lm, known, order), unigram, thresholds).of_length(n, advance), lengths, threads
        )
    total = np.maximum.accumulate(np.sum(sizes, axis=0))  # thresholds fall
    return float(np.exp(np.interp(np.log(ngrams), np.log(np.maximum(total, 1)), np.log(thresholds))))


def project(
    lm: LanguageModel, ngrams: int, *, order: int | None = None, threads: int = 1, progress: Progress, scratch: Scratch
) -> Columns:
    """At most so many n-grams, words included, that say what a model says, as well as they can."""
    order = min(order or lm.order, lm.reach)
    size = len(lm.vocab)
    if ngrams < size:
        raise UsageError(f"the model has {size:,} words: there must be as many n-grams at least, not {ngrams:,}")
    scratch.check_room(_BYTES * ngrams + threads * (order + 1) * _ROWS, "an export", "ask for fewer n-grams")
    known = histories(lm, order, threads)
    order = min(order, len(known.words))
    if order == 1 or ngrams == size:
        return Columns(lm.distribution(()).astype(np.float32), np.ones(size, np.float32), None, [])
    unigram = lm.distribution(())
    visitors: queue.SimpleQueue[_Visitor] = queue.SimpleQueue()
    for _ in range(threads):
        visitors.put(_Visitor(lm, known, order))
    room = ngrams - size
    threshold = find_threshold(lm, known, order, unigram, max(int(_MORE * room), 1), threads, progress)

    while True:
        found, chosen = _choose_all(visitors, known, order, unigram, threshold, progress)
        if size + sum(map(len, chosen[1:-1])) <= ngrams:
            break
        threshold *= _HIGHER
    with progress.stage("putting n-grams in order"):
        return _Assembly(known, found / found.sum()).columns(chosen, room)


def _choose_all(
    visitors: queue.SimpleQueue[_Visitor], known: Histories, order: int, unigram: Floats, threshold: float,
    progress: Progress,
) -> tuple[Floats, list[_Chosen]]:  # fmt: skip
    """The probabilities of words without context, and the n-grams after contexts of each length."""
    size = len(unigram)
    offer = _Offer.of_all(size, threshold)

    def tree(word: int) -> tuple[_Visited, list[_Chosen], Floats]:
        visitor = visitors.get()
        try:
            chosen, left = [_Chosen() for _ in range(order)], np.zeros(size)
            row = visitor.rows(1, np.array([word], np.int32))[0].copy()
            return visitor.visit(1, word, row, offer, unigram, chosen, left), chosen, left
        finally:
            visitors.put(visitor)

    words = known.ending_in(0, 0).tolist()
    all_chosen, visited, rest = [_Chosen() for _ in range(order)], [], _LEAST * unigram
    amounts = [1 + (len(known.ending_in(1, word)) if order > 2 else 0) for word in words]
    with progress.stage("choosing n-grams", float(sum(amounts)), "contexts") as advance:
        for (_, (found, chosen, left)), amount in zip(
            overlapped(tree, iter(words), visitors.qsize()), amounts, strict=True
        ):
            visited.append(found)
            rest += left
            for whole, part in zip(all_chosen, chosen, strict=True):
                whole.add(part.contexts, part.visited)
            advance(amount)
    all_chosen[1].add(words, visited)
    probs = np.zeros(size)
    probs[offer.words] = shorter_says(offer.words, rest, visited)
    return probs, all_chosen


class _Assembly:
    """Puts what was chosen in order, from words up, and adds what has to be there: contexts, and what they end in."""

    def __init__(self, known: Histories, unigram: Floats) -> None:
        self.known = known
        #: Of the n-grams made last: context and word as one number, sorted; the n-gram without the oldest word; P.
        self.keys: NDArray[np.int64] = np.arange(len(unigram), dtype=np.int64)
        self.suffixes = np.zeros(len(unigram), np.int64)
        self.probs = unigram
        #: Where each context of the histories is among these n-grams.
        self.places = np.arange(len(unigram))
        self.backoffs: list[NDArray[np.float32]] = []
        self.orders: list[Order] = []

    def columns(self, chosen: Sequence[_Chosen], room: int) -> Columns:
        """All n-grams; of the highest order so many that there are no more than ``room`` beside the words."""
        unigram = self.probs.astype(np.float32)
        needed = self._needed(chosen)
        for n, own in enumerate(chosen[1:], 2):
            counts = [len(each.words) for each in own.visited]
            words = np.concatenate([np.empty(0, np.int64), *(each.words for each in own.visited)])
            probs = np.concatenate([np.empty(0), *(each.probs for each in own.visited)])
            keys = np.repeat(self.places[np.array(own.contexts, np.int64)], counts) << 32 | words
            if n == len(chosen):
                gains = np.concatenate([np.empty(0, np.float32), *(each.gains for each in own.visited)])
                best = np.argsort(-gains, kind="stable")[: max(room - sum(map(len, self.orders)), 0)]
                keys, probs = keys[best], probs[best]
            self._add(n, keys, probs, needed[n] if n < len(needed) else np.empty(0, np.int64))
        backoffs = [*self.backoffs[1:], None]
        orders = [replace(order, backoff=backoff) for order, backoff in zip(self.orders, backoffs, strict=True)]
        return without_empty(Columns(unigram, self.backoffs[0], None, orders))

    def _needed(self, chosen: Sequence[_Chosen]) -> list[NDArray[np.int64]]:
        """The contexts of each length that must be n-grams: those that have some, their own contexts and suffixes."""
        needed = [np.zeros(len(words), np.bool_) for words in self.known.words[: len(chosen)]]
        for n in range(len(needed) - 1, 1, -1):
            needed[n][chosen[n].contexts] = True
            needed[n - 1][self.known.owners[n][needed[n]]] = True
            needed[n - 1][self.known.suffixes[n][needed[n]]] = True
        return [np.flatnonzero(each) for each in needed]

    def _add(self, n: int, keys: NDArray[np.int64], probs: Floats, needed: NDArray[np.int64]) -> None:
        """The n-grams of order n. Needed ones that were not chosen get what they have anyway."""
        contexts = self.places[self.known.owners[n][needed]] if len(needed) else needed
        wanted = contexts << 32 | self.known.words[n][needed] if len(needed) else needed
        extra = np.setdiff1d(wanted, keys)
        order = np.argsort(np.concatenate([keys, extra]), kind="stable")
        chosen = np.concatenate([np.ones(len(keys), np.bool_), np.zeros(len(extra), np.bool_)])[order]
        probs = np.concatenate([probs, np.zeros(len(extra))])[order]
        keys = np.concatenate([keys, extra])[order]
        contexts, words = keys >> 32, keys & 0xFFFFFFFF
        suffixes = np.searchsorted(self.keys, self.suffixes[contexts] << 32 | words)
        lower = self.probs[suffixes]
        kept, covered = (np.bincount(contexts, values * chosen, len(self.keys)) for values in (probs, lower))
        weights = np.maximum(1 - kept, _LEAST) / np.maximum(1 - covered, _LEAST)
        probs = np.where(chosen, probs, weights[contexts] * lower)
        children = np.concatenate([[0], np.cumsum(np.bincount(contexts, minlength=len(self.keys)))])
        self.backoffs.append(weights.astype(np.float32))
        self.orders.append(Order(words.astype(np.int32), children.astype(np.int32), probs.astype(np.float32)))
        self.keys, self.suffixes, self.probs = keys, suffixes, probs
        self.places = np.zeros(len(self.known.words[n]) if n < len(self.known.words) else 0, np.int64)
        self.places[needed] = np.searchsorted(keys, wanted)
