"""``plre import``: models from the files of other programs."""

from __future__ import annotations

import click

from plre.cli.options import check_output, memory_options, run_options


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
