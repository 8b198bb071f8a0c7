"""``plre compare``."""

from __future__ import annotations

from typing import Any

import click

from plre.cli.options import memory_options, run_options, text_options


def whole_numbers(context: click.Context, option: click.Parameter, value: str) -> list[int]:
    """Parse an option such as 2,3,4."""
    try:
        return [int(each) for each in value.split(",") if each.strip()]
    except ValueError:
        raise click.BadParameter(f"{value!r} is not a list of whole numbers such as 2,3,4") from None


@click.command(short_help="The paper's evaluation on your text: all methods, orders, significance.")
@click.option("--train", required=True, metavar="TEXT", help="What all models are trained on.")
@click.option("--dev", required=True, metavar="TEXT", help="What methods choose on.")
@click.option("--test", required=True, metavar="TEXT", help="What they are compared on.")
@click.option("-o", "--output", type=click.Path(), required=True, metavar="DIR", help="Where report and models go.")
@click.option(
    "--orders",
    callback=whole_numbers,
    metavar="NUMBERS",
    default="2,3,4",
    show_default=True,
    help="Lengths of the longest n-gram.",
)
@click.option(
    "--methods",
    metavar="NAMES",
    help="As in plre train, separated by commas; with + a linear mixture, such as mkn+class. mkn always takes part.  "
    "[default: all]",
)
@click.option("--min-count", type=int, default=2, show_default=True, help="Words seen less often become <unk>.")
@click.option("--classes", type=int, help="Of the class-based model.")
@click.option(
    "--ranks",
    callback=whole_numbers,
    metavar="NUMBERS",
    default="5,10,20,50,100",
    show_default=True,
    help="Of the low rank bigram, tried at the middle order for a picture; '' for none.",
)
@click.option("--jobs", type=click.IntRange(1), help="Models trained side by side.  [default: as many as cores]")
@click.option("--seed", type=int, default=0, show_default=True, help="Of random starts and draws.")
@click.option("--keep-models/--discard-models", default=True, show_default=True, help="What happens to model files.")
@memory_options
@text_options
@run_options
def compare(
    train: str,
    dev: str,
    test: str,
    output: str,
    orders: list[int],
    methods: str | None,
    min_count: int,
    classes: int | None,
    ranks: list[int],
    jobs: int | None,
    seed: int,
    keep_models: bool,
    memory: str | None,
    tmp: str | None,
    errors: Any,
    skip_markers: bool,
    threads: int | None,
    quiet: bool,
) -> None:
    """Train every method at every order, and write a report with tables, pictures and significance into DIR.

    Run it again after an interruption, or with more methods or orders: only what is new is trained.

    \b
    plre compare --train train.txt --dev dev.txt --test test.txt -o comparison
    plre compare --train train.txt --dev dev.txt --test test.txt -o comparison --methods mkn,plre --orders 3,5
    """
    from plre.cli.jobs import make_watcher
    from plre.cli.tables import print_table
    from plre.comparison.compare import compare as run
    from plre.comparison.outputs import REPORT
    from plre.comparison.tables import order_table

    with make_watcher(quiet) as watcher:
        comparison = run(
            train,
            dev,
            test,
            output,
            methods=None if methods is None else [name.strip() for name in methods.split(",")],
            orders=orders,
            min_count=min_count,
            classes=classes,
            ranks=ranks,
            seed=seed,
            skip_markers=skip_markers,
            errors=errors,
            jobs=jobs,
            threads=threads,
            memory=memory,
            tmp=tmp,
            keep_models=keep_models,
            watcher=watcher,
        )
    for order in comparison.settings.orders:
        print_table(order_table(comparison, order))
    print(f"report: {comparison.folder / REPORT}")
