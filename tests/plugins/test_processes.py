"""What a plugin keeps doing in every process and in one of them, and how long runs wait for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nanobot.app.gateway import Gateway
from nanobot.app.program import Program
from nanobot.app.roles import Roles, roles_of
from nanobot.config.loader import load
from nanobot.providers.one_provider import OneProvider
from nanobot.seam.installed import installed
from nanobot.seam.plugin import resolved
from nanobot.testing.model import ScriptedProvider
from tests.plugins.brought import Site
from tests.plugins.brought import site as site

BEES = """
    import asyncio
    from contextlib import AbstractAsyncContextManager

    from nanobot.seam.plugin import Plugin
    from nanobot.seam.works import Works

    AT_WORK = []


    def every(works: Works):
        works.add("every bee", lambda: busy("every"))


    def one(works: Works):
        works.add("one bee", lambda: busy("one"))


    async def busy(which):
        AT_WORK.append(which)
        await asyncio.Event().wait()


    class Before(AbstractAsyncContextManager):
        seconds = 0.05

        async def __aenter__(self):
            await asyncio.sleep({takes})
            AT_WORK.append("before")

        async def __aexit__(self, *failure):
            pass


    PLUGIN = Plugin(
        name="bees", summary="Bees.", every_process=every, one_process=one,
        around_runs=lambda: Before(),
    )
"""


def at_work() -> set[str]:
    namespace = resolved(installed().found["bees"].plugin.every_process or "").__globals__
    return set(namespace["AT_WORK"])


def gateway(folder: Path, roles: Roles) -> Gateway:
    environ = {"NANOBOT_HOME": str(folder)}
    program = Program(provider=OneProvider(ScriptedProvider()))
    return Gateway(load(environ), environ, channels=False, program=program, roles=roles)


async def eventually(holds: Callable[[], Any]) -> None:
    async with asyncio.timeout(10):
        while not holds():  # noqa: ASYNC110 - nothing tells
            await asyncio.sleep(0.01)


@pytest.mark.parametrize(
    ("roles", "busy"),
    [
        ("all", {"before", "every", "one"}),
        ("worker", {"before", "every", "one"}),
        ("web", {"every"}),
    ],
)
async def test_each_process_has_its_part(
    roles: str, busy: set[str], site: Site, tmp_path: Path
) -> None:
    site.bring("bees", BEES.format(takes=0))
    async with gateway(tmp_path / "home", roles_of([roles])).serving("a test", lambda _line: None):
        await eventually(lambda: at_work() == busy)
        await asyncio.sleep(0.1)
        assert at_work() == busy
        tasks = {task.get_name() for task in asyncio.all_tasks()}
        assert "plugin bees: in every process" in tasks
        assert ("plugin bees: in one process" in tasks) == ("one" in busy)


async def test_runs_wait_no_longer_than_a_plugin_says(site: Site, tmp_path: Path) -> None:
    site.bring("bees", BEES.format(takes=60))
    async with gateway(tmp_path / "home", Roles()).serving("a test", lambda _line: None) as parts:
        assert "around_runs" in parts.plugged.failures["bees"]
        await eventually(lambda: at_work() == {"every", "one"})


TABLED = """
    from typing import Annotated

    from nanobot.config.settings.base import Settings, about
    from nanobot.seam.plugin import Plugin


    class Own(Settings, frozen=True, kw_only=True):
        sound: Annotated[str, about("A sound.")] = "buzz"


    PLUGIN = Plugin(name="{name}", summary="Bees.", settings=Own{table})
"""


@pytest.mark.parametrize(
    ("name", "table", "why"),
    [
        ("bees", ', table="hive"', "settings: its table has the name of the plugin"),
        ("retention", "", "the name retention is taken: it is a key of the configuration"),
        ("bees", ", table=7", "table is not a text"),
        ("bees", ", shares=7", "shares is not a tuple"),
        ("bees", ", shares=(Own,)", "settings: it has its own table for its keys"),
    ],
)
def test_a_table_of_another_name_is_refused_and_named(
    name: str, table: str, why: str, site: Site, tmp_path: Path
) -> None:
    site.bring(name, TABLED.format(name=name, table=table))
    (tmp_path / "config.toml").write_text("[retention]\nentries_days = 3\n")
    config = load({"NANOBOT_HOME": str(tmp_path)})
    assert config.value("retention").entries_days == 3
    assert why in " ".join(each.why for each in installed().left_out if each.name == name)
