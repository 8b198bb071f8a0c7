"""``plre train``."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click

from plre.cli.options import (
    as_text,
    check_output,
    class_counts,
    kinds,
    memory_options,
    run_options,
    text_options,
    token_options,
)
from plre.errors import UsageError


@click.command(short_help="Train a model on text.")
@click.argument("texts", nargs=-1, required=True, metavar="TEXT...")
@click.option("-o", "--output", type=click.Path(), required=True, help="Where the model goes.")
@click.option("-n", "--order", type=int, default=3, show_default=True, help="Length of the longest n-gram.")
@click.option(
    "--method",
    type=click.Choice(["plre", "mkn", "kn", "abs", "bo-mkn", "bo-kn", "mkn-dev", "jm", "class"]),
    default="plre",
    show_default=True,
    help="PLRE, or a baseline: modified Kneser-Ney, Kneser-Ney, absolute discounting (all interpolated); bo-: the "
    "back-off forms; mkn-dev: discounts fitted to --dev; jm: Jelinek-Mercer; class: n-grams of classes of words.",
)
@click.option(
    "--preset",
    type=click.Choice(["best", "fast", "paper"]),
    help="Settings of plre. best: classes beside words at every order, weights fitted to held-out text; fast: fewer of "
    "them; paper: a low rank layer for bigrams and one for trigrams, as published. The options below replace what a "
    "preset has; without one, they are all there is.  [default: best]",
)
@click.option(
    "--dev",
    metavar="TEXT",
    help="Held-out text on which ranks are chosen, weights and discounts fitted. Without it, best and fast hold out "
    "part of TEXT, and then train on all of it.",
)
@click.option("--min-count", type=int, help="Words seen less often become <unk>.  [default: 2]")
@click.option("--vocab", type=click.Path(), metavar="FILE", help="Words to know, instead of --min-count.")
@click.option(
    "--rung",
    "rungs",
    multiple=True,
    metavar="ORDER:POWER:RANK",
    help="A low rank layer between ORDER (* for all others) and the order below; may be repeated. POWER (0 to 1) says "
    "how far counts are flattened; RANK is a number, a fraction of the vocabulary (or of the slice), or grows with its "
    "non-zeros: sqrt/16, cbrt/2.",
)
@click.option("--starts", type=int, metavar="N", help="Average low rank layers over N random starts.")
@click.option(
    "--discounts",
    metavar="KIND,...",
    help="kn or mkn for order 1, 2, ...; the last is for all higher ones, for example mkn,kn,mkn.",
)
@click.option("--fit-discounts", is_flag=True, help="Fit the discounts to held-out text, too.")
@click.option(
    "--classes",
    metavar="N,...",
    help="How many classes of words: a number for each clustering, for example 100,300,800. For method class, one.",
)
@click.option(
    "--contexts",
    multiple=True,
    metavar="STEP,...",
    help="A chain of contexts that mix classes and words, coarse to fine: 2:1,w:1,2:2 is the second clustering's class "
    "of the last word, that word, and the class of the one before; may be repeated.",
)
@click.option("--class-order", type=int, metavar="N", help="Length of the longest class n-gram.")
@click.option("--class-least", type=int, metavar="N", help="Leave out class n-grams that occur fewer times.")
@click.option("--class-sweeps", type=int, metavar="N", help="How often every word is offered another class.")
@click.option("--no-markers", is_flag=True, help="The text is one stream: no sentence starts and ends.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the random starts: same seed, same model.")
@memory_options
@click.option(
    "--quantise",
    type=click.Choice(["8", "16"]),
    help="Bits of a probability in the model, instead of 32: a smaller file. How much smaller, and what that costs in "
    "perplexity, is shown.",
)
@click.option(
    "--prune",
    type=float,
    metavar="NATS",
    help="Leave out n-grams that matter less than this, such as 1e-8, as plre prune --threshold does.",
)
@token_options
@text_options
@run_options
def train(
    texts: tuple[str, ...],
    output: str,
    order: int,
    method: str,
    preset: str | None,
    dev: str | None,
    min_count: int | None,
    vocab: str | None,
    rungs: tuple[str, ...],
    starts: int | None,
    discounts: str | None,
    fit_discounts: bool,
    classes: str | None,
    contexts: tuple[str, ...],
    class_order: int | None,
    class_least: int | None,
    class_sweeps: int | None,
    no_markers: bool,
    seed: int,
    memory: str | None,
    tmp: str | None,
    quantise: str | None,
    prune: float | None,
    tokenizer: str | None,
    tokens: str | None,
    token_end: int | None,
    errors: Any,
    skip_markers: bool,
    threads: int | None,
    quiet: bool,
) -> None:
    """Train a model on TEXT (files, patterns, or - for standard input) and write it to one file.

    \b
    plre train corpus.txt -o model.plre
    plre train 'news/*.zst' --dev dev.txt --order 4 -o model.plre
    plre train corpus.txt --method mkn -o baseline.plre
    """
    from plre.cli.console import make_progress, say
    from plre.reporting import numbers
    from plre.tensorfile import check_target
    from plre.training import train as run

    check_target(output)
    check_output(output, [*texts, dev, vocab], "the model")
    if vocab and min_count is not None:
        raise UsageError("give --vocab or --min-count, not both")
    start = time.perf_counter()
    progress = make_progress(quiet)
    lm = run(
        as_text(texts, tokens, token_end),
        order=order,
        method=method,
        preset=preset,
        dev=None if dev is None else as_text([dev], tokens, token_end) if tokens else Path(dev),
        tokenizer=tokenizer,
        min_count=2 if min_count is None else min_count,
        vocab=vocab,
        markers=not no_markers,
        skip_markers=skip_markers,
        errors=errors,
        rungs=rungs or None,
        starts=starts,
        discounts=kinds(discounts),
        fit_discounts=fit_discounts,
        classes=class_counts(classes, method),
        contexts=contexts or None,
        class_order=class_order,
        class_least=class_least,
        class_sweeps=class_sweeps,
        seed=seed,
        threads=threads,
        memory=memory,
        tmp=tmp,
        quantise=int(quantise) if quantise else None,
        prune=prune,
        progress=progress,
    )
    with progress.stage("writing"):
        lm.save(output)
    if not quiet:
        info = lm.info()
        ngrams = " + ".join(f"{n:,}" for n in info["ngrams"])
        if len(lm.components) > 1:
            ngrams = f"{len(lm.components)} components of {sum(info['ngrams']):,}"
        say(
            f"{output}: {lm.metadata['method']}, order {lm.order}, {ngrams} n-grams, {numbers.size(lm.nbytes)}, "
            f"{time.perf_counter() - start:.1f} s"
        )
