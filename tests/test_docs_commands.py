"""The page of commands against the commands there are."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from typer.main import get_command

from nanobot.bus import pairing
from nanobot.cli.commands import app
from nanobot.errors import NanobotError
from nanobot.memory import port
from nanobot.operations import context_view as exhibit
from nanobot.operations import usage as spending
from nanobot.operations.exposures import Exposure
from nanobot.operations.security import TaintedFile
from nanobot.operations.web_access import AccessView, NewToken, PageLink
from nanobot.plugins.hooks.views import WebhookTest, WebhookView
from nanobot.plugins.proof.commands import ExportView
from nanobot.plugins.proof.verifying import Proof
from nanobot.plugins.replay.commands import ReplayView
from nanobot.session import approvals
from nanobot.session import views as records
from nanobot.session.conversations import SearchHit
from nanobot.tools.mcp.views import ServerView
from nanobot.triggers.cron import jobs
from nanobot.workspace import skills

PAGES = Path(__file__).resolve().parent.parent
PAGE = (PAGES / "docs" / "commands.md").read_text("utf-8")
SECTIONS = dict(re.findall(r"^### `nanobot (.+?)`$(.*?)(?=^##|\Z)", PAGE, re.MULTILINE | re.DOTALL))
VIEWS: dict[str, type[msgspec.Struct]] = {
    "session": records.SessionView,
    "search hit": SearchHit,
    "run": records.RunView,
    "entry": records.EntryView,
    "outbox": records.OutboxView,
    "tool call": records.ToolCallView,
    "log": records.AuditView,
    "export": ExportView,
    "proof": Proof,
    "replay": ReplayView,
    "pairing": pairing.PairingView,
    "memory": port.MemoryView,
    "found memory": port.MemoryHit,
    "skill": skills.SkillView,
    "context": exhibit.ContextView,
    "mcp server": ServerView,
    "hook": WebhookView,
    "tried hook": WebhookTest,
    "approval": approvals.Approval,
    "job": jobs.JobView,
    "occurrence": jobs.OccurrenceView,
    "rule": approvals.RuleView,
    "exposure": Exposure,
    "tainted file": TaintedFile,
    "access": AccessView,
    "new token": NewToken,
    "page link": PageLink,
    "usage": spending.UsageReport,
}


def commands(group: Any, *path: str) -> dict[str, Any]:
    """Every command by its whole name."""
    known: dict[str, Any] = {}
    for name, command in group.commands.items():
        below = getattr(command, "commands", None)
        if below:
            known |= commands(command, *path, name)
        elif not command.hidden:  # another name of one that is documented
            known[" ".join((*path, name))] = command
    return known


KNOWN = commands(get_command(app))


def test_every_command_has_its_section_and_every_section_a_command() -> None:
    assert set(SECTIONS) == set(KNOWN)


@pytest.mark.parametrize("name", sorted(SECTIONS))
def test_every_command_has_an_example_whose_options_exist(name: str) -> None:
    examples = re.findall(rf"^    (?:.*\| )?nanobot {name}( .*)?$", SECTIONS[name], re.MULTILINE)
    assert examples
    options = {option for parameter in KNOWN[name].params for option in parameter.opts}
    for example in examples:
        used = re.findall(r"(?<!\S)--?[a-z][a-z-]*", example.partition("#")[0])
        assert set(used) <= options, example


@pytest.mark.parametrize("name", VIEWS)
def test_every_field_that_scripts_read_is_documented(name: str) -> None:
    section = re.search(rf"^\*\*{name}\*\*(.*?)(?=^\*\*|^##|\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert section, name
    cells = [row.partition("|")[0] for row in re.findall(r"^\| (`.*)$", section[1], re.MULTILINE)]
    documented = [field for cell in cells for field in re.findall(r"`(\w+)`", cell)]
    assert set(documented) == set(VIEWS[name].__struct_fields__)


def test_every_exit_code_of_an_error_is_documented() -> None:
    codes = {NanobotError.exit_code, *(kind.exit_code for kind in NanobotError.__subclasses__())}
    documented = {int(code) for code in re.findall(r"^\| (\d+) \|", PAGE, re.MULTILINE)}
    assert codes | {0, 130} == documented


def shell_lines(page: Path) -> list[str]:
    """The commands of nanobot in the indented blocks of a page, without comments."""
    found = re.findall(
        r"^    (?:.*[|&;] *|[A-Z_]+=\S+ +)*(?:sudo )?(?:\.venv/bin/)?nanobot (.+)$",
        page.read_text("utf-8"),
        re.MULTILINE,
    )
    return [line.partition(" #")[0].strip() for line in found]


WITH_COMMANDS = [
    page
    for page in sorted((PAGES / "docs").rglob("*.md")) + sorted(PAGES.glob("README*.md"))
    if shell_lines(page)
]


@pytest.mark.parametrize("page", WITH_COMMANDS, ids=lambda page: page.name)
def test_every_command_on_every_page_exists_with_its_options(page: Path) -> None:
    for line in shell_lines(page):
        if re.match(r"[\"']|COMMAND|--", line):  # a message, a pattern, an option of nanobot itself
            continue
        if any(each.startswith(f"{line} ") for each in KNOWN):  # a group, which lists
            continue
        name = max(
            (each for each in KNOWN if f"{line} ".startswith(f"{each} ")), default="", key=len
        )
        assert name, f"{page.name}: nanobot {line}"
        own = line.partition(" -- ")[0]
        used = set(re.findall(r"(?<!\S)--?[a-z][a-z-]*", re.sub(r"\"[^\"]*\"|'[^']*'", "", own)))
        options = {option for parameter in KNOWN[name].params for option in parameter.opts}
        assert used <= options | {"--help"}, f"{page.name}: nanobot {line}"
