"""`nanobot onboard`: from nothing to a working model and a first channel.

Everything is tested before it is accepted, and everything is written together at the end.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from urllib.parse import urlsplit

import msgspec

from nanobot.cli.logs import to_stderr
from nanobot.config.loader import Config, load, survey
from nanobot.config.settings.agent import ProviderSettings
from nanobot.config.settings.base import is_url
from nanobot.errors import ConfigError, ModelError, NanobotError, UsageError
from nanobot.plugins.common.keys.setting_changes import SettingChanges
from nanobot.plugins.common.models.known_providers import KNOWN_PROVIDERS, LOCAL_PROVIDERS
from nanobot.plugins.common.models.litellm_names import REACHED
from nanobot.plugins.common.models.model_lists import chat_models, http_probe
from nanobot.plugins.common.questions import ask, ask_secret, choose, said, say
from nanobot.plugins.common.times.guessed_zone import guessed
from nanobot.plugins.common.times.zones import zone_of
from nanobot.plugins.setup.available_models import (
    AvailableModel,
    clients_off,
    default_model,
    find,
    silent,
)
from nanobot.plugins.setup.channel_table import with_channel
from nanobot.plugins.setup.model_names import (
    completed_address,
    wrong_address,
    wrong_key,
    wrong_label,
    wrong_model,
    wrong_provider,
)
from nanobot.plugins.setup.new_channel import NewChannel, channel_of
from nanobot.plugins.setup.onboard.models import OWN_PROVIDER, ModelWishes, named
from nanobot.plugins.setup.onboard.wizard import chosen, introduce
from nanobot.plugins.setup.probes import tell, try_channel, try_model
from nanobot.plugins.setup.strangers import nobody_yet
from nanobot.plugins.setup.writing import write
from nanobot.text import Sentence
from nanobot.workspace import folder as workspace

_MOST_LISTED = 20
_GREETING = (
    "Hello! I am set up, and I take orders from you.\n"
    "As soon as `nanobot gateway` runs I answer here: /start shows what I can do."
)


class OnboardOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of the command line."""

    yes: bool = False
    model: ModelWishes = ModelWishes()
    telegram_token_env: str = ""
    channel: str = ""
    name: str = ""
    settings: tuple[str, ...] = ()
    owner: str = ""


class OnboardPlan:
    """The changes to write: keys of the configuration, and secrets by their file in the home."""

    def __init__(self) -> None:
        self.keys: dict[str, str | list[str]] = {}
        self.secrets: dict[str, str] = {}
        self.channel: NewChannel | None = None


def run(environ: Mapping[str, str], wishes: OnboardOptions) -> int:
    """Run the dialogue; returns the exit code. Raises NanobotError, and then has written
    nothing.
    """
    to_stderr(environ, "ERROR")
    if not wishes.yes and not sys.stdin.isatty():
        raise UsageError("onboard asks questions: run it in a terminal, or give --yes")
    problems, config = survey(environ)
    if config is None:
        raise ConfigError("\n".join(problems))
    for problem in problems:
        say(f"To fix: {problem}")
    plan = OnboardPlan()
    if wishes.yes:
        asyncio.run(_unasked(environ, config, wishes, plan))
    else:
        _conversation(environ, config, wishes, plan)
    return _write(environ, config, plan)


def _write(environ: Mapping[str, str], config: Config, plan: OnboardPlan) -> int:
    if not plan.keys and plan.channel is None:
        say("Nothing was changed.")
        return 0
    secrets = plan.secrets | (plan.channel.secrets if plan.channel else {})
    new = plan.channel
    more = None if new is None else lambda text: with_channel(text, new)
    write(environ, SettingChanges(keys=plan.keys, secrets=secrets, more=more))
    after = load(environ)
    workspace.prepare(after.workspace)
    if plan.channel is not None:
        _greet(plan.channel, after)
    say(f"\nWritten: {config.file}, and the assistant's own folder {after.workspace}.")
    say("Next:")
    say("  nanobot agent      talk to it here")
    served = [name for name, channel in after.channels.items() if channel.enabled]
    if served:
        say(f"  nanobot gateway    serve {', '.join(served)} until stopped (Ctrl-C)")
    say("  nanobot doctor     whenever something does not work")
    return 0


def _greet(channel: NewChannel, config: Config) -> None:
    """Tell the owner, in the chat that they will use, that setup is complete."""
    address = channel.chat_to_greet()
    if address is None:
        return
    try:
        asyncio.run(tell(channel.name, config.channels[channel.name], address, _GREETING))
    except NanobotError as error:
        say(f"\n{channel.setup.title} refused a first message to {address.chat_id}: {error}")
        say("Write to the assistant there first; that is how most chats let it answer.")
    else:
        say(f"\n{channel.setup.title}: look there, I have just written to you.")


# Without questions


async def _unasked(
    environ: Mapping[str, str], config: Config, wishes: OnboardOptions, plan: OnboardPlan
) -> None:
    fresh = not config.file.exists()
    if fresh or wishes.model != ModelWishes():
        answering = await asyncio.to_thread(_named, environ, config, wishes.model)
        await _tried(environ, config, answering)
        plan.keys |= answering.keys
    channel = _given(environ, config, wishes)
    if channel is None:
        return
    checked = await try_channel(channel.name, channel.settings(config, environ), config)
    say(f"{channel.setup.title}: {checked.who if checked else channel.name} is ready.")
    if checked and checked.lacking:
        say(f"But: {checked.lacking}.")
    if checked and checked.todo:
        say(f"Left to do: {checked.todo}.")
    if not channel.settings(config, environ).owners:
        say(nobody_yet(config, channel.name))
    plan.channel = channel


def _given(environ: Mapping[str, str], config: Config, wishes: OnboardOptions) -> NewChannel | None:
    """The channel given on the command line, possibly incomplete."""
    channel, settings, variable = wishes.channel, wishes.settings, wishes.telegram_token_env
    if variable:
        if not environ.get(variable):
            raise UsageError(f"the variable {variable} is not set")
        channel, settings = channel or "telegram", (*settings, f"token=${{{variable}}}")
    if not channel:
        if wishes.owner or settings or wishes.name:
            raise UsageError("--owner, --set and --name need --channel TYPE: of which channel?")
        return None
    new = channel_of(channel, wishes.name, settings, config)
    if wishes.yes:
        new.complete(environ)
    owners = [owner.strip() for owner in wishes.owner.split(",") if owner.strip()]
    new.own(owners)
    return new


async def _tried(environ: Mapping[str, str], config: Config, answering: AvailableModel) -> None:
    providers = dict(config.providers)
    for name, settings in answering.providers.items():
        before = providers.get(name, ProviderSettings())
        providers[name] = msgspec.structs.replace(
            before,
            api_key=settings.api_key or before.api_key,
            api_base=settings.api_base or before.api_base,
        )
    say(f"Trying the model {answering.label} ...")
    tried = await try_model(answering.label, providers, environ, config)
    say(f"{tried.name} answered after {tried.seconds:.1f} s ({tried.abilities}).")


def _named(environ: Mapping[str, str], config: Config, wishes: ModelWishes) -> AvailableModel:
    """The model given on the command line; otherwise the configured one."""
    if not wishes.model and not wishes.api_base:
        wishes = msgspec.structs.replace(wishes, model=config.agent.model)
    return named(wishes, environ)


# The dialogue


def _conversation(
    environ: Mapping[str, str], config: Config, wishes: OnboardOptions, plan: OnboardPlan
) -> None:
    say("nanobot: let us set it up. Ctrl-C leaves, and nothing is written before the end.\n")
    model, chat = True, True
    if config.file.exists():
        say(f"There is a configuration already: {config.file}")
        channels = ", ".join(config.channels) or "none"
        say(f"  model: {config.agent.model}    channels: {channels}\n")
        options = ("nothing", "the model", "a channel, new or known", "both")
        what = choose("What should be changed?", options)
        model, chat = what in (1, 3), what in (2, 3)
    if model:
        _choose_model(environ, config, wishes, plan)
    if chat:
        _choose_channel(environ, config, wishes, plan)
    if not config.agent.zone and not config.file.exists():
        _choose_zone(environ, plan)


def _choose_zone(environ: Mapping[str, str], plan: OnboardPlan) -> None:
    """The time zone of jobs and days, asked once."""
    while True:
        named = ask("Your time zone, as in Europe/Berlin", guessed(environ))
        try:
            plan.keys["agent.zone"] = zone_of(named).key
        except UsageError as error:
            say(f"{error}")
        else:
            return


def _choose_model(
    environ: Mapping[str, str], config: Config, wishes: OnboardOptions, plan: OnboardPlan
) -> None:
    if wishes.model.model or wishes.model.api_base:
        choices = [_named(environ, config, wishes.model)]
    else:
        say("Looking for keys, and for models that run on this machine ...")
        choices = asyncio.run(find(environ, config.home, clients_off(config)))
        if silent_ones := silent(choices, environ):
            say(f"Not running: {', '.join(silent_ones)}.")
    others = (_listed, _described)
    while True:
        options = [_option(choice.label, choice.why) for choice in choices]
        number = choose("Which model should answer?", [*options, *_other_ways()])
        try:
            if number < len(choices):
                answering = choices[number]
            else:
                answering = others[number - len(choices)](environ)
            asyncio.run(_tried(environ, config, answering))
        except (ModelError, ConfigError) as error:
            say(f"That did not work: {error}")
            continue
        plan.keys |= answering.keys
        plan.secrets |= answering.secrets
        return


def _option(label: str, why: Sentence) -> str:
    """A model with the reason for which it is offered."""
    return f"{label} ({said(why)})"


def _other_ways() -> list[Sentence]:
    """The models that have to be described first, in the order of the functions that do."""
    return [
        "a well-known provider, with its key (OpenAI, Anthropic, Gemini, OpenRouter ...)",
        "another one: any OpenAI-compatible server, by its address",
    ]


def _listed(environ: Mapping[str, str]) -> AvailableModel:
    rows = {name: row for name, row in KNOWN_PROVIDERS.items() if name not in LOCAL_PROVIDERS}
    width = max(len(row.title) for row in rows.values())
    options = [f"{row.title:<{width}}  {urlsplit(row.api_base).netloc}" for row in rows.values()]
    name = list(rows)[choose("Which provider?", options)]
    row = rows[name]
    variable = next((variable for variable in row.env if environ.get(variable, "").strip()), "")
    hint = f", or press Enter to use {variable}" if variable else ""
    key = ask_secret(f"Your {row.title} key{hint}", wrong_key)
    if not key and not variable:
        raise ConfigError(f"{row.title} needs a key.")
    providers = {name: ProviderSettings(api_key=key)} if key else {}
    proposed = asyncio.run(default_model(name, environ, providers))
    return AvailableModel.of(name, ask("Model", proposed, wrong_model), key=key)


def _described(environ: Mapping[str, str]) -> AvailableModel:
    say("Enter PROVIDER/MODEL, such as openrouter/anthropic/claude-sonnet-4.5, or the base URL of")
    say("an OpenAI-compatible server.")
    label = ask("Model or URL", check=_wrong_model_or_address)
    if is_url(completed_address(label)):
        return _at(completed_address(label).rstrip("/"))
    name, _, model = label.partition("/")
    _, config = survey(environ)
    configured = {} if config is None else config.providers
    if name in KNOWN_PROVIDERS or name in REACHED or name in configured:
        base = ask("Base URL, or press Enter for the provider's own", check=_wrong_unless_empty)
    else:
        base = ask("Base URL (https://.../v1)", check=_wrong_if_completed)
    key = ask_secret(f"Key for {name}, or press Enter if it needs none", wrong_key)
    return AvailableModel.of(name, model, key=key, base=base)


def _at(base: str) -> AvailableModel:
    """A model of the server at an address; the server may list its models."""
    key = ask_secret("Its key, or press Enter if it needs none", wrong_key)
    listed = chat_models(asyncio.run(http_probe(f"{base}/models")))[:_MOST_LISTED]
    if listed:
        model = listed[choose("It has these models. Which one?", listed)]
    else:
        model = ask("Name of the model there", check=wrong_model)
    name = ask("A name for the provider", OWN_PROVIDER, wrong_provider)
    return AvailableModel.of(name, model, key=key, base=base)


def _wrong_model_or_address(text: str) -> str:
    address = completed_address(text)
    return wrong_address(address) if is_url(address) else wrong_label(text)


def _wrong_unless_empty(text: str) -> str:
    return _wrong_if_completed(text) if text else ""


def _wrong_if_completed(text: str) -> str:
    return wrong_address(completed_address(text))


def _choose_channel(
    environ: Mapping[str, str], config: Config, wishes: OnboardOptions, plan: OnboardPlan
) -> None:
    channel = _given(environ, config, wishes) or chosen(config, environ)
    if channel is not None and introduce(channel, config, environ):
        plan.channel = channel
