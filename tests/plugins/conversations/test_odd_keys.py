"""Sessions whose keys have characters that cannot be typed or seen: they are named as lists show
them."""

from __future__ import annotations

import sys
import unicodedata

import pytest

from nanobot.errors import NanobotError
from nanobot.operations.rendering import Now, cell
from nanobot.testing import gateway
from nanobot.visible import spelled, unspelled
from tests.plugins.conversations.reading import READING, call
from tests.sampling import few
from tests.store.making import answered, begun

ODD = [
    *(f"fake:1{chr(code)}x" for code in range(sys.maxunicode + 1) if 0 <= code < 0x20),
    *(f"fake:{char}" for char in "\x7f\x85\u00a0\u200b\u202e\u2028\u3164\ufe0f\U000e0101"),
    "fake:<U+0000>",
    "fake:<41 spaces>",
    f"fake:{' ' * 60}x",
    "fake:e" + "\u0301" * 6,
    "fake:<U+<U+0041>>",
    "fake:Bericht M\u00e4rz \u4f60\u597d \U0001f600",
]


def every_character() -> list[str]:
    """All that a store can hold."""
    codes = range(sys.maxunicode + 1)
    return [chr(code) for code in codes if unicodedata.category(chr(code)) != "Cs"]


@pytest.mark.process
def test_what_is_spelled_reads_back_as_it_was() -> None:
    for char in every_character():
        assert unspelled(spelled(char)) == char
    for key in ODD:
        assert unspelled(spelled(key)) == key


@pytest.mark.parametrize("key", few(ODD), ids=ascii)
async def test_a_session_is_shown_marked_and_deleted_by_what_a_list_shows(key: str) -> None:
    async with gateway(options=READING) as bot:
        claimed = await begun(bot.journal, "r1", key)
        await answered(bot.journal, claimed, "hello")
        bot.journal.let_go(claimed.lane)
        (listed,) = await call(bot, "sessions list")
        assert listed.key == key
        shown = cell("key", listed.key, Now(0.0, "UTC"))
        assert shown.isprintable() or "\t" in shown
        assert (await call(bot, "sessions show", session=shown)).session.key == key
        assert (await call(bot, "sessions export", session=shown)).session.key == key
        assert (await call(bot, "sessions pin", session=shown)).key == key
        with pytest.raises(NanobotError):
            await call(bot, "sessions show", session=f"{shown}<U+0000>")
