"""Commands in a shell that lacks the secrets with which the gateway was started."""

from __future__ import annotations

import json

import pytest

from tests.process.harness import World

STRANGER = 666
HOOK = """
[hooks.builds]
secret = "${HOOK_SECRET}"
[mcp.files]
command = "files"
env = { TOKEN = "file:secrets/absent" }
"""
ALWAYS = (
    ("status",),
    ("pair", "list"),
    ("sessions", "list"),
    ("runs", "list"),
    ("cron", "add", "every day at 9", "Look"),
    ("config", "get", "agent.model"),
    ("db", "check"),
    ("db", "quarantine", "list"),
    ("usage",),
)
SERVED = (("agent", "-m", "say:hello"), ("dashboard", "--show"))


def hide(world: World, value: str, reference: str) -> None:
    """Put a reference into the configuration instead of a value."""
    file = world.home / "config.toml"
    file.write_text(file.read_text("utf-8").replace(value, reference), "utf-8")


@pytest.fixture
def elsewhere(world: World) -> World:
    """A home whose secrets are in the environment of its gateway alone."""
    world.configure(more=HOOK)
    hide(world, world.telegram.token, "${TELEGRAM_TOKEN}")
    (world.home / "secrets").mkdir(mode=0o700)
    return world


async def test_every_command_works_beside_a_gateway_that_has_the_secrets(elsewhere: World) -> None:
    world = elsewhere
    absent = world.home / "secrets" / "absent"
    absent.write_text("token", "utf-8")
    gateway = await world.start(
        TELEGRAM_TOKEN=world.telegram.token, HOOK_SECRET="a-long-secret-that-signs"
    )
    absent.unlink()
    world.telegram.say(STRANGER, "hello")
    code = (await world.answered(STRANGER))[0].partition("pairing code is ")[2][:9]
    approved = await world.run("pair", "approve", code, "--role", "owner")
    assert (approved.code, approved.errors) == (0, "")
    assert (await world.answered(STRANGER, 2))[1].startswith("You are in.")
    for command in (*ALWAYS, *SERVED):
        ran = await world.run(*command)
        assert (command, ran.code, ran.errors) == (command, 0, "")
    findings = json.loads((await world.run("doctor", "--json")).output)
    assert not [one for one in findings if one["about"] == "telegram"]
    lacking = [one for one in findings if "TELEGRAM_TOKEN" in one["text"]]
    assert [one["level"] for one in lacking] == ["warning"]
    assert await gateway.stop() == 0


async def test_commands_that_need_no_secret_work_where_nothing_runs(elsewhere: World) -> None:
    for command in ALWAYS:
        ran = await elsewhere.run(*command)
        assert (command, ran.code, ran.errors) == (command, 0, "")


async def test_an_agent_of_its_own_needs_no_secret_of_a_channel(world: World) -> None:
    world.configure()
    hide(world, world.telegram.token, "${TELEGRAM_TOKEN}")
    ran = await world.run("agent", "-m", "say:hello")
    assert (ran.code, ran.output.strip()) == (0, "hello")


@pytest.mark.parametrize("command", [("gateway",), ("agent", "-m", "hello")], ids=" ".join)
async def test_what_needs_a_secret_names_it(elsewhere: World, command: tuple[str, ...]) -> None:
    """The gateway needs all of them, an agent of its own the one of the MCP server."""
    ran = await elsewhere.run(*command)
    assert ran.code == 3
    named = "TELEGRAM_TOKEN, which is not set" if command == ("gateway",) else "secrets/absent"
    assert named in ran.errors


async def test_no_command_opens_another_database_than_the_one_that_is_meant(world: World) -> None:
    world.configure(top='database_url = "${DATABASE_URL}"')
    for command in (("pair", "list"), ("db", "check"), ("status",)):
        ran = await world.run(*command)
        assert (command, ran.code) == (command, 3)
        assert "DATABASE_URL, which is not set" in ran.errors
    assert not (world.home / "state.db").exists()


async def test_the_doctor_sees_owners_who_were_paired(world: World) -> None:
    world.configure(agent="")
    file = world.home / "config.toml"
    lines = file.read_text("utf-8").splitlines()
    file.write_text("\n".join(line for line in lines if not line.startswith("owners")), "utf-8")

    async def warned() -> bool:
        findings = json.loads((await world.run("doctor", "--json")).output)
        return any("no owner is configured" in one["text"] for one in findings)

    await world.start()
    assert await warned()
    world.telegram.say(STRANGER, "hello")
    code = (await world.answered(STRANGER))[0].partition("pairing code is ")[2][:9]
    assert (await world.run("pair", "approve", code, "--role", "owner")).code == 0
    assert not await warned()
