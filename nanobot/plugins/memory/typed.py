"""Whether a person typed what a call remembers or forgets."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from nanobot.plugins.common.terms import telling_terms
from nanobot.plugins.common.typed import Said, words_of
from nanobot.text import pattern

_SAVE = pattern(
    r"\b(remember|note|memori[sz]e|keep in mind|don't forget|do not forget"
    r"|merk|souviens|retiens|recuerda|ricorda)|记住|記住|记下|記下|覚えて|기억",
    re.IGNORECASE,
)
_FORGET = pattern(r"\b(forget|unlearn|vergiss|oublie|olvida)|忘", re.IGNORECASE)
# How a model refers to the person whose words it stores.
_OF_A_PERSON = "the user, this person, the owner, their"


def saves(arguments: Mapping[str, Any], said: Said) -> bool:
    """Whether the message asks for a memory, and its text has only words that the person typed."""
    known = said.all_words.union(telling_terms(_OF_A_PERSON))
    return said.means(_SAVE) and known >= words_of(arguments, "text")


def forgets(_: Mapping[str, Any], said: Said) -> bool:
    """Whether the message asks to forget."""
    return said.means(_FORGET)
