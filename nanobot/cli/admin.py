"""Commands for the configuration, the version, and new plugins."""

from __future__ import annotations

from typing import Annotated

import typer

from nanobot import __version__
from nanobot.cli.exit_codes import errors
from nanobot.cli.generated import example
from nanobot.cli.output import document, say

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def add(app: typer.Typer, config: typer.Typer) -> None:
    """Add these commands to the command line; `config` gets those for the configuration."""
    for command, lines in (
        (get, "nanobot config get agent.model"),
        (put, "nanobot config set agent.model openai/gpt-6-luna"),
        (schema, "nanobot config schema > config.schema.json"),
    ):
        name = "set" if command is put else command.__name__
        config.command(name, epilog=example(lines))(command)
    app.command(epilog=example("nanobot version"))(version)


def get(
    context: typer.Context,
    key: Annotated[str, typer.Argument(metavar="KEY", help="A key or a table; empty: all.")] = "",
    json: Json = False,
) -> None:
    """Show what holds now, defaults and the environment included; secrets as ***."""
    from nanobot.config import file as configfile  # noqa: PLC0415 - loads more than --help needs

    with errors():
        shown = configfile.chosen(context.obj, key)
        if json:
            document(shown)
        elif list(shown) == [key]:
            say(str(shown[key]))
        else:
            for name, value in shown.items():
                say(f"{name} = {configfile.as_toml(value)}")


def put(
    context: typer.Context,
    key: Annotated[str, typer.Argument(metavar="KEY", help="The key, as in agent.model.")],
    value: Annotated[
        str,
        typer.Argument(metavar="VALUE", help="The value; separate the items of a list by commas."),
    ],
    force: Annotated[
        bool, typer.Option("--force", help="Accept a model that no list contains.")
    ] = False,
) -> None:
    """Write a key into config.toml.

    Comments stay, and a wrong value is refused. A gateway that runs takes the change over at once
    where it can; otherwise the answer says that it needs a restart.
    """
    from nanobot.cli.settings import set_key  # noqa: PLC0415

    with errors():
        say(set_key(context.obj, key, value, force=force))


def schema() -> None:
    """Print the JSON Schema of config.toml, for editors."""
    from nanobot.config import file as configfile  # noqa: PLC0415

    document(configfile.schema())


def version() -> None:
    """Show the version."""
    say(f"nanobot {__version__}")
