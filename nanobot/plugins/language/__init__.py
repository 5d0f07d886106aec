"""Language: nanobot's own texts in a chat are in the language of its people."""

from __future__ import annotations

from pathlib import Path

from nanobot.plugins.language.settings import LanguageSettings
from nanobot.seam.plugin import Plugin

PLUGIN = Plugin(
    name="language",
    summary="Notices and answers to commands in the language of each chat.",
    texts=Path(__file__).parent,
    settings=LanguageSettings,
    migrations=(
        "CREATE TABLE language_chats (chat TEXT PRIMARY KEY, chosen TEXT NOT NULL, "
        "reported TEXT NOT NULL)",
    ),
    operations="nanobot.plugins.language.operations:operations",
    arrivals="nanobot.plugins.language.service:arrivals",
    outgoing="nanobot.plugins.language.service:outgoing",
    store_hooks="nanobot.plugins.language.store:hook",
    provides={
        "translated": "nanobot.plugins.common.translation:translated",
        "translated_help": "nanobot.plugins.language.help:translating",
        "menu_texts": "nanobot.plugins.language.menus:menu_texts",
        "own_words": "nanobot.plugins.language.own_words:own_words_of",
    },
)
