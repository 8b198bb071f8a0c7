"""Training in one call: from text to a model."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from plre._version import __version__
from plre.ensemble.blueprint import Blueprint
from plre.ensemble.choose import choose_fractions
from plre.ensemble.ingredients import FittedWeights
from plre.ensemble.recipe import Recipe, Rung, make_recipe, parse_rungs
from plre.errors import NoRoomError, PlreWarning, UsageError
from plre.model.lm import LanguageModel
from plre.model.scoring import score_ids, tally_scored
from plre.progress import Progress
from plre.pruning.prune import check_room, check_threshold
from plre.pruning.prune import prune as prune_model
from plre.scratch import scratch_within
from plre.smoothing.discounts import DiscountKind
from plre.store import Engine, Ingredient, Resources, Store
from plre.text.encode import EncodedText, TextOptions, read_vocabulary
from plre.text.ingredients import HeldOutIds, KeptText, PartedText, ReadText, TextIds, TextSample
from plre.text.sources import Errors, Source, sized
from plre.text.tokens import Tokenizer, TokenText
from plre.threads import cpu_count

#: Words of the training text on which the cost of quantising is measured, if there is no dev text.
_SAMPLE = 1_000_000

#: If less than this share of a text is held out, what is trained on the rest is good enough.
_LITTLE = 0.01

Rungs = Mapping[int, Sequence[Rung]] | Sequence[str]


def train(
    text: Source,
    *,
    order: int = 3,
    method: str = "plre",
    preset: str | None = None,
    dev: Source | None = None,
    min_count: int = 2,
    vocab: Source | None = None,
    markers: bool = True,
    skip_markers: bool = False,
    errors: Errors = "strict",
    tokenizer: Tokenizer | str | os.PathLike[str] | None = None,
    rungs: Rungs | None = None,
    uniform: bool = True,
    starts: int | None = None,
    discounts: Sequence[DiscountKind] | None = None,
    fit_discounts: bool = False,
    classes: int | Sequence[int] | None = None,
    contexts: Sequence[str] | None = None,
    class_order: int | None = None,
    class_least: int | None = None,
    class_sweeps: int | None = None,
    seed: int = 0,
    threads: int | None = None,
    memory: int | str | None = None,
    tmp: str | os.PathLike[str] | None = None,
    quantise: int | None = None,
    prune: float | None = None,
    progress: Progress | None = None,
    engine: Engine | None = None,
) -> LanguageModel:
    """Train a model.

    ``text`` and ``dev`` are a path (or glob, or ``"-"``), or an iterable of sentences, or of ``pathlib.Path``; or
    numbers of tokens: an array, perhaps mapped from a file, or :class:`plre.Tokens`, which says where sentences end.

    order        length of the longest n-gram
    method       "plre", or a baseline: "mkn", "kn" (modified Kneser-Ney, Kneser-Ney), "abs" (absolute discounting);
                 "bo-mkn", "bo-kn" (their back-off forms); "mkn-dev" (discounts fitted to ``dev``); "jm"
                 (Jelinek-Mercer, its weights fitted to ``dev`` or, without it, to the training text);
                 "class" (n-grams of ``classes`` classes of words)
    preset       for plre: "best" (the default), "fast" or "paper" (``docs/beyond.md``); the options below marked *
                 replace what a preset has, or without one say all there is
    dev          held-out text on which ranks are chosen, weights and discounts fitted. Without it, "best" and "fast"
                 hold out part of the text, and then train on all of it (not of a text so long that this part is less
                 than a hundredth)
    min_count    words seen less often become ``<unk>``
    vocab        the words to know, as a file or a list, instead of ``min_count``
    markers      False: the text is one stream without sentence starts and ends
    skip_markers treat ``<s>`` and ``</s>`` in the text as white space instead of refusing it
    errors       "replace" goes on over invalid UTF-8
    tokenizer    a file of Hugging Face's tokenizers (.json) or of SentencePiece (.model), which takes text apart
    rungs        * low rank layers, for example ``["2:0.5:20", "3:0.5:0.001", "*:0.5:cbrt/2"]`` (order:power:rank)
    starts       * factorisations from so many random starts are averaged
    discounts    * "kn" or "mkn" for order 1, 2, ...; the last is for all higher ones
    uniform      False: no uniform share in the unigrams; unseen words get probability 0
    fit_discounts * discounts of words and classes are fitted to held-out text, too; it rarely helps beside classes
    classes      * how many classes of words: a number for each clustering, whose n-grams are mixed into every order's
                 back-off. For method class one number; 500 if not said
    contexts     * chains of contexts that mix words and classes, coarse to fine, each a model of its own beside the
                 others: ``["2:1,w:1,2:2"]`` is the second clustering's class of the last word, that word, and the
                 class of the one before it
    class_order  * the length of class n-grams
    class_least  * class n-grams (from order 3 on) that occur fewer times are left out
    class_sweeps * how often every word is offered another class
    seed         of the random starts of factorisations and clusterings: same seed, same model
    memory       bytes, or for example "2G": what training may take. What does not fit goes to files in ``tmp``. Without
                 it, four fifths of the memory of the machine, or of the container
    tmp          the folder for temporary files
    quantise     bits of a probability in the model, 8 or 16 instead of 32; what it costs is noted
    prune        a threshold such as 1e-8: n-grams that matter less are left out, see :func:`plre.prune`
    engine       where things are made; usually in this process
    """
    progress = progress or Progress()
    threads = cpu_count() if threads is None else threads
    if threads < 1:
        raise UsageError(f"threads must be at least 1, not {threads}")
    if quantise not in (None, 8, 16, 32):
        raise UsageError(f"a probability can be quantised to 8 or 16 bits, not {quantise}")
    if prune is not None:
        check_threshold(prune)
    recipe = make_recipe(
        order, method, preset, _parsed(rungs), seed, uniform, classes,
        starts=starts, discounts=discounts, fit_discounts=fit_discounts or None, contexts=contexts,
        class_order=class_order, class_least=class_least, class_sweeps=class_sweeps,
    )  # fmt: skip
    how = Resources(threads, progress, scratch_within(memory, tmp, ensemble=bool(recipe.rungs) or recipe.leads))

    def watch(made: Ingredient, seconds: float) -> None:
        if isinstance(made, FittedWeights):
            progress.note(f"perplexity of the held-out text {store.known(made).perplexity:.2f}")

    store = Store(how, engine, watch=watch)
    if recipe.fit == "dev" and dev is None and not recipe.leads:
        raise UsageError(f"method {method} fits its discounts to held-out text; give some with --dev (dev=...)")
    tokens = TokenText.of(text, tokenizer, errors)
    if tokens is not None:
        text, dev, markers = tokens.text, None if dev is None else tokens.like(dev), tokens.markers and markers
    if dev is not None and not (recipe.grids or recipe.fit or recipe.leads or quantise):
        progress.note("nothing is chosen on dev text with these options; it is not used")
        sized(dev)  # it should be there all the same
        dev = None
    if dev is not None:
        dev, _ = sized(dev)  # a missing file is better noticed now than after the training text was read
    options = TextOptions(markers, skip_markers, errors)
    fixed = None if vocab is None else read_vocabulary(vocab, errors)
    if tokens is not None and fixed is None:
        fixed = tokens.vocabulary
    read = ReadText(text, options, min_count, fixed)
    encoded: EncodedText = store.get(read)
    ids = None
    if dev is not None:
        ids = TextIds(ReadText(dev, options, like=read))
        store.get(ids)
    blueprint, about = _planned(store, recipe, read, encoded, ids)
    about |= text_facts(encoded, None if fixed else min_count) | (tokens.describe() if tokens else {})
    widths = [32] if quantise in (None, 32) else [32, quantise]
    sample = store.known(ids) if ids else encoded.ids[: _SAMPLE if len(widths) > 1 else 0].copy()
    vocabulary = encoded.vocab
    del encoded
    if prune is not None:  # better said now than after hours
        check_room(sum(map(len, store.get(blueprint.counted).tables)), scratch_within(memory, tmp))
    store.get_all([each for bits in widths for each in blueprint.wanted(bits)], keep=[])
    made = [blueprint.model(store.known, vocabulary, about, bits) for bits in widths]
    lm = made[-1]
    if len(made) > 1:
        before, after = (tally_scored(each, score_ids(each, sample)).perplexity() for each in made)
        where = "the dev text" if ids else f"{len(sample):,} words of the training text"
        progress.note(
            f"{quantise} bits a number: {lm.nbytes / made[0].nbytes:.0%} of the size, "
            f"perplexity of {where} {before:.3f} -> {after:.3f} ({after / before - 1:+.2%})"
        )
    if prune is None:
        return lm
    try:
        return prune_model(lm, threshold=prune, threads=threads, memory=memory, progress=progress)
    except NoRoomError as error:  # classes have n-grams, too
        warnings.warn(f"the model is not pruned: {error}; plre prune can do it later", PlreWarning, stacklevel=2)
        return lm


def text_facts(text: EncodedText, min_count: int | None) -> dict[str, Any]:
    """What a model file says about its text."""
    return {
        "markers": text.markers,
        "min_count": min_count,
        "tokens": len(text.ids) - text.sentences,
        "sentences": text.sentences,
        **({} if text.types is None else {"unknown_types": text.types}),
        "version": __version__,
    }


def _planned(
    store: Store, recipe: Recipe, text: ReadText, encoded: EncodedText, dev: TextIds | None
) -> tuple[Blueprint, dict[str, Any]]:
    """The blueprint for a text, with all that is chosen or fitted; and what a model file says about that.

    What is fitted is fitted to ``dev``. Without it, weights are fitted to a part of the text that the models do not
    see; then everything is made anew from the whole text, and keeps these weights, unless that part is very small.
    """
    progress = store.how.progress
    blueprint = Blueprint(recipe, text, len(encoded.vocab), dev)
    if recipe.leads:
        if dev is None:
            parts = PartedText(text)
            if store.get(parts) is None:
                progress.note("the text is too short to hold out some of it; weights are not fitted")
                return blueprint, {}
            held = HeldOutIds(parts)
            trial = replace(blueprint, text=KeptText(parts), fitted_to=held)
            words = store.get(held).size
            if words < _LITTLE * len(encoded.ids):
                progress.note(f"{words:,} words are held out to fit weights to ({words / len(encoded.ids):.2%})")
                return trial, {"held_out": words}
            blueprint = replace(blueprint, trial=trial)
            store.get_all(trial.learnt, keep=[text, held])
            progress.note(f"weights fitted to {words:,} words held out; training on the whole text")
        return blueprint, {}
    if recipe.fit and dev is None:
        blueprint = replace(blueprint, fitted_to=TextSample(text), one_out=True)
    if dev is not None and recipe.grids:
        recipe, trials = choose_fractions(store, blueprint, dev)
        return replace(blueprint, recipe=recipe), {"trials": trials}
    return blueprint, {}


def _parsed(rungs: Rungs | None) -> dict[int, tuple[Rung, ...]] | None:
    if rungs is None:
        return None
    if isinstance(rungs, Mapping):
        return {n: tuple(sorted(each, key=lambda rung: -rung.power)) for n, each in rungs.items()}
    if isinstance(rungs, str):
        raise UsageError('rungs is a list, for example ["2:0.5:20"]')
    return parse_rungs(list(rungs))
