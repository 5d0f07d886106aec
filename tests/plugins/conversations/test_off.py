"""A gateway without sight into conversations talks all the same; what asks names the plugin."""

from __future__ import annotations

from pathlib import Path

import pytest

from nanobot.errors import UsageError
from nanobot.plugins.conversations.operations import operations
from nanobot.plugins.http.absent import absent
from tests.plugins.switching import KEY, asked, serving
from tests.server.housing import house

OFF = '[plugins]\noff = ["conversations"]\n'
WHY = (
    "This belongs to the plugin conversations. It is switched off: nanobot plugins on conversations"
)


async def test_each_of_its_commands_names_it_and_how_it_is_switched_on(tmp_path: Path) -> None:
    async with serving(tmp_path / "home", OFF) as parts:
        for each in operations():
            with pytest.raises(
                UsageError, match=r"plugin conversations, which is off.*plugins on conversations"
            ):
                await parts.operations.call(each.name, {})
            said = parts.operations.unknown(f"/{each.name}")
            assert said.startswith(
                f"/{each.name} belongs to the plugin conversations, which is off"
            )
            assert absent(parts.plugged, f"/api/{each.name.replace(' ', '/')}") == WHY


@pytest.mark.parametrize("typed", ["/sessions", "/sessions@my_bot", "/sessions read"])
async def test_the_group_names_it_although_others_have_words_there(
    tmp_path: Path, typed: str
) -> None:
    async with serving(tmp_path / "home", OFF) as parts:
        assert parts.operations.find(typed) is None
        assert "belongs to the plugin conversations" in parts.operations.unknown(typed)
        for kept in ("/sessions delete x", "/new", "/stop", "/compact", "/search x"):
            assert parts.operations.find(kept) is not None, kept


async def test_marks_are_kept_and_what_was_said_meanwhile_is_there(tmp_path: Path) -> None:
    async with serving(tmp_path / "home") as parts:
        assert await asked(parts, "hello") == "completed"
        await parts.operations.call("sessions rename", {"title": "Mine", "session": KEY})
        await parts.operations.call("sessions pin", {"session": KEY})
    async with serving(tmp_path / "home", OFF) as parts:
        assert await asked(parts, "again") == "completed"
    async with serving(tmp_path / "home") as parts:
        (row,) = await parts.operations.call("sessions list", {})
        assert (row.key, row.title, row.pinned) == (KEY, "Mine", True)
        page = await parts.operations.call("sessions show", {"session": KEY})
        said = [entry.body["text"] for entry in page.entries if entry.kind == "user"]
        assert said == ["hello", "again"]


async def test_an_open_conversation_is_whole_over_http(tmp_path: Path) -> None:
    async with house(tmp_path / "home", web=OFF) as served:
        owner = await served.owner()
        code, answer = await owner.get("/api/sessions/list")
        assert (code, answer["error"]) == (404, {"code": "plugin_off", "message": WHY})
        await owner.post("/api/sessions/web:desk/messages", text="/status")
        await owner.post("/api/sessions/web:desk/messages", text="hello")
        (notice,) = (await owner.get("/api/sessions/web:desk/notices"))[1]
        assert notice["said"] == "/status"
        code, page = await owner.get("/api/sessions/web:desk/entries", limit=1, after=0)
        assert (code, [entry["body"]["text"] for entry in page["entries"]]) == (200, ["hello"])
        assert (await owner.get("/api/sessions/nowhere/entries"))[0] == 404
