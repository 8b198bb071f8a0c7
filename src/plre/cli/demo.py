"""``plre demo``."""

from __future__ import annotations

import click

from plre.cli.options import check_output, run_options

_CONTEXTS = ("return a new", "the number of", "raised when the", "if the file", "should not be")
_WORDS = ("array", "returns", "string", "first")


@click.command(short_help="See it work, on text that is already on this machine.")
@click.option(
    "-n",
    "--order",
    type=click.IntRange(2),
    default=3,
    show_default=True,
    help="Length of the longest n-gram.",
)
@click.option("-o", "--output", type=click.Path(), help="Keep the PLRE model in this file.")
@run_options
def demo(order: int, output: str | None, threads: int | None, quiet: bool) -> None:
    """Train Kneser-Ney, modified Kneser-Ney and PLRE on the documentation inside Python, and compare them."""
    from rich.console import Console
    from rich.table import Table

    from plre.cli.console import make_progress
    from plre.demo import collect_and_compile, contest
    from plre.reporting import numbers
    from plre.tensorfile import check_target

    if output:
        check_target(output)
        check_output(output, [], "the model")
    progress = make_progress(quiet)
    console = Console(highlight=False)
    splits = collect_and_compile(progress)
    sizes = [sum(len(line.split()) for line in part) for part in (splits.train, splits.dev, splits.test)]
    console.print(
        f"\nText: the documentation inside Python and plre's dependencies, {splits.words_read:,} words.\n"
        f"Without repeated sentences, split by module: {sizes[0]:,} words to train on,\n"
        f"{sizes[1]:,} to choose and fit on, {sizes[2]:,} to test on.\n"
    )
    table = Table(title=f"Perplexity, order {order} (lower is better)", title_justify="left")
    table.add_column("method")
    for heading in ("dev", "test", "gain", "training", "model"):
        table.add_column(heading, justify="right")
    contenders = []
    for contender in contest(splits, order=order, threads=threads, progress=progress):
        progress.note(f"{contender.name}: test perplexity {contender.test.perplexity:.2f}")
        contenders.append(contender)
    reference = contenders[1].test.perplexity
    for c in contenders:
        table.add_row(
            c.name,
            f"{c.dev.perplexity:.2f}",
            f"{c.test.perplexity:.2f}",
            f"{1 - c.test.perplexity / reference:+.1%}",
            f"{c.seconds:.1f} s",
            numbers.size(c.lm.nbytes),
        )
    console.print(table)
    best = contenders[-1]
    console.print(
        "gain: over modified Kneser-Ney on test. PLRE fits its weights to dev; as published, it chooses ranks.\n"
    )

    console.print("What comes next?")
    for context in _CONTEXTS:
        guesses = ", ".join(f"{word} {p:.2f}" for word, p in best.lm.next_words(context, 4))
        console.print(f"  {context} …  {guesses}")
    console.print("\nWords used alike:")
    for word in _WORDS:
        if word in best.lm:
            console.print(f"  {word}: " + ", ".join(near for near, _ in best.lm.neighbours(word, 6)))
    console.print("\nA sentence it makes up:")
    console.print(f"  {best.lm.sample(seed=1, max_words=30, temperature=0.7)}")
    if output:
        best.lm.save(output)
        console.print(f"\nThe PLRE model is in {output}. Ask it:  plre next {output} return the")
    else:
        console.print("\nNow your own text:  plre train corpus.txt -o model.plre")
