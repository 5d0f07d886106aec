"""What holds for every test."""

from __future__ import annotations

import gc
import os
import shutil
import sys
from collections.abc import Generator, Iterator
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from loguru import logger

_WITH_PROCESSES = [
    Path(__file__).parent / place
    for place in (
        "channels/test_email_dovecot.py",
        "cli",
        "page",
        "plugins/evals/test_collecting.py",
        "plugins/evals/test_walk.py",
        "plugins/documents/test_documents.py",
        "plugins/setup",
        "plugins/terminal",
        "poison",
        "process",
        "test_benchmarks.py",
        "test_examples.py",
        "plugins/mcp/test_pictures.py",
        "plugins/mcp/test_serving.py",
        "plugins/mcp/test_stopping.py",
    )
]

# The quick tests look at the same examples in every run, so that they fail for a change and not by
# chance; `make prove` draws new ones (--hypothesis-profile=searching).
# Neither judges by time: on a busy machine that would be chance as well.
UNTIMED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("steady", UNTIMED, derandomize=True, max_examples=25)
settings.register_profile("searching", UNTIMED, print_blob=True, max_examples=300)
settings.load_profile("steady")


@pytest.fixture(autouse=True)
def _nothing_outlives_its_test() -> Iterator[None]:
    """Commands run within a test log to its captured stream, which is closed when it ends: whoever
    logs there afterwards gets a trace for every line, and takes a hundred times as long. And
    aiohttp keeps the last 1,024 handlers of whatever was served, each with its whole gateway: every
    look for garbage would walk through hundreds of them."""
    yield
    logger.remove()
    if serving := sys.modules.get("aiohttp.web_app"):
        serving._cached_build_middleware.cache_clear()


QUICK, PROCESSES = "not slow and not process", "process and not slow"
"""What `make test` and `make processes` select."""


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Files with no test of the half that is run: to load them takes half of each worker's time."""
    return True if _left_out(collection_path, config) else None


def _left_out(path: Path, config: pytest.Config) -> bool:
    if not path.name.startswith("test_"):
        return False
    wanted = config.getoption("markexpr")
    if wanted == QUICK:
        return _with_processes(path)
    return wanted == PROCESSES and not (_with_processes(path) or _may_start_processes(path))


@cache
def _may_start_processes(file: Path) -> bool:
    text = file.read_text("utf-8")
    return "world" in text.lower() or "mark.process" in text


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whoever starts whole gateways or commands is marked `process`. Who takes longer than about
    0.4 s of a processor has that mark of its own."""
    for item in items:
        fixtures = item.fixturenames if isinstance(item, pytest.Function) else ()
        if "world" in fixtures and not _may_start_processes(item.path):
            raise pytest.UsageError(f"{item.path} must name the world that its tests ask for")
        if "world" in fixtures or _with_processes(item.path):
            item.add_marker("process")


@cache
def _with_processes(file: Path) -> bool:
    return any(map(file.is_relative_to, _WITH_PROCESSES))


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Nothing that is loaded or collected is garbage: looking for some takes 5 s of each worker."""
    gc.disable()
    try:
        _load_in_turns(session.config)
        return (yield)
    finally:
        gc.enable()


def _load_in_turns(config: pytest.Config) -> None:
    """Each worker begins with another part of all tests, so that in a fresh clone each module is
    compiled by one of them (10 s for all), and not by all at the same time."""
    if not hasattr(config, "workerinput") or config.args != config.getini("testpaths"):
        return
    folder = Path(__file__).parent
    files = [file for file in sorted(folder.rglob("test_*.py")) if not _left_out(file, config)]
    worker, workers = config.workerinput["workerid"], config.workerinput["workercount"]
    begin = len(files) * int(worker.removeprefix("gw")) // workers
    for file in (*files[begin:], *files[:begin]):
        name = file.relative_to(folder.parent).with_suffix("").as_posix().replace("/", ".")
        with suppress(Exception):  # whoever collects it says so
            import_module(name)


_MEMORY = Path("/dev/shm")
_ROOM = 2**31


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """The quick tests write to memory, where there is room: their stores wait for the disk
    thousands of times (a third of their time). Whoever names a folder gets it."""
    given = any(each.startswith("--basetemp") for each in config.invocation_params.args)
    if given or hasattr(config, "workerinput") or config.getoption("markexpr") != QUICK:
        return
    for left in _MEMORY.glob("nb.*"):  # of a run that was killed
        if not Path("/proc", left.suffix[1:]).exists():
            shutil.rmtree(left, ignore_errors=True)
    with suppress(OSError):
        there = os.statvfs(_MEMORY)
        if there.f_bavail * there.f_frsize > _ROOM and not there.f_flag & os.ST_NOEXEC:
            folder = _MEMORY / f"nb.{os.getpid()}"
            folder.mkdir(0o700)
            config.option.basetemp = str(folder / "t")
            config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))


def pytest_collection_finish() -> None:
    """What is loaded by now stays: without this, each full look for garbage walks 11,000 tests
    again. And few tests leave so much behind that looking as often as usual would gain anything."""
    gc.freeze()
    gc.set_threshold(10_000, 10, 50)


def pytest_xdist_auto_num_workers() -> int:
    """Half as many again as there are processors: a third of the time of all tests is waiting, for
    processes, timeouts and each other's threads."""
    return (os.cpu_count() or 2) * 3 // 2
