"""Questions from Python, one at a time, beside the kenlm module: `python -m benchmarks python`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import plre
from benchmarks import models, peers
from benchmarks.common import Figure, Run, figures, measure, paragraphs, plain, scratch

NOTE = (
    f"The sentences of english's test text, one call each from one thread; models of {models.DESCRIBED}. Timed in one "
    "process: `lm.score(sentence)` beside `kenlm.Model.score(sentence)`, and for single words "
    "`lm.advance(state, word)` beside `kenlm.Model.BaseScore(state, word, next_state)`. Loops of Python around the "
    "calls are part of both."
)


def score_all(score: Callable[[str], float], sentences: list[str]) -> list[float]:
    """A call for each sentence."""
    return [score(sentence) for sentence in sentences]


def advance_all(lm: plre.LanguageModel, sentences: list[list[str]]) -> float:
    """A call for each word."""
    total = 0.0
    for words in sentences:
        state = lm.begin_state()
        for word in words:
            score, state = lm.advance(state, word)
            total += score
    return total


def base_score_all(model: Any, sentences: list[list[str]]) -> float:
    """Score every word with the kenlm module, state by state."""
    import kenlm

    total = 0.0
    state, after = kenlm.State(), kenlm.State()
    for words in sentences:
        model.BeginSentenceWrite(state)
        for word in words:
            total += model.BaseScore(state, word, after)
            state, after = after, state
    return total


def run() -> str:
    sentences = plain(models.CORPUS, "test").read_text().splitlines()
    split = [sentence.split() for sentence in sentences]
    words = sum(map(len, split))
    with scratch() as place:
        lms = {"mkn": plre.load(models.mkn(place)), "paper": plre.load(models.paper(place))}
        runs: dict[str, Run] = {}
        for name, lm in lms.items():
            runs[f"{name} score"] = lambda lm=lm: score_all(lm.score, sentences)  # type: ignore[misc]
            runs[f"{name} advance"] = lambda lm=lm: advance_all(lm, split)  # type: ignore[misc]
        agreement = ""
        if peers.KENLM_MODULE:
            import kenlm

            model = kenlm.Model(str(models.kenlm(place)))
            runs["kenlm score"] = lambda: score_all(model.score, sentences)
            runs["kenlm advance"] = lambda: base_score_all(model, split)
            pairs = zip(score_all(lms["mkn"].score, sentences), score_all(model.score, sentences), strict=True)
            apart = max(abs(a - b) for a, b in pairs)
            agreement = f"Largest difference between mkn's and KenLM's log10 of a sentence: {apart:.5f}."
        seconds = {name: usage.seconds for name, usage in measure(runs).items()}

    rows = []
    for name in lms:
        rate, own = seconds.get("kenlm score"), seconds[f"{name} score"]
        theirs = None if rate is None else len(sentences) / rate / 1e3
        target = 1.0 if name == "mkn" else None
        rows.append(Figure(f"`lm.score`, {name}", len(sentences) / own / 1e3, theirs, "k sentences/s", at_least=target))
    for name in lms:
        time = seconds.get("kenlm advance")
        theirs = None if time is None else time / words * 1e6
        target = 2.0 if name == "mkn" else None
        rows.append(
            Figure(f"`lm.advance`, {name}", seconds[f"{name} advance"] / words * 1e6, theirs, "µs/word", target)
        )
    return paragraphs(
        f"{len(sentences):,} sentences, {words:,} words. {agreement or peers.note('kenlm')}", figures(rows)
    )
