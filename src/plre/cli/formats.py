"""``plre import`` and ``plre export``: models from the files of other programs, and files for them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from plre.cli.options import check_output, memory_options, model_argument, run_options


@click.command("import", short_help="Make a model of an ARPA file.")
@click.argument("arpa", type=click.Path(), metavar="ARPA")
@click.option("-o", "--output", type=click.Path(), required=True, help="Where the model goes.")
@memory_options
@run_options
def import_model(arpa: str, output: str, memory: str | None, tmp: str | None, threads: int | None, quiet: bool) -> None:
    """Make a model of ARPA, a file of n-grams as KenLM, SRILM and others write them; it may be compressed.

    The model answers as KenLM does with the same file, and is opened at once, whatever its size. Commands that ask a
    model take ARPA files as they are, too, and read them each time.

    \b
    plre import lm.arpa.gz -o lm.plre
    """
    from plre.cli.console import make_progress, say
    from plre.interop.importing import import_arpa
    from plre.reporting import numbers

    check_output(output, [arpa], "the model")
    progress = make_progress(quiet)
    lm = import_arpa(arpa, threads=threads, memory=memory, tmp=tmp, progress=progress)
    with progress.stage("writing"):
        lm.save(output)
    if not quiet:
        sizes = ", ".join(f"{size:,}" for size in lm.info()["ngrams"])
        say(f"{output}: n-grams of order 1 and up: {sizes}; {numbers.size(lm.nbytes)}")


@click.command("export", short_help="Write a model as an ARPA file, for other programs.")
@model_argument
@click.option("-o", "--output", type=click.Path(), required=True, help="Where it goes; *.gz is compressed.")
@click.option("--ngrams", type=click.IntRange(1), metavar="N", help="At most so many n-grams.")
@click.option("--size", metavar="SIZE", help="About so many bytes, such as 500M, instead.")
@click.option("-n", "--order", type=click.IntRange(1), help="Length of the longest n-gram.  [default: the model's]")
@click.option("--eval", "texts", multiple=True, metavar="TEXT", help="Print the perplexity of TEXT before and after.")
@click.option(
    "--start", type=float, default=-99.0, show_default=True, help="log10 P of <s>; some programs want 0 instead of -99."
)
@click.option(
    "--below-backoff",
    "below",
    type=click.Choice(["keep", "raise", "drop"]),
    default="keep",
    show_default=True,
    help="N-grams less probable than backing off: raise or drop them for k2 (kaldilm), which takes the best path.",
)
@click.option(
    "--spelling",
    type=click.Choice(["words", "nemo"]),
    default="words",
    show_default=True,
    help="nemo: words are numbers of tokens, and written as one letter each, as NeMo's NGPU-LM reads them.",
)
@memory_options
@run_options
def export_model(
    model: str,
    output: str,
    ngrams: int | None,
    size: str | None,
    order: int | None,
    texts: tuple[str, ...],
    start: float,
    below: Any,
    spelling: Any,
    memory: str | None,
    tmp: str | None,
    threads: int | None,
    quiet: bool,
) -> None:
    """Write MODEL as an ARPA file, which KenLM, NeMo, kaldilm and others read.

    Kneser-Ney models are written as they are. A model that is more than n-grams is stood for by those n-grams that say
    best what it says: as many as its own n-grams of words, or --ngrams. More are better.

    \b
    plre export model.plre -o lm.arpa
    plre export model.plre -o lm.arpa.gz --ngrams 20000000 --eval test.txt
    """
    from plre.cli.console import make_progress, say
    from plre.exporting.export import export_arpa
    from plre.interop.opening import open_model
    from plre.reporting import numbers

    check_output(output, [model, *texts], "the ARPA file")
    progress = make_progress(quiet)
    lm = open_model(model, threads=threads, progress=progress)
    made = export_arpa(
        lm,
        output,
        ngrams=ngrams,
        size=size,
        order=order,
        start=start,
        below=below,
        spelling=spelling,
        threads=threads,
        memory=memory,
        tmp=tmp,
        progress=progress,
    )
    if not quiet:
        sizes = " + ".join(f"{each:,}" for each in made.ngrams)
        same = "what the model says, exactly" if made.exact else "what the model says, as well as so many can"
        say(f"{output}: {sizes} n-grams, {numbers.size(os.path.getsize(output))}: {same}")
    written = open_model(output, threads=threads) if texts and spelling == "words" else made.model
    for text in texts:
        before, after = (each.perplexity(Path(text), threads=threads) for each in (lm, written))
        print(f"{text}: perplexity {before:.2f} -> {after:.2f}")
