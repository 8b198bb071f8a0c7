"""``plre prune``."""

from __future__ import annotations

import click

from plre.cli.options import check_output, model_argument, run_options


@click.command(short_help="Make a model smaller by leaving out n-grams that hardly matter.")
@model_argument
@click.option("-o", "--output", type=click.Path(), required=True, help="Where the smaller model goes; may be MODEL.")
@click.option("--size", metavar="SIZE", help="Bytes that the file may have, such as 50M.")
@click.option(
    "--threshold",
    type=float,
    metavar="NATS",
    help="Instead of a size: n-grams go whose loss changes the relative entropy by at most this, such as 1e-8.",
)
@click.option("--memory", metavar="SIZE", help="What this may take, such as 4G.  [default: 80 % of what there is]")
@run_options
def prune(
    model: str,
    output: str,
    size: str | None,
    threshold: float | None,
    memory: str | None,
    threads: int | None,
    quiet: bool,
) -> None:
    """Leave out the n-grams of MODEL that change its predictions least (relative entropy pruning).

    The result is a model like any other, and still sums to one. A threshold is nearly the relative change of perplexity
    that a single n-gram may cause: 1e-8 costs little, 1e-6 a lot.

    N-grams of words and of classes go; words, the classes themselves, low rank layers of bigrams and chains of contexts
    (--contexts) stay. If the size that is asked for is less than what stays, nothing is written, and an error says what
    the least is.

    \b
    plre prune model.plre --size 50M -o small.plre
    plre prune model.plre --threshold 1e-8 -o small.plre
    """
    from plre.cli.console import make_progress, say
    from plre.interop.opening import open_model
    from plre.pruning.prune import prune as run
    from plre.reporting import numbers
    from plre.tensorfile import check_target

    check_target(output)
    check_output(output, [], "the smaller model")
    progress = make_progress(quiet)
    lm = open_model(model, threads=threads, progress=progress)
    before = lm.info()
    small = run(lm, size=size, threshold=threshold, threads=threads, memory=memory, progress=progress)
    with progress.stage("writing"):
        small.save(output)
    if not quiet:
        after = small.info()
        ngrams = " + ".join(
            f"{left:,} of {all_:,}" for left, all_ in zip(after["ngrams"], before["ngrams"], strict=True)
        )
        pruned = small.metadata.get("pruned", {"threshold": 0.0})
        say(
            f"{output}: threshold {pruned['threshold']:.3g}, {ngrams} n-grams, "
            f"{numbers.size(lm.nbytes)} -> {numbers.size(small.nbytes)}"
        )
