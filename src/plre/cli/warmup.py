"""``plre warmup``: compile now what would be compiled later."""

from __future__ import annotations

import click


@click.command(short_help="Compile all kernels now, for images and CI.")
@click.option("--baseline", is_flag=True, help="For every x86-64-v3 processor (since 2015) instead of this one.")
@click.option("--jobs", type=click.IntRange(1), help="Processes.  [default: one for each core]")
@click.option("-q", "--quiet", is_flag=True, help="No progress.")
def warmup(baseline: bool, jobs: int | None, quiet: bool) -> None:
    """Compile all that training and questions need, and keep it, so that later nothing has to be compiled.

    Machine code is kept beside the package, or if that cannot be written, in the user's cache folder, or in a
    temporary one; NUMBA_CACHE_DIR names another place. What is beside the package serves all users of an image, and
    with --baseline on nearly every machine:

    \b
    RUN pip install plre && plre warmup --baseline
    """
    from plre.cli.console import make_progress
    from plre.warmup import warmup as run

    done = run(baseline=baseline, jobs=jobs, progress=make_progress(quiet))
    if done.compiled:
        print(f"compiled {done.compiled} kernels in {done.seconds:.0f} s, kept in {done.folder}")
    else:
        where = f"in {done.folder}" if done.misfit else "part of this installation"
        print(f"nothing to compile: all kernels are {where} ({done.seconds:.0f} s)")
