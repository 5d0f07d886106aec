"""A gateway whose approvals are off refuses what a person would have to approve, and keeps what
waits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from loguru import logger

from nanobot.app.bringing import unused
from nanobot.app.gateway import Gateway
from nanobot.app.gateway_parts import Parts
from nanobot.app.hosting import gate_of
from nanobot.app.program import Program
from nanobot.config.loader import load
from nanobot.errors import UsageError
from nanobot.messages import Address, InboundMessage, Sender
from nanobot.plugins.approvals.port import ApprovalAnswer
from nanobot.plugins.approvals.store.approvals import SqlApprovals
from nanobot.plugins.setup.doctor.checks import findings
from nanobot.ports import Capabilities
from nanobot.providers.one_provider import OneProvider
from nanobot.session.entries import DecisionEntry, ToolResultEntry
from nanobot.session.states import RunState
from nanobot.store.opening import Store
from nanobot.testing.model import ScriptedProvider, asks_for
from tests.agent.tooling import Recorder
from tests.server.housing import house
from tests.store.empty import with_empty_store
from tests.stored import asked_of, runs_of

CHANNEL = """
[channels.udp]
port = 1
token = "long enough to be a secret"
owners = ["9"]
[[policy.rules]]
tool = "act"
verdict = "ask"
"""
NO_MODEL = (
    '[providers.absent]\napi_base = "http://127.0.0.1:9"\n'
    '[agent]\nmodel = "absent/one"\nremember = "off"\n'
)
"""Refuses at once, where doctor would otherwise start the embedded model to try it."""
OFF = '[plugins]\noff = ["approvals"]\n'
WHY = "belongs to the plugin approvals, which is off here"
KEY = "udp:9"


class Home:
    """A folder whose gateway can be opened and closed, with a tool that asks."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        with_empty_store(folder)
        self.recorder = Recorder()
        self._written = 0

    @asynccontextmanager
    async def serving(self, settings: str, *script: object) -> AsyncIterator[Parts]:
        (self.folder / "config.toml").write_text(settings + NO_MODEL + CHANNEL)
        environ = {"NANOBOT_HOME": str(self.folder)}
        model = ScriptedProvider(*script)  # type: ignore[arg-type]
        program = Program(provider=OneProvider(model), tools=(self.recorder.tool("act"),))
        gateway = Gateway(load(environ), environ, channels=False, program=program)
        async with gateway.serving("a test", lambda _line: None) as parts:
            yield parts

    async def write(self, parts: Parts, text: str) -> None:
        """The owner writes on the channel."""
        starter, self._written = parts.starter, self._written + 1
        gate = gate_of(starter.config.channels["udp"], Capabilities(), starter.strangers)
        message = InboundMessage(
            address=Address("udp", "9"),
            message_id=str(self._written),
            dedupe_key=str(self._written),
            sender=Sender("9"),
            text=text,
            sent_at=parts.engine.now(),
        )
        await starter.intake("udp", gate).take([message])

    async def asked(self) -> None:
        """A call waits for the owner, and the gateway has ended."""
        async with self.serving("", asks_for("act", text="now")) as parts:
            await self.write(parts, "act")
            await until(parts, "awaiting_human")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


async def until(parts: Parts, state: str, count: int = 1) -> None:
    """The conversation has so many runs, and the latest is in that state."""
    async with asyncio.timeout(30):
        while True:
            runs = await runs_of(parts.engine.records).listed(session=KEY, state="", limit=9)
            if len(runs) == count and runs[0].state == state:
                return
            await asyncio.sleep(0.02)


async def told(parts: Parts) -> list[str]:
    """The texts that wait for the owner, the latest first."""
    rows = await parts.operations.call("outbox list", {"state": "pending"})
    return [row.text for row in rows]


async def results(parts: Parts) -> list[str]:
    """What came of the calls."""
    entries = await parts.engine.journal.history(KEY)
    return [each.body.text for each in entries if isinstance(each.body, ToolResultEntry)]


async def verdicts(parts: Parts) -> list[str]:
    entries = await parts.engine.journal.history(KEY)
    return [each.body.verdict for each in entries if isinstance(each.body, DecisionEntry)]


async def test_a_call_that_would_be_asked_for_is_refused_and_names_the_plugin(home: Home) -> None:
    async with home.serving(OFF, asks_for("act"), "I may not.") as parts:
        await home.write(parts, "act")
        await until(parts, "completed")
        (refused,) = await results(parts)
        assert "the plugin approvals, which asks people, is off here" in refused
        assert "`nanobot plugins on approvals` switches it on" in refused
        assert await told(parts) == ["I may not."]
    assert home.recorder.calls == []


async def test_what_was_always_allowed_is_refused_as_well(home: Home) -> None:
    async with home.serving("", asks_for("act"), "done", asks_for("act"), "again") as parts:
        await home.write(parts, "act")
        await until(parts, "awaiting_human")
        await parts.operations.call("approve", {"id": 1, "always": True})
        await until(parts, "completed")
        await home.write(parts, "once more")
        await until(parts, "completed", 2)
    async with home.serving(OFF, asks_for("act"), "I may not.") as parts:
        await home.write(parts, "and again")
        await until(parts, "completed", 3)
        assert "is off here" in (await results(parts))[-1]
    assert len(home.recorder.calls) == 2


async def test_a_run_that_waits_is_kept_and_can_be_decided_afterwards(home: Home) -> None:
    await home.asked()
    for _ in range(2):
        async with home.serving(OFF) as parts:
            await asyncio.sleep(0.3)
            await until(parts, "awaiting_human")
            assert await verdicts(parts) == []
    async with home.serving("", "It is done.") as parts:
        (approval,) = await parts.operations.call("approvals list", {})
        assert approval.state == "waiting"
        await parts.operations.call("approve", {"id": 1})
        await until(parts, "completed")
        assert home.recorder.calls == ["act now"]
    async with home.serving("", "unused") as parts:
        await asyncio.sleep(0.3)
        assert home.recorder.calls == ["act now"]


async def test_a_message_meanwhile_is_answered_without_the_call_which_stays_open(
    home: Home,
) -> None:
    await home.asked()
    async with home.serving(OFF, "I go on.") as parts:
        await home.write(parts, "yes")
        await until(parts, "completed")
        (refused,) = await results(parts)
        assert "`nanobot plugins on approvals` switches it on" in refused
        assert (await told(parts))[0].startswith("I go on.")
        assert await verdicts(parts) == ["detached"]
        assert home.recorder.calls == []
    async with home.serving("", "It is done.") as parts:
        (approval,) = await parts.operations.call("approvals list", {})
        assert approval.state == "detached"
        await parts.operations.call("approve", {"id": 1})
        await until(parts, "completed", 2)
        with pytest.raises(Exception, match="was already approved"):
            await parts.operations.call("approve", {"id": 1})
    assert home.recorder.calls == ["act now"]


async def test_a_wait_ends_at_its_time_and_is_not_approved_later(home: Home) -> None:
    brief = "[policy]\napproval_seconds = 1.0\n"
    async with home.serving(brief, asks_for("act", text="now")) as parts:
        await home.write(parts, "act")
        await until(parts, "awaiting_human")
    async with home.serving(OFF, "Nobody said so.") as parts:
        await until(parts, "completed")
        assert await verdicts(parts) == ["expired"]
    async with home.serving("") as parts:
        assert await parts.operations.call("approvals list", {}) == []
        with pytest.raises(Exception, match="has expired"):
            await parts.operations.call("approve", {"id": 1})
    assert home.recorder.calls == []


async def test_what_was_approved_before_is_done_once(home: Home) -> None:
    """An approval that came late is a message, which no run has taken yet."""
    await home.asked()
    async with home.serving(OFF, "I go on.") as parts:
        await home.write(parts, "go on")
        await until(parts, "completed")
        store = parts.plugged.offers.get(Store)
        answer = ApprovalAnswer(state="approved", by="the owner")
        await SqlApprovals(store.database, store.writer).answer(1, answer)
    async with home.serving(OFF, "It is done.") as parts:
        await until(parts, "completed", 2)
    assert home.recorder.calls == ["act now"]


async def test_stopping_a_run_that_waits_voids_what_it_waits_for(home: Home) -> None:
    await home.asked()
    async with home.serving(OFF) as parts:
        await home.write(parts, "/stop")
        await until(parts, "aborted")
        (approval,) = await asked_of(parts.engine.records).approvals(session="", state="", limit=9)
        assert approval.state == "void"
    async with home.serving("") as parts:
        with pytest.raises(Exception, match="is void"):
            await parts.operations.call("approve", {"id": 1})
    assert home.recorder.calls == []


@pytest.mark.parametrize(
    "name", ["approve", "deny", "show", "answer", "approvals list", "policy rules", "policy forget"]
)
async def test_what_decides_names_the_plugin(home: Home, name: str) -> None:
    async with home.serving(OFF) as parts:
        with pytest.raises(UsageError, match=f"{name} {WHY}.*plugins on approvals"):
            await parts.operations.call(name, {"id": 1})
        assert parts.operations.unknown("/approve 1").startswith(f"/approve {WHY}")
        assert "ask_user" not in [tool.name for tool, *_ in parts.engine.tools.listed()]


async def test_the_gateway_and_doctor_say_what_waits_while_it_is_off(home: Home) -> None:
    await home.asked()
    said = "1 run(s) wait for a person, and the plugin approvals, which takes decisions, is not on"
    lines: list[str] = []
    sink = logger.add(lambda line: lines.append(str(line)), format="{message}")
    try:
        for settings, waits in (("", False), (OFF, True)):
            lines.clear()
            async with home.serving(settings) as parts:
                await until(parts, RunState.AWAITING_HUMAN)
                assert (said in "".join(lines)) is waits
            found = await findings({"NANOBOT_HOME": str(home.folder)})
            texts = [each.text for each in found if each.about == "approvals"]
            assert [text[:45] for text in texts] == (
                ["1 approval waits for the plugin approvals. It"] if waits else []
            )
    finally:
        logger.remove(sink)


async def test_the_page_has_no_permissions_to_show_while_it_is_off(tmp_path: Path) -> None:
    async with house(tmp_path / "home", web=OFF) as served:
        owner = await served.owner()
        code, refused = await owner.get("/api/approvals/list")
        assert (code, refused["error"]["code"]) == (404, "plugin_off")


def test_its_keys_do_nothing_and_a_start_says_so(tmp_path: Path) -> None:
    settings = '[plugins]\noff = ["approvals"]\n[policy]\napprovers = ["members"]\n'
    (tmp_path / "config.toml").write_text(settings)
    config = load({"NANOBOT_HOME": str(tmp_path)})
    (finding,) = unused(config)
    assert finding.text == (
        "policy.approvers does nothing without the plugin approvals. It is switched off: nanobot "
        "plugins on approvals"
    )
