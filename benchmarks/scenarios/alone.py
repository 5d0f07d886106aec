"""What can be measured without anybody talking: the commands, and what is installed."""

from __future__ import annotations

import asyncio
import re
import statistics
import sys
import time
from collections.abc import Collection, Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import typer
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from benchmarks.figures import Measure, Sample, Scenario
from benchmarks.stage import ROOT, BenchmarkError, Stage, Subject, environment
from nanobot.plugins.command_line.commands import app
from tests.test_architecture import MESSAGE_PATH

HEAVY = ("sqlalchemy", "telegram", "aiohttp", "litellm")
"""Modules that only a gateway needs."""
WORTH_A_NOTE = (*HEAVY, "alembic", "asyncio", "httpx", "markdown_it", "msgspec", "rich", "ssl")
_MAIN = "from nanobot.cli import main; main()"
FOREIGN = ("telegram", "discord", "slack_bolt", "litellm", "trafilatura", "ddgs")
"""Libraries that no command loads but for what it is asked to do with them."""
_OWN_TIME = re.compile(r"^import time:\s+(\d+) \|", re.MULTILINE)
_IMPORTED = re.compile(r"^import time:.*\|\s*([\w.]+)$", re.MULTILINE)


async def commands(stage: Stage, subject: Subject) -> Sample:
    """`nanobot --help` and `nanobot --version`, and how many modules they import that only a
    gateway needs. The floor is Python doing nothing.

    People and shells call these all day, and whatever they import is in every other command too.
    """
    home = stage.home()
    sample: dict[str, float] = {}
    for option in ("--help", "--version"):
        code = ["-c", _MAIN, option] if subject is Subject.NANOBOT else ["-c", "pass"]
        times = []
        for _ in range(stage.effort.commands + 1):
            begin = time.monotonic()
            await _run(home, *code)
            times.append(time.monotonic() - begin)
        # The first one only warms the caches.
        sample[option] = statistics.median(times[1:])
    if subject is Subject.NANOBOT:
        imported = await _imports(home)
        sample["heavy"] = len(imported & set(HEAVY))
        stage.notes["--help imports, of what is heavy"] = sorted(imported & set(WORTH_A_NOTE))
        stage.notes["--help imports, modules"] = len(imported)
    return sample


async def _imports(home: Path) -> set[str]:
    told = await _run(home, "-X", "importtime", "-c", _MAIN, "--help")
    return set(_IMPORTED.findall(told))


async def _run(home: Path, *arguments: str, fine: Collection[int] = (0,)) -> str:
    """What Python says on standard error; raises BenchmarkError unless it ends as is `fine`."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *arguments,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        env=environment(home),
        cwd=home,
    )
    try:
        async with asyncio.timeout(60):
            _, told = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
    if process.returncode not in fine:
        raise BenchmarkError(f"{arguments} ended with {process.returncode}: {told[-500:]!r}")
    return told.decode("utf-8", "replace")


TALKING = frozenset({("agent",), ("gateway",), ("onboard",), ("send",)})
"""The commands that go on until somebody is done with them; `start` measures the gateway."""


def _leaves(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    if not hasattr(command, "commands"):
        yield path, command
        return
    for name, below in command.commands.items():
        yield from _leaves(below, (*path, name))


EVERY: dict[tuple[str, ...], tuple[str, ...]] = {
    path: tuple("1" for parameter in command.params if parameter.required)
    for path, command in _leaves(typer.main.get_command(app))
    if path not in TALKING
}
"""Every command that ends by itself, with something for each argument it cannot do without."""


async def imports(stage: Stage, subject: Subject) -> Sample:
    """The seconds that every command spends on imports in an empty home, and how many commands
    import a chat library, litellm or the web tools. The floor is Python doing nothing."""
    if subject is Subject.FLOOR:
        told = await _run(stage.home(), "-X", "importtime", "-c", "pass")
        return {" ".join(command): _seconds(told) for command in EVERY}
    sample: dict[str, float] = {}
    strangers: dict[str, list[str]] = {}
    for command, arguments in EVERY.items():
        call = ("-X", "importtime", "-c", _MAIN, *command, *arguments)
        home = stage.home()
        (home / "config.toml").unlink(missing_ok=True)
        told = await _run(home, *call, fine=range(6))
        name = " ".join(command)
        sample[name] = _seconds(told)
        stage.notes[f"{name} imports, modules"] = len(_IMPORTED.findall(told))
        if heavy := sorted(set(_IMPORTED.findall(told)) & set(FOREIGN)):
            strangers[name] = heavy
    stage.notes["commands that import what they do not need"] = strangers
    return sample | {"strangers": len(strangers)}


def _seconds(told: str) -> float:
    """What `-X importtime` measured: the sum of every module's own time."""
    return sum(map(int, _OWN_TIME.findall(told))) / 1e6


IMPORTS = Scenario(
    "imports",
    (
        *(
            Measure(name, f"`nanobot {name}`, importing", "s")
            for name in (" ".join(command) for command in EVERY)
        ),
        Measure("strangers", f"commands that import one of {', '.join(FOREIGN)}", ""),
    ),
    imports,
    once=True,
)

COMMANDS = Scenario(
    "commands",
    (
        Measure("--help", "`nanobot --help`", "s"),
        Measure("--version", "`nanobot --version`", "s"),
        Measure("heavy", f"modules it should not import ({', '.join(HEAVY)})", ""),
    ),
    commands,
)


async def size(stage: Stage, _: Subject) -> Sample:
    """Disk space of nanobot with its requirements, without extras and without the embedded model.

    Left out where the environment does not tell. There is no floor.
    """
    sample = {"core": float(_lines(core=True)), "ours": float(_lines(core=False))}
    try:
        packages = _closure("nanobot")
        sample["disk"] = sum(map(_on_disk, packages.values())) / 1e6 + _own_disk()
        sample["packages"] = len(packages)
        stage.notes["packages"] = sorted(packages)
    except (PackageNotFoundError, OSError):
        pass
    return sample


def _closure(name: str) -> dict[str, Distribution]:
    """A distribution and what it requires here, extras aside, by name."""
    found: dict[str, Distribution] = {}
    wanted: list[tuple[str, frozenset[str]]] = [(name, frozenset())]
    seen: set[tuple[str, frozenset[str]]] = set()
    while wanted:
        item = wanted.pop()
        if item in seen:
            continue
        seen.add(item)
        found[item[0]] = distribution(item[0])
        for line in found[item[0]].requires or ():
            required = Requirement(line)
            extras = item[1] or {""}
            marker = required.marker
            if marker is None or any(marker.evaluate({"extra": extra}) for extra in extras):
                wanted.append((canonicalize_name(required.name), frozenset(required.extras)))
    return found


def _on_disk(package: Distribution) -> int:
    paths = {Path(str(package.locate_file(file))) for file in package.files or ()}
    return sum(path.stat().st_blocks * 512 for path in paths if path.is_file())


def _own_disk() -> float:
    """Our own packages, which an editable install does not list, in MB."""
    folders = ("nanobot", "channels/nanobot_channels", "skills", "workspace_template")
    files = (file for folder in folders for file in (ROOT / folder).rglob("*"))
    return sum(file.stat().st_blocks * 512 for file in files if file.is_file()) / 1e6


def _lines(*, core: bool) -> int:
    files = {*ROOT.glob("nanobot/**/*.py"), *ROOT.glob("channels/nanobot_channels/**/*.py")}
    if core:
        # The same files whose lines tests/test_architecture.py bounds.
        files = {file for pattern in MESSAGE_PATH for file in (ROOT / "nanobot").glob(pattern)}
    return sum(len(file.read_text("utf-8").splitlines()) for file in files)


SIZE = Scenario(
    "size",
    (
        Measure("disk", "installed, without the embedded model", "MB"),
        Measure("packages", "packages installed", ""),
        Measure("core", "lines of the way of a message", ""),
        Measure("ours", "lines of nanobot and its channels", ""),
    ),
    size,
    subjects=(Subject.NANOBOT,),
    once=True,
)
