"""`nanobot onboard`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from nanobot.seam.faces import Command, Option


def commands() -> list[Command]:
    """The command."""
    examples = ("nanobot onboard", "nanobot onboard --yes --model openai/gpt-6-luna")
    return [Command(name="onboard", run=onboard, examples=examples)]


def onboard(  # noqa: PLR0913 - each is an option
    environ: Mapping[str, str],
    *,
    yes: Annotated[bool, Option(about="Use the settings found, without questions.")] = False,
    model: Annotated[str, Option(about="The model, as PROVIDER/MODEL.")] = "",
    api_key_env: Annotated[str, Option(about="The variable with its key.")] = "",
    api_base: Annotated[
        str, Option(about="Its address, as http://127.0.0.1:8000/v1.", metavar="URL")
    ] = "",
    telegram_token_env: Annotated[
        str, Option(about="The variable with a Telegram bot's token, for short.")
    ] = "",
    channel: Annotated[
        str, Option(about="A channel to connect: its type, or the name of a known one.")
    ] = "",
    name: Annotated[str, Option(about="With --channel TYPE: what to call it.")] = "",
    settings: Annotated[
        list[str] | None,
        Option(
            about="A key of the channel, as token='${TOKEN}' (repeatable).",
            flags=("--set",),
            metavar="KEY=VALUE",
        ),
    ] = None,
    owner: Annotated[str, Option(about="Your id on that channel; several with commas.")] = "",
) -> int:
    """Set nanobot up: a model, a channel, a configuration.

    Both are tried before they are written, with comments, into config.toml.
    """
    from nanobot.plugins.setup.onboard.models import ModelWishes  # noqa: PLC0415 - as below
    from nanobot.plugins.setup.onboard.run import OnboardOptions, run  # noqa: PLC0415 - most of nanobot

    wishes = OnboardOptions(
        yes=yes,
        model=ModelWishes(model=model, api_key_env=api_key_env, api_base=api_base),
        telegram_token_env=telegram_token_env,
        channel=channel,
        name=name,
        settings=tuple(settings or ()),
        owner=owner,
    )
    return run(environ, wishes)
