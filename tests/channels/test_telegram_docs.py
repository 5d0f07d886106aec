"""The page about Telegram shows what the renderer makes."""

from __future__ import annotations

import re
from pathlib import Path

from nanobot.messages import Address, OutboundMessage
from nanobot.ports import OutboundPart
from nanobot_channels._telegram_files import CAPTION_LIMIT, UPLOAD_LIMIT
from nanobot_channels._telegram_parts import ENTITY_LIMIT, TEXT_LIMIT, payload_of, render
from nanobot_channels._telegram_updates import QUOTE_LENGTH

PAGE = (Path(__file__).parents[2] / "docs" / "channels" / "telegram.md").read_text("utf-8")


def dump(part: OutboundPart) -> str:
    """The text, and below it every entity with what it covers."""
    payload = payload_of(part)
    text = part.text if payload.text is None else payload.text
    units = text.encode("utf-16-le")
    lines = [text, ""]
    for entity in payload.entities:
        end = entity.offset + entity.length
        covered = units[2 * entity.offset : 2 * end].decode("utf-16-le").replace("\n", "⏎")
        more = entity.url or entity.language or ""
        lines.append(f"{entity.type}: {covered}{f'  [{more}]' if more else ''}")
    return "\n".join(lines)


def test_the_rendering_on_the_page_is_the_renderers() -> None:
    source = re.search(r"````markdown\n(.*?)\n````", PAGE, re.DOTALL)
    shown = re.search(r"arrives as\n\n```text\n(.*?)\n```\n", PAGE, re.DOTALL)
    assert source is not None
    assert shown is not None
    message = OutboundMessage(address=Address("telegram", "1"), text=source[1], key="k")
    (part,) = render(message)
    assert shown[1] == dump(part)
    assert "log (https://example.org/log)" in part.text


def test_the_limits_on_the_page_are_those_of_the_code() -> None:
    for limit in (TEXT_LIMIT, ENTITY_LIMIT, CAPTION_LIMIT, QUOTE_LENGTH):
        assert f"{limit:,} " in PAGE
    assert f"| files to you | {UPLOAD_LIMIT // 1_000_000} MB |" in PAGE
