"""Without feedback a gateway answers; whoever rates is told why not, and no rating is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from nanobot.errors import UsageError
from tests.plugins.switching import asked, serving
from tests.server.housing import house
from tests.stored import runs_of

OFF = '[plugins]\noff = ["feedback"]\n'
WHY = "This belongs to the plugin feedback. It is switched off: nanobot plugins on feedback"


@pytest.mark.parametrize("pressed", ["/runs feedback up run=x", "/runs feedback"])
async def test_the_command_and_a_thumb_name_it_and_how_it_is_switched_on(
    tmp_path: Path, pressed: str
) -> None:
    async with serving(tmp_path / "home", OFF) as parts:
        assert parts.operations.find(pressed) is None
        said = parts.operations.unknown(pressed)
        assert said.startswith("/runs feedback belongs to the plugin feedback, which is off here")
        with pytest.raises(UsageError, match=r"plugin feedback, which is off.*plugins on feedback"):
            await parts.operations.call("runs feedback", {"verdict": "up"})
        assert parts.operations.find("/runs list") is not None


async def test_over_http_it_is_named_and_nothing_is_added(tmp_path: Path) -> None:
    async with house(tmp_path / "home", web=OFF) as served:
        owner = await served.owner()
        await owner.post("/api/sessions/web:desk/messages", text="hello")
        code, answer = await owner.post("/api/runs/feedback", verdict="down", session="web:desk")
        assert (code, answer["error"]) == (404, {"code": "plugin_off", "message": WHY})
        assert "runs feedback" not in (await owner.get("/api/me"))[1]["operations"]


async def test_earlier_ratings_are_shown_meanwhile_and_count_when_it_is_on_again(
    tmp_path: Path,
) -> None:
    async with serving(tmp_path / "home") as parts:
        assert await asked(parts, "hello") == "completed"
        (run,) = await runs_of(parts.engine.records).listed(session="", state="", limit=5)
        given = {"verdict": "down", "text": "too long", "run": run.id}
        (rating,) = await parts.operations.call("runs feedback", given)
    async with serving(tmp_path / "home", OFF) as parts:
        page = await parts.operations.call("runs show", {"id": run.id})
        assert page.feedback == (rating,)
        assert "too long" in parts.operations.named("runs show").text(page, parts.engine.shown_at())
        (rejected,) = await parts.operations.call("evals rejected", {})
        assert (rejected.run_id, rejected.text) == (run.id, "too long")
        made = await parts.operations.call("runs export", {"run": run.id})
        assert "too long" in made.toml
    async with serving(tmp_path / "home") as parts:
        await parts.operations.call("runs feedback", {"verdict": "up", "run": run.id})
        page = await parts.operations.call("runs show", {"id": run.id})
        assert [each.verdict for each in page.feedback] == ["up"]
        assert await parts.operations.call("evals rejected", {}) == []
