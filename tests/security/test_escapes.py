"""No command prints what a terminal would obey: sequences that were planted wherever a stranger, a
model, a tool, a server or a file can put text are looked for in what every command prints."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from nanobot.operations.catalogue import OPERATIONS
from nanobot.plugins.cron.operations import operations as of_jobs
from nanobot.plugins.erasure.operations import operations as of_erasure
from tests.process.harness import World
from tests.security.puppet import Puppet

EVIL = "\x1b]0;owned\x07\x1b[2J\x9b31m\x1b]52;c;aGk=\x1b\\\u202eevil"
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
LISTED = {
    "help": (),
    "help more": (),
    "sessions search": (("evil",),),
    "status": (),
    "approvals list": (("--state", ""),),
    "policy explain": (("exec", f"echo {EVIL}"),),
    "policy rules": (),
    "sessions list": (),
    "sessions show": (("telegram:1",),),
    "sessions export": (("telegram:1",),),
    "sessions notices": (("telegram:1",),),
    "runs list": (),
    "runs show": (("RUN",),),
    "outbox list": (("--state", "sent"), ()),
    "tools list": (),
    "tools history": (),
    "audit verify": (),
    "plugins list": (),
    "runs now": (),
    "pair list": (),
    "skills list": (),
    "skills show": (("planted",),),
    "context show": (("telegram:1",),),
    "usage": (),
    "mcp list": (),
    "mcp review": (("planted",),),
    "memory list": (),
    "memory search": (("evil",),),
    "memory show": (("1",),),
    "cron list": (),
    "cron history": (),
    "cron preview": ((f"0 9 * * * {EVIL}",),),
    "hooks list": (),
    "security audit": (),
    "security files": (),
    "channels list": (),
    "channels types": (),
    "config get": (),
    "models found": (),
    "models list": (),
    "models providers": (),
    "personas list": (),
    "prompts list": (),
    "files list": (),
    "files show": (("USER.md",),),
    "prompts show": (("USER.md",),),
    "web tokens list": (),
    "db quarantine list": (),
    "db quarantine show": (("1",),),
}
"""Commands that show something, and with what arguments (none: without any)."""

CHANGES = {
    *("start", "send", "notify", "reload", "hooks test", "skills add", "policy forget"),
    *("sessions new", "sessions compact", "sessions stop", "sessions model", "sessions mark-read"),
    *("sessions rename", "sessions pin", "sessions unpin", "sessions archive"),
    "sessions unarchive",
    *("sessions delete", "approvals approve", "approvals deny", "approvals show"),
    "approvals answer",
    *("runs cancel", "runs retry", "outbox retry", "outbox drop", "pair approve", "pair revoke"),
    *("memory accept", "memory correct", "memory reject", "memory forget", "security trust"),
    *("config set", "config unset", "config schema", "doctor", "restart", "channels connect"),
    "channels meet",
    *("mcp enable", "mcp disable", "mcp accept", "models try", "prompts write", "skills enable"),
    *("skills disable", "runs feedback", "web link", "web tokens add", "web tokens revoke"),
    *("cron add", "cron edit", "cron run", "cron pause", "cron resume", "cron remove"),
    "db quarantine restore",
    *("plugins on", "plugins off", "language"),
    "diagnostics",
}
"""Those that do something; what they print of it is printed in the same way."""


def person(number: int, name: str) -> dict[str, Any]:
    return {"from": {"id": number, "is_bot": False, "first_name": name}}


@pytest.fixture
async def planted(world: World) -> World:
    world.configure(more=f"[mcp.planted]\ncommand = {json.dumps(f'/no/such/{EVIL[-4:]}')}")
    await world.start()
    world.telegram.say(1, f"hello {EVIL}", **person(1, f"Ann {EVIL}"))
    await world.answered(1, 1)
    world.telegram.say(999, f"hello {EVIL}", **person(999, f"Eve {EVIL}"))
    await world.answered(999, 1)
    puppet = Puppet(world)
    await puppet.use("write_file", path=f"notes {EVIL}.txt", content=EVIL)
    await puppet.use("exec", command=f"printf '%s' '{EVIL}'")
    await puppet.use("memory_save", text=f"likes {EVIL}")
    await puppet.use("cron", action="add", schedule="0 9 1 1 *", message=f"do {EVIL}")
    skill = world.workspace / "skills" / "planted" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text(f"---\nname: planted\ndescription: does {EVIL[-4:]}\n---\n{EVIL}\n")
    await puppet.use("ask_user", question=f"which {EVIL}?", choices=[EVIL])
    return world


async def test_no_command_prints_what_a_terminal_would_obey(planted: World) -> None:
    (run, *_) = json.loads((await planted.run("runs", "list", "--json")).output)
    seen = (planted.home.parent / "stderr.log").read_bytes().decode()
    assert "evil" in seen
    assert not OBEYED.search(seen), seen
    for command, calls in LISTED.items():
        for arguments in calls or ((),):
            words = [run["id"] if word == "RUN" else word for word in arguments]
            ended = await planted.run(*command.split(), *words)
            printed = ended.output + ended.errors
            assert not OBEYED.search(printed), (command, printed)
            seen += printed
    assert seen.count("evil") > 10


def test_every_operation_is_walked_or_known_to_change_something() -> None:
    commands = {operation.command for operation in (*OPERATIONS, *of_jobs(), *of_erasure())}
    assert commands <= LISTED.keys() | CHANGES
