from __future__ import annotations

import math
from collections import defaultdict

import numpy as np
import pytest
from scipy.optimize import minimize

from plre.counts.local import count_ngrams
from plre.counts.lookup import Events, look_up
from plre.smoothing import jelinek_mercer
from plre.smoothing._kernels import BUCKETS, bucket_of
from plre.smoothing.jelinek_mercer import Shares, fit_shares
from plre.text.encode import encode_text
from tests.conftest import zipf_text
from tests.reference import raw_counts
from tests.reference_smoothing import histories, left_out

TRAIN = [line.split() for line in zipf_text(60, words=40)]
DEV = [line.split() for line in zipf_text(25, words=40, seed=5)]


def events_of(order: int, text: list[list[str]]) -> tuple[Events, int]:
    encoded = encode_text([" ".join(s) for s in TRAIN], min_count=1)
    other = encode_text([" ".join(s) for s in text], vocab=encoded.vocab)
    return look_up(count_ngrams(encoded, order), other.ids, adjusted=False), len(encoded.vocab) - 1


def held_out(order: int) -> list[list[tuple[int, int]]]:
    """Counts and totals of the words of DEV, order by order, as ``left_out`` gives them of TRAIN."""
    raw = raw_counts(TRAIN, order)
    totals: dict = defaultdict(int)
    for counts in raw:
        for gram, c in counts.items():
            totals[gram[:-1]] += c
    known = {gram[0] for gram in raw[1]} | {"<s>", "</s>"}
    sentences = [[w if w in known else "<unk>" for w in s] for s in DEV]
    found = []
    for w, h in histories(sentences, order):
        contexts = [h[len(h) - n :] for n in range(len(h) + 1)]
        found.append([(raw[len(g) + 1][*g, w], totals[g]) for g in contexts])
    return found


def objective(events: list[list[tuple[int, int]]], words: int, shares: np.ndarray) -> float:
    """The log-likelihood, and the two events more of each bucket that somebody reaches."""
    total = 0.0
    reached = set()
    for event in events:
        p = 1 / words
        for n, (c, size) in enumerate(event):
            if size > 0:
                bucket = math.floor(math.log2(size))
                reached.add((n, bucket))
                s = shares[n, bucket]
                p = (1 - s) * c / size + s * p
        total += math.log(p)
    return total + sum(math.log(shares[place] * (1 - shares[place])) for place in reached)


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("leave_one_out", [False, True])
def test_em_finds_the_optimum(monkeypatch: pytest.MonkeyPatch, order: int, leave_one_out: bool) -> None:
    monkeypatch.setattr(jelinek_mercer, "_TOLERANCE", 1e-7)
    events, words = events_of(order, TRAIN if leave_one_out else DEV)
    twin = list(left_out(TRAIN, order)) if leave_one_out else held_out(order)
    assert len(twin) == len(events)
    fitted = np.array([s.by_bucket for s in fit_shares(events, 1 / words, leave_one_out=leave_one_out, threads=2)])
    ours = objective(twin, words, fitted)
    buckets = 1 + max(math.floor(math.log2(size)) for event in twin for _, size in event if size > 0)

    def cost(flat: np.ndarray) -> float:
        return -objective(twin, words, flat.reshape(order, buckets))

    best = min(
        minimize(cost, np.full(order * buckets, start), bounds=[(1e-4, 1 - 1e-4)] * (order * buckets)).fun
        for start in (0.3, 0.7)
    )
    assert ours == pytest.approx(-best, abs=1e-3)


def test_buckets_nobody_reaches_are_like_the_next_smaller() -> None:
    events, words = events_of(2, DEV)
    row = fit_shares(events, 1 / words, leave_one_out=False)[1]
    sizes = {bucket_of(int(total)) for total in events.found[1, :, 1] if total > 0}
    assert len(set(row.by_bucket[max(sizes) :])) == 1
    assert len(row.by_bucket) == BUCKETS
    assert all(0 < share < 1 for share in row.by_bucket)
    assert row.describe() == list(row.by_bucket[: len(row.describe())])
    nowhere = np.full((1, 4), -1, np.int32)
    never = Events(np.zeros((1, 4, 5), np.int64), nowhere, nowhere)
    assert set(fit_shares(never, 0.1, leave_one_out=True)[0].by_bucket) == {0.5}


def test_buckets() -> None:
    assert [bucket_of(total) for total in (1, 2, 3, 4, 7, 8, 2**31 - 1)] == [0, 1, 1, 2, 2, 3, 30]
    assert Shares((0.5, 0.5, 0.25, 0.1, 0.1, 0.1)).describe() == [0.5, 0.5, 0.25, 0.1]
