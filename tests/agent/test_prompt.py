"""What the system prompt is made of, and who is shown what."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest

from nanobot.agent.prompt import FILE_LIMIT, PromptBuilder
from nanobot.agent.prompts import prompt_variant
from nanobot.errors import ConfigError
from nanobot.messages import Role
from nanobot.providers.base import ModelProfile, ToolSpec
from nanobot.testing import gateway
from nanobot.testing.gateway import Options
from nanobot.testing.model import ScriptedProvider
from nanobot.testing.platform import MEMBER, OWNER
from nanobot.workspace import assets, personas
from nanobot.workspace import folder as workspace

PROFILE = ModelProfile(name="m", provider="p")
TOOLS = tuple(ToolSpec(name, "Does it.", {}) for name in ("read_file", "skill", "write_file"))
MEMORY = (*TOOLS, ToolSpec("memory_save", "Saves.", {}))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    workspace.prepare(tmp_path / "workspace")
    return tmp_path / "workspace"


def parts(
    folder: Path, tools: tuple[ToolSpec, ...] = TOOLS, *, private: bool = True, **given: str
) -> dict[str, str]:
    built = PromptBuilder(folder, **given).parts(tools, private=private)  # type: ignore[arg-type]
    return {part.name: part.text for part in built}


def test_the_parts_come_in_a_fixed_order(folder: Path) -> None:
    (folder / "MEMORY.md").write_text("The boiler is from 1998.")
    assert list(parts(folder)) == [
        "identity",
        "principles",
        "persona",
        "AGENTS.md",
        "SOUL.md",
        "TOOLS.md",
        "USER.md",
        "MEMORY.md",
        "introduction",
    ]


def test_the_same_files_and_settings_give_the_same_bytes(folder: Path) -> None:
    first, second = (PromptBuilder(folder).snapshot(PROFILE, TOOLS) for _ in range(2))
    assert first.digest == second.digest
    (folder / "SOUL.md").write_text("Another.")
    assert PromptBuilder(folder).snapshot(PROFILE, TOOLS).digest != first.digest


def test_a_snapshot_tells_its_parts_apart(folder: Path) -> None:
    snapshot = PromptBuilder(folder).snapshot(PROFILE, TOOLS)
    named, at = [], 0
    for name, length in snapshot.parts:
        named.append((name, snapshot.system[at : at + length]))
        at += length + 2
    assert dict(named) == parts(folder)
    assert at - 2 == len(snapshot.system)


def test_it_has_the_name_it_was_given_and_knows_where_it_is(folder: Path) -> None:
    identity = parts(folder, name="Ada\nLovelace")["identity"]
    assert identity.startswith("You are Ada Lovelace, a personal assistant")
    assert f"Your workspace is the folder {folder}" in identity
    small = msgspec.structs.replace(PROFILE, short_prompt=True)
    snapshot = PromptBuilder(folder, name="Ada").snapshot(small, TOOLS)
    assert snapshot.system == "You are Ada, a helpful AI assistant."


def test_without_tools_it_is_told_of_none(folder: Path) -> None:
    texts = parts(folder, ())
    assert list(texts) == ["identity", "principles", "persona", "AGENTS.md", "SOUL.md", "USER.md"]
    assert "Tools:" not in texts["principles"]
    assert str(folder) not in texts["identity"]


def test_guidance_on_memory_comes_with_the_tools_for_it(folder: Path) -> None:
    assert "Memory:" not in parts(folder)["principles"]
    assert "Memory:" in parts(folder, MEMORY)["principles"]


@pytest.mark.parametrize(
    "words",
    ["no goals of your own", "People decide", "Never disable", "the least", "not for others"],
)
def test_the_safety_rules_are_in_every_prompt(folder: Path, words: str) -> None:
    for tools in ((), TOOLS):
        for private in (True, False):
            principles = parts(folder, tools, private=private)["principles"]
            assert " ".join(words.split()) in " ".join(principles.split())


def test_what_is_about_the_owner_is_for_owners_alone(folder: Path) -> None:
    (folder / "MEMORY.md").write_text("secret: the safe is behind the painting")
    (folder / "USER.md").write_text("secret: Ann, allergic to nuts")
    texts = parts(folder, private=False)
    assert not {"USER.md", "MEMORY.md", "introduction"} & set(texts)
    assert "secret" not in "".join(texts.values())


def test_a_long_file_is_cut_and_says_so(folder: Path) -> None:
    (folder / "AGENTS.md").write_text("x" * (FILE_LIMIT + 1))
    text = parts(folder)["AGENTS.md"]
    assert text.endswith("\n[... AGENTS.md goes on; only its beginning is read ...]")
    assert text.count("x") == FILE_LIMIT


@pytest.mark.parametrize("content", [b"", b" \n ", b"\xff\xfe\x00"])
def test_a_file_of_any_content_does_no_harm(folder: Path, content: bytes) -> None:
    (folder / "AGENTS.md").write_bytes(content)
    assert ("AGENTS.md" in parts(folder)) is bool(content.strip())


def test_no_link_of_the_workspace_is_followed(folder: Path) -> None:
    """The model may make links; what is read for the prompt is read without its walls."""
    (folder.parent / "config.toml").write_text("secret")
    for name in ("AGENTS.md", "SOUL.md", "MEMORY.md"):
        (folder / name).unlink(missing_ok=True)
    (folder / "AGENTS.md").symlink_to("../config.toml")
    (folder / "personas").symlink_to("..")
    os.mkfifo(folder / "MEMORY.md")
    assert "secret" not in "".join(parts(folder, persona="config").values())
    assert "MEMORY.md" not in parts(folder)


# The first meeting


def test_it_introduces_itself_while_the_form_is_empty(folder: Path) -> None:
    assert "USER.md is still the empty form" in parts(folder)["introduction"]
    (folder / "USER.md").write_text("Ann, likes short answers.")
    assert "introduction" not in parts(folder)
    (folder / "USER.md").unlink()
    assert "introduction" not in parts(folder)


def test_it_asks_nobody_where_it_could_not_write_it_down(folder: Path) -> None:
    assert "introduction" not in parts(folder, TOOLS[:1])


# Personas

PRESETS = ["coach", "concise", "default", "engineer", "formal", "friendly", "playful", "sceptic"]
PRESETS += ["secretary", "teacher"]


def test_the_shipped_personas_differ(folder: Path) -> None:
    assert personas.names(folder) == PRESETS
    texts = {name: parts(folder, persona=name)["persona"] for name in PRESETS}
    assert len(set(texts.values())) == len(PRESETS)
    assert all(200 < len(text) < 1_000 for text in texts.values())


def test_a_persona_of_ones_own_is_a_file_and_comes_first(folder: Path) -> None:
    (folder / "personas").mkdir()
    (folder / "personas" / "pirate.md").write_text("Arr.")
    (folder / "personas" / "formal.md").write_text("Verily.")
    personas.check("pirate", folder)
    assert parts(folder, persona="pirate")["persona"].endswith("Arr.")
    assert parts(folder, persona="formal")["persona"].endswith("Verily.")


def test_an_unknown_persona_is_refused_with_the_nearest(folder: Path) -> None:
    with pytest.raises(ConfigError, match=r'no persona "Freindly"; did you mean friendly\?'):
        personas.check("Freindly", folder)
    with pytest.raises(ConfigError, match="There are coach, concise"):
        personas.check("../../etc/passwd", folder)


def test_a_persona_that_went_away_becomes_the_default(folder: Path) -> None:
    assert parts(folder, persona="gone") == parts(folder)


# Who is shown what


@pytest.mark.parametrize(
    ("role", "private", "expected"),
    [(Role.OWNER, True, "owner+private+tools"), (Role.MEMBER, False, "member+tools")],
)
def test_a_prompt_is_made_for_a_role(role: Role, private: bool, expected: str) -> None:
    assert prompt_variant(PROFILE, role, private=private) == expected


async def system_prompts(folder: Path, *speakers: tuple[str, bool]) -> list[str]:
    """The system prompts of the answers to (sender, in a group) in one chat."""
    provider = ScriptedProvider()
    async with gateway(provider, options=Options(persona=PromptBuilder(folder))) as bot:
        for number, (sender, group) in enumerate(speakers):
            await bot.channel.push(f"hello {number}", sender=sender, group=group)
            await bot.channel.pop()
    return [str(request.messages[0].content) for request in provider.requests]


async def test_an_owner_alone_is_shown_their_notes_and_nobody_else(folder: Path) -> None:
    (folder / "MEMORY.md").write_text("secret")
    alone, member = await system_prompts(folder, (OWNER, False), (MEMBER, False))
    assert "secret" in alone
    assert "secret" not in member


async def test_an_owner_in_a_group_is_not_shown_their_notes(folder: Path) -> None:
    (folder / "MEMORY.md").write_text("secret")
    assert "secret" not in "".join(await system_prompts(folder, (OWNER, True)))


async def test_an_owner_who_speaks_where_others_did_is_not_alone(folder: Path) -> None:
    (folder / "MEMORY.md").write_text("secret")
    prompts = await system_prompts(folder, (MEMBER, False), (OWNER, False))
    assert "secret" not in "".join(prompts)


def test_the_template_has_what_the_prompt_reads() -> None:
    names = {file.name for file in assets.workspace_template().iterdir()}
    assert {"AGENTS.md", "SOUL.md", "TOOLS.md", "USER.md"} <= names
    assert {"BOOT.md.example", "SHUTDOWN.md.example"} <= names
