"""Questions from Python, one at a time, beside the kenlm module: `python -m benchmarks python`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import plre
from benchmarks import models, peers
from benchmarks.common import (
    QUICK,
    Figure,
    Run,
    figures,
    measure,
    one_after_another,
    paragraphs,
    plain,
    plre_train,
    scratch,
)

NOTE = (
    f"The sentences of english's test text, one call each from one thread; models of {models.DESCRIBED}. Timed in one "
    "process: `lm.score(sentence)` beside `kenlm.Model.score(sentence)`, and for single words "
    "`lm.advance(state, word)` beside `kenlm.Model.BaseScore(state, word, next_state)`. Loops of Python around the "
    "calls are part of both."
)


#: How many times the time of KenLM's BaseScore a step may take.
ADVANCE = {"mkn": 1.5, "fast": 3.0, "best": 5.0}
SAMPLES = 20 if QUICK else 1000


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
        made = {"mkn": models.mkn, "paper": models.paper, "fast": models.fast, "best": models.best}
        lms = {name: plre.load(make(place)) for name, make in made.items()}
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
        own = seconds[f"{name} advance"] / words * 1e6
        rows.append(Figure(f"`lm.advance`, {name}", own, theirs, "µs/word", ADVANCE.get(name)))
    return paragraphs(
        f"{len(sentences):,} sentences, {words:,} words. {agreement or peers.note('kenlm')}",
        figures(rows),
        "The whole vocabulary (no such question in KenLM): wikitext2, order 3, 33 k words, `best`; contexts are four "
        "words of its test text.",
        figures(vocabulary()),
    )


def vocabulary() -> list[Figure]:
    """Questions about all words at once."""
    lines = [line.split() for line in plain("wikitext2", "test").read_text().splitlines()]
    contexts = [line[i : i + 4] for line in lines for i in range(0, len(line) - 4, 97)][:1000]
    with scratch() as place:
        model = place / "best.plre"
        dev = plain("wikitext2", "valid")
        one_after_another(plre_train(plain("wikitext2", "train"), model, 3, "--preset", "best", "--dev", dev))
        lm = plre.load(model)
        sampled = sum(len(lm.sample(seed=seed).split()) + 1 for seed in range(SAMPLES))
        together = sum(len(line.split()) + 1 for line in lm.samples(SAMPLES, seed=1))
        runs: dict[str, Run] = {
            "distribution": lambda: [lm.distribution(context)[0] for context in contexts],
            "next_words": lambda: [lm.next_words(context, k=5) for context in contexts],
            "sample": lambda: [lm.sample(seed=seed) for seed in range(SAMPLES)],
            "distributions": lambda: lm.distributions(contexts[:200])[0, 0],
            "samples": lambda: lm.samples(SAMPLES, seed=1),
        }
        seconds = {name: usage.seconds for name, usage in measure(runs).items()}
    each = {name: seconds[name] / len(contexts) * 1e3 for name in ("distribution", "next_words")}
    return [
        Figure("`lm.distribution`, best", each["distribution"], None, "ms", 0.15, alone=True),
        Figure("`lm.next_words(k=5)` against it", each["next_words"], each["distribution"], "ms", 1.3),
        Figure("`lm.distributions` of 200 contexts, each", seconds["distributions"] / 200 * 1e3, None, "ms"),
        Figure("`lm.sample`, best", sampled / seconds["sample"], None, "words/s", at_least=20_000, alone=True),
        Figure(f"`lm.samples({SAMPLES})`, best", together / seconds["samples"], None, "words/s"),
    ]
