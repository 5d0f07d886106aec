"""No task without a boundary: each task that the program starts contains its failures, is
supervised, or belongs to a caller who handles them."""

from __future__ import annotations

import ast
import asyncio
import inspect
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

from nanobot.app.gateway import Gateway
from nanobot.app.gateway_parts import Parts
from nanobot.app.program import Program
from nanobot.config.loader import load
from nanobot.providers.one_provider import OneProvider
from nanobot.supervision import supervised
from nanobot.testing.model import ScriptedProvider
from nanobot.troubles import TROUBLES, Troubles

ROOT = Path(__file__).parent.parent / "nanobot"
PROGRAMS = (
    *("plugins/kit/", "plugins/terminal/", "plugins/setup/"),
    *("plugins/mcp/serving", "plugins/library/", "plugins/common/runs/run_client.py"),
)
"""What runs in a process of its own caller's, to whom a failure belongs."""

# Tasks whose creator handles their failure, and how.
HANDLED = {
    "app/gateway.py:start": "a start that fails has to end the process, with the reason",
    "app/gateway.py:model": "`warm_up` is a boundary",
    "app/gateway.py:web": "the process ends",
    "app/gateway.py:drain": "the process ends",
    "app/gateway.py:commands": "the process ends",
    "app/hosting.py:*: stopping": "it waits",
    "app/hosting.py:*: commands": "it waits",
    "app/gateway.py:plugins": "the process ends; each of their functions is within a boundary",
    "agent/tool_calls.py:call * of *": "each call is made within a boundary, see `_make`",
    "plugins/postgres/processes/channel_lease.py:*: serving": (
        "the work that holds the lease is supervised"
    ),
    "channels/outage.py:*: waiting": "it sleeps",
    "plugins/auto/finding.py:": "the caller's operation fails",
    "plugins/http_api/socket.py:web: a request": "it is answered within a boundary",
    "plugins/control/control.py:control: events": "the connection is within a boundary",
    "plugins/openai/event_stream.py:web: comments": "the request is within a boundary",
    "plugins/mcp/servers.py:MCP server *": "`Server.run` is a boundary within a loop",
    "plugins/mcp/stdio.py:mcp: stdout": "the life of the connection is within a boundary",
    "plugins/mcp/stdio.py:mcp: stdin": "the life of the connection is within a boundary",
    "plugins/mcp/stdio.py:mcp: stderr": "the life of the connection is within a boundary",
    "plugins/shell/sandbox/proxy.py:proxy: out": "a task of the connection, which asyncio logs",
    "plugins/skills/service.py:skills": "it is a boundary",
    "plugins/jobs/timer.py:cron: wait": "it sleeps",
    "plugins/jobs/timer.py:cron: changes": "it waits",
    "plugins/evals/evaluation.py:evals: attempt": "the caller's operation fails",
    "plugins/events/trigger.py:events: wait": "it sleeps",
    "plugins/events/trigger.py:events: news": "it waits",
    "plugins/common/http/web_server.py:web: a connection": "its first statement is a boundary",
    "channels/delivery.py:*: its chats": "each renewal is within a boundary",
    "plugins/progress/drafts.py:draft *": "each look is within a boundary",
    "plugins/progress/previews.py:preview *": "each look is within a boundary",
    "cli/serve.py:": "a start that fails has to end the process, with the reason",
    "channels/delivery.py:delivery *:*": "each turn of its loop is a boundary",
    "plugins/page/push/notifier.py:web: pushing to a browser": "`Mailbox._pushing` is a boundary",
    "plugins/common/times/looks.py:slept: due": "it sleeps",
    "plugins/common/times/looks.py:slept: early": "it waits",
    "supervision.py:": "this is what supervises",
}


def name_of(call: ast.Call) -> str:
    """The name that a task is given, `*` for what is filled in."""
    given = next((word.value for word in call.keywords if word.arg == "name"), None)
    if isinstance(given, ast.Constant):
        return str(given.value)
    if not isinstance(given, ast.JoinedStr):
        return ""
    parts = [str(p.value) if isinstance(p, ast.Constant) else "*" for p in given.values]
    return "".join(parts)


def contained(function: ast.AsyncFunctionDef) -> bool:
    """Whether all that is awaited in it is within a boundary, or sleeps after one."""
    return any(_is_boundary(node) for node in ast.walk(function))


def _is_boundary(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        return ast.unparse(node.func) == "guarded"
    return isinstance(node, ast.With) and any(
        isinstance(item.context_expr, ast.Call)
        and isinstance(item.context_expr.func, ast.Name)
        and item.context_expr.func.id == "boundary"
        for item in node.items
    )


def created() -> Iterator[tuple[str, str, ast.Call, ast.Module]]:
    """Every place that creates a task."""
    for path in sorted(ROOT.rglob("*.py")):
        where = path.relative_to(ROOT).as_posix()
        if where.startswith(PROGRAMS):
            continue
        text = path.read_text("utf-8")
        if "create_task" not in text and "ensure_future" not in text:
            continue
        tree = ast.parse(text)
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call):
                continue
            if ast.unparse(node.func).rpartition(".")[2] in ("create_task", "ensure_future"):
                yield where, name_of(node), node, tree


def begun(call: ast.Call, tree: ast.Module) -> ast.AsyncFunctionDef | None:
    """The function of the module that a task runs, through a name if it has one."""
    work = call.args[0]
    if isinstance(work, ast.Name):
        values = [
            node.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == work.id
        ]
        work = values[0] if values else work
    if not isinstance(work, ast.Call):
        return None
    name = ast.unparse(work.func).rpartition(".")[2]
    functions = [n for n in ast.walk(tree) if isinstance(n, ast.AsyncFunctionDef)]
    return next((each for each in functions if each.name == name), None)


def supervises(call: ast.Call, tree: ast.Module) -> bool:
    work = ast.unparse(call.args[0])
    return work.startswith("supervised(") or f"{work} = supervised(" in ast.unparse(tree)


def test_every_task_is_supervised_or_contained() -> None:
    places, loose = set[str](), []
    for where, name, call, tree in created():
        key = f"{where}:{name}"
        places.add(key)
        function = begun(call, tree)
        whole = supervises(call, tree) or (function is not None and contained(function))
        if key not in HANDLED and not whole:
            loose.append(key)
    assert loose == []
    assert HANDLED.keys() - places == set()
    assert len(places) > 30


def test_groups_are_only_made_where_tasks_are_looked_at() -> None:
    makers = {where for where, *_ in created()}
    for path in ROOT.rglob("*.py"):
        where = path.relative_to(ROOT).as_posix()
        if "asyncio.gather(" in path.read_text("utf-8"):
            assert where.startswith(PROGRAMS), where
    assert "supervision.py" in makers


class Clock:
    """Time that passes when somebody sleeps."""

    def __init__(self) -> None:
        self.at = 0.0
        self.slept: list[float] = []

    def monotonic(self) -> float:
        return self.at

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.at += seconds
        await asyncio.sleep(0)


async def test_a_work_that_fails_is_named_and_started_again() -> None:
    clock, ends = Clock(), [OSError("no"), ValueError("never"), None]

    async def work() -> None:
        if (error := ends.pop(0)) is not None:
            raise error

    await supervised("a work that fails", work, clock)
    assert (ends, clock.slept) == ([], [1.0, 2.0])
    assert "a work that fails" not in [each.what for each in TROUBLES.recent()]


def test_troubles_are_bounded_counted_and_end() -> None:
    troubles = Troubles()
    for number in range(1_000):
        troubles.note(f"work {number}", OSError("no\nspace"))
    troubles.note("work 999", OSError("no\nspace"))
    assert len(troubles.recent()) == 200
    (twice,) = troubles.recent(2)
    assert str(twice) == "work 999 failed 2 times: no space"
    troubles.over("work 999")
    assert troubles.recent(2) == []


ONCE = {"start", "model", "cron: wait", "cron: changes", "events: wait", "events: news"}
"""Tasks that end by themselves."""
SPEAKING = ("answers", "leftovers", "due recordings")
ERASING = ("erasing", "erasing: noted erasures", "erasing: one-shot conversations")
ARCHIVING = ("retention", "retention: old entries", "retention: erasures in archives")
INDEXING = ("conversations that said something", "all conversations", "new messages")
JOBS = (
    *("jobs", "cron: wait", "cron: changes"),
    *("trigger events", "trigger heartbeat"),
)
CHILDREN = {
    "plugin erasure: in every process": ERASING,
    "plugin erasure: in one process": ARCHIVING,
    "plugin jobs: in one process": JOBS,
    "plugin memory": ("remembering",),
    "plugin search": ("indexing", *(f"indexing: {each}" for each in INDEXING)),
    "plugin titles": ("titles",),
    "plugin page: serving": ("notifications", "web: pushing to a browser"),
    "plugin troubles: in every process": ("trouble reports",),
    "plugin voice": ("speaking", *(f"speaking: {each}" for each in SPEAKING)),
}
"""Tasks that end, and begin again, with another."""


@asynccontextmanager
async def assembled(home: Path) -> AsyncIterator[Parts]:
    """A gateway with all parts that need no platform."""
    home.mkdir()  # noqa: ASYNC240
    config = """
[web]
port = 0
[voice]
answers = "always"
model = "openai/tts"
[agent]
titles = "model"
remember = "summary"
[retention]
entries_days = 30
[events]
enabled = true
"""
    (home / "config.toml").write_text(config)
    environ = {"NANOBOT_HOME": str(home)}
    program = Program(provider=OneProvider(ScriptedProvider()))
    gateway = Gateway(load(environ), environ, channels=False, page=True, program=program)
    async with gateway.serving("a test", lambda _line: None) as parts:
        yield parts


def pierced(task: asyncio.Task[object]) -> bool:
    """Make what a task waits for fail; False if it waits for tasks of its own or for its turn to
    begin again, or is about to run."""
    waits = getattr(task, "_fut_waiter", None)
    if waits is None or isinstance(waits, asyncio.Task) or waits.done():
        return False
    awaited: object = task.get_coro()
    names = []
    while inspect.iscoroutine(awaited):
        names.append(awaited.__qualname__)
        awaited = awaited.cr_await
    if names[-1] == "TaskGroup.__aexit__" or names[:2] == ["supervised", "SystemClock.sleep"]:
        return False
    waits.set_exception(RuntimeError("pierced by a test"))
    return True


async def at_rest(before: set[asyncio.Task[object]]) -> set[str]:
    """The names of the tasks once what the start began has ended, however slow the machine is:
    the same tasks for half a second."""
    async with asyncio.timeout(60):
        tasks, since = asyncio.all_tasks() - before, time.monotonic()
        while time.monotonic() - since < 0.5:
            await asyncio.sleep(0.05)
            now = asyncio.all_tasks() - before
            if now != tasks:
                tasks, since = now, time.monotonic()
        return {task.get_name() for task in tasks}


async def test_whichever_task_of_a_gateway_fails_the_others_continue(tmp_path: Path) -> None:
    """Each task in turn: what it waits for fails, as it would where it has a mistake."""
    before = asyncio.all_tasks()
    async with assembled(tmp_path / "home") as parts:
        names = await at_rest(before)
        assert {"erasing", "agent", "memory", "indexing", "speaking", "jobs and triggers"} <= names
        failed = []
        for name in sorted(names - ONCE):
            task = next((t for t in asyncio.all_tasks() if t.get_name() == name), None)
            if task is None or not pierced(task):
                continue
            failed.append(name)
            await asyncio.sleep(0.02)
            others = {each.get_name() for each in asyncio.all_tasks()}
            again = {*failed, *(child for each in failed for child in CHILDREN.get(each, ()))}
            assert names - others - ONCE <= again, name
        assert len(failed) > 12, failed
        known = {each.what for each in TROUBLES.recent()}
        assert {"erasing: noted erasures", "agent: chat lanes", "memory", "jobs"} <= known
        status = await parts.operations.call("status", {})
        assert any("pierced by a test" in each for each in status.troubles)
        async with asyncio.timeout(10):
            while names - ONCE - {task.get_name() for task in asyncio.all_tasks()}:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
