"""Arguments and options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

model_argument = click.argument("model", type=click.Path(), metavar="MODEL")


def text_options(function: F) -> F:
    """How text is read."""
    for option in (
        click.option(
            "--errors",
            type=click.Choice(["strict", "replace"]),
            default="strict",
            show_default=True,
            help="Invalid UTF-8 and NUL bytes: stop with file and line, or go on with U+FFFD and white space.",
        ),
        click.option("--skip-markers", is_flag=True, help="Treat <s> and </s> in the text as white space."),
    ):
        function = option(function)
    return function


def run_options(function: F) -> F:
    """How the command runs."""
    for option in (
        click.option("-q", "--quiet", is_flag=True, help="No progress."),
        click.option("--threads", type=click.IntRange(1), help="Cores to use.  [default: all]"),
    ):
        function = option(function)
    return function


def as_paths(texts: tuple[str, ...]) -> list[Path]:
    """Text arguments as the library takes them."""
    return [Path(text) for text in texts]
