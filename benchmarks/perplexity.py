"""Test perplexity of every method: `python -m benchmarks perplexity`."""

from __future__ import annotations

from pathlib import Path

import plre
from benchmarks import peers
from benchmarks.common import CORPORA, Command, part, scratch, table

NOTE = (
    "Test perplexity, all words and `</s>` counted, unknown words as `<unk>`. KenLM: `lmplz` and `query` on the same "
    "text with `<unk>` renamed to a plain word. Without dev text the fractions are 0.0005 / 0.001."
)
CASES = [("wikitext2", 3), ("wikitext2", 5), ("english", 3), ("russian", 3)]


def kenlm(lm: plre.LanguageModel, folder: str, order: int) -> str:
    """Test perplexity of KenLM's lmplz and query on the same text, `<unk>` being a plain word; "-" without them."""
    if not peers.KENLM:
        return "-"
    with scratch() as place:
        for name in ("train", "test"):
            peers.kenlm_text(lm, part(folder, name), Path(place, name))
        arpa, test = Path(place, "arpa"), Path(place, "test")
        Command("lmplz", "-o", order, "-S", "4G", "-T", place, stdin=Path(place, "train"), stdout=arpa).run()
        query = peers.kenlm_query(arpa, test)
        query.run()
    return f"{peers.perplexity(query.output):.3f}"


def run() -> str:
    rows = []
    for folder, order in CASES:
        min_count = CORPORA[folder]
        values: dict[str, float] = {}
        for name, options in {
            "kn": {"method": "kn"},
            "mkn": {"method": "mkn"},
            "plre": {"method": "plre", "preset": "paper"},
            "dev": {"method": "plre", "preset": "paper", "dev": part(folder, "valid")},
        }.items():
            lm = plre.train(part(folder, "train"), order=order, min_count=min_count, **options)  # type: ignore[arg-type]
            values[name] = lm.perplexity(part(folder, "test"))
        chosen = " / ".join(rungs[0][1] for _, rungs in sorted(lm.metadata["rungs"].items()))
        gain = 1 - values["dev"] / values["mkn"]
        ours = [f"{values['kn']:.3f}", f"{values['mkn']:.3f}", kenlm(lm, folder, order), f"{values['plre']:.2f}"]
        rows.append([folder, order, *ours, f"**{values['dev']:.2f}**", f"{gain:.1%}", chosen])
    return table(
        ["corpus", "order", "kn", "mkn", "KenLM", "plre", "plre, ranks chosen on dev", "gain over mkn",
         "fractions chosen (bigram / slices)"],
        rows,
    )  # fmt: skip
