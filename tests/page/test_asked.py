"""What the page shows of a call that waits: all of it, and nothing that cannot be seen."""

from __future__ import annotations

import json
import re
import unicodedata

import pytest
from playwright.async_api import expect

from nanobot.plugins.common.views.shown_calls import spelled_lines
from nanobot.visible import spelled
from tests.page.conftest import House

pytestmark = pytest.mark.asyncio(loop_scope="module")

_MOST = 5_000


def samples() -> list[str]:
    """Every character that both sides know, in a few lines, and what is made of several."""
    known = [chr(n) for n in range(0x20, 0x30000) if unicodedata.category(chr(n)) not in "CnCsCo"]
    rows = [
        "".join(f"a{char}" for char in known[at : at + 500]) for at in range(0, len(known), 500)
    ]
    more = [
        "e" + "\u0301" * 9,
        "x" + " " * 60 + "y",
        "\u2764\ufe0f",
        "<U+202E> <3 spaces>",
        "\u0301",
    ]
    return rows[:: max(len(rows) // 12, 1)] + rows[:8] + more


async def test_the_page_spells_out_what_the_questions_of_chats_do(house: House) -> None:
    texts = samples()
    script = """texts => import(
        performance.getEntriesByType("resource").find(each => /\\bformat\\b/.test(each.name)).name
    ).then(module => texts.map(module.spelled))"""
    async with house.looking("chat/web:spelled") as page:
        shown = await page.evaluate(script, texts)
        many = await page.evaluate(script, ["a" + "\n" * 30 + "b"])
    for text, seen in zip(texts, shown, strict=True):
        assert seen == spelled(text), text
    assert many == ["\n".join(spelled_lines("a" + "\n" * 30 + "b"))]


async def test_a_long_call_is_approved_once_all_of_it_was_shown(house: House) -> None:
    call = json.dumps({"command": f"rm -rf *; echo {'x' * _MOST}; echo the-end"})
    async with house.looking("chat/web:long") as page:
        await page.get_by_label("Message", exact=True).fill(f"tool:exec:{call}\nsay:It is over.")
        await page.keyboard.press("Enter")
        asked = page.get_by_role("region", name=re.compile("Approval"))
        await expect(asked).to_be_visible()
        await expect(asked).not_to_contain_text("the-end")
        await expect(asked.get_by_role("button", name="Approve")).to_have_count(0)
        await asked.get_by_role("button", name="Show all of it").click()
        await expect(asked).to_contain_text("the-end")
        await asked.get_by_role("button", name="Approve").click()
        await expect(page.get_by_label("Answer", exact=True)).to_contain_text("It is over.")
