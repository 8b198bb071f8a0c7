"""A tree of contexts as one reads it, over dictionaries: the oracle for counts, probabilities and states."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence

from plre.text.vocabulary import BOS, EOS

Symbols = tuple[int, ...]
Event = tuple[Symbols, int]
#: For each slot: the symbol of a word, and how many words back it looks.
Chain = Sequence[tuple[Callable[[int], int], int]]


def context_of(before: Sequence[int], chain: Chain) -> Symbols:
    """What the slots read after these words of a sentence, the first of which is ``<s>``.

    Beyond ``<s>`` is more of it; once that is known, slots that cannot say anything else are left out.
    """
    start = len(before)
    symbols: list[int] = []
    for number, (symbol, distance) in enumerate(chain):
        told = [d for _, d in chain[:number] if d >= start]
        if told and all(d >= min(told) for _, d in chain[number:]):
            break
        symbols.append(symbol(before[-distance] if distance <= start else BOS))
    return tuple(symbols)


def contexts(ids: Sequence[int], chain: Chain) -> list[Symbols | None]:
    """The context of each position of a text, None for ``<s>``. Before the text is ``<s>``, written or not."""
    found: list[Symbols | None] = []
    sentence = [BOS]
    for w in ids:
        found.append(None if w == BOS else context_of(sentence, chain))
        sentence = [BOS] if w == BOS else [*sentence, w]
    return found


def raw_counts(ids: Sequence[int], chain: Chain) -> list[Counter[Event]]:
    """Occurrences of a context and a word, for each level."""
    raw: list[Counter[Event]] = [Counter() for _ in range(len(chain) + 1)]
    for w, context in zip(ids, contexts(ids, chain), strict=True):
        if context is not None:
            for level in range(len(context) + 1):
                raw[level][context[:level], w] += 1
    return raw


def adjusted_counts(raw: list[Counter[Event]]) -> list[dict[Event, int]]:
    """In how many finer contexts an event is seen, or its raw count where there are none."""
    finer: dict[Event, set[Symbols]] = defaultdict(set)
    for level in raw[1:]:
        for context, w in level:
            finer[context[:-1], w].add(context)
    return [{event: len(finer[event]) or count for event, count in level.items()} for level in raw]


class Tree:
    """P(w | context) by the recursion."""

    def __init__(
        self, ids: Sequence[int], words: int, chain: Chain, discounts: Sequence[Sequence[float]], cut: int
    ) -> None:
        raw = raw_counts(ids, chain)
        self.chain = chain
        self.words = [w for w in range(words) if w != BOS]
        self.discounts = discounts
        self.seen: list[dict[Symbols, dict[int, tuple[int, bool]]]] = []
        for level, counts in enumerate(adjusted_counts(raw)):
            self.seen.append(defaultdict(dict))
            for (context, w), count in counts.items():
                self.seen[level][context][w] = count, level < 2 or raw[level][context, w] >= cut

    def prob(self, w: int, context: Symbols) -> float:
        """P(w | context), for what :func:`context_of` gives."""
        level = len(context)
        below = self.prob(w, context[:-1]) if context else 1 / len(self.words)
        seen = self.seen[level].get(context, {})
        if not any(kept for _, kept in seen.values()):
            return below
        discount = {w: min(self.discounts[level][min(c, 3) - 1], c) if kept else c for w, (c, kept) in seen.items()}
        total = sum(c for c, _ in seen.values())
        own = seen[w][0] - discount[w] if w in seen else 0.0
        return own / total + sum(discount.values()) / total * below

    def distribution(self, before: Sequence[int]) -> list[float]:
        """P of every word but ``<s>`` after these words of a sentence."""
        context = context_of(before, self.chain)
        return [self.prob(w, context) for w in self.words]


def text_of(sentences: Sequence[Sequence[int]]) -> list[int]:
    """Sentences of ids as one text with markers."""
    return [w for sentence in sentences for w in (BOS, *sentence, EOS)]
