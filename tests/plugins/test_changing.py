"""What a plugin makes of a message keeps none from arriving or leaving."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from nanobot.app import plugin_calls
from nanobot.messages import Address, OutboundKind, OutboundMessage
from nanobot.troubles import TROUBLES
from tests.plugins.brought import Site
from tests.plugins.brought import site as site
from tests.plugins.switching import asked, serving

MESSAGE = OutboundMessage(
    key="k", address=Address("test", "1"), text="It failed.", kind=OutboundKind.NOTICE
)


async def hangs(_: OutboundMessage) -> OutboundMessage:
    await asyncio.sleep(3600)
    raise AssertionError


async def fails(_: OutboundMessage) -> OutboundMessage:
    raise ValueError("down")


async def gives_nothing(_: OutboundMessage) -> Any:
    return None


@pytest.mark.parametrize("change", [hangs, fails, gives_nothing])
async def test_a_message_leaves_as_it_was_if_a_plugin_cannot_change_it(
    change: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plugin_calls, "CHANGE_SECONDS", 0.01)
    async with asyncio.timeout(30):
        assert await plugin_calls.changed("outgoing", "odd", change, MESSAGE) == MESSAGE


async def test_a_message_leaves_as_a_plugin_changed_it() -> None:
    async def louder(message: OutboundMessage) -> OutboundMessage:
        return OutboundMessage(
            key=message.key, address=message.address, text="IT FAILED.", kind=message.kind
        )

    assert (await plugin_calls.changed("outgoing", "loud", louder, MESSAGE)).text == "IT FAILED."


ODD = """
    from nanobot.seam.plugin import Plugin


    async def change(admission):
        {does}


    PLUGIN = Plugin(name="odd", summary="Odd.", arrivals=lambda: [change])
"""


@pytest.mark.parametrize("does", ["return None", "return 'hi'", "raise ZeroDivisionError"])
async def test_a_message_that_a_plugin_makes_into_none_is_admitted_as_it_came(
    does: str, site: Site, tmp_path: Path
) -> None:
    site.bring("odd", ODD.format(does=does))
    async with serving(tmp_path / "home") as parts:
        assert await asked(parts, "hello") == "completed"
        assert any("arrivals of the plugin odd" in str(each) for each in TROUBLES.recent())
