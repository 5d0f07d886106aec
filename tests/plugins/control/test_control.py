"""The control socket, spoken to as a terminal does."""

from __future__ import annotations

import asyncio
import json
import os
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from nanobot.bus.gate import Gate
from nanobot.channels.host import ChannelHost
from nanobot.channels.intake import ChannelIntake
from nanobot.channels.loading import reception
from nanobot.channels.repeats import REPEAT_LINE
from nanobot.errors import StoreUnwritable
from nanobot.messages import TERMINAL
from nanobot.plugins.common.control.protocol import LINE_LIMIT, Hello
from nanobot.plugins.common.file_labels.marks import MemoryMarks
from nanobot.plugins.common.file_labels.tainted_files import TaintedFiles
from nanobot.plugins.common.files.confinement import ConfinedFiles
from nanobot.plugins.common.files.placed_files import PlacedFiles
from nanobot.plugins.common.runs.current_runs import CurrentRuns
from nanobot.plugins.control.control import ControlServer
from nanobot.plugins.control.terminal import Terminal
from nanobot.providers.base import ImagePart, ModelProfile
from nanobot.session.entries import UserEntry
from nanobot.testing import gateway
from nanobot.testing.gateway import FakeGateway, Options
from nanobot.testing.model import Held, ScriptedProvider
from nanobot.workspace.blobs import Blobs
from nanobot.workspace.received import Received
from tests.agent.tooling import bodies
from tests.pictures import png


class Client:
    """A program at the other end of the socket."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def raw(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def ask(self, op: str, **fields: Any) -> None:
        await self.raw(json.dumps({"op": op, **fields}).encode() + b"\n")

    async def read(self, *ops: str) -> dict[str, Any]:
        """The next answer of one of these kinds (or any)."""
        async with asyncio.timeout(10):
            while True:
                line = await self._reader.readline()
                assert line, "the connection was closed"
                answer: dict[str, Any] = json.loads(line)
                if not ops or answer["op"] in ops:
                    return answer

    async def shown(self) -> str:
        """The next message, acknowledged."""
        message = await self.read("message")
        await self.ask("shown", key=message["key"])
        return str(message["text"])

    async def closed(self) -> bool:
        async with asyncio.timeout(10):
            while await self._reader.readline():
                pass
        return True

    async def leave(self) -> None:
        self._writer.close()
        with suppress(ConnectionError):
            await self._writer.wait_closed()

    def die(self) -> None:
        self._writer.transport.abort()


class World:
    """A gateway with its control socket."""

    def __init__(self, bot: FakeGateway, path: Path) -> None:
        self.bot = bot
        self.path = path
        self.clients: list[Client] = []

    async def connect(self, session: str = "", name: str = "") -> Client:
        """A client, attached if a session is given."""
        client = Client(*await asyncio.open_unix_connection(self.path, limit=LINE_LIMIT))
        self.clients.append(client)
        if session:
            await client.ask("attach", session=session, name=name)
            assert (await client.read())["op"] == "hello"
        return client


@pytest.fixture
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    # A socket's path must be short; a test's folder has its long name in it.
    return tmp_path_factory.mktemp("c") / "control.sock"


@asynccontextmanager
async def serving(path: Path, provider: ScriptedProvider | None = None) -> AsyncIterator[World]:
    folder = path.parent
    files = ConfinedFiles(folder / "workspace")
    labels = TaintedFiles(files.workspace, MemoryMarks())
    received = Received(Blobs(folder / "blobs"), PlacedFiles(files, labels))
    async with gateway(provider, options=Options(received=received)) as bot:
        terminal, clock = Terminal(), bot.home.clock
        host = ChannelHost(TERMINAL, terminal, bot.bus, clock, random.Random(0))
        gate = Gate(("local",), ())
        operations = bot.operations
        intake = ChannelIntake(TERMINAL, gate, bot.bus, reception(operations), "chat", host)
        control = ControlServer(
            path,
            operations,
            terminal,
            intake,
            lambda session: Hello(1, session, "scripted answers"),
            CurrentRuns(),
        )
        world = World(bot, path)
        async with control.serving(bot.run_service, received), asyncio.TaskGroup() as tasks:
            hosting = tasks.create_task(host.run(intake))
            try:
                yield world
            finally:
                for client in world.clients:
                    await client.leave()
                hosting.cancel()


async def test_a_message_is_taken_answered_and_shown(path: Path) -> None:
    async with serving(path) as world:
        client = await world.connect()
        await client.ask("attach", session="cli:direct")
        hello = await client.read()
        assert hello == {
            "op": "hello",
            "pid": 1,
            "session": "cli:direct",
            "model": "scripted answers",
            "gateway": True,
            "entries": 0,
            "changed_at": 0.0,
        }
        await client.ask("say", text="hi", key="k1")
        taken = await client.read("taken")
        assert (taken["key"], taken["answered"], taken["stopped"]) == ("k1", False, False)
        message = await client.read("message")
        assert (message["text"], message["kind"]) == ("echo: hi", "reply")
        await client.ask("shown", key=message["key"])
        assert world.bot.home.verify("cli:direct") == 4


def mode(path: Path) -> int | None:
    return path.stat().st_mode & 0o777 if path.exists() else None


async def test_the_socket_is_its_owners_alone_and_goes_with_the_gateway(path: Path) -> None:
    async with serving(path):
        assert mode(path) == 0o600
    assert mode(path) is None


async def test_a_socket_left_by_a_crash_is_replaced(path: Path) -> None:
    await asyncio.to_thread(path.touch)
    async with serving(path) as world:
        await world.connect("cli:direct")


async def test_a_home_where_no_socket_can_be_is_an_error_with_a_remedy(path: Path) -> None:
    with pytest.RaisesGroup(pytest.RaisesExc(StoreUnwritable, match="90 characters")):
        async with serving(path.parent / ("x" * 120)):
            pass


async def test_events_of_the_session_are_told_while_it_runs(path: Path) -> None:
    async with serving(path, ScriptedProvider("a long enough answer")) as world:
        client = await world.connect("cli:direct")
        await client.ask("say", text="hi", key="k1")
        kinds, text = [], ""
        while "end" not in kinds:
            event = (await client.read("event"))["event"]
            kinds.append(event["kind"])
            text += event["payload"].get("text", "") if kinds[-1] == "model_delta" else ""
        assert kinds[0] == "status"
        assert text == "a long enough answer"


async def test_the_same_key_is_taken_once(path: Path) -> None:
    async with serving(path) as world:
        client = await world.connect("cli:direct")
        for _ in range(2):
            await client.ask("say", text="hi", key="k1")
        assert await client.shown() == "echo: hi"
        await world.bot.settle()
        assert len(bodies(world.bot, UserEntry, "cli:direct")) == 1


async def test_commands_are_answered_by_messages_of_their_own(path: Path) -> None:
    held = Held()
    async with serving(path, ScriptedProvider(held)) as world:
        client = await world.connect("cli:direct")
        await client.ask("say", text="/status", key="k1")
        assert (await client.read("taken"))["answered"]
        assert "Model: test/scripted" in await client.shown()
        await client.ask("say", text="tell me", key="k2")
        await held.reached.wait()
        await client.ask("say", text="/stop", key="k3")
        taken = await client.read("taken")
        while taken["key"] != "k3":
            taken = await client.read("taken")
        assert taken["stopped"]
        assert await client.shown() == "Stopped."


# What is no request


@pytest.mark.parametrize(
    "garbage",
    [b"\n", b"hello\n", b"[]\n", b"{}\n", b'{"op":"fly"}\n', b"\xff\xfe\x00\n", b'{"op":"say"}\n'],
)
async def test_garbage_is_refused_and_the_connection_goes_on(path: Path, garbage: bytes) -> None:
    async with serving(path) as world:
        client = await world.connect("cli:direct")
        await client.raw(garbage)
        assert "not a request" in (await client.read("refused"))["text"]
        await client.ask("say", text="hi", key="k1")
        assert await client.shown() == "echo: hi"


@pytest.mark.parametrize(
    "first",
    [b"garbage\n", b'{"op":"say","text":"hi","key":"k"}\n', b'{"op":"attach","session":""}\n'],
)
async def test_who_does_not_attach_first_is_refused_and_shown_out(path: Path, first: bytes) -> None:
    async with serving(path) as world:
        client = await world.connect()
        await client.raw(first)
        assert (await client.read())["op"] == "refused"
        assert await client.closed()
        assert world.bot.provider.requests == []


async def test_attaching_twice_is_refused(path: Path) -> None:
    async with serving(path) as world:
        client = await world.connect("cli:direct")
        await client.ask("attach", session="cli:other")
        assert "attached already" in (await client.read("refused"))["text"]


async def test_a_line_without_end_closes_that_connection_only(path: Path) -> None:
    async with serving(path) as world:
        other = await world.connect("cli:other")
        client = await world.connect("cli:direct")
        try:
            await client.raw(b"x" * (LINE_LIMIT + 100_000))
        except ConnectionError:
            pass
        else:
            assert await client.closed()
        await other.ask("say", text="hi", key="k1")
        assert await other.shown() == "echo: hi"


async def test_a_message_of_a_million_characters_fits_on_a_line(path: Path) -> None:
    async with serving(path) as world:
        client = await world.connect("cli:direct")
        await client.ask("say", text="\x01é" * 500_000, key="k1")
        await client.read("taken")
        await world.bot.provider.asked(1)


# Clients come and go


async def test_a_session_of_another_channel_can_be_joined(path: Path) -> None:
    async with serving(path) as world:
        await world.bot.channel.push("from the chat")
        await world.bot.channel.pop()
        client = await world.connect("fake:1")
        await client.ask("say", text="from the terminal", key="k1")
        assert await client.shown() == "echo: from the terminal"
        await world.bot.settle()
        assert len(world.bot.channel.sent) == 1
        assert len(bodies(world.bot, UserEntry)) == 2


async def test_of_two_clients_both_see_what_is_said_what_happens_and_what_is_answered(
    path: Path,
) -> None:
    async with serving(path) as world:
        first = await world.connect("cli:direct")
        second = await world.connect("cli:direct")
        await first.ask("say", text="hi", key="k1")
        for client in (first, second):
            event = await client.read("event")
            assert event["event"]["session_key"] == "cli:direct"
        assert (await first.read("message"))["text"] == "echo: hi"
        assert await second.shown() == "echo: hi"
        await second.leave()
        assert await second.closed()
        await first.ask("say", text="again", key="k2")
        assert await first.shown() == "echo: again"


async def test_what_one_client_says_is_shown_to_the_other(path: Path) -> None:
    async with serving(path) as world:
        first = await world.connect("cli:direct")
        second = await world.connect("cli:direct")
        elsewhere = await world.connect("cli:elsewhere")
        await first.ask("say", text="/status", key="k1")
        peer = await second.read("peer")
        assert (peer["text"], peer["taken"]["key"]) == ("/status", "k1")
        assert peer["taken"]["answered"]
        await second.ask("say", text="/help", key="k2")
        assert (await first.read("peer"))["text"] == "/help"
        await elsewhere.ask("say", text="hi", key="k3")
        assert (await elsewhere.read("taken", "peer"))["op"] == "taken"


async def test_who_comes_later_sees_what_runs_and_how_far_it_is(path: Path) -> None:
    held = Held()
    async with serving(path, ScriptedProvider(held)) as world:
        client = await world.connect("cli:direct")
        await client.ask("say", text="hi", key="k1")
        await held.reached.wait()
        taken = await client.read("taken")
        later = await world.connect("cli:direct")
        event = (await later.read("event"))["event"]
        assert event["kind"] == "status"
        assert event["payload"]["inbound_ids"] == [taken["inbound_id"]]
        held.answer("done")


async def test_a_message_with_a_run_of_its_own_can_be_ended_while_it_runs(path: Path) -> None:
    held = Held()
    async with serving(path, ScriptedProvider(held)) as world:
        client = await world.connect("cli:direct")
        await client.ask("say", text="hi", key="k1", attended=False)
        await held.reached.wait()
        event = (await client.read("event"))["event"]
        assert event["run_id"] == "k1"
        await client.ask("abort", run_id="k1")
        assert (await client.read("aborted"))["ended"]
        while (event := (await client.read("event"))["event"])["kind"] != "end":
            pass
        assert event["payload"]["state"] == "aborted"


async def test_an_answer_waits_for_somebody_to_attach(path: Path) -> None:
    held = Held()
    async with serving(path, ScriptedProvider(held)) as world:
        client = await world.connect("cli:direct")
        await client.ask("say", text="hi", key="k1")
        await held.reached.wait()
        client.die()
        await world.bot.settle()
        held.answer("at last")
        await world.bot.settle()
        again = await world.connect("cli:direct")
        assert (await again.shown()).startswith("at last")


async def test_a_client_that_died_before_it_had_shown_it_leaves_it_to_the_next_with_a_line(
    path: Path,
) -> None:
    async with serving(path) as world:
        client = await world.connect("cli:direct")
        await client.ask("say", text="hi", key="k1")
        await client.read("message")
        client.die()
        again = await world.connect("cli:direct")
        assert await again.shown() == f"echo: hi\n\n{REPEAT_LINE}"


async def test_shown_for_something_else_shows_nothing(path: Path) -> None:
    async with serving(path) as world:
        client = await world.connect("cli:direct")
        await client.ask("shown", key="nothing")
        await client.ask("say", text="one", key="k1")
        message = await client.read("message")
        await client.ask("shown", key="something else")
        await client.ask("say", text="two", key="k2")
        await client.read("taken")
        await client.ask("shown", key=message["key"])
        assert await client.shown() == "echo: two"


async def test_a_store_that_fails_is_told_and_nothing_was_taken(path: Path) -> None:
    async with serving(path) as world:
        client = await world.connect("cli:direct")

        def before(verb: str) -> None:
            if verb == "admit":
                raise StoreUnwritable("the disk is full")

        world.bot.process.before = before
        await client.ask("say", text="hi", key="k1")
        assert (await client.read())["text"] == "the disk is full"
        world.bot.process.before = lambda verb: None
        await client.ask("say", text="hi", key="k1")
        assert await client.shown() == "echo: hi"


async def test_a_picture_by_its_path_is_shown_to_the_model(path: Path) -> None:
    seeing = ScriptedProvider(model=ModelProfile(name="m", provider="p", images=True))
    picture = path.parent / "cat.png"
    picture.write_bytes(png())
    async with serving(path, seeing) as world:
        client = await world.connect("cli:direct")
        await client.ask("say", text="what is it?", key="k", images=[str(picture)])
        await client.read("taken")
        await client.shown()
        (request,) = seeing.requests
        content = request.messages[-1].content
    assert not isinstance(content, str)
    (image,) = [part for part in content if isinstance(part, ImagePart)]
    assert (image.mime, bool(image.data)) == ("image/png", True)


async def test_a_picture_that_cannot_be_shown_is_refused_and_nothing_is_taken(path: Path) -> None:
    folder = path.parent
    (folder / "large.png").write_bytes(png(9_000, 9_000))
    (folder / "page.png").write_text("<html>")
    os.mkfifo(folder / "pipe.png")
    wrong = {
        "": "/image PATH",
        "cat.png": "/image PATH",
        str(folder / "gone.png"): "No such file",
        str(folder): "Is a directory",
        str(folder / "pipe.png"): "is not a file",
        str(folder / "page.png"): "is not a picture",
        str(folder / "large.png"): "send a smaller copy",
        f"{folder}/nul\0.png": "cannot be read",
    }
    async with serving(path) as world:
        client = await world.connect("cli:direct")
        for name, problem in wrong.items():
            await client.ask("say", text="look", key="k", images=[name])
            refused = await client.read()
            assert (refused["op"], refused["key"], refused["code"]) == ("refused", "k", 2)
            assert problem in refused["text"]
            assert name in refused["text"] or "PATH" in problem
        assert world.bot.home.entries("cli:direct") == []
        await client.ask("say", text="without one", key="k")
        assert (await client.read("taken"))["key"] == "k"
