"""``plre cluster``."""

from __future__ import annotations

import os
import sys
import time
from typing import Any

import click

from plre.cli.options import as_paths, check_output, memory_options, run_options, text_options
from plre.errors import UsageError


@click.command(short_help="Put words that are used alike into classes.")
@click.argument("texts", nargs=-1, required=True, metavar="TEXT...")
@click.option("-c", "--classes", type=click.IntRange(1), default=500, show_default=True, help="How many classes.")
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False), help="Where the classes go.  [default: standard output]"
)
@click.option("--min-count", type=int, help="Words seen less often become <unk>.  [default: 2]")
@click.option("--vocab", type=click.Path(), metavar="FILE", help="Words to know, instead of --min-count.")
@click.option("--no-markers", is_flag=True, help="The text is one stream: no sentence starts and ends.")
@click.option("--sweeps", type=click.IntRange(0), help="How often every word is offered a move; more is better.")
@click.option("--seed", type=int, default=0, show_default=True, help="Same seed, same classes.")
@memory_options
@text_options
@run_options
def cluster(
    texts: tuple[str, ...],
    classes: int,
    output: str | None,
    min_count: int | None,
    vocab: str | None,
    no_markers: bool,
    sweeps: int | None,
    seed: int,
    memory: str | None,
    tmp: str | None,
    errors: Any,
    skip_markers: bool,
    threads: int | None,
    quiet: bool,
) -> None:
    """Put the words of TEXT into classes, so that the class of a word says most about the class of the next.

    Prints each word, a tab and the number of its class: words by class, and within a class by falling frequency.

    \b
    plre cluster corpus.txt -c 500 -o classes.tsv
    """
    from plre.cli.console import make_progress, say
    from plre.clustering.cluster import cluster as run
    from plre.clustering.exchange import SWEEPS

    output = None if output == "-" else output
    if output and not os.path.isdir(os.path.dirname(os.path.realpath(output))):
        raise UsageError(f"{output}: there is no such directory; make it first")
    check_output(output, [*texts, vocab], "the classes")
    if vocab and min_count is not None:
        raise UsageError("give --vocab or --min-count, not both")
    start = time.perf_counter()
    found = run(
        as_paths(texts),
        classes,
        min_count=2 if min_count is None else min_count,
        vocab=vocab,
        markers=not no_markers,
        skip_markers=skip_markers,
        errors=errors,
        sweeps=SWEEPS if sweeps is None else sweeps,
        seed=seed,
        threads=threads,
        memory=memory,
        tmp=tmp,
        progress=make_progress(quiet),
    )
    if output:
        found.save(output)
    else:
        found.write(sys.stdout)
    if not quiet:
        if len(found) < classes:
            say(f"no more than {len(found):,} classes for these words")
        say(f"{output or 'standard output'}: {found}, {time.perf_counter() - start:.1f} s")
