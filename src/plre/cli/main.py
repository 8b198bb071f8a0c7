"""The command ``plre``: finds the subcommand, and turns errors into one clear line and an exit code."""

from __future__ import annotations

import errno
import gc
import io
import os
import sys

import click

from plre._version import __version__
from plre.cli.ask import info, neighbours, next_words, sample, verify
from plre.cli.cluster import cluster
from plre.cli.compare import compare
from plre.cli.demo import demo
from plre.cli.evaluate import evaluate, score
from plre.cli.formats import export_model, import_model
from plre.cli.mix import mix
from plre.cli.options import BAD_DATA, BAD_USAGE, DONE, INTERRUPTED
from plre.cli.prune import prune
from plre.cli.train import train
from plre.cli.tune import tune
from plre.cli.warmup import warmup
from plre.errors import PlreError, UsageError

#: Garbage is looked for so rarely that imports, whose objects all stay, are not gone through again and again.
_GARBAGE = 50_000, 20, 50
_NO_MEMORY = "not enough memory for this; use less text, a lower order, or a higher --min-count"
#: Errors that only writing has.
_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS}


class InOrder(click.Group):
    """Lists commands in the order in which a newcomer meets them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of the commands in the order in which they were added."""
        return list(self.commands)


@click.group(cls=InOrder, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="plre")
def cli() -> None:
    """N-gram language models with Power Low Rank Ensembles: better than Kneser-Ney, from plain text.

    \b
    See it work:            plre demo
    Train on your text:     plre train corpus.txt -o model.plre
    How good is it:         plre eval model.plre test.txt
    Ask it:                 plre next model.plre the cat

    TEXT is a file, a pattern such as 'news/*.gz', or - for standard input; one sentence a line, words
    separated by white space; plain, gz, bz2, xz or zst. 'plre COMMAND --help' tells more.
    """


for command in (
    demo, train, tune, mix, prune, evaluate, compare, score, next_words, sample, neighbours, cluster, info, verify,
    import_model, export_model, warmup,
):  # fmt: skip
    cli.add_command(command)


def main() -> None:
    """Run, and leave with 0 (done), 1 (bad data) or 2 (bad usage)."""
    code = run(sys.argv[1:])
    gc.freeze()  # so that nothing is looked through for garbage once more at the end
    sys.exit(code)


def run(arguments: list[str]) -> int:
    """Run a command line, and return its exit code."""
    from plre.cli.console import say, show_warnings_plainly

    gc.set_threshold(*_GARBAGE)
    show_warnings_plainly()
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal that cannot show a letter shows a question mark
    try:
        with cli.make_context("plre", arguments) as context:
            cli.invoke(context)
        if sys.stdout is not None:  # as it is where standard output is closed
            sys.stdout.flush()
        return DONE
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.ClickException as error:
        error.show()
        return BAD_USAGE
    except (KeyboardInterrupt, click.Abort):
        say("\nstopped")
        return INTERRUPTED
    except BrokenPipeError:
        # The reader (such as head) has had enough; keep the interpreter from complaining at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except UsageError as error:
        say(f"error: {error}")
        return BAD_USAGE
    except PlreError as error:
        say(f"error: {error}")
        return BAD_DATA
    except OSError as error:
        say(f"error: {describe_error(error)}")
        return BAD_DATA
    except MemoryError:
        say(f"error: {_NO_MEMORY}")
        return BAD_DATA


def describe_error(error: OSError) -> str:
    """What went wrong with a file or with the system, in a line.

    >>> describe_error(FileNotFoundError(2, "No such file or directory", "dev.txt"))
    'dev.txt: No such file or directory'
    >>> describe_error(OSError(28, "No space left on device"))
    'the output could not be written (No space left on device)'
    """
    reason = error.strerror or str(error)
    if error.errno == errno.ENOMEM:
        return _NO_MEMORY
    if error.filename is not None:
        return f"{os.fsdecode(error.filename) if isinstance(error.filename, bytes) else error.filename}: {reason}"
    if error.errno in _NO_ROOM:
        return f"the output could not be written ({reason})"
    return f"the system refused to read or write ({reason})"
