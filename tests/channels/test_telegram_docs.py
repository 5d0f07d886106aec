"""The page about Telegram shows what the renderer makes."""

from __future__ import annotations

import re
from pathlib import Path

from nanobot.messages import Address, OutboundMessage
from nanobot_channels.telegram.files import CAPTION_LIMIT, UPLOAD_LIMIT
from nanobot_channels.telegram.parts import ENTITY_LIMIT, TEXT_LIMIT, payload_of, render
from nanobot_channels.telegram.rich import RICH_LIMIT
from nanobot_channels.telegram.updates import QUOTE_LENGTH

PAGE = (Path(__file__).parents[2] / "docs" / "channels" / "telegram.md").read_text("utf-8")


def test_the_rendering_on_the_page_is_the_renderers() -> None:
    source = re.search(r"````markdown\n(.*?)\n````", PAGE, re.DOTALL)
    shown = re.search(r"messages, such as .* gets\n\n```text\n(.*?)\n```\n", PAGE, re.DOTALL)
    assert source is not None
    assert shown is not None
    message = OutboundMessage(address=Address("telegram", "1"), text=source[1], key="k")
    (part,) = render(message)
    payload = payload_of(part)
    (piece,) = payload.pieces
    assert shown[1] == piece.text
    assert {entity.type for entity in piece.entities} == {"bold", "text_link", "code"}
    assert "log (https://example.org/log)" in part.text
    for tag in ("<h2>Backup</h2>", "<table bordered striped>", '<input type="checkbox" checked/>'):
        assert tag in payload.html


def test_the_limits_on_the_page_are_those_of_the_code() -> None:
    for limit in (TEXT_LIMIT, ENTITY_LIMIT, RICH_LIMIT, CAPTION_LIMIT, QUOTE_LENGTH):
        assert f"{limit:,} " in PAGE
    assert f"| files to you | {UPLOAD_LIMIT // 1_000_000} MB |" in PAGE
