"""Skills and personas on the command line, and a first meeting from end to end."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.running import run_in
from tests.process.harness import World

PAGE = "---\nname: bread\ndescription: Baking.\n---\nUse flour.\n"


def skill(folder: Path, text: str = PAGE) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "SKILL.md").write_text(text)
    return folder


async def test_skills_are_listed_shown_and_added(world: World, tmp_path: Path) -> None:
    source = skill(tmp_path / "bread")
    added = await run_in(world, "skills", "add", str(source), "--json")
    assert added.json["state"] == "ready"
    listed = (await run_in(world, "skills", "list", "--json")).json
    assert {"bread", "git", "tmux", "weather"} <= {row["name"] for row in listed}
    assert (await run_in(world, "skills", "show", "bread")).out.endswith("Use flour.\n")
    again = await run_in(world, "skills", "add", str(source))
    assert (again.code, "add replace" in again.err) == (2, True)
    assert (await run_in(world, "skills", "add", str(source), "--replace")).code == 0
    assert (await run_in(world, "skills", "show", "brad")).code == 1


async def test_doctor_names_what_is_wrong_with_a_skill_and_a_persona(world: World) -> None:
    skill(world.workspace / "skills" / "bread", "flour")
    world.configure(agent='persona = "freindly"')
    rows = json.loads((await run_in(world, "doctor", "--json")).out)
    complaints = {row["about"]: row["text"] for row in rows if row["level"] != "ok"}
    assert complaints["skills"].startswith(
        "skills/bread/SKILL.md: line 1: there is no front matter"
    )
    assert "did you mean friendly?" in complaints["configuration"]


async def test_an_unknown_persona_stops_the_start(world: World) -> None:
    world.configure(agent='persona = "freindly"')
    assert await (await world.launch()).ended() == 3
    assert "agent.persona: there is no persona" in world.log


async def test_a_first_meeting_ends_with_the_form_filled_in(world: World) -> None:
    world.configure(agent='name = "Ada"\npersona = "formal"')
    await world.start()
    world.telegram.say(1, "say:How may I address you?")
    await world.said(1, "How may I address you?")
    system = world.model.requests[-1]["messages"][0]["content"]
    assert system.startswith("You are Ada, ")
    assert "good business correspondence" in system
    assert "You have not met the owner yet" in system
    content = json.dumps({"path": "USER.md", "content": "Dr Lovelace, formal."})
    world.telegram.say(1, f"tool:write_file:{content}\nsay:Noted, Dr Lovelace.")
    await world.said(1, "How may I address you?", "Noted, Dr Lovelace.")
    assert (world.workspace / "USER.md").read_text() == "Dr Lovelace, formal."
    world.telegram.say(1, "/new")
    world.telegram.say(1, "say:Good day.")
    await world.answered(1, 4)
    system = world.model.requests[-1]["messages"][0]["content"]
    assert "Dr Lovelace, formal." in system
    assert "You have not met the owner yet" not in system


async def test_the_context_of_a_session_is_printed_whole(world: World) -> None:
    await run_in(world, "agent", "-m", "say:hello", "--session", "cli:direct")
    ended = await run_in(world, "context", "show", "cli:direct")
    assert "cli:direct: about " in ended.out
    assert "- system: principles: " in ended.out
    assert "=== system ===\nYou are nanobot" in ended.out
    assert "=== tool read_file ===" in ended.out
    assert ended.out.rstrip().endswith("=== assistant ===\nhello")
    shown = (await run_in(world, "context", "show", "cli:direct", "--json")).json
    assert shown["tokens"] == sum(part["tokens"] for part in shown["parts"])
    assert (await run_in(world, "context", "show", "cli:none")).code == 1
