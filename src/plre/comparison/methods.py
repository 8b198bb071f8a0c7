"""Methods by name: what can be compared, what the paper calls it, and mixtures written ``mkn+class``."""

from __future__ import annotations

from collections.abc import Iterable

from plre.ensemble.recipe import BASELINES
from plre.errors import UsageError

#: What gains are measured against.
REFERENCE = "mkn"

#: The method whose low rank bigram gets a picture of its own.
ENSEMBLE = "plre"

_PAPER_NAMES = {
    "abs": "absolute discounting",
    "jm": "Jelinek-Mercer",
    "bo-kn": "BO-KN",
    "kn": "int-KN",
    "bo-mkn": "BO-MKN",
    "mkn": "int-MKN",
    "mkn-dev": "int-MKN (discounts fitted)",
    "class": "class-based",
    "plre": "PLRE",
    "fast": "PLRE fast",
    "best": "PLRE best",
}

#: Ensembles are methods of their own here: what "plre" is called in the paper's tables is the paper's.
PRESET_OF = {ENSEMBLE: "paper", "fast": "fast", "best": "best"}

_USUAL_MIXTURE = ("mkn", "class")


def known_methods() -> list[str]:
    """Methods and presets of ``plre train``, in the order of the paper's tables; what it does not have comes last."""
    known = {*BASELINES, *PRESET_OF}
    return [*(name for name in _PAPER_NAMES if name in known), *sorted(known - _PAPER_NAMES.keys())]


def default_methods() -> list[str]:
    """All of them, and Kneser-Ney mixed with classes: the fair opponent of an ensemble."""
    known = known_methods()
    return known + (["+".join(_USUAL_MIXTURE)] if set(_USUAL_MIXTURE) <= set(known) else [])


def components(method: str) -> tuple[str, ...]:
    """The parts of a mixture; nothing for a method that stands alone.

    >>> components("mkn+class"), components("mkn")
    (('mkn', 'class'), ())
    """
    return tuple(method.split("+")) if "+" in method else ()


def display_name(method: str) -> str:
    """The paper's name of a method.

    >>> display_name("mkn+class")
    'int-MKN + class-based'
    """
    return " + ".join(_PAPER_NAMES.get(part, part) for part in method.split("+"))


def chosen_methods(names: Iterable[str] | None) -> list[str]:
    """The methods asked for, checked, each once, with the reference first if it was not among them."""
    chosen = list(dict.fromkeys(names)) if names is not None else default_methods()
    known = known_methods()
    for name in chosen:
        for part in name.split("+"):
            if part not in known:
                whole = f" (a part of the mixture {name!r})" if components(name) else ""
                raise UsageError(f"there is no method {part!r}{whole}; choose from {', '.join(known)}, or mix with +")
        if len(set(name.split("+"))) < len(name.split("+")):
            raise UsageError(f"the mixture {name!r} has the same part twice")
    return chosen if REFERENCE in chosen else [REFERENCE, *chosen]
