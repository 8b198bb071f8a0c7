"""The sentences of a report: the headline, how it was done, what the statistics assume, what went wrong."""

from __future__ import annotations

from plre.comparison.methods import ENSEMBLE, REFERENCE, display_name
from plre.comparison.results import Comparison, Row
from plre.comparison.statistics import DRAWS, FLIPS, TEST_SETS
from plre.reporting import numbers

_REFERENCE_NAME = display_name(REFERENCE)


def headline(comparison: Comparison) -> list[str]:
    """The outcome in a sentence or two: the best model, and the ensemble if that is another."""
    best = comparison.best()
    sentences = []
    if best:
        sentences.append(f"{best.name} at order {best.job.order} has the lowest test perplexity, {_described(best)}.")
    ensemble = [row for row in comparison.of_method(ENSEMBLE) if row.test is not None]
    if ensemble and best and best.job.method != ENSEMBLE:
        row = min(ensemble, key=lambda row: row.test or 0.0)
        sentences.append(f"{row.name} does best at order {row.job.order} with {_described(row)}.")
    return sentences


def _described(row: Row) -> str:
    shown = numbers.perplexity(row.test)
    if not row.gain:
        return shown
    apart = "below" if row.gain.value >= 0 else "above"
    amount = numbers.percent(row.gain.value).lstrip("+−")
    inside = numbers.interval(row.gain.low, row.gain.high)
    return f"{shown}: {amount} {apart} {_REFERENCE_NAME} of that order (95 % interval of the gain: {inside})"


def method_notes(comparison: Comparison) -> list[str]:
    """Notes on how the numbers came about."""
    settings = comparison.settings
    vocabulary = numbers.count(comparison.facts()["vocabulary"])
    least = f"{settings.min_count} time" + ("s" if settings.min_count > 1 else "")
    notes = [
        "Perplexity counts all words and </s>; an unknown word is predicted as <unk>. The vocabulary, the same for all "
        f"methods, has the words seen at least {least} in the training text: {vocabulary} "
        "with <unk>, <s> and </s>. Every method that can use the dev text was given it; none has seen the test text.",
        f"gain: how much lower the test perplexity is than that of {_REFERENCE_NAME} of the same order, in percent of "
        "that.",
        f"{TEST_SETS} test sets: the paper's bootstrap. {TEST_SETS} times as many sentences as the test text has are "
        "drawn from it with replacement, the same for all methods: mean ± standard deviation of perplexity.",
        f"95 % interval: of the gain, over {numbers.count(DRAWS)} such draws on which both methods are measured.",
        f"p: two-sided sign-flip test of each method against {_REFERENCE_NAME}. Were both equally good, the difference "
        "of a sentence's log-probabilities could as well have the other sign; p is the share of "
        f"{numbers.count(FLIPS)} random ways to set all signs, and of what was seen, with a sum at least as large. "
        "It is not corrected for the number of methods.",
        "Interval and test take the sentences of the test text for independent of each other. In running text they are "
        "not quite that, so the truth is a little less sure than they say; and neither covers another training text or "
        "another random start.",
        "training: wall time from text to saved model, choosing on dev included, starting Python and "
        "compiling not. memory: the largest resident size of the process until then, "
        f"{numbers.size(_start(comparison))} of it before any text is read. query rate: tokens a second when scoring "
        f"the test text, the best of three. {_how_it_ran(comparison)}",
    ]
    if comparison.ranks:
        notes.append(
            f"Perplexity against rank: {display_name(ENSEMBLE)} of order {settings.middle} with the low rank bigram at "
            "power 0.5 and the rank shown, instead of the rank chosen on dev."
        )
    return notes


def _start(comparison: Comparison) -> float | None:
    """The memory that Python and compiled code take before any text is read."""
    sizes = [row.result["start_bytes"] for row in comparison.finished() if row.result and not row.job.parts]
    return min((size for size in sizes if size is not None), default=None)


def _how_it_ran(comparison: Comparison) -> str:
    ways = {(row.result["run"]["jobs"], row.result["run"]["threads"]) for row in comparison.finished() if row.result}
    shown = " or ".join(
        f"{jobs} job{'s' if jobs > 1 else ''} side by side with {threads} thread{'s' if threads > 1 else ''} each"
        for jobs, threads in sorted(ways)
    )
    mixed = " (results of several runs: compare their times with care)" if len(ways) > 1 else ""
    return f"Run as {shown}{mixed} on: {comparison.machine}."


def problems(comparison: Comparison) -> list[str]:
    """Warnings that a reader must know before believing a number."""
    found = [f"{row.job.name} failed: {row.error}" for row in comparison.failed()]
    texts = list(comparison.texts.named().items())
    for i, (name, text) in enumerate(texts):
        for other, same in texts[i + 1 :]:
            if text.digest == same.digest:
                found.append(f"{name} and {other} are the same text: the perplexities below say little.")
    warnings: dict[str, list[str]] = {}
    for row in comparison.finished():
        for warning in row.result["warnings"] if row.result else []:
            warnings.setdefault(warning, []).append(row.job.name)
        if row.test is None:
            found.append(f"{row.job.name}: gives some word of the test text no probability; it has no perplexity.")
    return found + [f"{_few(names)}: {warning}" for warning, names in warnings.items()]


def _few(names: list[str]) -> str:
    """A list of names, shortened if there are many."""
    return "; ".join(names) if len(names) < 4 else f"{'; '.join(names[:2])}; and {len(names) - 2} other models"


def signatures(comparison: Comparison) -> list[tuple[str, str]]:
    """Name and signature of each model."""
    return [(row.job.name, row.result["signature"]) for row in comparison.finished() if row.result]
