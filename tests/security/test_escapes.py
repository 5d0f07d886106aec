"""No command prints what a terminal would obey: sequences that were planted wherever a stranger, a
model, a tool, a server or a file can put text are looked for in what every command prints."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.process.harness import World
from tests.security.puppet import Puppet
from tests.texts.faces import operations

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
"""Calls of commands that show something planted; none: without arguments."""

FILLED = {"run": "RUN", "id": "RUN", "other": "RUN", "file": "/no/such"}
"""What arguments of these names are, in the calls that are not listed."""


def walked() -> dict[str, tuple[tuple[str, ...], ...]]:
    """The calls of each command that only reads, of plugins too: as listed, else without arguments
    or with those that it needs. What the others print of a thing is printed in the same way."""
    calls = dict[str, tuple[tuple[str, ...], ...]](LISTED)
    for operation in operations():
        needed = [each.name for each in operation.parameters if each.required]
        if operation.reads and operation.command not in calls:
            unknown = [name for name in needed if name not in FILLED]
            assert not unknown, f"list a call of {operation.command}, which needs {unknown}"
            calls[operation.command] = (tuple(FILLED[name] for name in needed),)
    return calls


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


@pytest.mark.timeout(300)  # it runs sixty commands
async def test_no_command_prints_what_a_terminal_would_obey(planted: World) -> None:
    (run, *_) = json.loads((await planted.run("runs", "list", "--json")).output)
    seen = (planted.home.parent / "stderr.log").read_bytes().decode()
    assert "evil" in seen
    assert not OBEYED.search(seen), seen
    for command, calls in walked().items():
        for arguments in calls or ((),):
            words = [run["id"] if word == "RUN" else word for word in arguments]
            ended = await planted.run(*command.split(), *words)
            printed = ended.output + ended.errors
            assert not OBEYED.search(printed), (command, printed)
            seen += printed
    assert seen.count("evil") > 10


def test_every_command_that_reads_is_walked() -> None:
    assert {"evals rejected", "runs compare", "memory list", "config schema"} <= walked().keys()
