"""`nanobot onboard`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from nanobot.plugins.common.faces import Command, Option


def commands() -> list[Command]:
    """The command."""
    examples = (
        "nanobot onboard",
        "nanobot onboard --channel slack",
        "nanobot onboard --yes --model home/qwen3-32b --api-base http://10.0.0.7:8000/v1",
        "nanobot onboard --yes --channel telegram --set 'token=${TELEGRAM_TOKEN}' --owner 1001",
    )
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

    It finds keys in the environment and models on this machine, tests the chosen model and
    channel, and writes nothing before the end. An existing configuration can be extended.
    --set takes any key of the channel. Missing keys come from well-known variables, such as
    TELEGRAM_TOKEN, and from defaults. A secret is saved in a file of its own, unless it is ${NAME}
    or file:PATH.
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
