"""A stranger on Telegram: a code, `nanobot pair approve`, an answer, and out again."""

from __future__ import annotations

import json
import re

from tests.process.harness import Nanobot, World

STRANGER = 666
GROUP = -700


async def code_of(world: World, count: int) -> str:
    """The code in the last of that many messages to the stranger."""
    match = re.search(
        r"pairing code is (\S{4}-\S{4}) \(", (await world.answered(STRANGER, count))[-1]
    )
    assert match
    return match[1]


async def test_a_stranger_is_let_in_by_the_command_line_while_the_gateway_runs(
    world: World, gateway: Nanobot
) -> None:
    world.telegram.say(STRANGER, "say:secret")
    code = await code_of(world, 1)
    listed = json.loads((await world.run("pair", "list", "--state", "asked", "--json")).output)
    assert [(pairing["who"], pairing["code"]) for pairing in listed] == [
        (f"telegram:{STRANGER}", code)
    ]
    ran = await world.run("pair", "approve", code)
    assert (ran.code, ran.errors) == (0, "")
    assert (await world.answered(STRANGER, 2))[1].startswith("You are in.")
    world.telegram.say(STRANGER, "say:welcome")
    assert (await world.answered(STRANGER, 3))[2] == "welcome"
    assert (await world.run("pair", "approve", code)).code == 1
    assert (await world.run("pair", "revoke", str(STRANGER))).code == 0
    world.telegram.say(STRANGER, "say:still here?")
    assert await code_of(world, 4) != code
    assert await gateway.stop() == 0
    assert len(world.model.requests) == 1
    assert not any(b"secret" in body for (body,) in world.rows("SELECT body FROM inbound"))
    world.verify()


async def test_a_stranger_may_be_let_in_while_nothing_runs_and_a_crash_forgets_no_code(
    world: World,
) -> None:
    first = await world.launch(crash_at="begin_send")
    world.telegram.say(STRANGER, "hello")
    await first.died()
    second = await world.start()
    code = await code_of(world, 1)
    assert await second.stop() == 0
    assert (await world.run("pair", "approve", code, "--role", "owner")).code == 0
    third = await world.start()
    assert (await world.answered(STRANGER, 2))[1].startswith("You are in.")
    world.telegram.say(STRANGER, "/pair")
    assert f"telegram:{STRANGER}" in (await world.answered(STRANGER, 3))[2]
    await world.rests(third)


async def test_the_first_owner_lets_themselves_in_at_the_terminal(world: World) -> None:
    file = world.home / "config.toml"
    file.write_text(re.sub(r"^owners = .*$", "owners = []", file.read_text(), flags=re.MULTILINE))
    gateway = await world.start()
    world.telegram.say(STRANGER, "hello")
    code = await code_of(world, 1)
    assert (await world.run("pair", "approve", code, "--role", "owner")).code == 0
    await world.answered(STRANGER, 2)
    world.telegram.say(STRANGER, "/runs")
    assert (await world.answered(STRANGER, 3))[2].startswith("Nothing found.")
    assert await gateway.stop() == 0


async def test_in_a_group_strangers_are_not_heard_and_the_paired_are(world: World) -> None:
    gateway = await world.start()
    mention = "@nano_bot say:hello"
    entities = [{"type": "mention", "offset": 0, "length": 9}]
    update = world.telegram.say(GROUP, mention, sender=STRANGER, entities=entities)
    await world.acknowledged(update)
    world.telegram.say(STRANGER, "hello")
    code = await code_of(world, 1)
    await world.run("pair", "approve", code)
    world.telegram.say(GROUP, "say:to nobody", sender=STRANGER)
    world.telegram.say(GROUP, mention, sender=STRANGER, entities=entities)
    assert await world.answered(GROUP) == ["hello"]
    await world.rests(gateway)


async def test_while_the_plugin_is_off_only_the_configuration_gives_access(world: World) -> None:
    gateway = await world.start()
    assert (await world.run("pair", "approve", f"telegram:{STRANGER}", "--role", "owner")).code == 0
    world.telegram.say(STRANGER, "say:hello")
    await world.answered(STRANGER, 1)
    assert await gateway.stop() == 0
    assert (await world.run("plugins", "off", "pairing")).code == 0
    gateway = await world.start()
    world.telegram.say(STRANGER, "say:secret")
    assert "Your id here is 666:" in (await world.answered(STRANGER, 2))[1]
    refused = await world.run("pair", "list")
    assert refused.code == 2
    assert "belongs to the plugin pairing" in refused.errors
    assert await gateway.stop() == 0
    assert (await world.run("plugins", "on", "pairing")).code == 0
    gateway = await world.start()
    world.telegram.say(STRANGER, "say:again")
    assert (await world.answered(STRANGER, 3))[2] == "again"
    assert await gateway.stop() == 0
    assert len(world.model.requests) == 2
    world.verify()
