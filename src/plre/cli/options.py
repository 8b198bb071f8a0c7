"""Arguments and options that several commands share."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from plre.errors import UsageError
from plre.files import check_writable

if TYPE_CHECKING:
    from plre.model.lm import LanguageModel

#: Exit codes.
DONE, BAD_DATA, BAD_USAGE, INTERRUPTED = 0, 1, 2, 130

F = TypeVar("F", bound=Callable[..., Any])

model_argument = click.argument("model", type=click.Path(), metavar="MODEL")


def text_options(function: F) -> F:
    """Add the options about how text is read."""
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


def unknown_option(function: F) -> F:
    """Add the option about unknown words."""
    return click.option(
        "--unknown-types",
        metavar="N",
        help="An unknown word gets one Nth of the probability of <unk>, which stands for N words; auto: as many as the "
        "model estimates.  [default: all of it]",
    )(function)


def with_unknown(lm: LanguageModel, types: str | None) -> LanguageModel:
    """The model with that option."""
    if types is None:
        return lm
    if types != "auto" and not types.isdecimal():
        raise UsageError(f"--unknown-types is a whole number or auto, not {types!r}")
    return lm.share_unknown(None if types == "auto" else int(types))


def token_options(function: F) -> F:
    """Add the options about texts of tokens."""
    for option in (
        click.option("--token-end", type=click.IntRange(0), metavar="N", help="The token that ends a sentence."),
        click.option(
            "--tokens",
            metavar="TYPE",
            help="TEXT is a file of numbers of tokens: npy, or nothing but numbers of this type, such as uint16.",
        ),
        click.option(
            "--tokenizer",
            type=click.Path(),
            metavar="FILE",
            help="Takes text apart into tokens: a tokenizer.json of Hugging Face, or a .model of SentencePiece.",
        ),
    ):
        function = option(function)
    return function


def as_text(texts: Iterable[str | Path], tokens: str | None, end: int | None) -> Any:
    """Text arguments as the library takes them, with these options."""
    names = list(texts)
    if tokens is None:
        if end is not None:
            raise UsageError("--token-end is for texts of tokens: give --tokens, too")
        return [Path(name) for name in names]
    if len(names) != 1:
        raise UsageError("--tokens takes one file as TEXT")
    from plre.text.tokens import open_tokens

    return open_tokens(names[0], None if tokens == "npy" else tokens, end)


def memory_options(function: F) -> F:
    """Add the options about memory and temporary files."""
    for option in (
        click.option(
            "--tmp", type=click.Path(), metavar="DIR", help="Where temporary files go.  [default: the system's]"
        ),
        click.option(
            "--memory",
            metavar="SIZE",
            help="What this may take, such as 4G; the rest goes to files in --tmp.  [default: 80 % of what the machine "
            "or the container has]",
        ),
    ):
        function = option(function)
    return function


def run_options(function: F) -> F:
    """Add the options about threads and progress."""
    for option in (
        click.option("-q", "--quiet", is_flag=True, help="No progress."),
        click.option("--threads", type=click.IntRange(1), help="Cores to use.  [default: all]"),
    ):
        function = option(function)
    return function


def check_output(output: str | None, inputs: Iterable[str | None], what: str) -> None:
    """Refuse, before any work is done, an output that is read too (also where a pattern names it) or that cannot be
    written; and to read standard input twice. Without an output, results go to standard output.
    """
    names = [name for name in inputs if name]
    if names.count("-") > 1:
        raise UsageError("standard input (-) can be read only once")
    if output is None:
        return
    if os.path.exists(output):
        for name in names:
            for path in glob.glob(name) or [name]:
                if os.path.exists(path) and os.path.samefile(output, path):
                    raise UsageError(f"{output}: is read too; choose another name for {what}")
    check_writable(output)


def as_paths(texts: tuple[str, ...]) -> list[Path]:
    """Text arguments as the library takes them."""
    return [Path(text) for text in texts]


def class_counts(text: str | None, method: str) -> int | list[int] | None:
    """``100,300`` as a list; for method class, the one number."""
    if text is None:
        return None
    try:
        found = [int(part) for part in text.split(",") if part != "0"]
    except ValueError:
        raise UsageError(f"--classes takes whole numbers, for example 100,300,800, not {text!r}") from None
    return found[0] if method == "class" and len(found) == 1 else found


def kinds(text: str | None) -> list[Any] | None:
    """``mkn,kn`` as a list."""
    if text is None:
        return None
    found = text.split(",")
    if not set(found) <= {"kn", "mkn"}:
        raise UsageError(f"--discounts takes kn or mkn for each order, for example mkn,kn,mkn, not {text!r}")
    return list(found)
