"""The menu of commands, as setMyCommands takes it (https://core.telegram.org/bots/api#botcommand)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from nanobot.ports import MenuCommand
from nanobot.text import pattern
from nanobot_channels.common.text import label

LANGUAGES = ("zh",)
"""The languages of the menus besides English."""
_NAME = pattern(r"[a-z0-9_]{1,32}")
_DESCRIPTION = 256
_MOST = 100


class BotCommand(msgspec.Struct):
    """An entry of the menu."""

    command: str
    description: str


def menus(commands: Sequence[MenuCommand]) -> dict[str, list[BotCommand]]:
    """The entries by language, "" for people with any other language. Telegram prefers a bot-wide
    menu in a person's language to a more specific one without a language, so each scope has all of
    them.
    """
    by_language = {"": menu(commands)}
    for language in LANGUAGES:
        translated = [
            msgspec.structs.replace(each, help=dict(each.translations).get(language, each.help))
            for each in commands
        ]
        by_language[language] = menu(translated)
    return by_language


def menu(commands: Iterable[MenuCommand]) -> list[BotCommand]:
    """The entries: at most 100, without names that Telegram refuses.

    Operations of several words are listed once under their first word, with the words that follow.
    """
    grouped: dict[str, list[MenuCommand]] = {}
    for command in commands:
        first = command.name.strip().lower().partition(" ")[0]
        if _NAME.fullmatch(first):
            grouped.setdefault(first, []).append(command)
    entries = (BotCommand(name, _description(group)) for name, group in grouped.items())
    return [entry for entry in entries if entry.description][:_MOST]


def _description(group: Sequence[MenuCommand]) -> str:
    alone = [command.help for command in group if " " not in command.name.strip()]
    if alone:
        return label(alone[0], _DESCRIPTION)
    rests = [command.name.strip().partition(" ")[2] for command in group]
    if len(group) == 1:
        return label(f"{rests[0]}: {group[0].help}", _DESCRIPTION)
    return label(", ".join(rests), _DESCRIPTION)
