"""The other toolkits, as commands. Those that are not on PATH are left out, and a note says so."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path
from typing import BinaryIO

import plre
from benchmarks.common import Command, made
from plre.text.sources import read_blocks

KENLM = all(map(shutil.which, ("lmplz", "build_binary", "query")))
KENLM_MODULE = KENLM and importlib.util.find_spec("kenlm") is not None
_TLM = ["tlm"] if shutil.which("tlm") else ["irstlm", "tlm"]
IRSTLM = shutil.which(_TLM[0]) is not None
MKCLS = shutil.which("mkcls") is not None
WCLUSTER = shutil.which("wcluster") is not None


def note(*peers: str) -> str:
    """A sentence on the peers that did not take part."""
    here = {
        "KenLM": (KENLM, "lmplz, build_binary and query are not on PATH"),
        "kenlm": (KENLM_MODULE, "the kenlm module or KenLM's programs are not installed"),
        "IRSTLM": (IRSTLM, "tlm is not on PATH"),
        "mkcls": (MKCLS, "it is not on PATH"),
        "wcluster": (WCLUSTER, "it is not on PATH"),
        "scikit-learn": (importlib.util.find_spec("sklearn") is not None, "it is not installed"),
    }
    return " ".join(f"{peer} is left out: {here[peer][1]}." for peer in peers if not here[peer][0])


def kenlm_train(text: Path, model: Path, order: int, memory: str, *kind: object) -> list[Command]:
    """Modified Kneser-Ney by lmplz, then the binary of that kind (probing if none is said).

    The fallback is for texts with a count that no n-gram has, where lmplz stops otherwise; others do not use it.
    """
    arpa = model.with_name(f"{text.stem}.{order}.arpa")
    return [
        Command("lmplz", "-o", order, "-S", memory, "-T", model.parent, "--discount_fallback", stdin=text, stdout=arpa),
        Command("build_binary", *(kind or ("probing",)), arpa, model),
    ]


def kenlm_text(lm: plre.LanguageModel, source: Path, target: Path) -> None:
    """The same text for KenLM: words that ``lm`` does not know, and ``<unk>`` itself, become a plain word."""
    with target.open("w") as out:
        for block in read_blocks(source):
            for line in block.data.split(b"\n")[:-1]:
                words = (word.decode() for word in line.split())
                known = (word if word in lm and word != "<unk>" else "UNKNOWN" for word in words)
                out.write(" ".join(known) + "\n")


def kenlm_query(model: Path, text: Path) -> Command:
    """Perplexity of a text."""
    return Command("query", "-v", "summary", model, stdin=text)


def irstlm_train(text: Path, model: Path, order: int) -> list[Command]:
    """IRSTLM's modified Kneser-Ney ("modified shift beta") without pruning; sentence markers are set beforehand."""

    def write(out: BinaryIO) -> None:
        with text.open("rb") as lines:
            out.writelines(b"<s> " + line.rstrip(b"\n") + b" </s>\n" for line in lines)

    marked = made(f"{text.stem}.marked.txt", write)
    return [Command(*_TLM, f"-tr={marked}", f"-n={order}", "-lm=msb", "-ps=no", f"-obin={model}")]


def perplexity(shown: str) -> float:
    """The perplexity in what ``query -v summary`` prints."""
    return float(shown.split("Perplexity including OOVs:")[1].split()[0])
