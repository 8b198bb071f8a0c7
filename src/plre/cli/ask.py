"""``plre next``, ``sample``, ``neighbours`` and ``info``: questions to a model."""

from __future__ import annotations

import json
from typing import Any

import click

from plre.cli.options import model_argument, unknown_option, with_unknown


def _load(model: str) -> Any:
    from plre.cli.console import make_progress
    from plre.interop.opening import open_model

    make_progress()
    return open_model(model)


def _bars(rows: list[tuple[str, float]], digits: int) -> str:
    """Words with a number and a bar; the longest bar belongs to the largest number.

    >>> print(_bars([("cat", 0.5), ("dog", 0.25)], 2))
    cat  0.50  ████████████████████████████████
    dog  0.25  ████████████████
    """
    if not rows:
        return ""
    width = max(len(word) for word, _ in rows)
    largest = max(number for _, number in rows) or 1.0
    return "\n".join(
        f"{word:<{width}}  {number:.{digits}f}  {'█' * max(1, round(32 * number / largest))}" for word, number in rows
    )


@click.command("next", short_help="The most probable next words.")
@model_argument
@click.argument("context", nargs=-1, metavar="[WORD...]")
@click.option("-k", type=click.IntRange(1), default=10, show_default=True, help="How many.")
@click.option("--special", is_flag=True, help="Let <unk> be among them.")
@unknown_option
@click.option("--format", "style", type=click.Choice(["text", "json", "tsv"]), default="text", show_default=True)
def next_words(
    model: str, context: tuple[str, ...], k: int, special: bool, unknown_types: str | None, style: str
) -> None:
    """Print the words that MODEL expects after WORD..., or at the start of a sentence if there are none."""
    rows = with_unknown(_load(model), unknown_types).next_words(" ".join(context) or "<s>", k, special=special)
    _print(rows, style, 5)


@click.command(short_help="Words that are used alike.")
@model_argument
@click.argument("word")
@click.option("-k", type=click.IntRange(1), default=10, show_default=True, help="How many.")
@click.option("--format", "style", type=click.Choice(["text", "json", "tsv"]), default="text", show_default=True)
def neighbours(model: str, word: str, k: int, style: str) -> None:
    """Print the words that are used most like WORD, and how much alike they are, from 0 to 1.

    The latent classes of the low rank bigram decide, if MODEL has them; otherwise the words before and after.
    """
    rows = _load(model).neighbours(word, k)
    if not rows and style == "text":
        print(f"(no word stands beside the same words as {word!r}, by what this model knows)")
    else:
        _print(rows, style, 3)


def _print(rows: list[tuple[str, float]], style: str, digits: int) -> None:
    if style == "json":
        print(json.dumps([{"word": word, "value": value} for word, value in rows], ensure_ascii=False))
    elif style == "tsv":
        print("\n".join(f"{word}\t{value:.6g}" for word, value in rows))
    else:
        print(_bars(rows, digits))


@click.command(short_help="Random sentences.")
@model_argument
@click.argument("context", nargs=-1, metavar="[WORD...]")
@click.option("-n", "number", type=click.IntRange(1), default=1, show_default=True, help="How many sentences.")
@click.option("--max-words", type=click.IntRange(1), default=100, show_default=True, help="Stop after so many.")
@click.option("--temperature", type=float, default=1.0, show_default=True, help="Below 1: likelier words.")
@click.option("--seed", type=int, help="Same seed, same sentences.")
def sample(
    model: str, context: tuple[str, ...], number: int, max_words: int, temperature: float, seed: int | None
) -> None:
    """Print sentences drawn from MODEL, going on from WORD... if given."""
    lm = _load(model)
    for i in range(number):
        chosen = None if seed is None else seed + i
        print(lm.sample(" ".join(context), max_words=max_words, temperature=temperature, seed=chosen))


@click.command(short_help="What a model is, and how large.")
@model_argument
@click.option("--format", "style", type=click.Choice(["text", "json"]), default="text", show_default=True)
def info(model: str, style: str) -> None:
    """Describe MODEL: how it was trained, its n-grams, discounts, low rank layers, and bytes by part."""
    from plre.evaluation.describe import describe_model
    from plre.interop.opening import open_model

    lm = open_model(model)
    print(json.dumps(lm.info(), indent=2, ensure_ascii=False) if style == "json" else describe_model(lm))


@click.command(short_help="Check that a model is undamaged.")
@model_argument
def verify(model: str) -> None:
    """Read all of MODEL and compare it with the checksum that was written with it."""
    from plre.interop.opening import open_model

    open_model(model).verify()
    print(f"{model}: undamaged")
