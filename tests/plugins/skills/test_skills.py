"""Skills: what makes one, what is wrong with one, and how they get into the prompt."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanobot.errors import NanobotError, ToolError, UsageError
from nanobot.labels import Speaker, of
from nanobot.messages import Address, Role
from nanobot.plugins.common.file_labels.marks import MemoryMarks
from nanobot.plugins.common.file_labels.tainted_files import TaintedFiles
from nanobot.plugins.skills.frontmatter import FrontMatterError, split
from nanobot.plugins.skills.parts import SKILLS_LIMIT
from nanobot.plugins.skills.service import parts_of
from nanobot.plugins.skills.skills import MAX_BODY, Skill, Skills
from nanobot.plugins.skills.tool import skill_tool
from nanobot.tools.base import CallContext
from nanobot.tools.registry import ToolRegistry

SHIPPED = ["git", "nanobot", "notes", "summarize", "tmux", "weather"]
PAGE = "---\nname: {name}\ndescription: Baking bread.\n{more}---\n\nUse flour.\n"
CALL = CallContext(
    run_id="r",
    session_key="s",
    address=Address("cli", "direct"),
    sender_id="1",
    role=Role.MEMBER,
    key="k",
)


def write(folder: Path, name: str = "bread", more: str = "", text: str | None = None) -> Path:
    place = folder / "skills" / name
    place.mkdir(parents=True, exist_ok=True)
    (place / "SKILL.md").write_text(PAGE.format(name=name, more=more) if text is None else text)
    return place


def bread(folder: Path, **environ: str) -> Skill:
    return Skills(folder, environ).named("bread")


def listed(folder: Path) -> list[str]:
    return [skill.name for skill in Skills(folder).all()]


def test_the_shipped_ones_are_there_and_sound(tmp_path: Path) -> None:
    every = Skills(tmp_path / "none").all()
    assert [skill.name for skill in every] == SHIPPED
    assert all(not skill.wrong and skill.source == "bundled" for skill in every)


def test_those_of_the_workspace_come_beside_and_before_them(tmp_path: Path) -> None:
    write(tmp_path)
    write(tmp_path, "weather")
    assert listed(tmp_path) == sorted([*SHIPPED, "bread"])
    assert bread(tmp_path).body == "Use flour."
    assert Skills(tmp_path).named("weather").source == "workspace"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "line 1: there is no front matter"),
        ("# Bread", "line 1: there is no front matter"),
        ("---\nname: bread\n", "the front matter has no end"),
        ("---\nname: bread\n---\nx", "the front matter has no description"),
        ("---\ndescription: b\n---\nx", "the front matter has no name"),
        (
            "---\nname: cake\ndescription: b\n---\nx",
            "line 2: name must be the folder's name (bread)",
        ),
        ("---\nname: bread\ndescription: b\n---\n \n", "there is nothing behind the front matter"),
        ("---\nname: bread\ndescription:\n---\nx", "line 3: description must be a sentence"),
        (f"---\nname: bread\ndescription: {'b' * 1025}\n---\nx", "at most 1,024 characters"),
        ("---\nname: bread\nname: bread\n---\nx", "line 3: name is there twice"),
        (
            "---\nname: bread\nflour\n---\nx",
            "line 3: this is not YAML: while scanning a simple key",
        ),
        ("---\nname: bread\n\tx: y\n---\nx", "line 3: this is not YAML"),
        ("---\nname: [a]\n---\nx", "line 2: name must be text"),
        ('---\nname: "bread\n---\nx', "this is not YAML: while scanning a quoted scalar"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path: Path, text: str, why: str) -> None:
    write(tmp_path, text=text)
    skill = bread(tmp_path)
    assert skill.state == "broken"
    assert why in skill.wrong


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ("always: perhaps\n", "line 4: always must be true or false, not 'perhaps'"),
        ("requires: git\n", "line 4: requires must be a table"),
        ("requires:\n  binaries: [git]\n", "line 5: requires.binaries is not known"),
        ("requires:\n  bins: [git\n", "line 5: this is not YAML"),
        ("requires:\n  bins:\n    git: 1\n", "line 5: bins must be a list of texts"),
    ],
)
def test_a_wrong_setting_is_said_with_its_line(tmp_path: Path, more: str, why: str) -> None:
    write(tmp_path, more=more)
    assert why in bread(tmp_path).wrong


@pytest.mark.parametrize(
    "bins",
    [
        "[sh, no-such-program]",
        "\n    - sh\n    - 'no-such-program' # rare",
        "\n  - no-such-program",
    ],
)
def test_what_this_machine_lacks_is_said(tmp_path: Path, bins: str) -> None:
    write(tmp_path, more=f"requires:\n  bins: {bins}\n")
    assert bread(tmp_path).lacking == ("the program no-such-program",)


def test_variables_and_systems_are_looked_at_too(tmp_path: Path) -> None:
    write(tmp_path, more="requires:\n  env: [OVEN]\n  os: [beos]\n")
    assert bread(tmp_path).lacking == ("the variable OVEN", "one of these systems: beos")
    assert bread(tmp_path, OVEN="on").lacking == ("one of these systems: beos",)
    write(tmp_path, more="requires:\n  os: [Linux, macOS]\n")
    assert bread(tmp_path).state == "ready"


def test_keys_of_other_programs_are_let_be(tmp_path: Path) -> None:
    more = 'license: MIT\nallowed-tools: [Bash(git:*)]\nmetadata:\n  {\n    "x": {"y": [1]}\n  }\n'
    write(tmp_path, more=f"{more}always: yes\n")
    assert bread(tmp_path).always


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ('"Bread: \\"fresh\\""', 'Bread: "fresh"'),
        ("'It''s bread'  # a comment", "It's bread"),
        ("Bread # not cake", "Bread"),
        ("Bread\n  and butter", "Bread and butter"),
        (">\n  Bread\n  and # butter", "Bread and # butter"),
        ("|-\n  Bread\n  and butter", "Bread and butter"),
        ("Bread: why not", "Bread: why not"),
    ],
)
def test_descriptions_come_in_every_notation(tmp_path: Path, written: str, read: str) -> None:
    write(tmp_path, text=f"---\nname: bread\ndescription: {written}\n---\nUse flour.")
    assert bread(tmp_path).description == read


@pytest.mark.parametrize(
    ("front", "why"),
    [
        ("a: &x [1, 1]\nb: [*x, *x]", "line 2: & and * are not supported here"),
        ("a: " + "[" * 5_000 + "]" * 5_000, "nested too deeply"),
        ("a: " + "b" * 70_000, "longer than 64,000 characters"),
        ("- a\n- b", "line 2: the front matter must be keys"),
        ("? [a]\n: b", "line 2: a key must be text"),
        ("a: !!python/object:os.system x\n\x00", "not YAML"),
    ],
)
def test_what_would_blow_up_is_refused(front: str, why: str) -> None:
    with pytest.raises(FrontMatterError, match=re.escape(why)):
        split(f"---\n{front}\n---\nbody")


@given(st.text())
def test_no_front_matter_is_too_odd_to_be_read_or_refused(text: str) -> None:
    for written in (text, f"---\n{text}\n---\nbody", f"---\nname: a\nrequires:\n  {text}\n---\nb"):
        try:
            fields, _ = split(written)
            for field in fields.values():
                for read in (field.text, field.flag, field.listed, field.table):
                    try:
                        read()
                    except FrontMatterError:
                        continue
        except FrontMatterError:
            continue


def test_a_page_that_is_too_long_is_refused(tmp_path: Path) -> None:
    write(tmp_path, text=PAGE.format(name="bread", more="") + "x" * MAX_BODY)
    assert "longer than 40,000 characters" in bread(tmp_path).wrong


def test_links_are_not_followed(tmp_path: Path) -> None:
    folder = write(tmp_path)
    (tmp_path / "secret").write_text("---\nname: bread\ndescription: b\n---\nsecret")
    (folder / "SKILL.md").unlink()
    (folder / "SKILL.md").symlink_to(tmp_path / "secret")
    assert bread(tmp_path).wrong == "links are not followed here"
    shutil.rmtree(folder)
    write(tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere" / "skills" / "bread")
    assert bread(tmp_path).wrong == "links are not followed here"


# Adding one


def test_a_skill_is_copied_with_its_files(tmp_path: Path) -> None:
    source = write(tmp_path / "from")
    (source / "more").mkdir()
    (source / "more" / "oven.md").write_text("Hot.")
    (source / "link").symlink_to("/etc/passwd")
    added = Skills(tmp_path / "to").add(str(source), replace=False)
    assert (added.state, added.files) == ("ready", ("more/oven.md",))
    assert not (tmp_path / "to" / "skills" / "bread" / "link").exists()
    assert [file.name for file in (tmp_path / "to" / "skills").iterdir()] == ["bread"]


def test_one_that_is_there_is_replaced_only_when_told(tmp_path: Path) -> None:
    source, skills = write(tmp_path / "from"), Skills(tmp_path / "to")
    skills.add(str(source), replace=False)
    (source / "SKILL.md").write_text(PAGE.format(name="bread", more="always: true\n"))
    with pytest.raises(UsageError, match="already exists; add replace"):
        skills.add(str(source), replace=False)
    assert skills.add(str(source / "SKILL.md"), replace=True).always
    with pytest.raises(UsageError, match="is that skill itself"):
        skills.add(str(tmp_path / "to" / "skills" / "bread"), replace=True)


def test_what_is_no_skill_is_not_added(tmp_path: Path) -> None:
    skills = Skills(tmp_path / "to")
    with pytest.raises(UsageError, match=r"has no SKILL\.md"):
        skills.add(str(tmp_path), replace=False)
    with pytest.raises(UsageError, match="write the whole path"):
        skills.add("bread", replace=False)
    broken = write(tmp_path / "from", text="no front matter")
    with pytest.raises(UsageError, match="line 1: there is no front matter"):
        skills.add(str(broken), replace=False)
    large = write(tmp_path / "large")
    (large / "film").write_bytes(bytes(5_000_001))
    with pytest.raises(UsageError, match="a skill has at most 200 of 5,000,000"):
        skills.add(str(large), replace=False)
    assert not (tmp_path / "to").exists()


# In the prompt


def shown(folder: Path, *, tool: bool = True) -> dict[str, str]:
    parts = parts_of(folder)({"skill" if tool else "other"})
    return {part.name: part.text for part in parts}


def test_the_prompt_lists_them_and_shows_in_full_what_is_always_open(tmp_path: Path) -> None:
    write(tmp_path, "butter")
    write(tmp_path, more="always: true\n")
    write(tmp_path, "broken", text="?")
    parts = shown(tmp_path)
    assert parts["skill bread"] == "# Skill: bread\n\nUse flour."
    assert "- butter: Baking bread." in parts["skills"]
    assert "bread:" not in parts["skills"]
    assert "broken" not in "".join(parts.values())


def test_one_that_cannot_be_used_says_why(tmp_path: Path) -> None:
    write(tmp_path, more="always: true\nrequires:\n  bins: [no-such]\n")
    parts = shown(tmp_path)
    assert "skill bread" not in parts
    assert (
        "- bread: Baking bread. (not usable here: it needs the program no-such)" in parts["skills"]
    )


def test_without_the_tool_none_is_listed(tmp_path: Path) -> None:
    write(tmp_path, more="always: true\n")
    assert list(shown(tmp_path, tool=False)) == ["skill bread"]


def test_very_many_are_listed_up_to_a_limit(tmp_path: Path) -> None:
    for number in range(400):
        write(tmp_path, f"bread{number:03}")
    text = shown(tmp_path)["skills"]
    assert len(text) < SKILLS_LIMIT + 500
    named = text.count("\n- bread")
    assert text.endswith(f"- ... and {400 + len(SHIPPED) - named} more that are not listed")


# The tool


async def opened(folder: Path, **arguments: object) -> str:
    tools = ToolRegistry()
    tools.register(skill_tool(Skills(folder)))
    return await tools.execute("skill", json.dumps(arguments), CALL)


async def test_a_page_from_outside_taints_whoever_opens_it(tmp_path: Path) -> None:
    (write(tmp_path) / "oven.md").write_text("Hot.")
    taint = TaintedFiles(tmp_path, MemoryMarks())
    await taint.received("skills/bread/oven.md", of(Speaker.PASSED_ON))
    tools = ToolRegistry()
    tools.register(skill_tool(Skills(tmp_path), taint))
    for arguments, tainted in (
        ({"name": "bread"}, False),
        ({"name": "bread", "file": "oven.md"}, True),
        ({"name": "weather"}, False),
    ):
        output = await tools.perform("skill", json.dumps(arguments), CALL)
        assert output.tainted is tainted, arguments
        assert output.label.tainted is tainted, arguments


async def test_the_tool_opens_a_page_and_its_other_files(tmp_path: Path) -> None:
    (write(tmp_path) / "oven.md").write_text("Hot.")
    assert await opened(tmp_path, name="bread") == (
        "Use flour.\n\nMore of it, for skill(name, file): oven.md.\n"
        "It lies in the workspace: skills/bread/."
    )
    assert await opened(tmp_path, name="bread", file="oven.md") == "Hot."
    assert "git -C FOLDER status" in await opened(tmp_path, name="git")


async def test_a_long_page_is_read_to_its_end_in_pieces(tmp_path: Path) -> None:
    lines = "\n".join(f"step {number}" for number in range(3_000))
    write(tmp_path, text=f"---\nname: bread\ndescription: b\n---\n{lines}")
    text, offset = "", 0
    while True:
        piece = await opened(tmp_path, name="bread", offset=offset)
        body, goes_on, rest = piece.partition("\n[it goes on: read the rest with offset=")
        text += body
        if not goes_on:
            break
        offset = int(rest.rstrip("]"))
    assert text.startswith(lines)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"name": "brad"}, "there is no skill 'brad'; there are bread, broken, git"),
        ({"name": "bread", "file": "../../secret"}, "has no file '../../secret'; it has only"),
        ({"name": "broken"}, "the skill broken cannot be read: line 1"),
    ],
)
async def test_what_is_not_there_is_said(
    tmp_path: Path, arguments: dict[str, str], why: str
) -> None:
    write(tmp_path)
    write(tmp_path, "broken", text="?")
    with pytest.raises(ToolError) as caught:
        await opened(tmp_path, **arguments)
    assert why in str(caught.value)


def test_an_unknown_one_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(NanobotError, match="there is no skill 'x'"):
        Skills(tmp_path).named("x")
