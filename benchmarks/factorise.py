"""A step of the KL factorisation beside scikit-learn and the machine's peaks: `python -m benchmarks factorise`."""

from __future__ import annotations

import importlib
import importlib.util
import warnings
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.common import QUICK, Figure, figures, measure, paragraphs, part, table
from plre.counts.local import count_ngrams
from plre.lowrank.blocks import Blocks
from plre.lowrank.factorise import Stopping, factorise
from plre.text.encode import encode_text
from plre.threads import cpu_count

RANKS = (20, 100)
#: A step is the difference between a longer and a shorter run, so that starting and finishing do not count.
OUR_STEPS = (5, 15) if QUICK else (10, 110)
THEIR_STEPS = (1, 2) if QUICK else (2, 7)
NOTE = (
    "The bigram counts of wikitext2 as one matrix; seconds of one step, as the difference between runs of "
    f"{OUR_STEPS[1]} and {OUR_STEPS[0]} steps (of scikit-learn's {THEIR_STEPS[1]} and {THEIR_STEPS[0]}), all cores. "
    "The peer is "
    '`sklearn.decomposition.NMF(solver="mu", beta_loss="kullback-leibler", tol=0)` on the same sparse float32 matrix.'
)


def bigrams() -> tuple[Blocks, np.ndarray]:
    """The matrix with one block, and its values."""
    counts = count_ngrams(encode_text(part("wikitext2", "train"), min_count=1, threads=cpu_count()), 2)
    blocks = Blocks(counts[1].children, counts[1].suffixes, counts[2].children, counts[2].suffixes)
    return blocks, counts[2].raw.astype(np.float32)


def ours(blocks: Blocks, values: np.ndarray, rank: int, steps: int) -> None:
    """So many steps; a negative tolerance never stops early."""
    stopping = Stopping(steps, -1.0)
    factorise(blocks, values, np.array([rank], np.int32), stopping=stopping, threads=cpu_count())


def theirs(matrix: Any, rank: int, steps: int) -> None:
    """Factorise the matrix with scikit-learn."""
    from sklearn.decomposition import NMF

    with warnings.catch_warnings(action="ignore"):  # that it has not converged
        loss: Any = "kullback-leibler"
        NMF(rank, solver="mu", beta_loss=loss, init="random", random_state=0, tol=0, max_iter=steps).fit(matrix)


def peaks() -> tuple[float, float] | None:
    """What the machine can do: GFLOP/s and GB/s on all cores."""
    if importlib.util.find_spec("benchmarks.peaks") is None:
        return None
    module: Any = importlib.import_module("benchmarks.peaks")
    return module.peak_gflops(cpu_count()), module.peak_bandwidth(cpu_count()) / 1e9


def run() -> str:
    blocks, values = bigrams()
    entries = len(values)
    runs: dict[str, Any] = {}
    for rank in RANKS:
        for steps in OUR_STEPS:
            runs[f"ours {rank} {steps}"] = lambda r=rank, s=steps: ours(blocks, values, r, s)
    note = peers.note("scikit-learn")
    if not note:
        from scipy.sparse import csc_matrix

        size = (int(blocks.row_start[-1]), len(blocks.column_block))
        matrix = csc_matrix((values, blocks.rows, blocks.column_start), shape=size).tocsr()
        for rank in RANKS:
            for steps in THEIR_STEPS:
                runs[f"theirs {rank} {steps}"] = lambda r=rank, s=steps: theirs(matrix, r, s)
    taken = {name: usage.seconds for name, usage in measure(runs).items()}

    def step(who: str, rank: int, steps: tuple[int, int]) -> float:
        return (taken[f"{who} {rank} {steps[1]}"] - taken[f"{who} {rank} {steps[0]}"]) / (steps[1] - steps[0])

    rows, speeds = [], []
    peak = peaks()
    for rank in RANKS:
        own = step("ours", rank, OUR_STEPS)
        peer = None if note else 1 / step("theirs", rank, THEIR_STEPS)
        rows.append(Figure(f"steps a second at rank {rank}, against scikit-learn", 1 / own, peer, "/s", at_least=40))
        # Each of the two halves of a step reads a row of the other side for each entry, and the entry and its place.
        # Two dot products and two sums of rows are 8 flops; 6 are needed, if the first product were kept.
        flops, traffic = 6 * entries * rank / own / 1e9, entries * (8 * rank + 16) / own / 1e9
        shares = ["-", "-"] if peak is None else [f"{flops / peak[0]:.0%}", f"{traffic / peak[1]:.0%}"]
        speeds.append([rank, f"{own * 1e3:.2f}", f"{flops:.1f}", shares[0], f"{traffic:.1f}", shares[1]])
    measured = (
        "" if peak is None else f" Measured peaks (`benchmarks/peaks.py`): {peak[0]:.0f} GFLOP/s, {peak[1]:.1f} GB/s."
    )
    return paragraphs(
        f"{entries:,} non-zeros, {cpu_count()} threads. {note}".strip(),
        figures(rows),
        "Speed at 6 flops for each non-zero and component. Bytes are those that the loops touch (8 for each non-zero "
        "and component, 16 for each non-zero); caches serve many of them, so the share may be above 100%." + measured,
        table(["rank", "ms a step", "GFLOP/s", "of the peak", "GB/s", "of the memory's peak"], speeds),
    )
