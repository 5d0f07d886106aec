"""The commands: they parse, call, and turn errors into exit codes."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from nanobot import __version__
from nanobot.cli import admin
from nanobot.cli import generated as faces
from nanobot.cli.exit_codes import errors
from nanobot.cli.mcp import commands as mcp
from nanobot.cli.output import say
from nanobot.cli.service import commands as service
from nanobot.errors import UsageError
from nanobot.messages import TERMINAL_SESSION
from nanobot.operations.catalogue import OPERATIONS

app = typer.Typer(
    help="A self-hosted assistant that lives where its people already talk.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _version(shown: bool) -> None:
    if shown:
        say(f"nanobot {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """What holds for every command."""


@app.command()
def agent(
    context: typer.Context,
    message: Annotated[
        str | None, typer.Option("--message", "-m", help="Say this, print the answer, end.")
    ] = None,
    image: Annotated[
        list[str] | None,
        typer.Option("--image", help="With -m: a picture that goes with it; may come again."),
    ] = None,
    session: Annotated[str, typer.Option(help="The session to talk in.")] = TERMINAL_SESSION,
    json: Annotated[bool, typer.Option("--json", help="Print one event a line.")] = False,
) -> None:
    """Talk to the assistant: one message, standard input from a pipe, or a conversation."""
    from nanobot.cli.chat.talk import OneMessage, talk  # noqa: PLC0415 - loads the whole of nanobot

    with errors():
        if message is None and not sys.stdin.isatty():
            message = sys.stdin.buffer.read().decode("utf-8", "replace")
        if message is None and image:
            raise UsageError("--image goes with -m TEXT; in a conversation write /image PATH")
        once = None if message is None else OneMessage(message, tuple(image or ()))
        code = talk(context.obj, once, session, json=json)
    raise typer.Exit(code)


@app.command()
def gateway(context: typer.Context) -> None:
    """Serve the configured channels until stopped (SIGTERM or Ctrl-C drains and ends)."""
    from nanobot.cli import serve  # noqa: PLC0415 - loads the whole of nanobot

    serve.gateway(context.obj)


groups = faces.add(app, OPERATIONS)
mcp.add(groups["mcp"])
admin.add(app)
service.add(app)
