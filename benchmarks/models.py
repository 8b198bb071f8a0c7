"""The models that questions are put to: english, order 3, every word kept, ours and KenLM's of the same n-grams."""

from __future__ import annotations

from pathlib import Path

from benchmarks import peers
from benchmarks.common import one_after_another, plain, plre_train

CORPUS, ORDER, MEMORY = "english", 3, "4G"
DESCRIBED = f"{CORPUS}, order {ORDER}"


def ours(place: Path, name: str, *options: object) -> Path:
    """Train one with these options."""
    model = place / f"{name}.plre"
    one_after_another(plre_train(plain(CORPUS, "train"), model, ORDER, *options))
    return model


def mkn(place: Path) -> Path:
    """Our modified Kneser-Ney."""
    return ours(place, "mkn", "--method", "mkn")


def paper(place: Path) -> Path:
    """Our low rank ensemble."""
    return ours(place, "paper", "--preset", "paper")


def fast(place: Path) -> Path:
    """Our preset fast."""
    return ours(place, "fast", "--preset", "fast", "--dev", plain(CORPUS, "valid"))


def best(place: Path) -> Path:
    """Our default."""
    return ours(place, "best", "--preset", "best", "--dev", plain(CORPUS, "valid"))


def kenlm(place: Path, *kind: object) -> Path:
    """KenLM's modified Kneser-Ney as a binary of that kind."""
    model = place / f"kenlm.{'-'.join(str(word).strip('-') for word in kind) or 'probing'}"
    one_after_another(peers.kenlm_train(plain(CORPUS, "train"), model, ORDER, MEMORY, *kind))
    return model
