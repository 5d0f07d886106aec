"""What somebody has to read to follow one message: every module that the five on its way import,
and those that these import."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

WAY = (
    "nanobot.channels.intake",
    "nanobot.store.journal.journal",
    "nanobot.agent.worker",
    "nanobot.agent.runner",
    "nanobot.channels.delivery",
)
MOST_LINES = 12_000
"""Maximum of lines with something on them. It may only shrink."""
ROOMS = frozenset(
    {
        *("agent", "bus", "channels", "ports", "providers", "session", "store", "tools"),
        *("addresses", "boundary", "errors", "forgetting", "labels", "messages"),
        *("log_context", "retries", "supervision", "text", "troubles", "visible", "zones"),
    }
)
"""Commands, jobs, memory, settings, plugins and HTTP do not belong to it."""

FILES = {
    ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): file
    for file in ROOT.glob("nanobot/**/*.py")
}


def test_following_a_message_takes_a_bounded_number_of_lines() -> None:
    loaded = on_the_way()
    lines = {module: non_blank(FILES[module]) for module in loaded}
    rooms = Counter[str]()
    for module, count in lines.items():
        rooms[module.split(".")[1]] += count
    assert len(loaded) > len(WAY) * 10
    assert sum(lines.values()) <= MOST_LINES, rooms.most_common()


def test_only_these_rooms_are_on_its_way() -> None:
    strangers = {module for module in on_the_way() if module.split(".")[1] not in ROOMS}
    assert strangers == set()


def test_each_of_these_rooms_is_on_its_way() -> None:
    assert {module.split(".")[1] for module in on_the_way()} == ROOMS


def test_neither_sqlite_nor_postgresql_is_on_its_way() -> None:
    loaded = on_the_way()
    assert "nanobot.store.database.database" in loaded
    assert {
        "nanobot.store.database.sqlite",
        "nanobot.plugins.postgres.store.postgres",
    } & loaded == set()


def on_the_way() -> set[str]:
    """The modules on the way, and what they import, directly or through others."""
    loaded, waiting = set[str](), list(WAY)
    while waiting:
        module = waiting.pop()
        if module not in loaded:
            loaded.add(module)
            waiting += imported(module)
    return loaded


@cache
def imported(module: str) -> list[str]:
    """The modules of ours that a module imports when it is loaded or type-checked."""
    names: list[str] = []
    for node in at_its_top(ast.parse(FILES[module].read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            within = [f"{node.module}.{alias.name}" for alias in node.names]
            names += [name if name in FILES else node.module for name in within]
    return [name for name in names if name in FILES]


def at_its_top(node: ast.AST) -> Iterator[ast.AST]:
    """Every statement that is not within a function."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield child
            yield from at_its_top(child)


def non_blank(file: Path) -> int:
    return sum(1 for line in file.read_text("utf-8").splitlines() if line.strip())
