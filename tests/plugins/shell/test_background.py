"""Commands in the background, in the real sandbox, over a real store: output, input, end, loss."""

from __future__ import annotations

import asyncio
import json
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from nanobot.bus.core import Bus
from nanobot.errors import StoreError, ToolError
from nanobot.labels import Privacy, read
from nanobot.messages import Address, Origin, Role
from nanobot.plugins.common.file_labels.marks import MemoryMarks
from nanobot.plugins.common.file_labels.tainted_files import TaintedFiles
from nanobot.plugins.common.store.hooks import store_hooks
from nanobot.plugins.common.walls import NO_NETWORK, NetworkAccess, SandboxProcess
from nanobot.plugins.shell.background import MAX_OF_SESSION, BackgroundCommands
from nanobot.plugins.shell.exec import ExecOptions, exec_tool
from nanobot.plugins.shell.process import process_tool
from nanobot.plugins.shell.sandbox.bubblewrap import Bubblewrap, find_bwrap
from nanobot.plugins.shell.sandbox.sandbox import Sandbox
from nanobot.plugins.shell.store import SqlBackgroundCommands
from nanobot.store.journal import inbox
from nanobot.store.opening import Store, contexts
from nanobot.store.servers import open_store
from nanobot.system import RandomIds, SystemClock
from nanobot.tools.base import CallContext
from nanobot.tools.redact import Redactor
from nanobot.tools.registry import ToolRegistry

KEY, OTHER = "fake:1", "fake:2"
KNOWN = "a-key-of-the-configuration"


def context(key: str = KEY, *, approved: bool = False, tainted: bool = False) -> CallContext:
    return CallContext(
        run_id="r",
        session_key=key,
        address=Address("fake", "1"),
        sender_id="1001",
        role=Role.OWNER,
        key="r:1:0",
        approved=approved,
        tainted=tainted,
    )


class Desk:
    """One process: its store, its commands, its tools."""

    def __init__(
        self, store: Store, workspace: Path, sandbox: Sandbox, seconds: float, marks: MemoryMarks
    ) -> None:
        self.store = store
        self.bus = Bus(store.journal)
        self.files = TaintedFiles(workspace, marks)
        self.records = SqlBackgroundCommands(store.database, store.writer)
        self.background = BackgroundCommands(
            sandbox,
            self.files,
            self.bus,
            self.records,
            SystemClock(),
            max_seconds=seconds,
            redact=Redactor([KNOWN]),
        )
        self.registry = ToolRegistry()
        self.registry.register(exec_tool(sandbox, workspace, ExecOptions(), self.background))
        self.registry.register(process_tool(self.background))

    async def exec(self, command: str, key: str = KEY, *, tainted: bool = False) -> int:
        arguments = json.dumps({"command": command, "background": True})
        text = await self.registry.execute("exec", arguments, context(key, tainted=tainted))
        return int(text.partition("#")[2].partition(".")[0])

    async def process(self, action: str, number: int = 0, key: str = KEY, **more: object) -> str:
        arguments = json.dumps({"action": action, "id": number, **more})
        return await self.registry.execute("process", arguments, context(key))

    async def printed(self, number: int, text: str) -> str:
        """What a command has printed, once that is in it."""
        async with asyncio.timeout(30):
            while text not in (seen := await self.process("output", number, wait=0.05)):
                pass
        return seen

    async def told(self, count: int = 1) -> list[str]:
        """What the session was told, once it was told so often."""
        async with asyncio.timeout(30):
            while len(rows := await self.waiting()) < count:  # noqa: ASYNC110 - rows set no event
                await asyncio.sleep(0.02)
        assert all(row.message.origin is Origin.EVENT for row in rows)
        return [row.message.text for row in rows]

    async def waiting(self) -> list[inbox.Pending]:
        """What the session has not answered yet."""
        return await self.store.database.transact(lambda c: inbox.pending(c, KEY))


class BusyMachine(Sandbox):
    """A command has written its file long before the gateway gets to look after it."""

    @asynccontextmanager
    async def running(
        self, command: str, workspace: Path, *, network: NetworkAccess, stdin: int = PIPE
    ) -> AsyncIterator[SandboxProcess]:
        async with super().running(command, workspace, network=network, stdin=stdin) as started:
            await until((workspace / "kept").exists)
            await asyncio.sleep(0.2)  # longer than the clock of files is off
            yield started


class NoProgram(Sandbox):
    """What is to be run is not there."""

    @asynccontextmanager
    async def running(
        self, command: str, workspace: Path, *, network: NetworkAccess, stdin: int = PIPE
    ) -> AsyncIterator[SandboxProcess]:
        raise ToolError(f"{command}: there is no such program")
        yield


class FullDisk(MemoryMarks):
    """Nothing can be written when a command has ended."""

    async def remove(self, marks: Sequence[str]) -> None:
        raise StoreError(f"{len(marks)} marks: the disk is full")


class Home:
    """A home whose processes come and go."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.workspace = path / "workspace"
        self.workspace.mkdir()

    @asynccontextmanager
    async def desk(
        self,
        seconds: float = 60.0,
        kind: type[Sandbox] = Sandbox,
        marks: type[MemoryMarks] = MemoryMarks,
    ) -> AsyncIterator[Desk]:
        store = open_store(
            self.path,
            "",
            contexts(SystemClock(), RandomIds(), store_hooks()),
            command="test",
            crash="",
        )
        sandbox = kind(Bubblewrap(find_bwrap(), hidden=[self.path]))
        async with AsyncExitStack() as stack:
            stack.push_async_callback(store.close)
            opened = Desk(store, self.workspace, sandbox, seconds, marks())
            await stack.enter_async_context(opened.background.serving())
            yield opened


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not holds():  # noqa: ASYNC110 - files set no event
            await asyncio.sleep(0.02)


async def test_the_session_is_told_of_the_end_with_the_output(home: Home) -> None:
    async with home.desk() as desk:
        number = await desk.exec("echo out; echo err >&2; exit 3")
        (text,) = await desk.told()
    assert text.startswith(f"Background command #{number} (`echo out; echo err >&2; exit 3`)")
    assert "ended with exit code 3" in text
    assert "out\nerr" in text


@pytest.mark.parametrize(
    ("command", "secret"),
    [
        (f"printf %2000s; echo {KNOWN}", True),
        ("echo DB_PASSWORD=hunter2hunter2", True),
        ("cat .env || true", True),
        ("echo plain", False),
    ],
)
async def test_its_end_is_labelled_like_a_result_and_shows_no_key(
    home: Home, command: str, secret: bool
) -> None:
    async with home.desk() as desk:
        await desk.exec(command)
        (text,) = await desk.told()
        (row,) = await desk.waiting()
    assert KNOWN not in text.rpartition("Its output:")[2]
    label = read(row.message.label)
    assert label.tainted
    assert label.privacy is (Privacy.SECRET if secret else Privacy.PERSON)


async def test_it_goes_on_after_exec_returned_and_its_output_can_be_read(home: Home) -> None:
    async with home.desk() as desk:
        number = await desk.exec("echo begun; until [ -e go ]; do sleep 0.02; done; echo done")
        assert "running" in await desk.printed(number, "begun")
        (home.workspace / "go").touch()
        ended = await desk.process("output", number, wait=30)
        assert "begun\ndone" in ended
        assert "ended with exit code 0; 5 new bytes" in ended
        assert await desk.process("list") == (
            f"#{number} ended with exit code 0: "
            "echo begun; until [ -e go ]; do sleep 0.02; done; echo done"
        )


async def test_it_takes_input_until_that_is_ended(home: Home) -> None:
    async with home.desk() as desk:
        number = await desk.exec("while read x; do echo got $x; done; echo over")
        assert "Written" in await desk.process("input", number, text="one\n")
        await desk.process("input", number, text="two\n", end=True)
        assert "got one\ngot two\nover" in await desk.process("output", number, wait=30)
        with pytest.raises(ToolError, match="takes no more input"):
            await desk.process("input", number, text="three\n")


async def test_stopping_kills_all_that_it_started(home: Home) -> None:
    async with home.desk() as desk:
        number = await desk.exec("(sleep 313.25; touch late) & echo up; sleep 313.25")
        await desk.printed(number, "up")
        await desk.process("stop", number)
        (text,) = await desk.told()
        assert "stopped by the assistant" in text
        await until(lambda: not _sleeping())


async def test_one_that_takes_too_long_is_ended_and_told(home: Home) -> None:
    async with home.desk(seconds=0.3) as desk:
        await desk.exec("sleep 60")
        (text,) = await desk.told()
        assert "stopped by the limit of 0.3 s" in text


async def test_what_ran_when_the_process_ended_is_told_as_lost_once(home: Home) -> None:
    async with home.desk() as desk:
        await desk.exec("sleep 314.5")
    async with home.desk() as desk:
        (text,) = await desk.told()
        assert "is lost" in text
    async with home.desk() as desk:
        await asyncio.sleep(0.2)
        assert len(await desk.told()) == 1


async def test_an_end_that_was_told_is_not_told_as_lost(home: Home) -> None:
    async with home.desk() as desk:
        await desk.exec("true")
        await desk.told()
        number = await desk.exec("sleep 0.01")
        await desk.told(2)
        assert number == 2
    async with home.desk() as desk:
        await asyncio.sleep(0.2)
        assert not any("lost" in text for text in await desk.told(2))


async def test_one_that_begins_while_the_gateway_ends_is_killed_and_not_told_as_lost(
    home: Home,
) -> None:
    async with home.desk(kind=BusyMachine) as desk:
        sandbox = BusyMachine(Bubblewrap(find_bwrap(), hidden=[home.path]))
        ending = BackgroundCommands(
            sandbox, desk.files, desk.bus, desk.records, SystemClock(), max_seconds=60.0
        )
        command = "touch begun; until [ -e kept ]; do sleep 0.02; done; sleep 313.25"
        async with ending.serving():
            starting = asyncio.create_task(
                ending.start(command, context(), network=NO_NETWORK, walls="all")
            )
            await until((home.workspace / "begun").exists)
        (home.workspace / "kept").touch()
        with pytest.raises(ToolError, match="the gateway ends: the command was killed"):
            await starting
        await until(lambda: not _sleeping())
    async with home.desk() as desk:
        await asyncio.sleep(0.2)
        assert await desk.told(0) == []


async def test_one_that_never_began_is_not_told_as_lost_whatever_else_fails(home: Home) -> None:
    async with home.desk(kind=NoProgram, marks=FullDisk) as desk:
        with pytest.raises(StoreError, match="the disk is full"):
            await desk.exec("pytohn x.py", tainted=True)
    async with home.desk() as desk:
        await asyncio.sleep(0.2)
        assert await desk.told(0) == []


async def test_the_limit_counts_commands_that_are_being_started(home: Home) -> None:
    async with home.desk() as desk:
        commands = [desk.exec("echo up; sleep 317") for _ in range(MAX_OF_SESSION + 2)]
        results = await asyncio.gather(*commands, return_exceptions=True)
        refused = [result for result in results if isinstance(result, ToolError)]
        assert len(refused) == 2
        for number in (result for result in results if isinstance(result, int)):
            await desk.printed(number, "up")


async def test_what_it_writes_at_once_is_from_outside_as_well(home: Home) -> None:
    async with home.desk(kind=BusyMachine) as desk:
        number = await desk.exec("echo order > kept; sleep 600", tainted=True)
        assert await desk.files.any_marked(["kept"])
        await desk.process("stop", number)
        await desk.told()
        assert await desk.files.listed() == ["kept"]


async def test_a_conversation_sees_only_its_own_commands(home: Home) -> None:
    async with home.desk() as desk:
        number = await desk.exec("sleep 315")
        assert await desk.process("list", key=OTHER) == "No command of this conversation is known."
        for action in ("output", "input", "stop"):
            with pytest.raises(ToolError, match="there is no background command"):
                await desk.process(action, number, key=OTHER)


async def test_there_is_a_limit_for_each_conversation(home: Home) -> None:
    async with home.desk() as desk:
        for _ in range(MAX_OF_SESSION):
            # A sandbox that is killed while it is being set up may leave what it holds alive.
            await desk.printed(await desk.exec("echo up; sleep 316"), "up")
        with pytest.raises(ToolError, match=f"at most {MAX_OF_SESSION}"):
            await desk.exec("true")
        await desk.exec("true", key=OTHER)


async def test_a_flood_of_output_is_killed_and_harms_nobody(home: Home) -> None:
    async with home.desk() as desk:
        number = await desk.exec("head -c 3000000 /dev/zero | tr '\\0' x; echo end")
        ended = await desk.process("output", number, wait=30)
        assert ended.rstrip().endswith("new bytes]")
        assert "end" in ended


def _sleeping() -> bool:
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if b"sleep\x00313.25" in (folder / "cmdline").read_bytes():
                return True
        except OSError:
            continue
    return False
