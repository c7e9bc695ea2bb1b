"""The command line: puts the commands on one program, tells errors in one line, and sets the numeric flags."""

import os
import sys
import traceback
from typing import Annotated, Any, NoReturn

import typer

from . import __version__, _commands
from ._errors import SettingError, one_line
from ._system import fast, mend_cache, no_backend, say_no_more

app = typer.Typer(
    name="localax",
    help="When, why and how do receptive fields in neural networks become local?",
    pretty_exceptions_enable=False,
)

WORDS_OF_ITS_OWN = {"ignore_unknown_options": True}
"""For commands whose flags are settings, which are not known before a stimulus or a benchmark is."""

app.command()(_commands.reproduce)
app.command()(_commands.stimuli)
app.command(context_settings=WORDS_OF_ITS_OWN)(_commands.train)
app.command()(_commands.predict)
app.command()(_commands.lab)
app.command()(_commands.sweep)
app.command()(_commands.plot)
app.command()(_commands.runs)
app.command("list")(_commands.list_)
app.command(context_settings=WORDS_OF_ITS_OWN)(_commands.bench)
app.command()(_commands.doctor)
app.command()(_commands.cite)


def main() -> None:
    """Run a command.

    0 done, 1 a claim or a check fell short or a run diverged, 2 the input was wrong, 3 a mistake of ours, 130
    interrupted.
    """
    fast()
    mend_cache()
    try:
        code = app(sys.argv[1:] or ["--help"], prog_name="localax", standalone_mode=False)
        if code == 130:  # how typer ends on Ctrl-C
            raise KeyboardInterrupt
        sys.stdout.flush()
        sys.exit(code)
    except (typer.Abort, KeyboardInterrupt):
        _stop("interrupted; what was finished is kept, and the same command goes on from there", 130)
    except BrokenPipeError:  # who read along has seen enough
        say_no_more()
        sys.exit(1)
    except (SettingError, OSError) as error:
        text = f"{error.strerror}: {error.filename}" if isinstance(error, OSError) and error.filename else str(error)
        _stop(text, 2)
    except Exception as error:
        if hasattr(error, "format_message"):  # words that typer cannot read
            _stop(_unread(error), 2)
        if why := no_backend():
            _stop(why, 2)
        _stop(f"a mistake of ours, sorry: {type(error).__name__}: {error} (see it all with: localax --debug ...)", 3)


def _unread(error: Any) -> str:
    """What typer says of words it cannot read, as our own errors are said, and where to look them up."""
    said = error.format_message().rstrip(".")
    context = getattr(error, "ctx", None)
    return f"{said[0].lower()}{said[1:]} (see: {context.command_path if context else 'localax'} --help)"


def _stop(text: str, code: int) -> NoReturn:
    """One line on the error stream, the traceback before it with ``--debug``, and an exit code."""
    if _commands.DEBUG in sys.argv and code in (2, 3):
        traceback.print_exc()
    try:
        sys.stdout.flush()
    except OSError:
        say_no_more()
    print(f"localax: {one_line(text)}", file=sys.stderr, flush=True)
    if code == 130:  # XLA may still be computing, and an orderly exit would take its memory from under it
        os._exit(code)
    sys.exit(code)


def _version(asked: bool | None) -> None:
    if asked:
        print(f"localax {__version__}")
        raise typer.Exit


VERSION = typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")


@app.callback()
def _root(
    version: Annotated[bool | None, VERSION] = None,
    debug: Annotated[bool, typer.Option(_commands.DEBUG, help="Show the traceback of an error.")] = False,
) -> None:
    del version, debug


if __name__ == "__main__":
    main()
