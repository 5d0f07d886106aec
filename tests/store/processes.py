"""Real second processes, forked from a server that has everything imported already."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path

from nanobot.errors import NanobotError
from nanobot.messages import Attachment
from nanobot.plugins.approvals.port import ApprovalAnswer
from nanobot.plugins.common.store.hooks import store_hooks
from nanobot.ports import OutboundPart
from nanobot.providers.base import Usage
from nanobot.session.runs import Ending
from nanobot.session.states import RunState
from nanobot.store.journal.journal import SqlJournal
from nanobot.store.opening import Store, contexts
from nanobot.store.servers import open_store
from nanobot.system import RandomIds, SystemClock
from nanobot.testing.machine import CountingIds, ManualClock
from tests.plugins.budgets.ledgers import COUNTED
from tests.store.home import leases_of
from tests.store.making import (
    CHAT,
    KEY,
    PROMPT,
    RESULT,
    STARTED,
    admit,
    answered,
    approval,
    aside,
    begun,
    call,
    following,
    performing,
    prompt,
    rendered,
    reply,
    said,
    told,
    with_file,
)
from tests.stored import approvals_of, choosing, consuming, previewing, requested

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload([__name__])

NOBODY = 65534


def opened(home: Path, crash: str = "", command: str = "nanobot gateway") -> Store:
    """The store of a home, as a process opens it."""
    return open_store(
        home,
        "",
        contexts(ManualClock(), CountingIds(), store_hooks(COUNTED)),
        command=command,
        crash=crash,
    )


@contextmanager
def another(target: Callable[..., None], *arguments: object) -> Iterator[tuple[int, Connection]]:
    """A second process, with its pid and a line to it; it is killed in the end."""
    ours, theirs = _context.Pipe()
    process = _context.Process(target=target, args=(theirs, *arguments), daemon=True)
    process.start()
    theirs.close()
    assert process.pid is not None
    try:
        yield process.pid, ours
    finally:
        process.kill()
        process.join()
        process.close()
        ours.close()


def ending_of(target: Callable[..., None], *arguments: object) -> int:
    """Run a process to its end and give its exit code."""
    process = _context.Process(target=target, args=arguments, daemon=True)
    process.start()
    process.join()
    code = process.exitcode
    process.close()
    assert code is not None
    return code


def hold(line: Connection, home: Path, command: str) -> None:
    """Open a home and hold it until told to close it."""
    store = opened(home, command=command)
    line.send("held")
    line.recv()
    asyncio.run(store.close())
    line.send("closed")


def answer_until_killed(line: Connection, home: Path, url: str) -> None:
    """Serve a channel and drive a run over a shared store; nothing of it is ever let go of."""
    asyncio.run(_answer(line, shared(home, url)))


def shared(home: Path, url: str) -> Store:
    """A store that other processes work on too."""
    context = contexts(SystemClock(), RandomIds(), store_hooks(COUNTED))
    return open_store(home, url, context, command="nanobot gateway", crash="")


async def _answer(line: Connection, store: Store) -> None:
    assert await leases_of(store.journal).hold_channel("telegram")
    await begun(store.journal, "r1")
    line.send("answering")
    await asyncio.sleep(60)


def unprivileged(line: Connection, home: Path) -> None:
    """Try a home as somebody whom permissions bind, and tell what came of it."""
    if os.getuid() == 0:
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    _tell(line, home)


def limited(line: Connection, home: Path, largest: int) -> None:
    """Try a home where no file may grow beyond some bytes, and tell what came of it."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))
    _tell(line, home)


def _tell(line: Connection, home: Path) -> None:
    try:
        opened(home)
    except NanobotError as error:
        line.send((type(error).__name__, str(error)))
    else:
        line.send(("opened", ""))


def live(home: Path, crash: str) -> None:
    """Do every verb of the Journal, some of them twice, unless killed before."""
    store = opened(home, crash)
    asyncio.run(_live(store))


async def _live(store: Store) -> None:
    journal = store.journal
    await journal.account("telegram", "a bot")
    await choosing(journal).set_model(KEY, "another/model")
    claimed = await begun(journal, "r1")
    lane, run = claimed.lane, claimed.run
    await admit(journal, said("more"))
    await journal.take_pending(lane, run, "UTC")
    await journal.start_model(lane, run, [prompt(), call()], PROMPT)
    await journal.record_reply(lane, run, reply())
    await journal.start_auxiliary(lane, run, aside())
    await journal.start_retry(lane, run, Usage(3))
    await journal.start_tool(lane, run, STARTED)
    await journal.record_result(lane, run, [RESULT])
    await journal.start_model(lane, run, [call(2)], None)
    await previewing(journal).preview("r1", told("o", "r1:0"), OutboundPart(text="o"))
    await answered(journal, claimed, "one", "two")
    asking = await begun(journal, "asks", "asked for")
    await journal.start_model(asking.lane, asking.run, [prompt(), call()], PROMPT)
    await journal.record_reply(asking.lane, asking.run, reply())
    await journal.park(asking.lane, asking.run, approval(run_id="asks", session_key="asked for"))
    await approvals_of(journal).answer(1, ApprovalAnswer(state="approved", by="Ann"))
    await journal.post(KEY, told("three", "post"))
    await _deliver(journal)
    given_back = await begun(journal, "r2")
    await journal.release(given_back.lane, given_back.run)
    await admit(journal, said("for a program"), session_key="program")
    await consuming(journal).take_inbound(None)
    (photo,) = await admit(journal, with_file("photo"), session_key="files")
    await journal.fetched(photo.inbound_id, [Attachment("image", ref="photo", error="gone")])
    (command,) = await admit(journal, performing(session_key="commands"))
    await journal.performed(command.inbound_id, told("done", "of the command"))
    await admit(journal, said("r3"), session_key="asked")
    await requested(journal).abort(CHAT, "r3", Ending(state=RunState.ABORTED))
    await store.close()


async def _deliver(journal: SqlJournal) -> None:
    row = await following(journal)
    await journal.begin_send(row, rendered("one"), 0, duplicate=False)
    await journal.receipt(row, 0, "m1", begin=None)
    row = await following(journal)
    await journal.begin_send(row, rendered("two"), 0, duplicate=False)
    await journal.defer(row, 0, 1.0, "502")
    await journal.bury(row, "refused", scope="message")
    await journal.move_chat("telegram", "7", "-1007")
