"""`nanobot diagnostics` as people run it: complete, readable, and without anything private."""

from __future__ import annotations

import io
import json
import stat
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.process.harness import Ended, World

MARKER = "zq7marker"
PERSON = "Zq7marker Meier"
CHAT = 17
FILES = [
    "README.txt",
    "versions.txt",
    "configuration.txt",
    "doctor.txt",
    "log.txt",
    "metrics.txt",
    "database.txt",
    "plugins.txt",
    "channels.txt",
]
SECRETS = f"""
[providers.{MARKER}]
api_key = "sk-{MARKER}0123456789"
api_base = "https://user:{MARKER}@{MARKER}.example/v1?key={MARKER}"
[mcp.{MARKER}]
command = "/bin/{MARKER}"
args = ["--token", "{MARKER}"]
env = {{ {MARKER} = "{MARKER}" }}
enabled = false
[hooks.{MARKER}]
secret = "{MARKER}-{MARKER}-{MARKER}"
to = "telegram:{CHAT}"
"""
LOG = f"""\
2026-11-26 10:00:00 WARNING telegram: {PERSON} (4915112345678) is not allowed to speak here; to \
let them in, add '4915112345678' to channels.telegram.owners or channels.telegram.members
2026-11-26 10:00:01 ERROR   delivery to telegram:4915112345678 waits for the store: database is \
locked
2026-11-26 10:00:02 ERROR   a tool failed: Bearer {MARKER}0123456789 in {MARKER}.pdf
Traceback (most recent call last):
  File "/home/{MARKER}/lib/python3.11/site-packages/nanobot/agent/runner.py", line 12, in run
    secret = "{MARKER}"
ValueError: {MARKER}
2026-11-26 10:00:03 WARNING telegram is down (Bad Gateway), again in 12.5 s
"""


@pytest.fixture
async def planted(world: World) -> World:
    """A home with the marker wherever something private can be."""
    world.configure(more=SECRETS)
    (world.home / "logs").mkdir()
    (world.home / "logs" / "gateway.log").write_text(LOG, "utf-8")
    return world


async def collected(world: World, *more: str) -> dict[str, str]:
    """The files with their texts."""
    ended = await world.run(
        "diagnostics", "--json", *more, ZQ7MARKER_TOKEN=MARKER, OTHER=f"{MARKER}-{MARKER}"
    )
    assert ended.code == 0, ended.errors
    return {file["name"]: file["text"] for file in json.loads(ended.output)}


def whole(files: dict[str, str]) -> str:
    return "\n".join(files.values()).lower()


async def test_an_archive_holds_nothing_private_while_a_gateway_runs(planted: World) -> None:
    gateway = await planted.start(ZQ7MARKER_TOKEN=MARKER)
    person = {"id": CHAT, "first_name": PERSON, "username": MARKER, "is_bot": False}
    fields: dict[str, Any] = {"from": person}
    planted.telegram.say(CHAT, f"say:the secret of {MARKER}", **fields)
    await planted.said(CHAT, f"the secret of {MARKER}")
    (planted.workspace / f"{MARKER}.txt").write_text(MARKER, "utf-8")
    files = await collected(planted)
    assert list(files) == FILES
    assert MARKER not in whole(files)
    assert "4915112345678" not in whole(files)
    assert str(planted.home).lower() not in whole(files)
    assert "Collected by the running gateway." in files["README.txt"]
    assert 'nanobot_runs_total{state="completed"} 1.0' in files["metrics.txt"]
    assert 'nanobot_channel_up{channel="telegram"} 1.0' in files["metrics.txt"]
    assert "telegram       telegram     enabled   up; 99 owners, 100 members" in "\n".join(
        files["channels.txt"].splitlines()
    )
    assert "inbound: 1" in files["database.txt"]
    assert "evals" in files["plugins.txt"]
    assert await gateway.stop() == 0


async def test_the_log_keeps_the_sentences_of_the_program(planted: World) -> None:
    text = (await collected(planted))["log.txt"]
    assert "is not allowed to speak here; to let them in, add" in text
    assert "waits for the store: database is locked" in text
    assert "    nanobot/agent/runner.py:12" in text
    assert "telegram is down (Bad Gateway), again in 12.5 s" in text
    tags = [line.split()[5] for line in text.splitlines() if "delivery to" in line]
    assert all(tag.startswith("<") for tag in tags)


async def test_it_works_without_a_gateway_and_without_a_home(world: World) -> None:
    files = await collected(world)
    assert list(files) == FILES
    assert "Collected without a gateway." in files["README.txt"]
    assert "The database does not exist yet." in files["database.txt"]
    assert "telegram" in files["channels.txt"]


async def test_a_broken_configuration_is_named_and_the_rest_is_collected(planted: World) -> None:
    file = planted.home / "config.toml"
    file.write_text(file.read_text("utf-8") + f'\nx = "{MARKER}', "utf-8")
    files = await collected(planted)
    assert MARKER not in whole(files)
    assert "The configuration cannot be read." in files["configuration.txt"]
    assert "not valid TOML" in files["configuration.txt"]
    assert "could not be collected" in files["database.txt"]
    assert "database.txt       could not be collected" in files["README.txt"]
    assert "nanobot     " in files["versions.txt"]
    assert "is down (Bad Gateway)" in files["log.txt"]


async def test_a_store_that_cannot_be_opened_is_named_and_the_rest_is_collected(
    planted: World,
) -> None:
    (planted.home / "state.db").write_bytes(f"{MARKER} is no database".encode() * 400)
    files = await collected(planted)
    assert MARKER not in whole(files)
    assert "could not be collected" in files["database.txt"]
    assert "the database is damaged" in files["database.txt"]
    assert "agent.max_history" in files["configuration.txt"]


async def test_its_files_are_listed_with_their_sizes_and_written_for_their_owner_only(
    world: World, tmp_path: Path
) -> None:
    target = tmp_path / "report.tar.gz"
    ended = await world.run("diagnostics", "--to", str(target))
    assert ended.code == 0, ended.errors
    assert f"Written: {target}." in ended.output
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    with tarfile.open(target) as archive:
        names = [member.name.partition("/")[2] for member in archive.getmembers()]
        sizes = {member.name.partition("/")[2]: member.size for member in archive.getmembers()}
        owners = {(member.uname, member.gname, member.uid) for member in archive.getmembers()}
    assert names == FILES
    assert owners == {("", "", 0)}
    for name, size in sizes.items():
        assert f"{name:<18} {size:>9,} bytes" in ended.output


async def test_show_prints_every_file_and_writes_nothing(world: World, tmp_path: Path) -> None:
    ended = await world.run("diagnostics", "--show")
    assert ended.code == 0, ended.errors
    for name in FILES:
        assert f"===== {name} (" in ended.output
    assert "agent.max_history = 200" in ended.output
    assert "Written" not in ended.output
    assert archives_in(tmp_path) == []


async def test_a_zip_has_the_same_files(world: World, tmp_path: Path) -> None:
    target = tmp_path / "report.zip"
    assert (await world.run("diagnostics", "--to", str(target))).code == 0
    with zipfile.ZipFile(io.BytesIO(target.read_bytes())) as archive:
        assert [name.partition("/")[2] for name in archive.namelist()] == FILES


def archives_in(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.suffix in (".gz", ".tgz", ".zip")]


async def refused(world: World, to: Path) -> str:
    ended: Ended = await world.run("diagnostics", "--to", str(to))
    assert ended.code == 2, ended.errors
    return ended.errors


async def test_a_wrong_target_is_refused_before_anything_is_collected(
    world: World, tmp_path: Path
) -> None:
    (tmp_path / "kept.zip").write_text("mine", "utf-8")
    assert "must end with .tar.gz, .tgz or .zip" in await refused(world, tmp_path / "report.txt")
    assert "exists; choose another name" in await refused(world, tmp_path / "kept.zip")
    assert "there is no folder" in await refused(world, tmp_path / "no" / "report.zip")
    assert (tmp_path / "kept.zip").read_text("utf-8") == "mine"


async def test_the_archive_of_a_gateway_is_for_owners_only(world: World) -> None:
    gateway = await world.start()
    member = 120
    world.telegram.say(member, "/diagnostics")
    (refusal,) = await world.answered(member)
    assert "version" not in refusal
    owner = CHAT
    world.telegram.say(owner, "/diagnostics")
    (told,) = await world.answered(owner)
    assert "does not work in a chat" in told
    assert await gateway.stop() == 0
