"""A comparison made by hand: every name that the paper has, a failure, a mixture; no model is trained for it."""

from __future__ import annotations

from pathlib import Path

from plre.comparison.methods import _PAPER_NAMES
from plre.comparison.plan import ComparisonSettings, Job, Texts
from plre.comparison.results import Comparison, Row
from plre.comparison.statistics import Gain, Spread
from plre.comparison.store import Result
from plre.comparison.texts import TextFiles

METHODS = (*_PAPER_NAMES, "mkn+class")
#: Test perplexity of each method as a multiple of the reference's.
_RATIOS = dict(zip(METHODS, (1.12, 1.19, 1.05, 1.025, 1.031, 1.0, 0.991, 1.09, 0.937, 0.92, 0.88, 0.86), strict=True))
_ORDERS = {2: 260.0, 3: 230.886, 4: 226.5}


def result(perplexity: float | None, order: int) -> Result:
    """What a job says, in the shape of `work.perform`."""
    text = {"words": 1000, "sentences": 50, "oov": 37, "tokens": 1050}
    return {
        "seconds": 1.7 * order,
        "peak_bytes": 200_000_000 + 3 * order,
        "start_bytes": 150_000_000,
        "model_bytes": 10_000_000 * order,
        "tokens_per_second": 6_000_000 / order,
        "vocabulary": 1234,
        "train": {"tokens": 21_000, "sentences": 1000},
        "rungs": {},
        "signature": f"plre:1|order:{order}",
        "warnings": ["the discounts of order 1 are <guessed> & 50 % off"] if order == 4 else [],
        "run": {"jobs": 2, "threads": 1},
        "dev": {**text, "perplexity": None if perplexity is None else perplexity * 1.07},
        "test": {**text, "perplexity": perplexity},
    }


def row(method: str, order: int) -> Row:
    job = Job(method, order)
    if method == "jm" and order == 4:
        return Row(job, error="line 3: <s> & 100 % of {braces}_ are wrong")
    perplexity = _ORDERS[order] * _RATIOS[method] * (1 + 0.01 * order * (_RATIOS[method] - 1))
    value = 1 - perplexity / _ORDERS[order]
    gain = (
        None if method == "mkn" else Gain(value, value - 0.004, value + 0.003, 0.0001 if abs(value) > 0.02 else 0.031)
    )
    parts = tuple(result(perplexity, order) for _ in job.parts)
    return Row(job, result(perplexity, order), None, Spread(perplexity + 0.4, 2.3), gain, parts)


def example(orders: tuple[int, ...] = (2, 3, 4)) -> Comparison:
    settings = ComparisonSettings(METHODS, orders, 2, None, (5, 10, 20, 50, 100), 0)
    texts = Texts(*(TextFiles(f"{name}_1.txt", (f"/x/{name}_1.txt",), 10, name) for name in ("train", "dev", "test")))
    ranks = tuple(
        Row(Job("plre", 3, rank), result(225 - 3 * i + i * i * 0.5, 3)) for i, rank in enumerate(settings.ranks)
    )
    rows = tuple(row(method, order) for order in orders for method in METHODS)
    return Comparison(settings, texts, rows, ranks, Path("out"), "1.2", "a machine", "plre compare --train 'a b'")
