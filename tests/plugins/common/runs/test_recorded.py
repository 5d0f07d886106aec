"""What answers calls from a recording, and what becomes of every other call."""

from __future__ import annotations

import json
import subprocess
import sys
from random import Random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanobot.errors import ToolDenied, ToolError
from nanobot.messages import Attachment
from nanobot.plugins.common.runs.recorded import (
    Otherwise,
    RecordedTools,
    recorded_results,
    signature,
)
from nanobot.providers.base import ToolCall
from nanobot.session.entries import Entry, ReplyEntry, ToolResultEntry
from nanobot.tools.base import CallContext, Effect, Tool, ToolOutput, direct_call
from nanobot.tools.registry import ToolRegistry
from nanobot.tools.verdict import Verdict

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=8,
)


class PathArgs(msgspec.Struct):
    path: str


class World:
    """A tool with an effect, and what was done with it."""

    def __init__(self) -> None:
        self.paths: list[str] = []

    def registry(self) -> ToolRegistry:
        registry = ToolRegistry()
        registry.register(
            Tool(
                name="wipe",
                description="Wipe a file.",
                args=PathArgs,
                run=self._wipe,
                effect=Effect.WORLD,
            )
        )
        return registry

    async def _wipe(self, args: PathArgs, context: CallContext) -> str:
        self.paths.append(args.path)
        return f"wiped {args.path}"


def log(*calls: tuple[str, str, str, bool]) -> list[Entry]:
    """A run whose model asked for each of these calls (tool, arguments, result, ok) in turn."""
    entries = []
    for number, (name, arguments, text, ok) in enumerate(calls, 1):
        asked = ReplyEntry(call=number, text="", tool_calls=(ToolCall("", name, arguments),))
        gave = ToolResultEntry(call=number, index=0, name=name, text=text, ok=ok)
        entries += [
            Entry(2 * number - 1, "run", 0.0, asked),
            Entry(2 * number, "run", 0.0, gave),
        ]
    return entries


def at(entries: list[Entry], key: str, *, approved: bool = False) -> CallContext:
    return msgspec.structs.replace(direct_call("x"), entries=entries, key=key, approved=approved)


@pytest.mark.process
@given(st.dictionaries(st.text(max_size=5), JSON, max_size=5), st.randoms())
def test_calls_are_the_same_whatever_the_order_and_spacing_of_their_arguments(
    arguments: dict[str, object], random: Random
) -> None:
    items = list(arguments.items())
    random.shuffle(items)
    written = json.dumps(dict(items), indent=random.choice([None, 2]))

    assert signature("t", written) == signature("t", json.dumps(arguments))
    assert signature("u", written) != signature("t", written)


def test_arguments_that_are_no_json_are_compared_as_they_are_written() -> None:
    assert signature("t", '{"a": ') == signature("t", '{"a": ')
    assert signature("t", '{"a": ') != signature("t", '{"a":')


def test_each_call_of_a_signature_has_its_results_in_the_order_of_the_log() -> None:
    entries = log(
        ("read", '{"path": "a", "n": 1}', "first", True),
        ("read", '{"n":1,"path":"a"}', "error: gone", False),
        ("read", '{"path": "b"}', "other", True),
    )
    results = recorded_results(entries)

    assert [r.text for r in results[signature("read", '{"n":1,"path":"a"}')]] == [
        "first",
        "error: gone",
    ]
    assert len(results) == 2


def test_a_refused_call_has_no_recorded_result() -> None:
    entries = log(("wipe", '{"path": "a"}', "not executed: wipe is not allowed here", False))

    assert recorded_results(entries) == {}


async def test_a_recorded_call_gets_its_result_and_runs_no_tool() -> None:
    world = World()
    tools = world.registry()
    picture = Attachment(kind="image", mime="image/png", name="a.png")
    entries = log(("wipe", '{"path": "a"}', "wiped it", True))
    gave = entries[1].body
    assert isinstance(gave, ToolResultEntry)
    body = msgspec.structs.replace(gave, attachments=(picture,), tainted=True, label="t1")
    tools.stand_in = RecordedTools(recorded_results([entries[0], Entry(2, "run", 0.0, body)]))
    context = at(entries[:1], "run:1:0")

    decision = await tools.judge("wipe", '{"path":"a"}', context)
    output = await tools.perform("wipe", '{"path":"a"}', context)

    assert decision.verdict is Verdict.ALLOW
    assert (output.text, output.attachments, output.tainted) == ("wiped it", (picture,), True)
    assert output.label.tainted
    assert not tools.taints("wipe", '{"path":"a"}', context)
    assert world.paths == []


async def test_the_second_same_call_gets_the_second_result_and_further_ones_the_last() -> None:
    calls = [("read", "{}", "one", True), ("read", "{}", "two", True), ("read", "{}", "x", True)]
    tools = ToolRegistry()  # the tool is gone, its results are not
    tools.stand_in = RecordedTools(recorded_results(log(*calls[:2])))
    entries = log(*calls)

    got = [(await tools.perform("read", "{}", at(entries, f"run:{n}:0"))).text for n in (1, 2, 3)]

    assert got == ["one", "two", "two"]


async def test_a_recorded_failure_fails_again_with_the_same_words() -> None:
    tools = World().registry()
    tools.stand_in = RecordedTools(
        recorded_results(log(("wipe", '{"path": "a"}', "error: locked", False)))
    )
    output = await tools.perform("wipe", '{"path": "a"}', at([], "run:1:0"))

    assert output.failed
    assert output.text == "locked"  # the run puts "error: " before it


@pytest.mark.parametrize("otherwise", [Otherwise.REFUSE, Otherwise.ASK, Otherwise.COPY])
async def test_a_call_that_is_not_recorded_never_has_an_effect_by_accident(
    otherwise: Otherwise,
) -> None:
    world = World()
    tools = world.registry()
    tools.stand_in = RecordedTools({}, otherwise)
    context = at([], "run:1:0")

    decision = await tools.judge("wipe", '{"path": "a"}', context)
    with pytest.raises(ToolDenied):
        await tools.perform("wipe", '{"path": "a"}', context)

    asked = otherwise is Otherwise.ASK
    assert decision.verdict is (Verdict.ASK if asked else Verdict.DENY)
    assert world.paths == []


async def test_an_approved_call_runs_its_tool_once_a_person_was_asked() -> None:
    world = World()
    tools = world.registry()
    tools.stand_in = RecordedTools({}, Otherwise.ASK)

    output = await tools.perform("wipe", '{"path": "a"}', at([], "run:1:0", approved=True))

    assert output.text == "wiped a"
    assert world.paths == ["a"]


async def test_an_approval_counts_for_nothing_where_nothing_new_may_be_done() -> None:
    world = World()
    tools = world.registry()
    tools.stand_in = RecordedTools({}, Otherwise.REFUSE)

    with pytest.raises(ToolError):
        await tools.perform("wipe", '{"path": "a"}', at([], "run:1:0", approved=True))
    assert world.paths == []


async def test_any_other_call_can_run_in_a_copy() -> None:
    world, copy = World(), World()
    tools, copied = world.registry(), copy.registry()
    tools.stand_in = RecordedTools({}, Otherwise.COPY, copied.perform)

    output: ToolOutput = await tools.perform("wipe", '{"path": "a"}', at([], "run:1:0"))

    assert output.text == "wiped a"
    assert (world.paths, copy.paths) == ([], ["a"])


def test_its_documented_path_has_it_and_says_what_is_missing_without_plugins() -> None:
    code = (
        "from nanobot.agent import recorded as there\n"
        "from nanobot.plugins.common.runs.recorded import RecordedTools\n"
        "assert there.RecordedTools is RecordedTools\n"
        "import sys; sys.modules['nanobot.plugins.common.runs.recorded'] = None\n"
        "try: there.RecordedTools\n"
        "except ImportError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    path = "nanobot.agent.recorded"
    assert done.stdout.strip() == f"{path} belongs to the built-in plugins, which are not there"
