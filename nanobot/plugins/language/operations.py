"""The operation that shows and chooses the language of a chat."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import Meta

from nanobot.config.loader import Config
from nanobot.errors import UsageError
from nanobot.messages import Role
from nanobot.operations.operation import Caller, Operation, OperationContext, operation
from nanobot.operations.parameters import for_owners
from nanobot.operations.rendering import Now
from nanobot.plugins.language.chats import ChatLanguages, Known, language_of_chat, name_of
from nanobot.plugins.language.settings import Language, LanguageSettings
from nanobot.seam.tables import PluginTables
from nanobot.text import Sentence

Wanted: TypeAlias = Literal["", "en", "zh", "auto"]
Source: TypeAlias = Literal["chosen", "reported", "default"]


class LanguageView(msgspec.Struct, frozen=True, kw_only=True):
    """The language of nanobot's own texts in a chat. `source`: it was chosen with /language, the
    platform reports it, or it is the configured default."""

    chat: str
    language: Language
    source: Source


def _language_text(view: LanguageView, _: Now) -> Sentence:
    name = "Chinese" if view.language == "zh" else "English"
    return (
        f"My own texts are in {name} here, {_why(view.source)}. "
        "`/language zh`, `en` or `auto` changes it."
    )


def _why(source: Source) -> Sentence:
    if source == "chosen":
        return "as chosen with /language"
    return "as the platform says" if source == "reported" else "as configured"


@operation("language", role=Role.MEMBER, text=_language_text, example="zh")
async def choose_language(
    context: OperationContext,
    caller: Caller,
    language: Annotated[
        Wanted,
        Meta(
            description="The language; auto: the one that the platform reports.",
            extra={"positional": True},
        ),
    ] = "",
    *,
    chat: Annotated[
        str,
        Meta(description="The chat, as CHANNEL:ID; in a chat, this chat.", max_length=200),
        for_owners("Only owners choose the language of another chat."),
    ] = "",
) -> LanguageView:
    """Show or choose the language of my own texts in a chat."""
    if chat and not (chat.partition(":")[0] and chat.partition(":")[2]):
        raise UsageError(f"chat must be CHANNEL:ID, as in telegram:1001, not {chat!r}")
    here = caller.session_key if caller.address is None else name_of(caller.address)
    name, chats = chat or here, _chats(context)
    if language:
        await chats.choose(name, "" if language == "auto" else language)
    settings = context.of(Config).tables.get("language", LanguageSettings())
    known = await chats.known(name)
    return LanguageView(
        chat=name,
        language=language_of_chat(known, settings.default),
        source=_source(known),
    )


def _chats(context: OperationContext) -> ChatLanguages:
    return ChatLanguages(context.of(PluginTables))  # type: ignore[type-abstract]


def _source(known: Known) -> Source:
    return "chosen" if known.chosen else "reported" if known.reported else "default"


def operations() -> list[Operation]:
    """All operations."""
    return [choose_language]
