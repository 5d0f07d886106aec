"""What a plugin's functions do later, while people wait, costs only the plugin: its name is noted,
and every message is answered."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import get_type_hints

import pytest

from nanobot.app import plugin_calls
from nanobot.propagation import Propagation, Step
from nanobot.providers.base import ToolCall
from nanobot.seam.plugin import FUNCTIONS
from nanobot.testing.model import ScriptedProvider, asks_for
from nanobot.tools import stand_in
from nanobot.tools.base import CallContext, Effect, RawArgs, Tool, ToolOutput, direct_call
from nanobot.tools.verdict import PolicyDecision, Verdict
from nanobot.troubles import TROUBLES
from tests.plugins.brought import Site
from tests.plugins.brought import site as site
from tests.plugins.switching import asked, serving
from tests.syntax import ROOT

ODD = """
    import asyncio
    from nanobot.agent.prompt import PromptAddition
    from nanobot.seam.plugin import Plugin


    def odd(*_):
        {does}


    async def later(*_):
        {waits}
        {does}


    class Propagator:
        received = sent = odd


    class Judge:
        knows = odd
        judged = later

        async def answered(self, call, context):
            return None


    class StandIn:
        knows = odd
        answered = later

        async def judged(self, call, context, decision):
            return decision


    PLUGIN = Plugin(name="odd", summary="Odd.", {field}={given})
"""
GIVING = {
    "arrivals": "lambda: [later]",
    "outgoing": "lambda: [later]",
    "stages": "lambda: [later]",
    "events": "lambda: [odd]",
    "remarks": "lambda: [odd]",
    "answer_checks": "lambda: [later]",
    "prompt": "lambda: PromptAddition(parts=later, last=odd, renew=odd)",
    "propagation": "Propagator",
    "results": "lambda: [later]",
    "stand_in": "StandIn",
    "stand_in, when judging": "Judge",
}
"""The fields whose functions are called while a message is handled, and how they give them."""
ELSEWHERE = {
    *("objects", "always_objects", "worker_objects", "ledger"),  # checked when given
    *("policy", "sharing", "run_types"),
    *("operations", "commands", "tools"),  # fail for whoever calls them
    *("routes", "deliveries", "page", "serve", "metrics"),  # fail for whoever asks over HTTP
    *("checks", "fits", "exposures"),  # fail for whoever looks
    *("triggers", "start", "every_process", "one_process", "around_runs"),  # live by themselves
    "store_hooks",  # tests/plugins/test_store_hooks.py
    *("before_channels", "ready", "draining"),  # tests/plugins/test_moments.py
    *("companions", "channels", "listening"),  # tests/plugins/test_seam.py
}
NOT_ASKED = {"outgoing", "remarks", "propagation"}  # of this message: no part of its answer
WAYS = {
    "raises": "raise ZeroDivisionError('down we go')",
    "awaits what was cancelled": "raise asyncio.CancelledError",
    "gives nothing": "return None",
    "gives nonsense": "return object()",
    "gives a text": "return 'hi'",
    "gives a number": "return [5]",
}


def test_each_field_is_looked_at() -> None:
    fields = {_name(field) for field in GIVING}
    assert not fields & ELSEWHERE
    assert fields | ELSEWHERE == set(FUNCTIONS)


def _name(field: str) -> str:
    return field.partition(",")[0]


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("field", GIVING)
async def test_a_message_is_answered_whatever_a_plugin_does_to_it(
    field: str, how: str, site: Site, tmp_path: Path
) -> None:
    code = ODD.format(field=_name(field), given=GIVING[field], does=WAYS[how], waits="")
    site.bring("odd", code)
    model = ScriptedProvider(asks_for("list_dir", path="."), "fine", "fine")
    # Only one plugin stands in for the tools.
    async with serving(tmp_path / "home", "[plugins]\noff = ['fork']\n", model) as parts:
        assert parts.plugged.failures.get("odd") is None
        assert await asked(parts, "hello") == "completed"
        if how == "raises" and field not in NOT_ASKED:
            assert any("the plugin odd" in str(each) for each in TROUBLES.recent())


async def test_a_run_goes_on_where_a_stage_answers_with_something_else(
    site: Site, tmp_path: Path
) -> None:
    code = ODD.format(field="stages", given="lambda: [answers]", does="pass", waits="pass")
    code += """
    async def answers(active):
        active.answer = "hi"
"""
    site.bring("odd", code)
    async with serving(tmp_path / "home", model=ScriptedProvider("fine")) as parts:
        assert await asked(parts, "hello") == "completed"
        assert any("a stage of the plugin odd" in str(each) for each in TROUBLES.recent())


WAITING = [field for field, given in GIVING.items() if "later" in given or "stand_in" in field]


@pytest.mark.parametrize("field", WAITING)
async def test_a_message_waits_for_no_plugin_that_hangs(
    field: str, site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (plugin_calls, stand_in):
        for name in vars(module):
            if name.endswith("_SECONDS"):
                monkeypatch.setattr(module, name, 0.2)
    code = ODD.format(
        field=_name(field),
        given=GIVING[field],
        does="return None",
        waits="await asyncio.sleep(3600)",
    )
    site.bring("odd", code)
    # Of a tool that is not there the stand-in has only its own time.
    call = asks_for("nowhere") if "stand_in" in field else asks_for("list_dir", path=".")
    model = ScriptedProvider(call, "fine", "fine")
    async with serving(tmp_path / "home", "[plugins]\noff = ['fork']\n", model) as parts:
        assert await asked(parts, "hello") == "completed"
        if "stand_in" in field:
            assert "took over 0.2 s and was stopped" in str(model.requests[-1].messages[-1].content)


class Slow:
    """Answers after a while, by making the call."""

    def knows(self, name: str, arguments: str, context: CallContext) -> bool:
        return False

    async def judged(
        self, call: ToolCall, context: CallContext, decision: PolicyDecision
    ) -> PolicyDecision:
        await asyncio.sleep(0.2)
        return decision

    async def answered(self, call: ToolCall, context: CallContext) -> ToolOutput | None:
        await asyncio.sleep(0.2)
        return ToolOutput("made")


class Patient(Slow):
    """Says how long it may take."""

    seconds = 20.0


def tool_taking(seconds: float) -> Tool[RawArgs]:
    async def run(args: RawArgs, context: CallContext) -> str:
        return ""

    return Tool(
        name="exec",
        description="Runs.",
        args=RawArgs,
        run=run,
        effect=Effect.WORLD,
        parameters={},
        timeout=seconds,
    )


@pytest.mark.parametrize(("slow", "limit"), [(Slow(), 20.0), (Patient(), 0.0)])
async def test_what_stands_in_for_a_tool_may_take_as_long_as_the_tool(
    slow: Slow, limit: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stand_in, "STAND_IN_SECONDS", 0.1)
    tool = tool_taking(limit) if limit else None
    contained = stand_in.ContainedStandIn("slow", slow, lambda _: tool)
    call, context = ToolCall("", "exec", "{}"), direct_call("r")
    allowed = PolicyDecision(verdict=Verdict.ALLOW, rule="none", why="")
    assert await contained.judged(call, context, allowed) == allowed
    assert await contained.answered(call, context) == ToolOutput("made")


def test_the_core_looks_at_whatever_it_asks_plugins_for() -> None:
    """An object of the wrong kind would be found when somebody waits for it."""
    asked_for: set[str] = set()
    kinds: set[str] = set()
    for file in sorted((ROOT / "nanobot").rglob("*.py")):
        if "plugins" not in file.relative_to(ROOT).parts:
            asked_for |= set(re.findall(r"offers\.find\((\w+)\)", file.read_text("utf-8")))
            kinds |= set(re.findall(r"class (\w+)", file.read_text("utf-8")))
    assert len(asked_for) > 8
    assert not asked_for - kinds, "offer_objects looks at protocols and classes"


@pytest.mark.parametrize("how", [*WAYS, "gives headers of numbers"])
async def test_requests_are_made_and_taken_without_a_plugin_that_fails_to_accompany_them(
    how: str, site: Site, tmp_path: Path
) -> None:
    does = WAYS.get(how, "return {'x-trace': 5}")
    given = GIVING["propagation"]
    site.bring("odd", ODD.format(field="propagation", given=given, does=does, waits=""))
    async with serving(tmp_path / "home") as parts:
        propagation = Propagation()
        propagation.bring(parts.plugged)
        assert propagation.propagator is not None
        with propagation.receiving(lambda: {"x-trace": "a"}, trusted=True):
            assert await asked(parts, "hello") == "completed"
        assert dict(propagation.propagator.sent(Step("r"))) == {}
        assert any("propagation of the plugin odd" in str(each) for each in TROUBLES.recent())


TOOL = """
    import asyncio
    import msgspec
    from nanobot.seam.plugin import Plugin
    from nanobot.tools.base import Effect, Tool


    class Nothing(msgspec.Struct, frozen=True):
        pass


    def odd(*_):
        {does}


    async def later(*_):
        {waits}
        {does}


    async def run(args, context):
        return "made"


    tool = Tool(
        name="odd",
        description="Odd.",
        args=Nothing,
        run=run,
        effect=Effect.WORLD,
        risk="low",
        timeout=0.5,
    )
    PLUGIN = Plugin(
        name="odd", summary="Odd.", tools=lambda: [msgspec.structs.replace(tool, {field}={given})]
    )
"""
ASKED = {
    field: "later" if "Awaitable" in str(kind) else "odd"
    for field, kind in get_type_hints(Tool).items()
    if "Callable" in str(kind) and field != "typed"
}
"""The functions of a tool, from its definition. (Nobody asks a tool of others what was typed.)"""


AFTERWARDS = {"taints", "stands_for", "run"}
"""None of these decides whether a call is made."""


async def _result(field: str, does: str, waits: str, site: Site, home: Path) -> str:
    """What the model is told of a call."""
    site.bring("odd", TOOL.format(field=field, given=ASKED[field], does=does, waits=waits))
    model = ScriptedProvider(asks_for("odd"), "fine")
    async with serving(home, model=model) as parts, asyncio.timeout(20):
        assert await asked(parts, "hello") == "completed"
    return str(model.requests[-1].messages[-1].content)


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("field", ASKED)
async def test_a_call_of_a_tool_whose_functions_fail_ends_as_a_result_for_the_model(
    field: str, how: str, site: Site, tmp_path: Path
) -> None:
    told = await _result(field, WAYS[how], "", site, tmp_path / "home")
    if how == "raises" and field not in AFTERWARDS:
        assert told.startswith("not executed")


@pytest.mark.parametrize("field", [name for name, given in ASKED.items() if given == "later"])
async def test_no_run_waits_for_a_function_of_a_tool_that_hangs(
    field: str, site: Site, tmp_path: Path
) -> None:
    hangs = "await asyncio.sleep(3600)"
    told = await _result(field, "return 'late'", hangs, site, tmp_path / "home")
    assert told.startswith("not executed") or "took over 0.5 s" in told
