"""The commands for MCP servers, in addition to their list: add, remove, test, and serve."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from nanobot.plugins.common.commands.output import say
from nanobot.plugins.common.faces import Command, Option

_Name = Annotated[
    str, Option(about="The server's name in the configuration.", words=True, metavar="NAME")
]


def commands() -> list[Command]:
    """All of them."""
    adding = (
        "nanobot mcp add clock -- uvx mcp-server-time",
        "nanobot mcp add tracker --url https://tracker.example/mcp",
    )
    serving = (
        "nanobot mcp serve",
        "nanobot mcp serve --http 127.0.0.1:8766 --token-env TOKEN",
    )
    return [
        Command(name="mcp add", run=add_server, examples=adding),
        Command(name="mcp remove", run=remove_server, examples=("nanobot mcp remove files",)),
        Command(name="mcp test", run=try_server, examples=("nanobot mcp test files",)),
        Command(name="mcp serve", run=serve, examples=serving),
    ]


def add_server(  # noqa: PLR0913 - each is an option
    environ: Mapping[str, str],
    *,
    name: _Name,
    command: Annotated[
        list[str] | None,
        Option(about="After --: the program and its arguments.", words=True, metavar="COMMAND"),
    ] = None,
    url: Annotated[str, Option(about="The URL of the server, instead of a program.")] = "",
    env: Annotated[
        list[str] | None,
        Option(about="For a program: an environment variable, KEY=VALUE (repeatable)."),
    ] = None,
    read: Annotated[
        list[str] | None, Option(about="A path that the program may read (repeatable).")
    ] = None,
    write: Annotated[
        list[str] | None, Option(about="A path that it may also write (repeatable).")
    ] = None,
    host: Annotated[
        list[str] | None,
        Option(about="A host that it may reach, in addition to package registries (repeatable)."),
    ] = None,
    header: Annotated[
        list[str] | None, Option(about="For a URL: a header, NAME=VALUE (repeatable).")
    ] = None,
) -> None:
    """Add a server to config.toml. References such as ${NAME} and file:PATH are kept."""
    from nanobot.plugins.mcp.server_tables import (  # noqa: PLC0415 - more than --help needs
        ServerSpec,
        added,
    )

    spec = ServerSpec(
        command=tuple(command or ()),
        url=url,
        env=tuple(env or ()),
        read=tuple(read or ()),
        write=tuple(write or ()),
        hosts=tuple(host or ()),
        headers=tuple(header or ()),
    )
    file = added(environ, name, spec)
    say(f"{name} is in {file}. Try it: nanobot mcp test {name}")
    say("It takes effect at the next start of nanobot.")


def remove_server(environ: Mapping[str, str], *, name: _Name) -> None:
    """Remove a server from config.toml."""
    from nanobot.plugins.mcp.server_tables import removed  # noqa: PLC0415

    file = removed(environ, name)
    say(f"{name} is no longer in {file}. It takes effect at the next start of nanobot.")


def try_server(
    environ: Mapping[str, str],
    *,
    name: _Name,
    json: Annotated[bool, Option(about="Print JSON.")] = False,
) -> None:
    """Connect to a configured server and list its tools; ends with 1 if it cannot be used."""
    from nanobot.plugins.mcp.server_tables import tried  # noqa: PLC0415

    tried(environ, name, json=json)


def serve(
    environ: Mapping[str, str],
    *,
    http: Annotated[
        str, Option(about="Listen at HOST:PORT instead of standard input and output.")
    ] = "",
    token_env: Annotated[
        str, Option(about="With --http: the variable with the token clients must show.")
    ] = "",
) -> None:
    """Serve MCP to other programs: they send messages, read conversations, answer approvals."""
    from nanobot.plugins.mcp.serving import run  # noqa: PLC0415

    run(environ, http, token_env)
