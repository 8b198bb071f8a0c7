"""Linear mixtures of models, with weights by EM on held-out text (method.md 10)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plre.ensemble.combine import all_words, combine, renumber
from plre.errors import TextError, UsageError
from plre.interop.opening import open_model
from plre.model.lm import LanguageModel
from plre.model.scoring import score_ids
from plre.progress import Progress
from plre.scratch import scratch_within
from plre.store import Resources
from plre.text.encode import TextOptions, encode_text
from plre.text.holdout import held_out_ids
from plre.text.sources import Errors, Source, sized
from plre.text.vocabulary import BOS
from plre.threads import cpu_count, parallel

_STEPS = 1000
#: Weights are good enough if no others can raise the mean logarithm by more than this.
_TOLERANCE = 1e-6
#: A model with less weight than this makes the mixture larger, not better.
_NOTHING = 1e-3


def mix(
    models: Sequence[LanguageModel | str | os.PathLike[str]],
    *,
    dev: Source | None = None,
    weights: Sequence[float] | None = None,
    skip_markers: bool = False,
    errors: Errors = "strict",
    threads: int | None = None,
    memory: int | str | None = None,
    tmp: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> LanguageModel:
    """Mix models (or model files): P(w | h) = sum of weight x P_model(w | h).

    dev      held-out text on which the weights are found: not text that a model was trained on. Text on which one
             chose ranks or fitted discounts will do, though that one then gets a little more weight than it deserves
    weights  the weights themselves, one for each model, instead of ``dev``; they are scaled to sum to one
    memory   bytes, or for example "2G": what this may take beside the model files. A long ``dev`` goes to files in
             ``tmp``
    tmp      the folder for temporary files

    Models may have different words: a word that one does not know has a share of its ``<unk>``.
    """
    progress = progress or Progress()
    models = list(models)
    if len(models) < 2:
        raise UsageError("a mixture needs two models or more")
    if (dev is None) == (weights is None):
        raise UsageError("give held-out text to find the weights on (--dev), or the weights (--weights); not both")
    chosen = None if weights is None else _checked(weights, len(models))
    if dev is not None:
        dev, _ = sized(dev)  # a missing file is better noticed now than after the models were opened
    opened = [model if isinstance(model, LanguageModel) else open_model(model) for model in models]
    if len({model.markers for model in opened}) > 1:
        raise UsageError("models with and without sentence markers cannot be mixed: they predict different things")
    names = [str(model.metadata["method"]) for model in opened]
    about: dict[str, Any] = {"method": "+".join(names)}
    if chosen is None and dev is not None:
        how = Resources(threads or cpu_count(), progress, scratch_within(memory, tmp))
        probs = _scored(opened, dev, TextOptions(opened[0].markers, skip_markers, errors), how)
        with progress.stage("finding weights"):
            found = best_weights(probs)
        chosen = found.tolist()
        about["dev_perplexity"] = float(np.exp(-np.log(found @ probs).mean()))
        shown = ", ".join(f"{name} {weight:.3f}" for name, weight in zip(names, chosen, strict=True))
        progress.note(f"weights {shown}: dev perplexity {about['dev_perplexity']:.2f}")
        for name, weight in zip(names, chosen, strict=True):
            if weight < _NOTHING:
                progress.note(f"{name} adds nothing to the others on this text: without it the model would be smaller")
    assert chosen is not None
    return combine(opened, chosen, {**about, "weights": chosen})


def _scored(models: list[LanguageModel], dev: Source, options: TextOptions, how: Resources) -> NDArray[np.float64]:
    """The probability of each event of a text (a column) under each model (a row)."""
    vocab = all_words([model.vocab for model in models])
    ids = held_out_ids(encode_text(dev, vocab=vocab, options=options, **how.named), how.progress)

    def score(model: LanguageModel) -> NDArray[np.float64]:
        known = renumber(vocab, model.vocab)
        probs = score_ids(model, ids if known is None else known.ids[ids]).probs
        for component in model.components:
            component.let_go()
        return (probs if known is None else probs * known.shares[ids])[ids != BOS]

    with how.progress.stage("scoring dev text"):
        probs = np.array(parallel(score, models, how.threads))
    possible = probs.any(axis=0)
    if not possible.any():
        raise TextError("no model gives the dev text any probability; there is nothing to find weights on")
    if left := int((~possible).sum()):
        how.progress.note(
            f"{left:,} words of the dev text are impossible in every model; weights are found without them"
        )
    return probs[:, possible]


def best_weights(probs: NDArray[np.float64]) -> NDArray[np.float64]:
    """The weights under which a mixture gives held-out events the highest probability, by EM.

    ``probs`` has a row for each model and a column for each event. The mean logarithm is concave in the weights, so the
    largest of its slopes, less 1, bounds what is still to be won; EM alone would crawl towards weights of 0.

    >>> best_weights(np.array([[0.5, 0.5, 0.1], [0.1, 0.1, 0.9]])).round(2).tolist()
    [0.67, 0.33]
    """
    weights = np.full(len(probs), 1 / len(probs))
    for _ in range(_STEPS):
        slopes = (probs / (weights @ probs)).mean(axis=1)
        weights = weights * slopes
        if slopes.max() - 1 < _TOLERANCE:
            break
    return weights / weights.sum()


def _checked(weights: Sequence[float], number: int) -> list[float]:
    try:
        given = [float(weight) for weight in weights]
    except (TypeError, ValueError):
        raise UsageError(f"weights must be a list of numbers, one for each model, not {weights!r}") from None
    if len(given) != number:
        raise UsageError(f"there are {number} models but {len(given)} weights; give one for each")
    total = sum(given)
    if not all(weight >= 0 for weight in given) or not 0 < total < np.inf:
        raise UsageError("weights must be numbers from 0 up, not all of them 0")
    return [weight / total for weight in given]
