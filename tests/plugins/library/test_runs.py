"""The library: its documentation runs, and what it promises about crashes and ids holds."""

from __future__ import annotations

import ast
import asyncio
import inspect
import re
from collections.abc import AsyncIterator
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import msgspec
import pytest

from nanobot.agent.loop import AgentLoop
from nanobot.api import Agent, RunInput, RunLimits, RunResult, ToolPolicy
from nanobot.config.settings.tools import PolicySettings, RuleSettings
from nanobot.errors import NanobotError, NotServed, RunConflict, StoreLocked, UsageError
from nanobot.messages import EventKind
from nanobot.plugins.common.policy.policy import Policy
from nanobot.plugins.common.runs.programs import WHERE, Programs
from nanobot.plugins.library.message_bus import MessageBus
from nanobot.providers import litellm_provider
from nanobot.providers.base import Completion
from nanobot.providers.openai_compat import OpenAICompatProvider
from nanobot.session.entries import CancelEntry, PromptEntry
from nanobot.session.states import RunKind, RunState
from nanobot.system import SystemClock
from nanobot.testing import gateway
from nanobot.testing.gateway import FakeGateway, MemoryHome
from nanobot.testing.model import Held, ScriptedProvider, asks_for
from nanobot.tools.base import AnyTool, CallContext, Effect, Tool
from nanobot.triggers.cron.service import CronService
from tests.doubles.openai_server import OpenAIServer
from tests.stored import asked_of, consuming, outbox_of, requested

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "library.md").read_text("utf-8")
LITELLM = re.compile(r"^from nanobot.providers.litellm_provider .*$", re.MULTILINE)
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture
async def model() -> AsyncIterator[OpenAIServer]:
    async with OpenAIServer() as server:
        yield server


@pytest.fixture
def home(tmp_path: Path, model: OpenAIServer) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    text = f'[agent]\nmodel = "test/scripted"\n[providers.test]\napi_base = "{model.base_url}"\n'
    (folder / "config.toml").write_text(text)
    return folder


async def test_every_example_of_the_documentation_runs(
    home: Path, tmp_path: Path, model: OpenAIServer
) -> None:
    """One after another, as on the page. The provider is exchanged for the lean one: litellm takes
    seconds to load, and has tests of its own."""
    litellm_provider.LiteLLMProvider(api_key="k", default_model="m", api_base="b")
    lean, mine = (
        OpenAICompatProvider("test", model.base_url, "key", clock=SystemClock()) for _ in range(2)
    )
    world: dict[str, Any] = {
        "api_key": "key",
        "model": "scripted",
        "api_base": model.base_url,
        "workspace": tmp_path / "workspace",
        "home": home,
        "LiteLLMProvider": lambda **_: lean,
        "provider_of_mine": mine,
    }
    for number, example in enumerate(EXAMPLES):
        source = LITELLM.sub("", example)
        code = compile(source, f"example {number}", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        await run(code, world)
    await mine.close()


async def run(code: CodeType, world: dict[str, Any]) -> None:
    given = FunctionType(code, world)()
    if inspect.isawaitable(given):
        await given


def question(text: str = "hello", **more: Any) -> RunInput:
    return RunInput(messages=[{"role": "user", "content": text}], **more)


async def ended(programs: Programs, request: RunInput) -> RunResult:
    *_, last = [item async for item in programs.stream(request)]
    assert isinstance(last, RunResult)
    return last


# Within one process


async def test_a_known_id_attaches_and_later_gives_what_is_recorded() -> None:
    held = Held()
    async with gateway(ScriptedProvider(held)) as bot, asyncio.TaskGroup() as tasks:
        request = question(run_id="mine")
        first = tasks.create_task(ended(bot.run_service, request))
        await held.reached.wait()
        second = tasks.create_task(ended(bot.run_service, request))
        await bot.settle()
        held.answer("once")
        await asyncio.wait((first, second))
        assert first.result() == second.result() == await ended(bot.run_service, request)
        assert len(bot.provider.requests) == 1


@pytest.mark.parametrize(
    "other",
    [
        question("something else", run_id="mine"),
        question(run_id="mine", session_key="api:other"),
        question(run_id="mine", limits=RunLimits(max_iterations=1)),
    ],
)
async def test_the_same_id_with_other_input_is_a_conflict(other: RunInput) -> None:
    async with gateway() as bot:
        await ended(bot.run_service, question(run_id="mine"))
        with pytest.raises(RunConflict):
            await ended(bot.run_service, other)
        assert len(bot.provider.requests) == 1


async def test_an_abort_ends_a_run_and_its_stream_and_keeps_its_log() -> None:
    held = Held("I was say")
    async with gateway(ScriptedProvider(held)) as bot, asyncio.TaskGroup() as tasks:
        request = question(run_id="mine", session_key="api:s")
        result = tasks.create_task(ended(bot.run_service, request))
        await held.reached.wait()
        await bot.settle()
        assert await bot.run_service.abort("mine") is True
        assert await bot.run_service.abort("mine") is False
        assert (await result).status is RunState.ABORTED
        *_, partial, cancelled = [entry.body for entry in bot.home.entries("api:s")]
        assert getattr(partial, "text", "") == "I was say"
        assert isinstance(cancelled, CancelEntry)
        with pytest.raises(UsageError):
            await bot.run_service.abort("unknown")


async def test_what_waits_can_be_aborted_and_is_never_run() -> None:
    held = Held()
    async with gateway(ScriptedProvider(held)) as bot, asyncio.TaskGroup() as tasks:
        first = tasks.create_task(
            ended(bot.run_service, question("a", run_id="a", session_key="api:s"))
        )
        await held.reached.wait()
        second = tasks.create_task(
            ended(bot.run_service, question("b", run_id="b", session_key="api:s"))
        )
        await bot.settle()
        assert await bot.run_service.abort("b") is True
        held.answer("done")
        assert (await first).status is RunState.COMPLETED
        assert (await second).status is RunState.ABORTED
        assert len(bot.provider.requests) == 1


async def test_a_limit_of_the_run_is_kept() -> None:
    async with gateway(ScriptedProvider(asks_for("clock"), "never"), tools=[clock()]) as bot:
        result = await ended(bot.run_service, question(limits=RunLimits(max_iterations=1)))
        assert (result.status, result.error) == (RunState.FAILED, "limit_iterations")
        assert "1 model calls" in result.message


async def test_only_the_tools_that_both_lists_allow_are_offered_in_order() -> None:
    tools = [clock("a"), clock("b"), clock("c"), clock("d")]
    policy = ToolPolicy(allow_list=("c", "b", "d"))
    request = question(allowed_tools=("a", "b", "c"), tool_policy=policy, tool_order=("c",))
    async with gateway(ScriptedProvider(asks_for("a"), "done"), tools=tools) as bot:
        await ended(bot.run_service, request)
        assert [tool.name for tool in bot.provider.requests[0].tools] == ["c", "b"]
        assert "may not be used" in str(bot.provider.requests[1].messages[-1].content)
        await ended(bot.run_service, question(tool_policy=ToolPolicy(enabled=False)))
        assert bot.provider.requests[-1].tools == ()


async def test_calls_beyond_the_most_of_a_run_are_not_made() -> None:
    script = ScriptedProvider(asks_for("clock"), asks_for("clock"), "done")
    async with gateway(script, tools=[clock()]) as bot:
        await ended(bot.run_service, question(tool_policy=ToolPolicy(max_calls_per_run=1)))
        given = [str(request.messages[-1].content) for request in script.requests[1:]]
        assert given[0] == "noon"
        assert "may make 1 tool calls" in given[1]


async def test_a_prompt_of_a_run_serves_no_other() -> None:
    async with gateway() as bot:
        await ended(
            bot.run_service, question(session_key="api:s", system_prompt_override="A clock.")
        )
        await ended(bot.run_service, question(session_key="api:s"))
        first, other = (str(request.messages[0].content) for request in bot.provider.requests)
        assert first == "A clock."
        assert other != first
        prompts = [e.body for e in bot.home.entries("api:s") if isinstance(e.body, PromptEntry)]
        assert len(prompts) == 2


async def test_a_past_that_is_given_is_seen_instead_of_the_sessions() -> None:
    past = [{"role": "user", "content": "I am Ann"}, {"role": "assistant", "content": "Hi Ann"}]
    async with gateway() as bot:
        await ended(bot.run_service, question("unseen", session_key="api:s"))
        request = RunInput(messages=[*past, {"role": "user", "content": "?"}], session_key="api:s")
        await ended(bot.run_service, request)
        seen = [str(message.content) for message in bot.provider.requests[1].messages[1:]]
        assert seen[:2] == ["I am Ann", "Hi Ann"]
        assert len(seen) == 3


@pytest.mark.parametrize(
    ("field", "wanted"),
    [
        ("max_parallel", question(tool_policy=ToolPolicy(max_parallel=0))),
        ("messages", RunInput(messages=[])),
        ("messages", RunInput(messages=[{"role": "assistant", "content": "a"}])),
        ("session_key", question(auto_create_session=False)),
        ("session_key", question(session_key="api:unknown", auto_create_session=False)),
        ("max_iterations", question(limits=RunLimits(max_iterations=0))),
    ],
)
async def test_what_cannot_be_done_is_refused_by_name(field: str, wanted: RunInput) -> None:
    async with gateway() as bot:
        with pytest.raises(UsageError, match=field):
            await ended(bot.run_service, wanted)
        assert bot.provider.requests == []


@pytest.mark.parametrize("approve", [True, False])
async def test_a_program_may_want_to_agree_to_every_call(approve: bool) -> None:
    calls: list[str] = []
    model = ScriptedProvider(asks_for("clock"), "done")
    async with gateway(model, tools=[clock(calls=calls)]) as bot:
        request = question(
            session_key="api:s", tool_policy=ToolPolicy(require_approval_by_default=True)
        )
        async for event in bot.run_service.stream(request):
            if isinstance(event, RunResult):
                assert (event.status, event.message) == (RunState.COMPLETED, "done")
            elif event.kind is EventKind.APPROVAL:
                assert (event.payload["tool"], calls) == ("clock", [])
                verb = "approve" if approve else "deny"
                await bot.operations.call(verb, {"id": event.payload["id"]})
        assert len(calls) == approve
        seen = str(model.requests[1].messages[-1].content)
        assert seen == "noon" if approve else "denied" in seen
        assert bot.channel.sent == []
        assert await outbox_of(bot.records).listed(state="pending", limit=9) == []


async def test_what_waits_in_the_session_of_such_a_run_waits_on() -> None:
    model = ScriptedProvider(asks_for("clock"), "one", "two")
    async with gateway(model, tools=[clock()]) as bot, asyncio.TaskGroup() as tasks:
        policy = ToolPolicy(require_approval_by_default=True)
        first = tasks.create_task(
            ended(bot.run_service, question("a", session_key="api:s", tool_policy=policy))
        )
        await bot.settle()
        second = tasks.create_task(ended(bot.run_service, question("b", session_key="api:s")))
        await bot.settle()
        (approval,) = await asked_of(bot.records).approvals(session="", state="waiting", limit=9)
        await bot.operations.call("approve", {"id": approval.id})
        assert ((await first).message, (await second).message) == ("one", "two")


async def test_a_call_that_nobody_agrees_to_in_time_is_refused() -> None:
    model = ScriptedProvider(asks_for("clock"), "went on")
    async with gateway(model, tools=[clock()]) as bot, asyncio.TaskGroup() as tasks:
        policy = ToolPolicy(require_approval_by_default=True)
        result = tasks.create_task(ended(bot.run_service, question(tool_policy=policy)))
        await bot.settle()
        (approval,) = await asked_of(bot.records).approvals(session="", state="waiting", limit=9)
        bot.home.clock.advance(approval.expires_at - approval.asked_at + 1)  # type: ignore[attr-defined]
        bot.bus.wake(approval.session_key, RunKind.CHAT)  # its timer goes by the real time
        assert (await result).message == "went on"
        assert "nobody approved it within" in str(model.requests[1].messages[-1].content)


async def test_what_the_configuration_allows_needs_no_agreement() -> None:
    rule = RuleSettings(tool="clock", verdict="allow")
    async with gateway(ScriptedProvider(asks_for("clock"), "done"), tools=[clock()]) as bot:
        bot.tools.policy = Policy(PolicySettings(rules=(rule,)))
        policy = ToolPolicy(require_approval_by_default=True)
        result = await ended(bot.run_service, question(tool_policy=policy))
        assert result.message == "done"


async def test_so_many_calls_without_effect_are_made_at_a_time() -> None:
    async def most(request: RunInput) -> int:
        now = peak = 0

        async def tell(_: Nothing, context: CallContext) -> str:
            nonlocal now, peak
            now += 1
            peak = max(peak, now)
            for _turn in range(10):
                await asyncio.sleep(0)
            now -= 1
            return "noon"

        slow = msgspec.structs.replace(clock(), run=tell)
        call = asks_for("clock").tool_calls[0]
        both = Completion(text="", tool_calls=(call,) * 3, finish_reason="tool_calls")
        async with gateway(ScriptedProvider(both, "done"), tools=[slow]) as bot:
            await ended(bot.run_service, request)
        return peak

    assert await most(question()) == 3
    assert await most(question(tool_policy=ToolPolicy(max_parallel=2))) == 2
    assert await most(question(tool_policy=ToolPolicy(max_parallel=1))) == 1


async def test_what_a_program_tells_a_run_ends_its_prompt_and_no_other() -> None:
    async with gateway() as bot:
        facts = {"zeta": "last", "alpha": "first"}
        first = question(runtime_init_data=facts, runtime_hints={"be": "brief"})
        again = question(
            runtime_init_data=dict(reversed(facts.items())), runtime_hints={"be": "brief"}
        )
        for given in (first, again, question()):
            await ended(bot.run_service, given)
        prompts = [str(request.messages[0].content) for request in bot.provider.requests]
        assert prompts[0].endswith(
            "What is known for this run:\n- alpha: first\n- zeta: last\n\n"
            "Hints for this run:\n- be: brief"
        )
        assert prompts[1] == prompts[0]
        assert "alpha" not in prompts[2]


async def test_jobs_are_done_while_the_loop_of_their_service_runs(tmp_path: Path) -> None:
    bus = MessageBus()
    service = CronService(bus.jobs, bus, SystemClock())
    model = ScriptedProvider(otherwise=lambda request: "Tea is ready.")
    agent = AgentLoop(bus, model, tmp_path / "workspace", cron_service=service)
    wish = {"action": "add", "schedule": "every 2 hours", "message": "the tea", "zone": "UTC"}
    assert "Added: #1" in await agent.execute_tool("cron", wish)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(agent.run())
        await agent.execute_tool("cron", {"action": "run", "job_id": "1"})
        assert (await bus.consume_outbound()).text == "Tea is ready."
        agent.stop()
    await bus.close()


# Across processes


@pytest.mark.parametrize("verb", ["admit", "claim", "start_model", "record_reply", "finish"])
@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_run_that_a_crash_cut_off_goes_on_under_its_own_terms(verb: str, when: str) -> None:
    """Whenever the process dies, the caller asks again with the same id and has one answer. A call
    without effect is recorded together with the reply that asks for it."""
    wanted = question(
        run_id="mine",
        session_key="api:s",
        system_prompt_override="A clock.",
        tool_policy=ToolPolicy(allow_list=("clock",)),
        limits=RunLimits(max_iterations=7),
    )
    calls: list[str] = []
    tools = [clock(calls=calls), clock("other")]
    async with MemoryHome() as kept:
        async with gateway(_script(), tools=tools, home=kept) as doomed:
            _kill(doomed, verb, when)
            call = asyncio.create_task(ended(doomed.run_service, wanted))
            await doomed.settle()
            call.cancel()
            await asyncio.wait((call,))
        assert doomed.process.dead
        async with gateway(_script(), tools=tools, home=kept) as bot:
            result = await ended(bot.run_service, wanted)
            assert (result.status, result.message) == (RunState.COMPLETED, "It is noon.")
            for request in bot.provider.requests:
                assert request.messages[0].content == "A clock."
                assert [tool.name for tool in request.tools] == ["clock"]
            known = await requested(bot.journal).outcome(WHERE, "mine")
            assert known is not None
            assert known.message.options is not None
            assert known.message.options.max_iterations == 7
            assert await consuming(bot.journal).oldest_owed() is None
    lost = (when, verb) == ("before", "record_reply")
    assert len(set(calls)) == (2 if lost else 1)


def _script() -> ScriptedProvider:
    def answer(request: Any) -> Any:
        done = any(message.role == "tool" for message in request.messages)
        return "It is noon." if done else asks_for("clock")

    return ScriptedProvider(otherwise=answer)


def _kill(bot: FakeGateway, verb: str, when: str) -> None:
    def die(done: str) -> None:
        if done == verb:
            bot.crash()

    setattr(bot.process, when, die)


async def test_a_held_home_names_its_holder_and_a_gateway_can_be_joined(home: Path) -> None:
    with pytest.raises(NotServed):
        async with Agent.connect(home):
            pass
    async with Agent.open(home) as own:
        with pytest.raises(StoreLocked) as locked:
            async with Agent.open(home):
                pass
        assert locked.value.pid > 0
        async with Agent.connect(home) as joined:
            request = question("say:Hi", run_id="mine")
            assert (await joined.run(request)).message == "Hi"
            assert await own.run(request) == await joined.run(request)
            with pytest.raises(RunConflict):
                await joined.run(question("say:Ho", run_id="mine"))
            with pytest.raises(UsageError, match="max_parallel"):
                await joined.run(question(tool_policy=ToolPolicy(max_parallel=0)))
            kinds = [e.kind async for e in joined.run_stream(question("say:Tick"))]
            assert kinds[-1] is EventKind.END
            assert EventKind.MODEL_DELTA in kinds
            assert await joined.abort("mine") is False


async def test_a_run_is_aborted_through_the_socket(home: Path) -> None:
    async with Agent.open(home), Agent.connect(home) as joined, asyncio.TaskGroup() as tasks:
        request = question("wait:60\nsay:late", run_id="slow")
        result = tasks.create_task(joined.run(request))
        async for event in joined.run_stream(request):
            if event.kind is EventKind.END:
                break
            await joined.abort("slow")
        assert (await result).status is RunState.ABORTED


async def test_calls_are_agreed_to_through_the_socket_and_at_home(home: Path) -> None:
    policy = ToolPolicy(require_approval_by_default=True)
    async with Agent.open(home) as own, Agent.connect(home) as joined:
        for agent in (own, joined):
            request = question('tool:list_dir:{"path": "."}\nsay:listed', tool_policy=policy)
            async for event in agent.run_stream(request):
                if event.kind is EventKind.APPROVAL:
                    number = event.payload["id"]
                    await agent.decide(number, approve=True)
                    with pytest.raises(NanobotError, match="already approved"):
                        await agent.decide(number, approve=False)
            assert event.kind is EventKind.END
            assert event.payload["text"] == "listed"
        with pytest.raises(NanobotError, match="There is no approval #77"):
            await joined.decide(77, approve=True)


async def test_an_error_within_comes_out_as_it_was_raised(home: Path) -> None:
    with pytest.raises(KeyError):
        async with Agent.open(home):
            raise KeyError("mine")


class Nothing(msgspec.Struct, frozen=True):
    pass


def clock(name: str = "clock", calls: list[str] | None = None) -> AnyTool:
    async def tell(_: Nothing, context: CallContext) -> str:
        if calls is not None:
            calls.append(context.key)
        return "noon"

    return Tool(name=name, description="Time.", args=Nothing, run=tell, effect=Effect.NONE)
