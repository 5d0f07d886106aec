"""What prompts show of skills: looked at once a second, and read only if a page has changed."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from nanobot.plugins.skills.service import parts_of
from nanobot.plugins.skills.shown import LOOK_SECONDS, PromptSkills
from nanobot.plugins.skills.skills import Skills
from tests.plugins.skills.test_skills import write

PAGE = "---\nname: {name}\ndescription: {about}\n---\n\nUse flour.\n"


class Seen:
    """The skills of a workspace as prompts show them, by a clock that a test moves."""

    def __init__(self, folder: Path) -> None:
        self.skills = Skills(folder)
        self.now = 100.0
        self.prompts = PromptSkills(self.skills, lambda: self.now)

    def about(self, name: str) -> str | None:
        """What the description of a skill says; None if it is not shown."""
        shown = {skill.name: skill.description for skill in self.prompts.shown()}
        return shown.get(name)


def say(folder: Path, about: str, name: str = "bread") -> Path:
    return write(folder, name, text=PAGE.format(name=name, about=about)) / "SKILL.md"


def old(page: Path) -> None:
    """Let so much time pass that the page counts as unchanged for a while: its own time is set,
    and that of the change of its entry cannot be."""
    time.sleep(max(page.stat().st_ctime + 2.1 - time.time(), 0))


def test_a_change_is_shown_a_second_later_and_not_before(tmp_path: Path) -> None:
    page, seen = say(tmp_path, "Baking bread."), Seen(tmp_path)
    assert seen.about("bread") == "Baking bread."
    say(tmp_path, "Baking rolls.")
    assert seen.about("bread") == "Baking bread."
    seen.now += LOOK_SECONDS
    assert seen.about("bread") == "Baking rolls."
    page.unlink()
    seen.now += LOOK_SECONDS
    assert seen.about("bread") is None


def test_a_skill_that_comes_or_goes_is_shown_at_once(tmp_path: Path) -> None:
    say(tmp_path, "Baking bread.")
    seen = Seen(tmp_path)
    assert seen.about("beer") is None
    folder = say(tmp_path, "Brewing beer.", "beer").parent
    assert seen.about("beer") == "Brewing beer."
    folder.rename(tmp_path / "elsewhere")
    assert seen.about("beer") is None


def test_what_people_do_with_skills_is_shown_at_once(tmp_path: Path) -> None:
    say(tmp_path / "workspace", "Baking bread.")
    source = say(tmp_path / "elsewhere", "Brewing beer.", "beer")
    seen = Seen(tmp_path / "workspace")
    assert seen.about("beer") is None
    seen.skills.add(str(source.parent), replace=False)
    assert seen.about("beer") == "Brewing beer."
    seen.skills.hide(["beer"])
    assert seen.about("beer") is None
    say(tmp_path / "workspace", "Baking rolls.")
    seen.skills.changed()  # as `reload` says
    assert seen.about("bread") == "Baking rolls."


@pytest.mark.process
def test_only_pages_that_changed_are_read_again(tmp_path: Path) -> None:
    say(tmp_path, "Brewing beer.", "beer")
    old(say(tmp_path, "Baking bread."))
    seen = Seen(tmp_path)
    first = seen.prompts.shown()
    seen.now += LOOK_SECONDS
    assert seen.prompts.shown() is first
    say(tmp_path, "Baking rolls.")
    seen.now += LOOK_SECONDS
    second = seen.prompts.shown()
    kept = {skill.name: skill for skill in second}
    assert kept["bread"].description == "Baking rolls."
    assert all(skill is kept[skill.name] for skill in first if skill.name != "bread")


def test_a_second_change_within_one_tick_of_the_clock_is_seen(tmp_path: Path) -> None:
    page = say(tmp_path, "Baking bread.")
    times = page.stat()
    seen = Seen(tmp_path)
    assert seen.about("bread") == "Baking bread."
    say(tmp_path, "Baking rolls.")  # as long as before
    os.utime(page, ns=(times.st_atime_ns, times.st_mtime_ns))
    seen.now += LOOK_SECONDS
    assert seen.about("bread") == "Baking rolls."


@pytest.mark.process
def test_a_page_that_becomes_a_link_is_no_longer_shown(tmp_path: Path) -> None:
    page = say(tmp_path, "Baking bread.")
    old(page)
    seen = Seen(tmp_path)
    assert seen.about("bread") == "Baking bread."
    page.parent.rename(tmp_path / "elsewhere")
    (tmp_path / "skills" / "bread").symlink_to(tmp_path / "elsewhere")
    seen.now += LOOK_SECONDS
    (bread,) = [skill for skill in seen.prompts.shown() if skill.name == "bread"]
    assert bread.wrong == "links are not followed here"


def test_what_the_machine_gets_is_known_without_a_change_of_the_page(tmp_path: Path) -> None:
    environ = {"SHELL": "/bin/sh"}
    write(tmp_path, more="requires:\n  env: [FLOUR]\n")
    now = [100.0]
    seen = PromptSkills(Skills(tmp_path, environ), lambda: now[0])
    assert [each.lacking for each in seen.shown() if each.name == "bread"] == [
        ("the variable FLOUR",)
    ]
    environ["FLOUR"] = "rye"
    now[0] += LOOK_SECONDS
    assert [each.lacking for each in seen.shown() if each.name == "bread"] == [()]


def test_prompts_of_any_number_of_skills_are_the_same_bytes_and_cost_the_same(
    tmp_path: Path,
) -> None:
    """Between two looks, a prompt does not go through the skills: the part about them is the same
    object."""
    for number in range(300):
        say(tmp_path, f"Baking bread number {number}.", f"bread{number}")
    parts = parts_of(tmp_path)
    first, second = (parts({"skill"})[-1] for _ in range(2))
    assert first.name == "skills"
    assert "more that are not listed" in first.text
    assert first is second
