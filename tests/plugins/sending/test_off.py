"""Without it nothing is said from outside, and whoever tries is told why; conversations go on."""

from __future__ import annotations

from pathlib import Path

import pytest

from nanobot.agent.tool_calls import Receipts
from nanobot.errors import UsageError
from nanobot.plugins.http.absent import absent
from nanobot.plugins.sending.operations import operations
from tests.plugins.switching import KEY, asked, serving
from tests.server.housing import house
from tests.stored import log_of, outbox_of

OFF = '[plugins]\noff = ["sending"]\n'
WHY = "This belongs to the plugin sending. It is switched off: nanobot plugins on sending"


async def test_both_commands_name_it_and_how_it_is_switched_on(tmp_path: Path) -> None:
    async with serving(tmp_path / "home", OFF) as parts:
        for each in operations():
            with pytest.raises(
                UsageError, match=r"plugin sending, which is off here.*plugins on sending"
            ):
                await parts.operations.call(each.name, {})
            assert parts.operations.find(f"/{each.name} x") is None
            said = parts.operations.unknown(f"/{each.name} session=cli:desk hello")
            assert said.startswith(f"/{each.name} belongs to the plugin sending, which is off here")
            assert absent(parts.plugged, f"/api/{each.name}") == WHY


async def test_the_assistant_has_no_tool_for_it_and_answers(tmp_path: Path) -> None:
    async with serving(tmp_path / "home", OFF) as parts:
        assert "message" not in {spec.name for spec in parts.engine.tools.specs()}
        assert await asked(parts, "hello") == "completed"
    async with serving(tmp_path / "home") as parts:
        assert "message" in {spec.name for spec in parts.engine.tools.specs()}


async def test_calls_of_other_tools_are_told_what_became_of_their_messages(tmp_path: Path) -> None:
    async with serving(tmp_path / "home", OFF) as parts:
        assert parts.plugged.offers.has(Receipts)


async def test_one_talks_with_the_page_and_only_delivery_to_a_chat_names_it(tmp_path: Path) -> None:
    async with house(tmp_path / "home", web=OFF) as served:
        owner = await served.owner()
        place = "/api/sessions/web:desk/messages"
        code, _ = await owner.post(place, text="hello")
        assert code < 300
        code, answer = await owner.post(place, text="hello", deliver=True)
        assert code >= 400
        assert "plugin sending, which is off here" in answer["error"]["message"]
        assert (await owner.post("/api/send", text="x", session="web:desk"))[0] == 404


async def test_what_was_sent_before_is_answered_and_delivered_meanwhile(tmp_path: Path) -> None:
    async with serving(tmp_path / "home") as parts:
        sent = await parts.operations.call("send", {"text": "hello", "session": KEY, "key": "k"})
        told = await parts.operations.call("notify", {"chat": "web:desk", "text": "Done."})
    async with serving(tmp_path / "home", OFF) as parts:
        assert await asked(parts, "and now?") == "completed"
        entries = await log_of(parts.engine.records).entries(KEY, after=0, limit=20)
        said = [each.body["text"] for each in entries if each.kind == "user" and each.body]
        assert said == ["hello", "and now?"]
        queued = {
            row.key for row in await outbox_of(parts.engine.records).listed(state="", limit=20)
        }
        assert told.key in queued
    async with serving(tmp_path / "home") as parts:
        again = await parts.operations.call("send", {"text": "hello", "session": KEY, "key": "k"})
        assert sent.fresh
        assert not again.fresh
