"""What other packages add is used; what is broken of it is named, left out, and harms nothing."""

from __future__ import annotations

import asyncio
import re
import sys
import threading
from collections.abc import Mapping
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import NoReturn, get_args

import msgspec
import pytest

from nanobot.boundary import WantedToExit, boundary
from nanobot.channels.loading import open_channel
from nanobot.config.settings.channels import ChannelSettings
from nanobot.errors import ConfigError, PluginBroken
from nanobot.plugins.common.runs.run_type_names import RunType as RunTypeName
from nanobot.plugins.common.runs.run_types import RunType, TaskContext, installed
from nanobot.plugins.setup.doctor.plugins import survey
from nanobot.seam.entry_points import CHANNELS, RUN_TYPES, TOOLS, Plugins
from nanobot.session.run_types import TaskResult
from nanobot.testing import gateway
from nanobot.testing.model import ScriptedProvider, asks_for
from nanobot.testing.platform import FakeChannel
from nanobot.tools.base import AnyTool, CallContext, Effect, Tool
from nanobot.tools.plugins import register_installed
from nanobot.tools.registry import ToolRegistry


class Args(msgspec.Struct, frozen=True):
    text: str = ""


async def echo(args: Args, context: CallContext) -> str:
    return f"echo {args.text}"


ECHO = Tool(name="echo", description="Says it again.", args=Args, run=echo, effect=Effect.NONE)


def changed(**fields: object) -> AnyTool:
    return msgspec.structs.replace(ECHO, **fields)


def two_tools() -> list[AnyTool]:
    return [changed(name="one"), changed(name="two")]


def second_is_taken() -> list[AnyTool]:
    return [changed(name="three"), ECHO]


def raising() -> list[AnyTool]:
    raise RuntimeError("no such thing")


def leaving() -> NoReturn:
    sys.exit(3)


class Odd(msgspec.Struct):
    what: type


NUMBER = 5
NUMBERS = [5]
NAMELESS = changed(name="two words")
NUMBERED = changed(name=7)
SHY = changed(name="shy", description=" ")
ENDLESS = changed(name="endless", timeout=float("inf"))
ODD = changed(name="odd", args=Odd)
STRINGY = changed(name="stringy", effect="none")
FOR_NOBODY = changed(name="for_nobody", allowed=frozenset())
POSING = changed(name="exec")
SERVER_LIKE = changed(name="mcp__files__read")


def points(group: str, *names: str) -> Plugins:
    """Entry points of things in this module, named by their order."""
    return Plugins(
        EntryPoint(name=f"{number:02}", value=f"{__name__}:{name}", group=group)
        for number, name in enumerate(names)
    )


def whys(plugins: Plugins) -> list[str]:
    return [entry.why for entry in plugins.left_out]


def test_tools_are_offered_however_a_package_gives_them() -> None:
    tools, plugins = ToolRegistry(), points(TOOLS, "ECHO", "two_tools")
    register_installed(tools, plugins)
    assert [(tool.name, source) for tool, _, source in tools.listed()] == [
        ("echo", "plugin 00"),
        ("one", "plugin 01"),
        ("two", "plugin 01"),
    ]
    assert plugins.left_out == []


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("missing", "AttributeError: .*has no attribute 'missing'"),
        ("raising", "RuntimeError: no such thing"),
        ("leaving", r"WantedToExit: it called sys.exit\(3\)"),
        ("NUMBER", "it gives a int, not a nanobot.tools.base.Tool"),
        ("NUMBERS", "it gives a int, not a nanobot.tools.base.Tool"),
        ("NAMELESS", "cannot be named"),
        ("NUMBERED", "its name is not text"),
        ("SHY", "it has no description"),
        ("ENDLESS", "timeout is not a number of seconds"),
        ("ODD", "has no JSON schema"),
        ("STRINGY", "effect is not one of"),
        ("FOR_NOBODY", "allowed is not a frozenset of roles"),
        ("POSING", "the name exec is taken: it is one of nanobot's own"),
        ("SERVER_LIKE", "the name mcp__files__read is taken"),
        ("second_is_taken", "a tool named echo is registered already"),
    ],
)
def test_a_broken_tool_is_named_and_left_out_and_the_others_stay(name: str, why: str) -> None:
    tools, plugins = ToolRegistry(), points(TOOLS, "ECHO", name, "two_tools")
    register_installed(tools, plugins)
    assert [spec.name for spec in tools.specs()] == ["echo", "one", "two"]
    (left,) = plugins.left_out
    assert (left.group, left.name) == (TOOLS, "01")
    assert re.search(why, left.why)
    assert str(left).startswith("01 (nanobot.tools) is left out: ")


async def rude(args: Args, context: CallContext) -> str:
    if args.text == "cancel":
        inner = asyncio.get_running_loop().create_future()
        inner.cancel()
        await inner
    sys.exit(args.text)


@pytest.mark.parametrize("effect", Effect)
@pytest.mark.parametrize("text", ["exit", "cancel"])
async def test_a_tool_that_wants_to_end_everything_ends_its_call(effect: Effect, text: str) -> None:
    tool = msgspec.structs.replace(ECHO, name="rude", run=rude, effect=effect)
    provider = ScriptedProvider(asks_for("rude", text=text), "It did not work.")
    async with gateway(provider, tools=[tool]) as bot:
        await bot.channel.push("go")
        assert (await bot.channel.pop()).text == "It did not work."
    (result,) = (
        message.content for message in provider.requests[1].messages if message.role == "tool"
    )
    assert "rude failed inside" in str(result)


async def test_a_boundary_lets_pass_what_cancels_its_task_and_nothing_else() -> None:
    gone = asyncio.get_running_loop().create_future()
    gone.cancel()
    with boundary("a test") as caught:
        await gone
    assert str(caught.error) == "something that it awaits was cancelled"
    reached = []

    async def waits() -> None:
        with boundary("a test"):
            await asyncio.sleep(60)
        reached.append("the line after it")

    task = asyncio.create_task(waits())
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await waits()
    assert reached == []


def test_a_boundary_in_a_thread_catches_a_cancellation() -> None:
    with boundary("a test") as caught:
        raise asyncio.CancelledError
    assert caught.error is not None


def test_an_interruption_by_the_keyboard_passes_a_boundary() -> None:
    with pytest.raises(KeyboardInterrupt), boundary("a test"):
        raise KeyboardInterrupt
    with boundary("a test") as caught:
        sys.exit("enough")
    assert isinstance(caught.error, WantedToExit)


def test_an_import_without_an_end_is_left_out_with_its_package_and_the_others_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    over, begun = tmp_path / "over", tmp_path / "begun"
    package = tmp_path / "sleepers"
    package.mkdir()
    package.joinpath("__init__.py").write_text("")
    package.joinpath("asleep.py").write_text(
        "import time\n"
        "from pathlib import Path\n"
        f"with Path({str(begun)!r}).open('a') as file: file.write('x')\n"
        f"while not Path({str(over)!r}).exists(): time.sleep(0.01)\n"
        "TOOL = 5\n"
    )
    package.joinpath("awake.py").write_text("from tests.test_plugins import ECHO as TOOL\n")
    monkeypatch.syspath_prepend(tmp_path)
    asleep = EntryPoint("asleep", "sleepers.asleep:TOOL", TOOLS)
    plugins = Plugins(
        [
            asleep,
            EntryPoint("awake", "sleepers.awake:TOOL", TOOLS),
            EntryPoint("other", f"{__name__}:two_tools", TOOLS),
            EntryPoint("asleep", "sleepers.asleep:TOOL", RUN_TYPES),
        ],
        patience=1.0,
    )
    try:
        tools = ToolRegistry()
        register_installed(tools, plugins)
        assert [spec.name for spec in tools.specs()] == ["one", "two"]
        assert installed(plugins, ()) == []
        first, *others = whys(plugins)
        assert first.startswith("its import has not ended within 1 s")
        assert others == ["the import of sleepers is stuck"] * 2
        assert begun.read_text() == "x"
        tools = ToolRegistry()
        register_installed(tools, Plugins([asleep]))
        assert tools.specs() == ()
    finally:
        over.touch()
        for thread in threading.enumerate():
            if thread.name == "import sleepers.asleep":
                thread.join(30)
    # What came to itself is used by the next look.
    again = Plugins([asleep])
    register_installed(ToolRegistry(), again)
    assert whys(again) == ["it gives a int, not a nanobot.tools.base.Tool"]


# Run types


async def perform(given: Args, bench: TaskContext) -> TaskResult:
    return TaskResult(text="done")


KIND = RunType(name="tick", description="ticks", args=Args, text=lambda _: "tick", perform=perform)
SLEEP = msgspec.structs.replace(KIND, name="sleep")
NO_TRIES = msgspec.structs.replace(KIND, name="idle", tries=0)
SHOUTING = msgspec.structs.replace(KIND, name="TICK TOCK")
QUIET = msgspec.structs.replace(KIND, name="quiet", report="never")


def test_a_run_type_is_added_and_broken_ones_are_left_out() -> None:
    plugins = points(
        RUN_TYPES, "KIND", "SLEEP", "KIND", "NO_TRIES", "SHOUTING", "QUIET", "NUMBER", "missing"
    )
    assert installed(plugins, get_args(RunTypeName)) == [KIND]
    assert [why.split(":")[0] for why in whys(plugins)] == [
        "the name sleep is taken",
        "the name tick is taken",
        "the run type 'idle' cannot be used",
        "the run type 'TICK TOCK' cannot be used",
        "the run type 'quiet' cannot be used",
        "it gives a int, not a nanobot.agent.tasks.types.RunType",
        "AttributeError",
    ]


# Channels


def opens(name: str, settings: Mapping[str, object]) -> FakeChannel:
    if "token" not in settings:
        raise ConfigError(f"channels.{name}.token is missing")
    return FakeChannel(name)


def opens_nothing(name: str, settings: Mapping[str, object]) -> None:
    return None


def opens_never(name: str, settings: Mapping[str, object]) -> NoReturn:
    sys.exit("no")


def channels(**named: str) -> Plugins:
    return Plugins(
        EntryPoint(name=name, value=f"{__name__}:{value}", group=CHANNELS)
        for name, value in named.items()
    )


def test_a_channel_of_a_package_is_opened_with_its_settings() -> None:
    plugins = channels(pigeons="opens")
    opened = open_channel("post", ChannelSettings(type="pigeons", settings={"token": "t"}), plugins)
    assert isinstance(opened, FakeChannel)
    with pytest.raises(ConfigError, match=r"channels\.post\.token is missing"):
        open_channel("post", ChannelSettings(type="pigeons"), plugins)
    with pytest.raises(ConfigError, match="no channel type 'owls'; installed are pigeons"):
        open_channel("post", ChannelSettings(type="owls"), plugins)
    assert plugins.left_out == []


@pytest.mark.parametrize("value", ["opens_nothing", "opens_never", "NUMBER", "missing"])
def test_a_broken_channel_is_said_to_be_broken(value: str) -> None:
    plugins = channels(pigeons=value, owls="opens")
    with pytest.raises(PluginBroken, match=r"pigeons \(nanobot.channels\) is left out"):
        open_channel("post", ChannelSettings(type="pigeons"), plugins)
    open_channel("mail", ChannelSettings(type="owls", settings={"token": "t"}), plugins)
    assert len(plugins.left_out) == 1


def test_a_name_that_is_taken_stays_with_the_first() -> None:
    plugins = Plugins(
        EntryPoint(name="owls", value=f"{__name__}:{value}", group=CHANNELS)
        for value in ("raising", "opens")
    )
    open_channel("mail", ChannelSettings(type="owls", settings={"token": "t"}), plugins)
    assert whys(plugins) == [f"the name is taken by {__name__}:opens"]


def test_a_survey_of_channels_loads_them_and_opens_none() -> None:
    plugins = channels(pigeons="opens_never", owls="NUMBER", crows="missing")
    survey(plugins, CHANNELS, "a channel", own=False)
    assert [entry.name for entry in plugins.left_out] == ["crows", "owls"]
