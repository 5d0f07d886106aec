"""A gateway whose pairing is off: strangers and the people who were let in have no access."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from nanobot.app.gateway import Gateway
from nanobot.app.gateway_parts import Parts
from nanobot.app.hosting import gate_of
from nanobot.app.program import Program
from nanobot.config.loader import load
from nanobot.errors import UsageError
from nanobot.messages import Address, InboundMessage, Role, Sender
from nanobot.plugins.pairing.pairing import Pairing
from nanobot.plugins.setup.doctor.checks import findings
from nanobot.plugins.troubles.store import SqlOwnerNotices
from nanobot.ports import Capabilities
from nanobot.providers.one_provider import OneProvider
from nanobot.session.inbox import Admitted
from nanobot.store.opening import Store
from nanobot.testing.model import ScriptedProvider
from tests.server.housing import house

CHANNEL = '[channels.udp]\nport = 1\ntoken = "long enough to be a secret"\nmembers = ["3"]\n'
OFF = '[plugins]\noff = ["pairing"]\n'
NO_MODEL = '[agent]\nmodel = "absent/one"\n[providers.absent]\napi_base = "http://127.0.0.1:9"\n'
"""Refuses at once, where doctor would otherwise start the embedded model to try it."""
WHY = "belongs to the plugin pairing, which is off here"


@asynccontextmanager
async def serving(
    folder: Path, settings: str = "", *, channels: str = CHANNEL
) -> AsyncIterator[Parts]:
    (folder / "config.toml").write_text(settings + channels)
    environ = {"NANOBOT_HOME": str(folder)}
    program = Program(provider=OneProvider(ScriptedProvider()))
    gateway = Gateway(load(environ), environ, channels=False, program=program)
    async with gateway.serving("a test", lambda _line: None) as parts:
        yield parts


async def write(parts: Parts, sender: str, text: str) -> list[Admitted]:
    """A person writes on the channel, with the gate that the gateway gives it."""
    starter = parts.starter
    gate = gate_of(starter.config.channels["udp"], Capabilities(), starter.strangers)
    message = InboundMessage(
        address=Address("udp", sender),
        message_id=text,
        dedupe_key=text,
        sender=Sender(sender),
        text=text,
        sent_at=1.0,
    )
    return await starter.intake("udp", gate).take([message])


async def told(parts: Parts, sender: str) -> list[str]:
    """The texts that wait for that chat, the latest first."""
    rows = await parts.operations.call("outbox list", {"state": "pending"})
    return [row.text for row in rows if row.address == f"udp:{sender}"]


async def test_people_who_were_let_in_have_access_only_while_pairing_is_on(tmp_path: Path) -> None:
    async with serving(tmp_path) as parts:
        pairing = parts.plugged.offers.get(Pairing)
        await pairing.let_in("udp", "1", Role.OWNER, "me")
        await write(parts, "1", "/pair list")
        assert "udp:1" in (await told(parts, "1"))[0]
        await write(parts, "2", "let me in")
        assert "Your pairing code is" in (await told(parts, "2"))[0]
    async with serving(tmp_path, OFF) as parts:
        for sender, text in (("1", "/runs"), ("2", "please"), ("1", "/approve 1")):
            await write(parts, sender, text)
        for sender in ("1", "2"):
            first = (await told(parts, sender))[0]
            assert first.startswith(f"This assistant is private. Your id here is `{sender}`")
        await write(parts, "3", "/help")
        assert "/new" in (await told(parts, "3"))[0]
        assert parts.operations.unknown("/pair list").startswith(f"/pair list {WHY}")
    async with serving(tmp_path) as parts:
        (row,) = await parts.operations.call("pair list", {"state": "approved"})
        assert (row.who, row.role) == ("udp:1", "owner")
        await write(parts, "1", "/pair list state=approved")
        assert "udp:1" in (await told(parts, "1"))[0]


async def owners_told(parts: Parts) -> set[str]:
    """The chats that get what owners are told."""
    store = parts.plugged.offers.get(Store)
    told = await SqlOwnerNotices(store.database, store.writer).tell("the disk", "It is full.")
    return {str(address) for address in told}


async def test_only_people_who_are_owners_now_are_told_what_owners_are_told(
    tmp_path: Path,
) -> None:
    """Also those whose last words as an owner are in the store: they would be refused."""
    listed = CHANNEL + 'owners = ["9"]\n'
    async with serving(tmp_path, channels=listed) as parts:
        await parts.plugged.offers.get(Pairing).let_in("udp", "1", Role.OWNER, "me")
        for sender in ("1", "9"):
            await write(parts, sender, "/help")
        assert await owners_told(parts) == {"udp:1", "udp:9"}
    async with serving(tmp_path, OFF, channels=listed) as parts:
        assert await owners_told(parts) == {"udp:9"}
    async with serving(tmp_path, channels=listed + "pairing = false\n") as parts:
        assert await owners_told(parts) == {"udp:9"}
    async with serving(tmp_path) as parts:  # the configuration names the owner no longer
        assert await owners_told(parts) == {"udp:1"}


@pytest.mark.parametrize("name", ["pair list", "pair approve", "pair revoke"])
async def test_what_asks_for_it_names_the_plugin(tmp_path: Path, name: str) -> None:
    async with serving(tmp_path, OFF) as parts:
        with pytest.raises(UsageError, match=f"{name} {WHY}.*plugins on pairing"):
            await parts.operations.call(name, {"code": "ABCD-EFGH", "who": "1"})


async def test_the_page_shows_who_has_access_only_while_pairing_is_on(tmp_path: Path) -> None:
    async with house(tmp_path / "home") as served:
        _, me = await (await served.owner()).get("/api/me")
        (view,) = [each for each in me["views"] if each["place"] == "channels"]
        assert view["needs"] == "pair list"
    async with house(tmp_path / "home", web=OFF) as served:
        owner = await served.owner()
        _, me = await owner.get("/api/me")
        assert not [each for each in me["views"] if each["place"] == "channels"]
        code, refused = await owner.get("/api/pair/list")
        assert (code, refused["error"]["code"]) == (404, "plugin_off")


async def test_the_audit_and_doctor_know_that_nobody_can_ask(tmp_path: Path) -> None:
    for settings, reaches, advice in (
        ("", "channels.udp: a pairing code and nothing else", "nanobot pair approve"),
        (OFF, "channels.udp: nothing", "channels.udp.owners"),
    ):
        async with serving(tmp_path, settings + NO_MODEL) as parts:
            audit = await parts.operations.call("security audit", {})
            assert reaches in [each.reaches for each in audit]
        found = await findings({"NANOBOT_HOME": str(tmp_path)})
        (owner,) = [each for each in found if each.text == "no owner is configured"]
        assert advice in owner.remedy
        assert ("pair approve" in owner.remedy) is (not settings)


async def test_doctor_knows_an_owner_who_was_let_in_only_while_pairing_is_on(
    tmp_path: Path,
) -> None:
    async with serving(tmp_path) as parts:
        await parts.plugged.offers.get(Pairing).let_in("udp", "1", Role.OWNER, "me")
    for settings in ("", OFF):
        (tmp_path / "config.toml").write_text(settings + NO_MODEL + CHANNEL)
        found = await findings({"NANOBOT_HOME": str(tmp_path)})
        missing = [each for each in found if each.text == "no owner is configured"]
        assert bool(missing) is bool(settings)
