"""`nanobot onboard`: from nothing to a model that answers and a first chat.

Everything is tried before it is kept, and nothing is written before the end, at once.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping

import msgspec

from nanobot import workspace
from nanobot.cli import configfile
from nanobot.cli.answering import Answering, find, wanted
from nanobot.cli.logs import to_stderr
from nanobot.cli.questions import agree, ask, ask_secret, choose, say
from nanobot.cli.template import written
from nanobot.cli.trials import first_sender, try_channel, try_model
from nanobot.config import ChannelSettings, Config, load, survey
from nanobot.errors import ChannelError, ConfigError, ModelError, NanobotError, UsageError

_WAIT_SECONDS = 120.0
_TOKEN_VARIABLES = ("TELEGRAM_TOKEN", "TELEGRAM_BOT_TOKEN")
_BOTFATHER = """
A chat on your phone: on Telegram, send /newbot to @BotFather, and it gives you a token."""


class Wishes(msgspec.Struct, frozen=True, kw_only=True):
    """What was given on the command line."""

    yes: bool = False
    model: str = ""
    api_key_env: str = ""
    telegram_token_env: str = ""
    owner: str = ""


class Plan:
    """What is to be written: keys of the configuration, and secrets by their file in the home."""

    def __init__(self) -> None:
        self.keys: dict[str, str | list[str]] = {}
        self.secrets: dict[str, str] = {}


def run(environ: Mapping[str, str], wishes: Wishes) -> int:
    """Hold the conversation; returns the exit code. Raises NanobotError, and then wrote nothing."""
    to_stderr(environ, "ERROR")
    if not wishes.yes and not sys.stdin.isatty():
        raise UsageError("onboard asks questions: run it in a terminal, or give --yes")
    problems, config = survey(environ)
    if config is None:
        raise ConfigError("\n".join(problems))
    for one in problems:
        say(f"To be mended: {one}")
    plan = Plan()
    if wishes.yes:
        asyncio.run(_unasked(environ, config, wishes, plan))
    else:
        _conversation(environ, config, wishes, plan)
    return _write(environ, config, plan)


def _write(environ: Mapping[str, str], config: Config, plan: Plan) -> int:
    if not plan.keys:
        say("Nothing was changed.")
        return 0
    for name, secret in plan.secrets.items():
        configfile.write(config.home / name, f"{secret}\n".encode())
    if config.file.exists():
        configfile.put(environ, plan.keys)
    else:
        configfile.write(config.file, written(plan.keys).encode())
    after = load(environ)
    workspace.prepare(after.workspace)
    say(f"\nWritten: {config.file}, and the assistant's own folder {after.workspace}.")
    say("Next:")
    say("  nanobot agent      talk to it here")
    if after.channels:
        say("  nanobot gateway    serve Telegram until stopped (Ctrl-C)")
    say("  nanobot doctor     whenever something does not work")
    return 0


# Without questions


async def _unasked(environ: Mapping[str, str], config: Config, wishes: Wishes, plan: Plan) -> None:
    fresh = not config.file.exists()
    if fresh or wishes.model or wishes.api_key_env:
        label = wishes.model or config.agent.model
        answering = wanted(label, wishes.api_key_env, config.providers, environ)
        await _tried(environ, config, answering)
        plan.keys |= answering.keys
    if wishes.telegram_token_env:
        token = environ.get(wishes.telegram_token_env, "")
        if not token:
            raise UsageError(f"the variable {wishes.telegram_token_env} is not set")
        say(f"Telegram: {await _bot(config, token)} is ready.")
        plan.keys["channels.telegram.token"] = f"${{{wishes.telegram_token_env}}}"
    if wishes.owner:
        plan.keys["channels.telegram.owners"] = [wishes.owner]
    elif wishes.telegram_token_env and not _telegram(config).owners:
        say(_NOBODY_YET)


async def _tried(environ: Mapping[str, str], config: Config, answering: Answering) -> None:
    providers = {**config.providers, **answering.providers}
    say(f"Asking {answering.label} something ...")
    tried = await try_model(answering.label, providers, environ, config.home)
    say(f"{tried.label} answered after {tried.seconds:.1f} s.")


# The conversation


def _conversation(environ: Mapping[str, str], config: Config, wishes: Wishes, plan: Plan) -> None:
    say("nanobot: let us set it up. Ctrl-C leaves, and nothing is written before the end.\n")
    model, chat = True, True
    if config.file.exists():
        say(f"There is a configuration already: {config.file}")
        channels = ", ".join(config.channels) or "none"
        say(f"  model: {config.agent.model}    channels: {channels}\n")
        options = ("nothing", "the model", "Telegram", "both")
        what = choose("What should be changed?", options)
        model, chat = what in (1, 3), what in (2, 3)
    if model:
        _choose_model(environ, config, wishes, plan)
    if chat:
        _choose_chat(environ, config, wishes, plan)


def _choose_model(environ: Mapping[str, str], config: Config, wishes: Wishes, plan: Plan) -> None:
    if wishes.model:
        found = [wanted(wishes.model, wishes.api_key_env, config.providers, environ)]
    else:
        say("Looking for keys and for models on this machine ...")
        found = asyncio.run(find(environ, config.home))
    while True:
        options = [f"{one.label} ({one.why})" for one in found]
        options.append("another one: a provider with a key, or a server")
        number = choose("Which model should answer?", options)
        try:
            answering = found[number] if number < len(found) else _described()
            asyncio.run(_tried(environ, config, answering))
        except (ModelError, ConfigError) as error:
            say(f"That did not work: {error}")
            continue
        plan.keys |= answering.keys
        plan.secrets |= answering.secrets
        return


def _described() -> Answering:
    say("Write it as PROVIDER/MODEL, as in openrouter/anthropic/claude-sonnet-4.5.")
    label = ask("Model")
    name, _, model = label.partition("/")
    if not model:
        raise ConfigError(f"{label!r} is not PROVIDER/MODEL.")
    base = ask(f"Its address, if {name} is not well known (https://.../v1)")
    key = ask_secret(f"Key for {name}; just Enter: none needed")
    return Answering.of(name, model, key=key, base=base)


def _choose_chat(environ: Mapping[str, str], config: Config, wishes: Wishes, plan: Plan) -> None:
    say(_BOTFATHER)
    named = (wishes.telegram_token_env, *_TOKEN_VARIABLES)
    variable = next((name for name in named if name and environ.get(name)), "")
    if variable and not agree(f"${variable} is set: is that the token of your bot?"):
        variable = ""
    while True:
        token = environ[variable] if variable else ask_secret("Token; just Enter: not now")
        if not token:
            return
        try:
            bot = asyncio.run(_bot(config, token))
        except (ChannelError, ConfigError) as error:
            say(f"That did not work: {error}")
            variable = ""
            continue
        break
    say(f"{bot} answers.")
    plan.keys["channels.telegram.token"] = f"${{{variable}}}" if variable else "file:" + _TOKEN_FILE
    if not variable:
        plan.secrets[_TOKEN_FILE] = token
    owner = wishes.owner or _owner(config, token, bot)
    if owner:
        plan.keys["channels.telegram.owners"] = [owner]
    else:
        say(_NOBODY_YET)


_NOBODY_YET = (
    "It listens to nobody yet. Once it runs, write to it, and let yourself in with the code it "
    "tells you: nanobot pair approve CODE --role owner"
)
_TOKEN_FILE = "secrets/telegram.token"  # noqa: S105 - the name of a file


def _owner(config: Config, token: str, bot: str) -> str:
    say("\nWho may give it orders? Your numeric id; or just Enter, and write to the bot.")
    while True:
        owner = ask("Your id")
        if owner.isdecimal():
            return owner
        if owner:
            say("Ids are numbers; names can be taken by others.")
            continue
        say(f"Write something to {bot} on Telegram now; I wait two minutes ...")
        try:
            sender = asyncio.run(first_sender("telegram", _with(config, token), _WAIT_SECONDS))
        except NanobotError as error:
            say(f"That did not work: {error}")
            continue
        if sender is None:
            say("Nobody wrote.")
            return ""
        if agree(f"{sender.name or 'Somebody'} (id {sender.id}) wrote. Is that you?"):
            return sender.id


def _telegram(config: Config) -> ChannelSettings:
    return config.channels.get("telegram", ChannelSettings(type="telegram"))


def _with(config: Config, token: str) -> ChannelSettings:
    known = _telegram(config)
    return msgspec.structs.replace(known, settings={**known.settings, "token": token})


async def _bot(config: Config, token: str) -> str:
    return await try_channel("telegram", _with(config, token)) or "the bot"
