"""Sets up a channel by questions: which one, its settings, and its owner."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping

from nanobot.config.loader import ChannelSettings, Config
from nanobot.config.values import is_secret, parse
from nanobot.errors import NanobotError
from nanobot.plugins.common.questions import agree, ask, ask_secret, choose, say
from nanobot.plugins.setup.new_channel import ChannelType, NewChannel, kinds, variable_of
from nanobot.plugins.setup.probes import first_message, try_channel
from nanobot.plugins.setup.strangers import nobody_yet
from nanobot.ports import Checked, SetupField
from nanobot.text import Sentence

_WAIT_SECONDS = 120.0


def chosen(config: Config, environ: Mapping[str, str]) -> NewChannel | None:
    """Which channel to connect; None: none now."""
    say("\nA chat on your phone, or wherever else you talk:")
    types = [kind for kind in kinds() if not kind.broken]
    options = [_option(kind, environ) for kind in types]
    number = choose("Which one?", [*options, _none()], default=_first(types, environ))
    if number == len(types):
        return None
    kind = types[number]
    name = _table(kind, config)
    return NewChannel(name, kind.name, kind.setup, config)


def _none() -> Sentence:
    return "none for now"


def _option(kind: ChannelType, environ: Mapping[str, str]) -> Sentence:
    variable = _variable(kind, environ)
    return f"{kind.setup.title} (${variable} is set)" if variable else kind.setup.title


def _variable(kind: ChannelType, environ: Mapping[str, str]) -> str:
    return next((v for field in kind.setup.fields if (v := variable_of(field, environ))), "")


def _first(types: list[ChannelType], environ: Mapping[str, str]) -> int:
    at = (number for number, channel_type in enumerate(types) if _variable(channel_type, environ))
    return next(at, len(types))


def _table(kind: ChannelType, config: Config) -> str:
    """The name of the table: an existing one to change, or a new one."""
    written = parse(config.file).get("channels", {})
    same = [name for name in written if name in config.channels and _is(config, name, kind.name)]
    if not same:
        return kind.name if kind.name not in written else _new_name(kind.name, written)
    options = [f"change {name}" for name in same]
    number = choose("There is one already:", [*options, "add another one"])
    return same[number] if number < len(same) else _new_name(kind.name, written)


def _is(config: Config, name: str, kind: str) -> bool:
    return config.channels[name].type == kind


def _new_name(kind: str, existing: Mapping[str, object]) -> str:
    free = next(f"{kind}{n}" for n in range(2, len(existing) + 3) if f"{kind}{n}" not in existing)
    while True:
        name = ask("A name for it", free)
        if name in existing:
            say(f"{name} is another one.")
        elif re.fullmatch(r"[A-Za-z0-9_-]{1,40}", name):
            return name
        else:
            say("Letters, digits, - and _ please.")


def introduce(channel: NewChannel, config: Config, environ: Mapping[str, str]) -> bool:
    """Ask for the channel's settings until it works; False: not now. Raises EOFError."""
    setup = channel.setup
    say(f"\n{setup.title}. {setup.steps}")
    if setup.docs:
        say(f"Step by step: {setup.docs}")
    say("For any of it you may write ${NAME}, a variable of the environment, or file:PATH.\n")
    again = False
    while _ask_for_fields(channel, environ, again=again):
        try:
            settings = channel.settings(config, environ)
            checked = asyncio.run(try_channel(channel.name, settings, config))
        except NanobotError as error:
            say(f"That did not work: {error}")
        else:
            if _content(checked):
                _introduce_owner(channel, config, settings, checked)
                return True
        if not agree("Try again?"):
            return False
        again = True
    return False


def _content(checked: Checked | None) -> bool:
    """Whether the answer is acceptable."""
    if checked is None:
        return True
    if not checked.lacking:
        say(f"{checked.who} answers.")
        if checked.todo:
            say(f"Left to do: {checked.todo}.")
        return True
    say(f"{checked.who} answers, but: {checked.lacking}.")
    return agree("Save it anyway?", default=False)


def _ask_for_fields(channel: NewChannel, environ: Mapping[str, str], *, again: bool) -> bool:
    """Ask for every field; returns False if the first one is left empty."""
    if not channel.setup.fields:
        return _asked_freely(channel)
    for field in channel.setup.fields:
        if not again and field.key in channel.keys:
            continue  # given on the command line
        first = field is channel.setup.fields[0] and not channel.has(field.key)
        if not _asked_one(channel, field, environ, first=first, again=again):
            return False
    return True


def _asked_one(
    channel: NewChannel, field: SetupField, environ: Mapping[str, str], *, first: bool, again: bool
) -> bool:
    variable = "" if again else variable_of(field, environ)
    if variable and agree(f"${variable} is set: is that it ({field.asks})?"):
        channel.put(field.key, f"${{{variable}}}")
        return True
    usual = channel.usual(field)
    hint = "to skip" if first else "for none" if field.optional and not usual else ""
    if field.secret and channel.has(field.key):
        hint = "to keep it"
    question = f"{field.asks}, or press Enter {hint}" if hint else field.asks
    while True:
        text = ask_secret(question) if field.secret else ask(question, usual)
        if text:
            try:
                channel.put(field.key, text)
            except NanobotError as error:
                say(str(error))
                continue
            return True
        if first:
            return False
        if field.optional or channel.has(field.key):
            return True
        say("This is required.")


def _asked_freely(channel: NewChannel) -> bool:
    while True:
        key = ask("Name of a setting, or press Enter to finish")
        if not key:
            return True
        if not re.fullmatch(r"[A-Za-z0-9_-]+", key):
            say("A key is one word.")
            continue
        value = ask_secret(key) if is_secret(key) else ask(key)
        if value:
            try:
                channel.put(key, value)
            except NanobotError as error:
                say(str(error))


def _introduce_owner(
    channel: NewChannel, config: Config, settings: ChannelSettings, checked: Checked | None
) -> None:
    setup = channel.setup
    if channel.keys.get("owners"):
        return
    if setup.only:
        channel.keys["owners"] = [setup.only]
        return
    before = ", ".join(settings.owners)
    say("\nWho is the owner?" + (f" So far: {before}." if before else ""))
    bot = re.split(r"[ ,]", checked.who)[0] if checked else "it"
    owner = _owner(channel, settings, bot)
    if owner:
        channel.keys["owners"] = list(dict.fromkeys([*settings.owners, owner]))
    elif not before:
        say(nobody_yet(config, channel.name))


def _owner(channel: NewChannel, settings: ChannelSettings, bot: str) -> str:
    setup, strangers = channel.setup, set(settings.owners)
    if setup.knock:
        say(f"Press Enter, then send {bot} a message: your id is read from it. Type - to skip.")
    hint = "" if setup.knock else ", or press Enter to skip"
    while True:
        owner = ask(f"{setup.person}{hint}")
        if owner == "-" or (not owner and not setup.knock):
            return ""
        if owner and re.fullmatch(setup.pattern, owner):
            return owner
        if owner:
            say(f"That is not a valid id here. Expected: {setup.person}.")
            continue
        say(f"{setup.knock.format(bot=bot)} now. Waiting two minutes ...")
        try:
            waiting = first_message(channel.name, settings, _WAIT_SECONDS, strangers)
            message = asyncio.run(waiting)
        except NanobotError as error:
            say(f"That did not work: {error}")
            continue
        if message is None:
            say("No message came.")
            continue
        sender = message.sender
        if agree(f"{sender.name or 'Somebody'} (id {sender.id}) wrote. Is that you?"):
            if not setup.keeps:
                say("Good. Write again once nanobot runs: it answers then.")
            channel.owner_chat = message.address
            return sender.id
        strangers.add(sender.id)
