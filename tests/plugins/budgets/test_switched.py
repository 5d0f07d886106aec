"""A gateway whose budgets are switched off limits and counts nothing, and says so aloud; one whose
ledger is broken does not start."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from loguru import logger

from nanobot.app.gateway import Gateway
from nanobot.app.gateway_parts import Parts
from nanobot.app.program import Program
from nanobot.config.loader import load
from nanobot.errors import PluginBroken, UsageError
from nanobot.operations.home import Finding
from nanobot.operations.rendering import Now
from nanobot.plugins.budgets.operations import UsageReport
from nanobot.plugins.common.plugin_checks import checked
from nanobot.plugins.common.runs.run_input import RunInput, RunResult
from nanobot.plugins.common.runs.run_service import RunService
from nanobot.plugins.top.moment import moment_text
from nanobot.providers.one_provider import OneProvider
from nanobot.testing.model import ScriptedProvider
from tests.plugins.brought import Site
from tests.plugins.brought import site as site
from tests.store.empty import with_empty_store

OFF = '[plugins]\noff = ["budgets"]\n'
LIMIT = "[budgets]\nrequests_per_day = 1\nsoft = 1.0\n"
UNLIMITED = "model calls are neither limited nor counted"


@pytest.fixture
def log() -> Iterator[list[str]]:
    """The warnings of this test."""
    said: list[str] = []
    number = logger.add(lambda message: said.append(message.record["message"]), level="WARNING")
    yield said
    logger.remove(number)


def write(home: Path, settings: str) -> None:
    home.mkdir(exist_ok=True)
    (home / "config.toml").write_text(settings)


@asynccontextmanager
async def serving(home: Path, settings: str) -> AsyncIterator[Parts]:
    """A gateway with these settings, whose model repeats what it is told."""
    write(home, settings)
    with_empty_store(home)
    environ = {"NANOBOT_HOME": str(home)}
    program = Program(provider=OneProvider(ScriptedProvider()))
    gateway = Gateway(load(environ), environ, channels=False, program=program)
    async with gateway.serving("a test", lambda _line: None) as parts:
        yield parts


async def asked(parts: Parts, text: str) -> str:
    """The state in which the run for a message ends."""
    question = RunInput(session_key="cli:desk", messages=[{"role": "user", "content": text}])
    *_, last = [item async for item in parts.plugged.offers.get(RunService).stream(question)]
    assert isinstance(last, RunResult)
    return last.status


async def doctor(home: Path, settings: str) -> list[Finding]:
    write(home, settings)
    config = load({"NANOBOT_HOME": str(home)})
    return [finding async for finding in checked(config) if UNLIMITED in finding.text]


async def test_a_limit_holds_while_the_plugin_is_on(tmp_path: Path, log: list[str]) -> None:
    async with serving(tmp_path / "home", LIMIT) as parts:
        assert [await asked(parts, text) for text in ("one", "two")] == ["completed", "failed"]
        report: UsageReport = await parts.operations.call("usage", {})
        (row,) = report.rows
        assert row.requests == 1
        assert (await parts.operations.call("runs now", {})).cost_today == 0.0
    assert not [line for line in log if UNLIMITED in line]
    assert await doctor(tmp_path / "home", LIMIT) == []


async def test_nothing_is_limited_or_counted_while_it_is_off_and_the_start_says_so(
    tmp_path: Path, log: list[str]
) -> None:
    home = tmp_path / "home"
    async with serving(home, OFF + LIMIT) as parts:
        assert [await asked(parts, text) for text in ("one", "two")] == ["completed"] * 2
        with pytest.raises(UsageError, match="belongs to the plugin budgets, which is off here"):
            await parts.operations.call("usage", {})
        moment = await parts.operations.call("runs now", {})
        assert (moment.tokens_a_minute, moment.cost_today) == (None, None)
        assert "Tokens and cost: no plugin counts them" in moment_text(moment, Now(0.0, "UTC"))
        (run, _) = await parts.operations.call("runs list", {})
        assert run.usage.model_calls == 1  # from its log
        exposures = await parts.operations.call("security audit", {})
        rows = [row for row in exposures if row.attacker == "guest"]
        assert [(row.level, row.remedy) for row in rows] == [
            ("risk", "Switch the plugin on: `nanobot plugins on budgets`")
        ]
    (said,) = [line for line in log if UNLIMITED in line]
    assert f"although [budgets] in {home / 'config.toml'} would limit them" in said
    assert said.endswith("Switch the plugin on: `nanobot plugins on budgets`")
    async with serving(home, LIMIT) as parts:
        assert (await parts.operations.call("usage", {})).rows == []


@pytest.mark.parametrize(
    ("settings", "level", "asked_by"),
    [
        ("", "warning", ""),
        (LIMIT, "broken", "[budgets]"),
        ('[budgets.people."telegram:1"]\ncost_per_day = 1.0\n', "broken", "[budgets]"),
        ("[agent]\nmax_run_cost = 0.5\n", "broken", "agent.max_run_cost"),
        (f"[agent]\nmax_run_cost = 0.5\n{LIMIT}", "broken", "[budgets] and agent.max_run_cost"),
    ],
)
async def test_doctor_fails_where_limits_are_configured_that_do_not_hold(
    tmp_path: Path, settings: str, level: str, asked_by: str
) -> None:
    (finding,) = await doctor(tmp_path / "home", OFF + settings)
    assert finding.level == level
    assert finding.remedy == "Switch the plugin on: `nanobot plugins on budgets`"
    assert (f"although {asked_by} in " in finding.text) is bool(asked_by)


async def test_a_limit_of_one_answer_that_is_changed_holds_at_once(tmp_path: Path) -> None:
    async with serving(tmp_path / "home", "") as parts:
        await parts.operations.call("config set", {"key": "agent.max_run_cost", "text": "0.25"})
        ledger = parts.plugged.call(parts.plugged.on["budgets"], "objects")
        (budgets,) = [each for kind, each in ledger.items() if kind.__name__ == "Budgets"]
        (limit,) = budgets.run_limit()
        assert limit.amount == 0.25


LEDGER = """
    from nanobot.errors import OverBudget
    from nanobot.seam.plugin import Plugin
    from nanobot.store.unit import StoreContext


    class Closed:
        def __init__(self, writer):
            self.clock = writer.clock

        def reserve(self, connection, run, call):
            raise OverBudget("the shop is closed", "limit_budget", of_model=False)

        aside = retry = reserve

        def settle(self, connection, run, bodies):
            pass

        def fold(self, connection):
            pass

        def open_calls(self, connection, run):
            return None

        def close(self, connection, run, ending, calls):
            return ending


    def ledger(writer: StoreContext):
        return {gives}


    PLUGIN = Plugin(name="purse", summary="Holds the purse.", ledger=ledger)
"""


async def test_a_package_may_bring_another_ledger(site: Site, tmp_path: Path) -> None:
    site.bring("purse", LEDGER.format(gives="Closed(writer)"))
    async with serving(tmp_path / "home", OFF) as parts:
        assert await asked(parts, "one") == "failed"
        (run,) = await parts.operations.call("runs list", {})
        assert run.error == "limit_budget"
    assert await doctor(tmp_path / "home", OFF) == []


@pytest.mark.parametrize(
    ("gives", "settings", "why"),
    [
        ("1 / 0", OFF, "ZeroDivisionError"),
        ("object()", OFF, "has no function `reserve`"),
        ("Closed(writer)", "", "another plugin already limits model calls"),
    ],
)
async def test_a_gateway_does_not_start_if_its_limits_would_not_hold(
    site: Site, tmp_path: Path, gives: str, settings: str, why: str
) -> None:
    site.bring("purse", LEDGER.format(gives=gives))
    with pytest.raises(PluginBroken, match="plugin purse limits model calls, and failed: ") as told:
        async with serving(tmp_path / "home", settings):
            pass
    assert why in str(told.value)
    assert "`nanobot plugins off purse` starts without its limits" in str(told.value)
