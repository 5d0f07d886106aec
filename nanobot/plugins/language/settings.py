"""The language of chats that have no other."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from nanobot.config.settings.base import Settings, about

Language: TypeAlias = Literal["en", "zh"]


class LanguageSettings(Settings, frozen=True, kw_only=True):
    """`[language]`: the language of nanobot's own texts in chats, such as notices, questions and
    answers to commands. `/language` in a chat and the language that its platform reports come
    first. Answers of the model are in the language of the conversation."""

    default: Annotated[
        Language,
        about("Language of notices where neither chat nor platform names one."),
    ] = "en"
