"""The page on the five designs: what it names is there. Their samples run as written."""

from __future__ import annotations

import ast
import asyncio
import inspect
import re
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Literal, NamedTuple, get_args, get_type_hints

import pytest

import nanobot
from nanobot import Agent, AgentLoop, RunInput, RunLimits, RunResult, ToolPolicy
from nanobot.agent.library.subagents import SubagentManager
from nanobot.config.loader import load, survey
from nanobot.config.settings.agent import AgentSettings
from nanobot.messages import EventKind, RunPayload
from nanobot.plugins.common.keys.tool_settings import ExecSettings
from nanobot.plugins.library.context_builder import ContextBuilder, MemoryStore, PersonaConfig
from nanobot.plugins.library.default_tools import default_tools
from nanobot.plugins.library.events import CLASSES, AnyRunEvent
from nanobot.plugins.library.message_bus import MessageBus
from nanobot.plugins.library.persona import SkillsLoader
from nanobot.plugins.library.sessions import SessionManager
from nanobot.plugins.lifecycle.settings import LifecycleSettings
from nanobot.plugins.memory.settings import RecallKeys
from nanobot.plugins.triage.decision import parse
from nanobot.plugins.triage.settings import TriageKeys
from nanobot.providers.openai_compat import OpenAICompatProvider
from nanobot.session.states import RunState
from nanobot.system import SystemClock
from nanobot.testing.model import ScriptedProvider, asks_for
from tests.doubles.openai_server import OpenAIServer
from tests.pictures import png

TESTS = Path(__file__).resolve().parent
ROOT = TESTS.parent
PACKAGE = Path(nanobot.__file__).parent
PAGE = (ROOT / "docs" / "sources.md").read_text("utf-8")
SAMPLES = (TESTS / "designs.md").read_text("utf-8")
LIBRARY = (ROOT / "docs" / "library.md").read_text("utf-8")
LITELLM = re.compile(r"^from nanobot.providers.litellm_provider .*$", re.MULTILINE)


class Row(NamedTuple):
    """One requirement of a design."""

    number: str
    asks: str
    here: str
    shown: str


ROWS = [
    Row(*(cell.strip() for cell in line.strip("|").split(" | ")))
    for line in PAGE.splitlines()
    if re.match(r"\| 00\d\.\d", line)
]


@cache
def names_of(file: Path) -> frozenset[str]:
    named = re.findall(r"^\s*(?:async )?def (test_\w+)\(", file.read_text("utf-8"), re.MULTILINE)
    return frozenset(named)


def test_every_design_is_gone_through_in_order() -> None:
    counts = Counter(row.number[:3] for row in ROWS)
    assert set(counts) == {"000", "001", "002", "003", "004"}
    expected = [f"{design}.{n}" for design in counts for n in range(1, counts[design] + 1)]
    assert [row.number for row in ROWS] == expected
    assert len(ROWS) >= 168


def test_what_a_row_names_is_there() -> None:
    for row in ROWS:
        paths = re.findall(r"`([\w/]+\.py|py\.typed|docs/[\w/]+\.md)`", row.here)
        assert paths, row.number
        for path in paths:
            assert (PACKAGE / path).exists() or (ROOT / path).exists(), f"{row.number}: {path}"
        named = re.findall(r"`([\w/]+\.py)::(test_\w+)`", row.shown)
        assert named, row.number
        for file, test in named:
            assert test in names_of(TESTS / file), f"{row.number}: {file}::{test}"


# What the designs write down as it is


def defaults(function: Callable[..., object]) -> dict[str, object]:
    return {
        name: None if parameter.default is inspect.Parameter.empty else parameter.default
        for name, parameter in inspect.signature(function).parameters.items()
    }


def test_constructors_take_what_the_designs_give_them() -> None:
    given = defaults(AgentLoop.__init__)
    assert list(given)[1:10] == [
        *("bus", "provider", "workspace", "model", "max_iterations", "brave_api_key"),
        *("exec_config", "cron_service", "restrict_to_workspace"),
    ]
    assert (given["model"], given["max_iterations"], given["restrict_to_workspace"]) == (
        None,
        20,
        False,
    )
    assert {"tools", "context_builder", "session_manager", "subagent_manager"} <= set(given)
    assert (given["max_retries"], given["retry_delay"]) == (3, 1.0)
    assert (given["temperature"], given["max_tokens"]) == (0.7, 4096)
    assert defaults(AgentLoop.process_direct) | {"self": 0} == {
        "self": 0,
        "content": None,
        "session_key": "cli:direct",
        "channel": "cli",
        "chat_id": "direct",
        "session_id": None,
        "raise_errors": False,
    }
    streamed = list(defaults(AgentLoop.process_message))
    assert streamed[1:3] == ["message", "session_key"]
    assert {"session_id", "context", "media", "channel", "chat_id", "cancel_token"} <= set(streamed)
    assert list(defaults(ContextBuilder.__init__))[1:] == [
        *("workspace", "memory", "skills", "persona_config")
    ]


def test_defaults_are_those_of_the_designs() -> None:
    agent, lifecycle = AgentSettings(), LifecycleSettings()
    assert RecallKeys().max_cognition_rounds == 3
    assert (agent.max_tool_rounds, agent.max_run_seconds) == (20, 300)
    assert (lifecycle.boot_seconds, lifecycle.shutdown_seconds) == (120, 30)
    assert (agent.max_iterations, agent.temperature, agent.max_tokens) == (25, 0.7, 4096)
    assert (agent.tool_retries, agent.tool_retry_delay) == (3, 1.0)
    types = {"sleep", "summarize_conversation", "index_repo", "fetch_web"}
    assert types <= set(TriageKeys().decision.allowed_run_types)


def test_variables_of_the_designs_have_their_keys(tmp_path: Path) -> None:
    """All of ours begin with NANOBOT_: AGENT_DECISION_MODEL is NANOBOT_AGENT__DECISION__MODEL."""
    environ = {
        "NANOBOT_HOME": str(tmp_path),
        "NANOBOT_AGENT__TRIAGE": "decision",
        "NANOBOT_AGENT__DECISION__MODEL": "openai/small",
        "NANOBOT_AGENT__DECISION__ALLOWED_RUN_TYPES": "sleep",
        "NANOBOT_AGENT__DECISION__TIMEOUT_SECONDS": "3",
        "NANOBOT_AGENT__DECISION__FALLBACK_MODE": "reply-only",
    }
    keys = load(environ).of(TriageKeys)
    assert (keys.triage, keys.decision.model) == ("decision", "openai/small")
    assert keys.decision.allowed_run_types == ("sleep",)
    assert (keys.decision.timeout_seconds, keys.decision.fallback_mode) == (3.0, "reply-only")


DESIGNED = sorted(set(re.findall(r"`(AGENT_[A-Z_]+)`", PAGE)))


@pytest.mark.parametrize("variable", DESIGNED)
def test_a_variable_of_the_designs_as_written_is_refused_with_the_right_one(
    tmp_path: Path, variable: str
) -> None:
    """It may be another program's, so it is named in a warning and not read."""
    assert len(DESIGNED) == 5
    environ = {"NANOBOT_HOME": str(tmp_path)}
    given = load({**environ, variable: "reply-only"})
    (warning,) = given.warnings
    assert f"environment variable {variable} is not read" in warning
    (ours,) = re.findall(r"NANOBOT_AGENT__[A-Z_]+", warning)
    problems, read = survey({**environ, ours: "some value"})
    assert all(ours in problem for problem in problems)  # a value may be wrong, the key is known
    assert read is not None
    assert not read.warnings


def test_an_input_has_the_fields_of_the_design() -> None:
    assert RunInput.__struct_fields__ == (
        *("messages", "session_key", "run_id", "system_prompt_override", "allowed_tools"),
        *("tool_order", "tool_policy", "limits", "auto_create_session"),
        *("runtime_init_data", "runtime_hints"),
    )
    assert ToolPolicy.__struct_fields__ == (
        *("enabled", "allow_list", "max_parallel", "max_calls_per_run"),
        "require_approval_by_default",
    )
    assert RunLimits.__struct_fields__ == ("max_iterations", "max_tool_rounds", "max_run_ms")
    assert RunResult.__struct_fields__ == (
        *("session_key", "run_id", "status", "message", "error", "usage"),
    )
    kinds = {"model_delta", "assistant_message", "tool_result", "status", "error"}
    assert kinds <= set(EventKind)
    assert set(RunState) == {
        *("queued", "preparing", "model_running", "tool_running", "awaiting_human"),
        *("completed", "failed", "aborted"),
    }


def test_inputs_and_results_are_frozen() -> None:
    for kind in (RunInput, RunResult, ToolPolicy, RunLimits):
        assert kind.__struct_config__.frozen


def test_every_key_of_a_payload_is_documented() -> None:
    _, _, events = LIBRARY.partition("### Events")
    table, _, _ = events.partition("\n## ")
    for key in RunPayload.__annotations__:
        assert f"`{key}`" in table, key
    for kind in EventKind:
        assert f"\n| `{kind}` |" in table, kind


@pytest.mark.parametrize("kind", list(EventKind))
def test_each_kind_of_event_has_a_class_with_its_payload(kind: EventKind) -> None:
    hints = get_type_hints(CLASSES[kind])
    assert hints["kind"] == Literal[kind]
    assert set(get_type_hints(hints["payload"])) <= set(RunPayload.__annotations__)
    assert set(get_args(AnyRunEvent)) == set(CLASSES.values())


async def test_events_of_a_run_are_of_their_classes_with_no_other_key(tmp_path: Path) -> None:
    model = ScriptedProvider(asks_for("list_dir", path="."), "Looked.")
    seen: list[AnyRunEvent] = []
    async with Agent.open(tmp_path, provider=model, observer=seen.append) as own:
        hello = RunInput(messages=[{"role": "user", "content": "look"}])
        events = [event async for event in own.run_stream(hello)]
    assert {"model_delta", "tool_call", "tool_result", "end"} <= {event.kind for event in events}
    for event in (*events, *seen):
        assert type(event) is CLASSES[event.kind]
        assert set(event.payload) <= set(get_type_hints(get_type_hints(type(event))["payload"]))


# Their samples


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", SAMPLES, re.DOTALL)


class Socket:
    """A web socket that keeps what it is sent."""

    def __init__(self) -> None:
        self.sent: list[str] = []

    async def send_json(self, message: dict[str, str]) -> None:
        assert message["type"] == "stream"
        self.sent.append(message["content"])


async def test_the_samples_of_the_designs_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One after another, against a model on this machine. litellm takes seconds to load and has
    tests of its own, so its provider is exchanged for the lean one."""
    monkeypatch.setenv("HOME", str(tmp_path))
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "main.py").write_text("print('hello')\n")
    picture = tmp_path / "image.png"
    picture.write_bytes(png())
    async with OpenAIServer() as model:
        lean = OpenAICompatProvider("test", model.base_url, "key", clock=SystemClock())
        sessions = MessageBus()
        world: dict[str, object] = {
            "Path": Path,
            "asyncio": asyncio,
            "LiteLLMProvider": lambda **_: lean,
            "llm_provider": lean,
            "workspace": workspace,
            "picture": picture,
            "home": tmp_path / "home",
            "history": [{"role": "user", "content": "hello"}],
            "memory_store": MemoryStore(workspace),
            "skills_loader": SkillsLoader(workspace),
            "persona": PersonaConfig(),
            "tool_registry": default_tools(workspace, ExecSettings()),
            "session_mgr": SessionManager(sessions),
            "sub_mgr": SubagentManager(sessions, sessions.tasks),
            "ws": Socket(),
        }
        for number, sample in enumerate(blocks("python")):
            source = LITELLM.sub("", sample).replace('Path("/workspace")', "workspace")
            code = compile(source, f"sample {number}", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
            given = FunctionType(code, world)()
            if inspect.isawaitable(given):
                await given
        spoken = await SessionManager(sessions).get_or_create("web:1")
        assert [message["content"] for message in spoken.history] == ["say:你好", "你好"]
        agent = world["agent"]
        assert isinstance(agent, AgentLoop)
        await lean.close()
        await sessions.close()


def test_their_configuration_is_read_and_their_decision_understood(tmp_path: Path) -> None:
    (configuration,) = blocks("toml")
    (tmp_path / "config.toml").write_text(configuration)
    config = load({"NANOBOT_HOME": str(tmp_path)})
    assert config.of(TriageKeys).decision.fallback_mode == "reply-only"
    assert not config.warnings
    (decision,) = blocks("json")
    parsed = parse(decision, "cli:direct")
    assert parsed is not None
    assert parsed.decision == "reply_and_run"
    assert parsed.run is not None
    assert parsed.run.type == "sleep"
