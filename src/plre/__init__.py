"""Language modelling with Power Low Rank Ensembles.

>>> import plre
>>> lm = plre.train("corpus.txt", order=3)         # doctest: +SKIP
>>> lm.score("the cat sat")                        # doctest: +SKIP
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from plre._version import __version__
from plre.errors import ModelFileError, PlreError, PlreWarning, TextError, UsageError

if TYPE_CHECKING:
    from plre.clustering.cluster import Clustering, cluster
    from plre.comparison.compare import compare
    from plre.comparison.results import Comparison
    from plre.ensemble.mixing import mix
    from plre.ensemble.recipe import Rung
    from plre.evaluation.report import Report, evaluate
    from plre.exporting.export import export_arpa
    from plre.interop.importing import import_arpa
    from plre.interop.opening import open_model as load
    from plre.lowrank.blocks import Rank
    from plre.model.lm import LanguageModel
    from plre.model.steps import State, Step
    from plre.progress import Progress
    from plre.pruning.prune import prune
    from plre.text.tokens import Tokenizer, Tokens
    from plre.text.vocabulary import Vocabulary
    from plre.training import train
    from plre.tuning.result import TuneResult
    from plre.tuning.tune import tune

#: Where each public name lives; imported when first used, so that ``import plre`` is light.
_LAZY = {
    "Clustering": "plre.clustering.cluster",
    "Comparison": "plre.comparison.results",
    "LanguageModel": "plre.model.lm",
    "Progress": "plre.progress",
    "Rank": "plre.lowrank.blocks",
    "Report": "plre.evaluation.report",
    "Rung": "plre.ensemble.recipe",
    "State": "plre.model.steps",
    "Step": "plre.model.steps",
    "Tokenizer": "plre.text.tokens",
    "Tokens": "plre.text.tokens",
    "TuneResult": "plre.tuning.result",
    "Vocabulary": "plre.text.vocabulary",
    "cluster": "plre.clustering.cluster",
    "compare": "plre.comparison.compare",
    "evaluate": "plre.evaluation.report",
    "export_arpa": "plre.exporting.export",
    "import_arpa": "plre.interop.importing",
    "mix": "plre.ensemble.mixing",
    "prune": "plre.pruning.prune",
    "train": "plre.training",
    "tune": "plre.tuning.tune",
}

__all__ = [
    "Clustering",
    "Comparison",
    "LanguageModel",
    "ModelFileError",
    "PlreError",
    "PlreWarning",
    "Progress",
    "Rank",
    "Report",
    "Rung",
    "State",
    "Step",
    "TextError",
    "Tokenizer",
    "Tokens",
    "TuneResult",
    "UsageError",
    "Vocabulary",
    "__version__",
    "cluster",
    "compare",
    "evaluate",
    "export_arpa",
    "import_arpa",
    "load",
    "mix",
    "prune",
    "train",
    "tune",
]


def __getattr__(name: str) -> Any:
    if name == "load":
        value: Any = importlib.import_module("plre.interop.opening").open_model
    elif name in _LAZY:
        value = getattr(importlib.import_module(_LAZY[name]), name)
    else:
        raise AttributeError(f"module 'plre' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
