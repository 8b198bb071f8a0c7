"""``plre mix``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from plre.cli.options import check_output, memory_options, run_options, text_options
from plre.errors import UsageError


@click.command(short_help="Mix models, with weights found on held-out text.")
@click.argument("models", nargs=-1, required=True, metavar="MODEL MODEL...")
@click.option("-o", "--output", type=click.Path(), required=True, help="Where the mixture goes.")
@click.option("--dev", metavar="TEXT", help="Held-out text on which the weights are found.")
@click.option("--weights", metavar="W,W...", help="The weights themselves, for example 0.7,0.3, instead of --dev.")
@memory_options
@text_options
@run_options
def mix(
    models: tuple[str, ...],
    output: str,
    dev: str | None,
    weights: str | None,
    memory: str | None,
    tmp: str | None,
    errors: Any,
    skip_markers: bool,
    threads: int | None,
    quiet: bool,
) -> None:
    """Mix models into one, P = sum of weight x P of each model, and write it to one file.

    The mixture is a model like any other. Models may have been trained on different texts: it knows all their words.

    \b
    plre mix news.plre speech.plre --dev speech-dev.txt -o mixed.plre
    plre mix a.plre b.plre c.plre --weights 0.5,0.3,0.2 -o mixed.plre
    """
    from plre.cli.console import make_progress, say
    from plre.ensemble.mixing import mix as run
    from plre.reporting import numbers
    from plre.tensorfile import check_target

    check_target(output)
    check_output(output, [*models, dev], "the mixture")
    progress = make_progress(quiet)
    lm = run(
        models,
        dev=None if dev is None else Path(dev),
        weights=None if weights is None else _numbers(weights),
        skip_markers=skip_markers,
        errors=errors,
        threads=threads,
        memory=memory,
        tmp=tmp,
        progress=progress,
    )
    with progress.stage("writing"):
        lm.save(output)
    if not quiet:
        shown = ", ".join(f"{name} {weight:.3f}" for name, weight in zip(models, lm.metadata["weights"], strict=True))
        say(f"{output}: {shown}, {numbers.size(lm.nbytes)}")


def _numbers(text: str) -> list[float]:
    try:
        return [float(number) for number in text.split(",")]
    except ValueError:
        raise UsageError(
            f"--weights takes numbers with commas between them, for example 0.7,0.3, not {text!r}"
        ) from None
