"""The exchange algorithm against its definition: likelihoods from dictionaries, gains from two likelihoods."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from plre.clustering import _kernels as kernels
from plre.clustering.exchange import PRICE, Neighbours, Partition, exchange, partition_words
from plre.counts.local import count_ngrams
from plre.counts.ngrams import Counts
from plre.errors import TooLargeError, UsageError
from plre.text.encode import TextOptions, encode_text
from plre.threads import Team

sentences = st.lists(st.lists(st.sampled_from("abcdefg"), min_size=1, max_size=8), min_size=1, max_size=12)


def counted(lines: list[str], markers: bool = True) -> Counts:
    return count_ngrams(encode_text(lines, min_count=1, options=TextOptions(markers)), 2)


def bigrams(counts: Counts) -> dict[tuple[int, int], int]:
    table = counts[2]
    pairs = zip(table.contexts().tolist(), table.words.tolist(), strict=True)
    return dict(zip(pairs, table.raw.tolist(), strict=True))


def by_definition(pairs: dict[tuple[int, int], int], class_of: NDArray[np.int32], price: float = PRICE) -> float:
    """The class bigrams' log-likelihood without the words, sum N ln N less the same of either side; less the price."""
    cells: Counter[tuple[int, int]] = Counter()
    left: Counter[int] = Counter()
    right: Counter[int] = Counter()
    for (v, w), count in pairs.items():
        a, b = int(class_of[v]), int(class_of[w])
        cells[a, b] += count
        left[a] += count
        right[b] += count
    total, *sides = (sum(n * log(n) for n in counter.values()) for counter in (cells, left, right))
    return total - sum(sides) - price * len(cells)


def some_partition(counts: Counts, classes: int, seed: int) -> Partition:
    words = len(counts[1])
    class_of = np.random.default_rng(seed).integers(0, classes, words, dtype=np.int32)
    return Partition(Neighbours.of(counts), class_of, classes)


@given(sentences, st.booleans(), st.integers(1, 5), st.integers(0, 99))
def test_likelihood_and_gains_are_those_of_the_definition(
    text: list[list[str]], markers: bool, classes: int, seed: int
) -> None:
    counts = counted([" ".join(words) for words in text], markers)
    pairs = bigrams(counts)
    partition = some_partition(counts, classes, seed)
    before = by_definition(pairs, partition.class_of)
    assert partition.worth() == pytest.approx(before, abs=1e-9)
    assert partition.likelihood() == pytest.approx(by_definition(pairs, partition.class_of, 0), abs=1e-9)
    occurring = [w for w in range(len(counts[1])) if counts[1].raw[w] and w not in (1, 2)]
    for w in occurring:
        gains = {}
        for to in range(classes):
            moved = partition.class_of.copy()
            moved[w] = to
            gains[to] = by_definition(pairs, moved) - before
        found = partition.gains(w)
        assert found == pytest.approx([gains[to] for to in range(classes)], rel=1e-5, abs=1e-4)


@given(sentences, st.booleans(), st.integers(2, 5), st.integers(0, 99))
def test_counts_and_gains_follow_each_move(text: list[list[str]], markers: bool, classes: int, seed: int) -> None:
    counts = counted([" ".join(words) for words in text], markers)
    pairs = bigrams(counts)
    partition = some_partition(counts, classes, seed)
    rng = np.random.default_rng(seed)
    for w in range(len(counts[1])):
        if not partition.times[w] or w in (1, 2):
            continue
        before = by_definition(pairs, partition.class_of)
        to = rng.integers(0, classes, 1, dtype=np.int32)
        stays = bool(to[0] == partition.class_of[w])
        own = np.array([w], np.int32)
        moved, gained = kernels.move(own, to, np.inf, partition.times, *partition.counted(), classes)
        assert moved == (not stays)
        assert partition.class_of[w] == to[0]
        assert gained == pytest.approx(by_definition(pairs, partition.class_of) - before, abs=1e-9)
        fresh = Partition(partition.neighbours, partition.class_of, classes)
        np.testing.assert_array_equal(partition.cells, fresh.cells)
        np.testing.assert_array_equal(partition.totals, fresh.totals)


def test_a_sweep_without_a_threshold_never_loses(text: list[str]) -> None:
    counts = counted(text)
    words = np.flatnonzero(counts[1].raw > 0).astype(np.int32)
    words = words[words > 2]
    partition = some_partition(counts, 12, 1)
    before = partition.worth()
    with Team(1) as team:
        for _ in range(6):
            partition.sweep(words, partition.neighbours.batches(words), team)
            assert partition.worth() >= before
            before = partition.worth()


def planted(classes: int, words: int, size: int) -> list[str]:
    """Sentences in which class k is followed by class k + 1 or k + 3, and each class has its own words."""
    rng = np.random.default_rng(0)
    lines = []
    for _ in range(size):
        k, line = int(rng.integers(classes)), []
        for _ in range(12):
            line.append(f"c{k}w{rng.integers(words)}")
            k = (k + int(rng.choice([1, 3]))) % classes
        lines.append(" ".join(line))
    return lines


def test_planted_classes_are_found() -> None:
    encoded = encode_text(planted(7, 9, 1500), min_count=1)
    found = exchange(count_ngrams(encoded, 2), 7)
    classes: dict[str, set[int]] = {}
    for w in range(3, len(encoded.vocab)):
        classes.setdefault(encoded.vocab.word(w).split("w")[0], set()).add(int(found[w]))
    assert all(len(each) == 1 for each in classes.values())
    assert len(set().union(*classes.values())) == 7


def test_threads_change_nothing_and_seeds_do(text: list[str]) -> None:
    counts = counted(text)
    one = exchange(counts, 20, threads=1)
    np.testing.assert_array_equal(one, exchange(counts, 20, threads=3))
    assert (one != exchange(counts, 20, seed=1)).any()


@pytest.mark.parametrize("markers", [True, False])
@pytest.mark.parametrize("lines", [["a"], ["a a a a"], ["a b"], ["a b c d", "d c b a"], ["<unk> a <unk>"]])
@pytest.mark.parametrize("classes", [1, 2, 50])
def test_tiny_texts(lines: list[str], markers: bool, classes: int) -> None:
    counts = counted(lines, markers)
    found = exchange(counts, classes)
    occurs = counts[1].raw > 0
    occurs[[1, 2]] = False
    assert found.dtype == np.int32
    assert (found[occurs] >= 0).all()
    assert (found[~occurs] == -1).all()
    assert found.max() < classes
    if classes >= occurs.sum():
        assert len(set(found[occurs].tolist())) == occurs.sum()


@pytest.mark.parametrize("classes", [1, 40])
def test_no_word_waits_where_none_can_move(classes: int) -> None:
    """A long text with fewer words than classes, or one class."""
    rng = np.random.default_rng(0)
    words = [f"w{k}" for k in (30 ** rng.random(60_000)).astype(int)]
    counts = counted([" ".join(words[i : i + 20]) for i in range(0, len(words), 20)])
    found = exchange(counts, classes)
    occurs = np.flatnonzero(np.asarray(counts[1].raw[:]) > 100)
    assert len(set(found[occurs[occurs > 2]].tolist())) == min(classes, len(occurs[occurs > 2]))
    assert found.max() < classes


def test_few_classes_of_a_very_long_text_are_refused() -> None:
    counts = counted(["a b c d e"])
    neighbours = Neighbours.of(counts)
    longer = replace(neighbours, times=neighbours.times * 2**30)
    with pytest.raises(TooLargeError, match="at least 50"):
        partition_words(longer, np.asarray(counts[1].raw[:]), 2, sweeps=3, seed=0, threads=1, progress=None)


def test_what_makes_no_sense_is_refused() -> None:
    counts = counted(["a b"])
    with pytest.raises(UsageError, match="at least 1 class"):
        exchange(counts, 0)
    with pytest.raises(UsageError, match="order 2"):
        exchange(Counts(counts.tables[:1], True, 3), 2)


def test_large_counts_are_beyond_the_table() -> None:
    table = np.array([0.0, -1.0, 2 * log(2) - 1])
    cells = np.array([1, 2, 5, 0, 7], np.int32)
    totals = np.array([1, 2, 12], np.int32)
    expected = 2 * log(2) + 5 * log(5) + 7 * log(7) - 2 * log(2) - 12 * log(12)
    assert kernels.likelihood(table, cells, totals) == pytest.approx((expected, 4))
