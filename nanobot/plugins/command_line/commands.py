"""The commands: they parse, call, and turn errors into exit codes."""

from __future__ import annotations

import gc
from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, TypeAlias

import typer

from nanobot import __version__
from nanobot.cli import USUAL_GARBAGE, serve_gateway
from nanobot.operations.catalogue import OPERATIONS, plugin_operations
from nanobot.plugins.command_line import generated as faces
from nanobot.plugins.command_line import plugin_commands
from nanobot.plugins.command_line.named import named
from nanobot.plugins.command_line.top import TopLevel
from nanobot.plugins.common.commands.output import say, without_colours
from nanobot.plugins.common.log_format import with_log_format

LogFormat: TypeAlias = Annotated[
    Literal["text", "json"] | None,
    typer.Option("--log-format", help="Form of the log on standard error."),
]
app = typer.Typer(
    help="A self-hosted assistant that lives where its people already talk.",
    cls=TopLevel,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(shown: bool) -> None:
    if shown:
        say(f"nanobot {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[  # noqa: ARG001 - its callback takes it
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """What holds for every command."""
    gc.set_threshold(*USUAL_GARBAGE)  # of one that lasts


@app.command(epilog=faces.example("nanobot gateway", "nanobot gateway --role worker"))
def gateway(
    context: typer.Context,
    role: Annotated[
        list[str] | None,
        typer.Option(
            metavar="channels|worker|web|all",
            help="Role of this process when several share a PostgreSQL database (repeatable).",
        ),
    ] = None,
    log_format: LogFormat = None,
) -> None:
    """Serve the configured channels until stopped (SIGTERM or Ctrl-C drains and ends).

    A second signal ends it at once. When it is ready, it prints one line that begins with `ready`
    on standard output. The log goes to standard error.
    """
    serve_gateway(with_log_format(context.obj, log_format), role or ())


groups = faces.add(app, [*OPERATIONS, *plugin_operations()])


@app.command(epilog=faces.example("nanobot version"))
def version() -> None:
    """Show the version."""
    say(f"nanobot {__version__}")


TopLevel.leading = plugin_commands.add(app, groups)


def perform(environ: Mapping[str, str], words: Sequence[str]) -> None:
    """Perform the command of these words, and exit."""
    if environ.get("NO_COLOR"):
        without_colours()
    named(app, words)(obj=environ)
