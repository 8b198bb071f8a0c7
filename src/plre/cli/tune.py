"""``plre tune``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from plre.cli.options import INTERRUPTED, as_paths, check_output, memory_options, run_options, text_options
from plre.errors import UsageError

#: What lies beside the model: every trial, and the page.
JOURNAL, PAGE = ".tune.jsonl", ".tune.html"
#: Of more trials than this only those that were better than all before them are printed; the page has all.
MOST_ROWS = 30


@click.command(short_help="Search for the best recipe on held-out text, within a given time.")
@click.argument("texts", nargs=-1, required=True, metavar="TEXT...")
@click.option("--dev", required=True, metavar="TEXT", help="Held-out text on which recipes are compared.")
@click.option(
    "-o", "--output", type=click.Path(), required=True, help="Where the model goes; journal and page beside it."
)
@click.option("--budget", default="10m", show_default=True, metavar="TIME", help="Such as 90s, 10m or 1h30m.")
@click.option("--trials", type=click.IntRange(0), metavar="N", help="Try no more than N recipes in this run.")
@click.option("-n", "--order", type=int, default=3, show_default=True, help="Length of the longest n-gram.")
@click.option("--min-count", type=int, help="Words seen less often become <unk>.  [default: 2]")
@click.option("--vocab", type=click.Path(), metavar="FILE", help="Words to know, instead of --min-count.")
@click.option("--no-markers", is_flag=True, help="The text is one stream: no sentence starts and ends.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the random starts.")
@click.option(
    "--format",
    "shown",
    type=click.Choice(["text", "json", "markdown"]),
    default="text",
    show_default=True,
    help="Of the table of trials on standard output.",
)
@memory_options
@text_options
@run_options
def tune(
    texts: tuple[str, ...],
    dev: str,
    output: str,
    budget: str,
    trials: int | None,
    order: int,
    min_count: int | None,
    vocab: str | None,
    no_markers: bool,
    seed: int,
    shown: str,
    memory: str | None,
    tmp: str | None,
    errors: Any,
    skip_markers: bool,
    threads: int | None,
    quiet: bool,
) -> None:
    """Search powers, ranks, classes, starts and discounts on held-out text, and train the best model found.

    Every trial is kept in MODEL.tune.jsonl: the same command goes on after an interruption, and with a larger budget
    after its end. MODEL.tune.html has the table and pictures. Recipes are chosen on --dev, so measure on another text.

    \b
    plre tune corpus.txt --dev dev.txt -o model.plre
    plre tune corpus.txt --dev dev.txt -o model.plre --budget 1h --order 5
    """
    from plre.cli.console import say
    from plre.cli.tables import print_table
    from plre.cli.trials import watching
    from plre.tensorfile import check_target
    from plre.tuning.tune import parse_budget
    from plre.tuning.tune import tune as run

    seconds = parse_budget(budget)
    journal, page = output + JOURNAL, output + PAGE
    for path, what in ((output, "the model"), (journal, "the journal"), (page, "the page")):
        check_target(path)
        check_output(path, [*texts, dev, vocab], what)
    if vocab and min_count is not None:
        raise UsageError("give --vocab or --min-count, not both")
    with watching(quiet, seconds) as (watcher, progress):
        result = run(
            as_paths(texts),
            dev=Path(dev),
            budget=seconds,
            trials=trials,
            journal=journal,
            output=output,
            order=order,
            min_count=2 if min_count is None else min_count,
            vocab=vocab,
            markers=not no_markers,
            skip_markers=skip_markers,
            errors=errors,
            seed=seed,
            threads=threads,
            memory=memory,
            tmp=tmp,
            progress=progress,
            watcher=watcher,
        )
        result.model.save(output)
        result.save_page(page)
    if shown == "text":
        print_table(result.table(steps=len(result.trials) > MOST_ROWS))
        print(result.command)
    else:
        print(result.as_json() if shown == "json" else result.as_markdown(), end="")
    if not quiet:
        say(
            f"{output}: dev perplexity {result.perplexity:.2f}, trial {result.best.number} of {len(result.trials)}; "
            f"ended: {result.ended}; pictures in {page}"
        )
    if result.interrupted:
        say("the same command goes on from here")
        raise click.exceptions.Exit(INTERRUPTED)
