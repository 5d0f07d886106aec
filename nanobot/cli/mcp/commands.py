"""The commands for MCP servers, in addition to their list: add, remove, test, and serve."""

from __future__ import annotations

from typing import Annotated

import typer

from nanobot.cli.exit_codes import errors
from nanobot.cli.generated import example
from nanobot.cli.output import say

_Name = Annotated[
    str, typer.Argument(metavar="NAME", help="The server's name in the configuration.")
]
_Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def add(group: typer.Typer) -> None:
    """Add these commands to a group."""
    adding = example(
        "nanobot mcp add clock -- uvx mcp-server-time",
        "nanobot mcp add tracker --url https://tracker.example/mcp",
    )
    group.command("add", epilog=adding)(add_server)
    group.command("remove", epilog=example("nanobot mcp remove files"))(remove_server)
    group.command("test", epilog=example("nanobot mcp test files"))(try_server)
    group.command(
        "serve",
        epilog=example(
            "nanobot mcp serve", "nanobot mcp serve --http 127.0.0.1:8766 --token-env TOKEN"
        ),
    )(serve)


def add_server(  # noqa: PLR0913 - each is an option
    context: typer.Context,
    name: _Name,
    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="COMMAND", help="After --: the program and its arguments."),
    ] = None,
    url: Annotated[str, typer.Option(help="The URL of the server, instead of a program.")] = "",
    env: Annotated[
        list[str] | None,
        typer.Option(help="For a program: an environment variable, KEY=VALUE (repeatable)."),
    ] = None,
    read: Annotated[
        list[str] | None, typer.Option(help="A path that the program may read (repeatable).")
    ] = None,
    write: Annotated[
        list[str] | None, typer.Option(help="A path that it may also write (repeatable).")
    ] = None,
    host: Annotated[
        list[str] | None,
        typer.Option(
            help="A host that it may reach, in addition to package registries (repeatable)."
        ),
    ] = None,
    header: Annotated[
        list[str] | None, typer.Option(help="For a URL: a header, NAME=VALUE (repeatable).")
    ] = None,
) -> None:
    """Write a server into config.toml; values like ${NAME} and file:PATH are kept as they are."""
    from nanobot.cli.mcp.config import ServerSpec, added  # noqa: PLC0415 - more than --help needs

    with errors():
        spec = ServerSpec(
            command=tuple(command or ()),
            url=url,
            env=tuple(env or ()),
            read=tuple(read or ()),
            write=tuple(write or ()),
            hosts=tuple(host or ()),
            headers=tuple(header or ()),
        )
        file = added(context.obj, name, spec)
        say(f"{name} is in {file}. Try it: nanobot mcp test {name}")
        say("It takes effect at the next start of nanobot.")


def remove_server(context: typer.Context, name: _Name) -> None:
    """Take a server out of config.toml; everything else stays as it is."""
    from nanobot.cli.mcp.config import removed  # noqa: PLC0415

    with errors():
        file = removed(context.obj, name)
        say(f"{name} is no longer in {file}. It takes effect at the next start of nanobot.")


def try_server(context: typer.Context, name: _Name, json: _Json = False) -> None:
    """Connect to a configured server and list its tools; ends with 1 if it cannot be used."""
    from nanobot.cli.mcp.config import tried  # noqa: PLC0415

    with errors():
        tried(context.obj, name, json=json)


def serve(
    context: typer.Context,
    http: Annotated[
        str, typer.Option(help="Listen at HOST:PORT instead of standard input and output.")
    ] = "",
    token_env: Annotated[
        str, typer.Option(help="With --http: the variable with the token clients must show.")
    ] = "",
) -> None:
    """Be an MCP server: other programs send messages, read conversations, answer approvals."""
    from nanobot.cli.mcp.serving import run  # noqa: PLC0415

    with errors():
        run(context.obj, http, token_env)
