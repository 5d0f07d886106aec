"""`nanobot security audit` names what attackers of each kind reach, and the remedy."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from nanobot.app.gateway import Gateway
from nanobot.config.loader import load
from nanobot.plugins.common.commands.at_rest import operations as operations_at_rest
from nanobot.plugins.common.exposures import Exposure
from nanobot.plugins.mcp.exposures import exposures
from nanobot.plugins.mcp.settings import McpSettings
from nanobot.plugins.shell.sandbox.bubblewrap import Bubblewrap
from nanobot.plugins.shell.sandbox.file_wall import no_wall_alone
from tests.process.harness import World
from tests.store.empty import with_empty_store

PLAIN = '[channels.telegram]\ntoken = "1:a"\nowners = ["1"]\n'


def configured(home: Path, text: str) -> None:
    home.mkdir(mode=0o700, exist_ok=True)
    with_empty_store(home)
    (home / "config.toml").write_text(text)


async def audited(home: Path, text: str) -> list[Exposure]:
    configured(home, text)
    environ = {"NANOBOT_HOME": str(home), "PATH": "/usr/bin:/bin"}
    async with operations_at_rest(Gateway(load(environ), environ), "test") as operations:
        found: list[Exposure] = await operations.call("security audit", {})
        return found


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> list[Exposure]:
    """What is reached with a plain configuration."""
    return asyncio.run(audited(tmp_path_factory.mktemp("plain") / "home", PLAIN))


def test_a_plain_configuration_has_no_danger(plain: list[Exposure]) -> None:
    assert [row for row in plain if row.level == "danger"] == []
    assert {row.attacker for row in plain} >= {"stranger", "guest", "member", "web page"}


@pytest.mark.parametrize(
    ("attacker", "level", "more", "reached"),
    [
        ("stranger", "danger", 'members = ["*"]', "everybody is a member"),
        ("stranger", "danger", '[channels.telegram.chats."-5"]\nmembers = ["*"]', "in -5"),
        ("stranger", "risk", 'guests = ["*"]', "at your expense"),
        ("stranger", "danger", '[channels.udp]\nhost = "0.0.0.0"', "without any token"),
        ("stranger", "risk", '[web]\nenabled = true\nhost = "0.0.0.0"', "unencrypted"),
        ("stranger", "danger", '[hooks.ci]\nsecret = "short"\nrole = "owner"', "has 5 char"),
        ("member", "danger", '[policy]\napprovers = ["members"]', "approves calls themselves"),
        (
            "member",
            "danger",
            '[[policy.rules]]\ntool = "exec"\nargs = { command = "git *" }\nverdict = "allow"',
            "exec(command: git *)",
        ),
        (
            "web page",
            "danger",
            '[[policy.rules]]\ntool = "message"\nroles = ["owner"]\nverdict = "allow"',
            "message()",
        ),
        (
            "web page",
            "risk",
            '[[policy.rules]]\ntool = "mcp__it__*"\nverdict = "allow"',
            "mcp__it__*",
        ),
        ("web page", "danger", '[policy]\nhosts = ["*"]', "ask * anything"),
        ("web page", "risk", '[tools.web]\nallow_private = ["10.0.0.0/8"]', "10.0.0.0/8"),
        ("web page", "risk", '[tools.exec]\nsandbox = "off"', "without a sandbox after"),
        ("MCP server", "danger", '[mcp.it]\nurl = "http://it.example/mcp"', "unencrypted"),
        ("MCP server", "note", '[mcp.it]\ncommand = "server"', "no files but its own"),
        ("MCP server", "risk", '[mcp.it]\ncommand = "x"\nwrite = ["/srv"]', "reaches /srv"),
        ("MCP server", "risk", '[mcp.it]\ncommand = "x"\nnetwork = "all"', "the whole network"),
        ("MCP server", "danger", '[mcp.it]\ncommand = "x"\nsandbox = "off"', "without a sandbox"),
    ],
)
async def test_what_opens_something_is_named_with_the_remedy(
    plain: list[Exposure], tmp_path: Path, attacker: str, level: str, more: str, reached: str
) -> None:
    rows = await audited(tmp_path / "home", PLAIN + more)
    (row,) = [row for row in rows if row.attacker == attacker and reached in row.reaches]
    assert row.level == level
    assert row.remedy
    assert not [row for row in plain if reached in row.reaches]


async def test_each_server_is_judged_by_its_own_table_not_by_that_of_commands(
    tmp_path: Path,
) -> None:
    servers = '[mcp.one]\ncommand = "x"\n[mcp.two]\ncommand = "x"\nsandbox = "off"\n'
    for number, isolation in enumerate(("auto", "bwrap", "off")):
        rows = await audited(
            tmp_path / str(number), f'{PLAIN}{servers}[tools.exec]\nsandbox = "{isolation}"'
        )
        levels = {row.reaches[:7]: row.level for row in rows if row.attacker == "MCP server"}
        assert levels == {"mcp.one": "note", "mcp.two": "danger"}


async def test_where_bubblewrap_does_not_work_programs_are_bare_or_do_not_start() -> None:
    settings = {name: McpSettings(command="x", sandbox=name) for name in ("auto", "bwrap", "off")}
    rows = await exposures(settings, Bubblewrap(None))
    alone = "danger" if no_wall_alone() else "risk"
    assert [row.level for row in rows] == [alone, "ok", "danger"]


async def test_a_rule_that_ends_with_taint_opens_nothing_to_pages(tmp_path: Path) -> None:
    rule = '[[policy.rules]]\ntool = "exec"\ntainted = false\nverdict = "allow"'
    rows = await audited(tmp_path / "home", PLAIN + rule)
    assert [row.attacker for row in rows if "exec()" in row.reaches] == ["member"]


async def test_an_open_home_is_a_danger(tmp_path: Path) -> None:
    home = tmp_path / "home"
    await audited(home, PLAIN)
    environ = {"NANOBOT_HOME": str(home), "PATH": "/usr/bin:/bin"}
    gateway = Gateway(load(environ), environ)
    async with operations_at_rest(gateway, "test") as operations:
        home.chmod(0o755)
        (home / "workspace").chmod(0o777)
        rows = await operations.call("security audit", {})
    reaches = [row.reaches for row in rows if row.level == "danger"]
    assert any("with keys and conversations" in text for text in reaches)
    assert any("writes into the workspace" in text for text in reaches)


async def test_it_is_a_command_with_an_exit_code_and_a_word_in_the_owners_chat(
    world: World,
) -> None:
    world.configure()
    ended = await world.run("security", "audit", "--json")
    assert ended.code == 0
    assert {row["attacker"] for row in json.loads(ended.output)} >= {"stranger", "web page"}
    await world.start()
    world.telegram.say(1, "/security audit")
    (text,) = await world.answered(1, 1)
    assert "Web page" in text
    assert "0 dangers" in text
    world.telegram.say(100, "/security audit")
    (text,) = await world.answered(100, 1)
    assert "dangers" not in text


async def test_with_a_danger_it_ends_with_1(world: World) -> None:
    world.configure(more='[channels.telegram.chats."-5"]\nmembers = ["*"]')
    ended = await world.run("security", "audit")
    assert ended.code == 1
    assert "danger: channels.telegram: everybody is a member in -5" in ended.output
