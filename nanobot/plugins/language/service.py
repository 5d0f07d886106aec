"""Learns the languages of chats from their messages, and translates what nanobot says there."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec
from loguru import logger

from nanobot.errors import StoreError
from nanobot.messages import Choice, OutboundMessage
from nanobot.plugins.common.translation import translated, translated_parts
from nanobot.plugins.language.chats import ChatLanguages, language_of_chat, name_of
from nanobot.plugins.language.settings import LanguageSettings
from nanobot.ports import Clock
from nanobot.seam.tables import PluginTables
from nanobot.session.inbox import Admission
from nanobot.texts import ENGLISH


def arrivals(tables: PluginTables, clock: Clock) -> Callable[[Admission], Awaitable[Admission]]:
    """What keeps the language that a message came with."""
    chats = ChatLanguages(tables, clock)

    async def learn(admission: Admission) -> Admission:
        message = admission.message
        if message.language:
            try:
                await chats.report(message.address, message.language, group=message.group)
            except StoreError as error:
                logger.debug("{}: its language is not kept: {}", message.address, error)
        return admission

    return learn


def outgoing(settings: LanguageSettings, tables: PluginTables) -> Translator:
    """What translates the messages to chats."""
    return Translator(settings, ChatLanguages(tables))


class Translator:
    """Translates nanobot's own words in messages to chats."""

    def __init__(self, settings: LanguageSettings, chats: ChatLanguages) -> None:
        self._settings = settings
        self._chats = chats

    async def __call__(self, message: OutboundMessage) -> OutboundMessage:
        known = await self._chats.known(name_of(message.address))
        language = language_of_chat(known, self._settings.default)
        return message if language == ENGLISH else in_language(message, language)


def in_language(message: OutboundMessage, language: str) -> OutboundMessage:
    """The message with nanobot's own words and the buttons in a language."""
    said = translated_parts(message.text, message.own_words, language)
    choices = tuple(_choice(choice, language) for choice in message.choices)
    return msgspec.structs.replace(message, text=said, choices=choices, own=())


def _choice(choice: Choice, language: str) -> Choice:
    if choice.quoted:
        return choice
    return msgspec.structs.replace(choice, label=translated(choice.label, language, within=True))
