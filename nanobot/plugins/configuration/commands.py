"""`nanobot config get`, `set` and `schema`: they need no gateway and no store."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from nanobot.plugins.common.faces import Command, Option


def commands() -> list[Command]:
    """The commands."""
    start = "nanobot config"
    example = f"{start} schema > config.schema.json"
    return [
        Command(name="config get", run=get, examples=(f"{start} get agent.model",)),
        Command(
            name="config set", run=put, examples=(f"{start} set agent.model openai/gpt-6-luna",)
        ),
        Command(name="config schema", run=schema, examples=(example,)),
    ]


def get(
    environ: Mapping[str, str],
    *,
    key: Annotated[
        str, Option(about="A key or a table; empty: all.", words=True, metavar="KEY")
    ] = "",
    json: Annotated[bool, Option(about="Print JSON.")] = False,
) -> None:
    """Show what holds now, defaults and the environment included; secrets as ***."""
    from nanobot.plugins.common.commands.output import document, say  # noqa: PLC0415 - loads more than --help needs
    from nanobot.plugins.common.keys.config_file import as_toml  # noqa: PLC0415
    from nanobot.plugins.configuration.shown import chosen  # noqa: PLC0415

    shown = chosen(environ, key)
    if json:
        document(shown)
    elif list(shown) == [key]:
        say(str(shown[key]))
    else:
        for name, value in shown.items():
            say(f"{name} = {as_toml(value)}")


def put(
    environ: Mapping[str, str],
    *,
    key: Annotated[str, Option(about="The key, as in agent.model.", words=True, metavar="KEY")],
    value: Annotated[
        str,
        Option(
            about="The value; separate the items of a list by commas.", words=True, metavar="VALUE"
        ),
    ],
    force: Annotated[bool, Option(about="Accept a model that no list contains.")] = False,
) -> None:
    """Write a key into config.toml.

    Comments stay, and a wrong value is refused. A gateway that runs takes the change over at once
    where it can; otherwise the answer says that it needs a restart.
    """
    from nanobot.plugins.common.commands.output import say  # noqa: PLC0415 - as above
    from nanobot.plugins.configuration.from_shell import set_key  # noqa: PLC0415

    say(set_key(environ, key, value, force=force))


def schema(_: Mapping[str, str]) -> None:
    """Print the JSON Schema of config.toml, for editors."""
    from nanobot.plugins.common.commands.output import document  # noqa: PLC0415 - as above
    from nanobot.plugins.configuration import schema as schemas  # noqa: PLC0415

    document(schemas.schema())
