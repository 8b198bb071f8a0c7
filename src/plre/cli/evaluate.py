"""``plre eval`` and ``plre score``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from plre.cli.options import (
    as_text,
    check_output,
    model_argument,
    run_options,
    text_options,
    token_options,
    unknown_option,
    with_unknown,
)


@click.command("eval", short_help="Perplexity of a text, every way of counting it.")
@model_argument
@click.argument("texts", nargs=-1, required=True, metavar="TEXT...")
@click.option(
    "--format",
    "style",
    type=click.Choice(["text", "json", "tsv", "kenlm", "srilm"]),
    default="text",
    show_default=True,
    help="Of the report; kenlm and srilm print what those tools print.",
)
@click.option(
    "--words",
    is_flag=True,
    help="Every word with its surprisal, as a table with tabs (or a JSON object a line with --format json); the report "
    "goes to standard error.",
)
@unknown_option
@token_options
@text_options
@run_options
def evaluate(
    model: str,
    texts: tuple[str, ...],
    style: str,
    words: bool,
    unknown_types: str | None,
    tokenizer: str | None,
    tokens: str | None,
    token_end: int | None,
    errors: Any,
    skip_markers: bool,
    threads: int | None,
    quiet: bool,
) -> None:
    """Report how well MODEL predicts TEXT: perplexity with and without unknown words and sentence ends."""
    from plre.cli.console import make_progress
    from plre.evaluation.report import evaluate as run
    from plre.evaluation.report import render
    from plre.evaluation.words import WordLines
    from plre.interop.opening import open_model
    from plre.text.sources import expand

    check_output(None, texts, "")
    progress = make_progress(quiet)
    lm = with_unknown(open_model(model, threads=threads, progress=progress), unknown_types)
    paths = [Path(path) for text in texts for path in expand(text)]
    reports = []
    for path in paths:
        text = as_text([path], tokens, token_end) if tokens else path
        lines = WordLines(lm, print, style) if words else None
        reports.append(
            run(
                lm,
                text,
                name=str(path),
                tokenizer=tokenizer,
                skip_markers=skip_markers,
                errors=errors,
                threads=threads,
                progress=progress,
                also=lines,
            )
        )
        if lines:
            lines.finish()
    table = words and style in ("text", "tsv")  # which programs read
    print(render(reports, style, one_line=words), file=sys.stderr if table else None)


@click.command(short_help="log10 probability of each line.")
@model_argument
@click.argument("text", default="-", metavar="[TEXT]")
@unknown_option
@text_options
@run_options
def score(
    model: str,
    text: str,
    unknown_types: str | None,
    errors: Any,
    skip_markers: bool,
    threads: int | None,
    quiet: bool,
) -> None:
    """Print the log10 probability of each line of TEXT (standard input if none is given), in the same order."""
    from plre.cli.console import make_progress
    from plre.interop.opening import open_model

    progress = make_progress(quiet or text == "-")
    lm = with_unknown(open_model(model, threads=threads, progress=progress), unknown_types)
    if text == "-" and threads is None:
        threads = 1  # each line is answered when it has come, not when the next ones have
    for scores in lm.score_text(text, skip_markers=skip_markers, errors=errors, threads=threads, progress=progress):
        sys.stdout.write("".join([f"{x:.6f}\n" for x in scores.tolist()]))
        sys.stdout.flush()
