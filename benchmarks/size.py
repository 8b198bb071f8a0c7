"""How large a model file is, beside KenLM's: `python -m benchmarks size`."""

from __future__ import annotations

from pathlib import Path

import plre
from benchmarks import models, peers
from benchmarks.common import Figure, figures, paragraphs, plain, scratch, table

KENLM_PROBING, KENLM_TRIE = "KenLM probing", "KenLM trie, 8 bits"
NOTE = (
    f"`mkn`, {models.DESCRIBED}: `plre train --method mkn --min-count 1` with and without `--quantise`; "
    "`build_binary probing` and `build_binary -q 8 -b 8 trie` on lmplz's output. Perplexity is that of the test text."
)


def by_section(lm: plre.LanguageModel) -> dict[str, str]:
    """Bytes of each section of the file, and for each n-gram of its order."""
    info = lm.info()
    shown = {}
    for section, size in info["bytes"].items():
        order = int(section[5]) if section.startswith("order") else 1
        shown[section] = f"{size:,} ({size / info['ngrams'][order - 1]:.2f})"
    return shown


def run() -> str:
    test = plain(models.CORPUS, "test")
    with scratch() as place:
        made: dict[str, Path] = {"mkn": models.mkn(place)}
        for bits in (16, 8):
            made[f"mkn --quantise {bits}"] = models.ours(place, f"q{bits}", "--method", "mkn", "--quantise", bits)
        lms = {name: plre.load(path) for name, path in made.items()}
        perplexity = {name: lm.perplexity(test) for name, lm in lms.items()}
        if peers.KENLM:
            made[KENLM_PROBING] = models.kenlm(place)
            made[KENLM_TRIE] = models.kenlm(place, "-q", 8, "-b", 8, "trie")
            for name in (KENLM_PROBING, KENLM_TRIE):
                query = peers.kenlm_query(made[name], test)
                query.run()
                perplexity[name] = peers.perplexity(query.output)
        megabytes = {name: path.stat().st_size / 1e6 for name, path in made.items()}
        ngrams = lms["mkn"].info()["ngrams"]
        sections = {name: by_section(lm) for name, lm in lms.items()}
    files = [
        [name, f"{megabytes[name]:.2f}", f"{megabytes[name] * 1e6 / sum(ngrams):.2f}", f"{perplexity[name]:.3f}"]
        for name in made
    ]
    names = list(dict.fromkeys(section for each in sections.values() for section in each))
    quantised = megabytes["mkn --quantise 8"], megabytes.get(KENLM_TRIE)
    rows = [
        Figure("`mkn` against KenLM probing", megabytes["mkn"], megabytes.get(KENLM_PROBING), "MB", 0.7),
        Figure("`mkn --quantise 8` against KenLM's trie with 8 bits", *quantised, "MB", 1.2),
    ]
    return paragraphs(
        f"{' + '.join(f'{n:,}' for n in ngrams)} n-grams. {peers.note('KenLM')}".strip(),
        figures(rows),
        table(["file", "MB", "bytes an n-gram", "test perplexity"], files),
        "Bytes of each section (`lm.info()`), and for each n-gram of that order:",
        table(["section", *sections], [[s, *(each.get(s, "-") for each in sections.values())] for s in names]),
    )
