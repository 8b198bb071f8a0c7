"""The presets against KenLM: training, scoring, perplexity: `python -m benchmarks presets`."""

from __future__ import annotations

from pathlib import Path

import plre
from benchmarks import peers
from benchmarks.common import (
    QUICK,
    Figure,
    Run,
    count,
    figures,
    listing,
    measure,
    paragraphs,
    plain,
    plre_command,
    repeated,
    scratch,
    table,
)

CORPUS, ORDER, MEMORY = "english", 3, "4G"
WORDS = 500_000 if QUICK else 25_000_000
KENLM, KENLM_QUERY = "KenLM, lmplz + build_binary", "KenLM, query"
#: Options, how many times KenLM's training time it may take, and how many times its rate it should score at.
PRESETS: dict[str, tuple[tuple[object, ...], float | None, float | None]] = {
    "paper": (("--preset", "paper"), 0.4, None),
    "fast": (("--preset", "fast"), 0.6, None),
    "best": (("--preset", "best"), 1.5, 0.8),
}
NOTE = (
    f"{CORPUS}, order {ORDER}; words seen once are `<unk>`, in KenLM's text a plain word, so that both have the same "
    "n-grams. Weights of `fast` and `best` are fitted to the valid text (`--dev`); `paper` has its own ranks. Times of "
    f"whole processes. Scoring: `eval` of the training text, repeated to {WORDS:,} words, all cores; `query` has one "
    "thread."
)


def run() -> str:
    train, dev, test = (plain(CORPUS, name) for name in ("train", "valid", "test"))
    with scratch() as place:
        trained: dict[str, Run] = {}
        for name, (options, _, _) in PRESETS.items():
            where = ("-o", place / f"{name}.plre", "--order", ORDER, "--memory", MEMORY, "--tmp", place, "-q")
            given = () if name == "paper" else ("--dev", dev)
            trained[name] = [plre_command("train", train, *given, *options, *where)]
        if peers.KENLM:
            text = _same_words(train, place)
            trained[KENLM] = peers.kenlm_train(text, place / "kenlm.bin", ORDER, MEMORY)
        training = measure(trained)
        long = repeated(train, WORDS)
        asked: dict[str, Run] = {
            f"eval {name}": [plre_command("eval", place / f"{name}.plre", long, "-q")] for name in PRESETS
        }
        if peers.KENLM:
            asked[KENLM_QUERY] = [peers.kenlm_query(place / "kenlm.bin", long)]
        scoring = measure(asked)
        tested = {path.stem: plre.load(path).perplexity(test) for path in sorted(place.glob("*.plre"))}
        reference = plre.train(train, order=ORDER, method="mkn").perplexity(test)
    tokens = sum(count(long))
    rates = {name: tokens / usage.seconds / 1e6 for name, usage in scoring.items()}
    time = training[KENLM].seconds if KENLM in training else None
    gains = {name: 1 - perplexity / reference for name, perplexity in tested.items()}
    rows = []
    for name, (_, longest, slowest) in PRESETS.items():
        rows.append(Figure(f"training `{name}`", training[name].seconds, time, at_most=longest))
        rows.append(
            Figure(f"scoring by `{name}`", rates[f"eval {name}"], rates.get(KENLM_QUERY), "M/s", at_least=slowest)
        )
    rows.append(Figure("gain of `fast` as a share of that of `best`", gains["fast"], gains["best"], "", at_least=0.6))
    shown = [["modified Kneser-Ney", f"{reference:.2f}", ""]]
    shown += [[name, f"{tested[name]:.2f}", f"{gains[name]:.1%}"] for name in tested]
    return paragraphs(
        peers.note("KenLM"),
        figures(rows),
        table(["model", "test perplexity", "gain"], shown),
        listing({**trained, **asked}),
    )


def _same_words(train: Path, place: Path) -> Path:
    """The text with unknown words as a plain word."""
    words = plre.train(train, order=1, method="mkn")
    target = place / "kenlm.txt"
    peers.kenlm_text(words, train, target)
    return target
