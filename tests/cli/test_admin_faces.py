"""One list of operations, and every face made from it."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Annotated

import msgspec
import pytest
import typer
from msgspec import Meta

from nanobot.bus.gate import Gate
from nanobot.channels.intake import ChannelIntake
from nanobot.channels.loading import reception
from nanobot.errors import NanobotError
from nanobot.messages import TERMINAL, Role
from nanobot.operations.catalogue import OPERATIONS, plugin_operations
from nanobot.operations.dispatcher import Dispatcher
from nanobot.operations.operation import Caller, OperationContext, operation
from nanobot.operations.parameters import Arguments, Positional, SessionArgument
from nanobot.plugins.approvals.operations import operations as of_approvals
from nanobot.plugins.budgets.operations import operations as of_budgets
from nanobot.plugins.command_line import generated as faces
from nanobot.plugins.common.control.client import call
from nanobot.plugins.common.control.protocol import Hello
from nanobot.plugins.common.runs.current_runs import CurrentRuns
from nanobot.plugins.control.control import ControlServer
from nanobot.plugins.control.terminal import Terminal
from nanobot.plugins.conversations.operations import operations as of_conversations
from nanobot.plugins.cron.operations import operations as of_jobs
from nanobot.plugins.erasure.operations import operations as of_erasure
from nanobot.plugins.feedback.operations import operations as of_feedback
from nanobot.plugins.help.operations import operations as of_help
from nanobot.plugins.memory.operations import operations as of_memory
from nanobot.plugins.models.operations import operations as of_models
from nanobot.plugins.top.operations import operations as of_top
from nanobot.testing import gateway
from nanobot.testing.gateway import FakeGateway
from nanobot.testing.platform import MEMBER
from tests.cli.running import environ_of
from tests.plugins.conversations.reading import offers as listing_offers
from tests.plugins.runs.sight import EVERY


class Greeting(msgspec.Struct, frozen=True):
    text: str
    session: str


class Manner(Arguments, frozen=True, kw_only=True):
    times: Annotated[int, Meta(ge=1, le=3, description="How often.")] = 1
    loud: Annotated[bool, Meta(description="Louder.")] = False


@operation(
    "people greet",
    alias="people hail",
    text=lambda greeting, _now: f"{greeting.text} (in {greeting.session})",
)
async def greet(
    _: OperationContext,
    __: Caller,
    name: Annotated[Positional, Meta(description="Whom.")],
    manner: Manner,
    session: SessionArgument = "",
) -> Greeting:
    """Greets somebody."""
    if name == "nobody":
        raise NanobotError("There is nobody.")
    text = " ".join([f"Hello {name}{'!' if manner.loud else '.'}"] * manner.times)
    return Greeting(text, session)


LISTED = (*EVERY, *of_approvals(), *of_conversations(), *of_help(), *of_top(), greet)


@asynccontextmanager
async def extended() -> AsyncIterator[FakeGateway]:
    """A gateway that knows one operation more."""
    async with gateway() as bot:
        bot.intake.reception = reception(Dispatcher(bot.engine, LISTED, bot.offers))
        yield bot


def control_of(bot: FakeGateway, home: Path) -> ControlServer:
    offers = bot.offers.with_these(listing_offers(bot))
    gate, known = Gate(("local",), ()), Dispatcher(bot.engine, LISTED, offers)
    intake = ChannelIntake(TERMINAL, gate, bot.bus, reception(known), "chat")
    path = home / "control.sock"
    hello = partial(Hello, 1, model="")
    return ControlServer(path, known, Terminal(), intake, hello, CurrentRuns())


@pytest.fixture
def short_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A socket's path must be short."""
    return tmp_path_factory.mktemp("f")


def command_line() -> typer.Typer:
    app = typer.Typer()
    faces.add(app, LISTED)
    return app


async def ran(home: Path, *arguments: str) -> int:
    """Run a command of the extended command line in this process."""
    environ = environ_of(home)

    def work() -> int:
        try:
            command_line()(arguments, obj=environ)
        except SystemExit as ended:
            return int(ended.code or 0)
        return 0

    return await asyncio.to_thread(work)


async def test_an_operation_that_is_added_is_a_command_of_every_chat() -> None:
    async with extended() as bot:
        await bot.channel.push("/people greet Ada times=2 loud=yes")
        assert (await bot.channel.pop()).text == "Hello Ada! Hello Ada! (in fake:1)"
        await bot.channel.push("/people hail Bob")
        assert (await bot.channel.pop()).text == "Hello Bob. (in fake:1)"
        await bot.channel.push("/help more")
        await bot.channel.until(lambda: "`/people`" in bot.channel.sent[-1].text)
        await bot.channel.push("/help people")
        usage = "`/people greet NAME [times=TIMES] [loud=yes]`"
        await bot.channel.until(
            lambda: usage in "".join(message.text for message in bot.channel.sent)
        )


async def test_an_operation_that_is_added_is_a_call_of_the_control_socket(short_home: Path) -> None:
    async with gateway() as bot, control_of(bot, short_home).serving():
        answer = await call(short_home / "control.sock", "people greet", {"name": "Ada"})
        assert json.loads(answer or b"") == {"text": "Hello Ada.", "session": "cli:direct"}


async def test_an_operation_that_is_added_is_a_command_of_the_command_line(
    short_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with gateway() as bot, control_of(bot, short_home).serving():
        given = ("people", "greet", "Ada", "--times", "3", "--session", "fake:1")
        assert await ran(short_home, *given, "--json") == 0
        assert json.loads(capsys.readouterr().out) == {
            "text": "Hello Ada. Hello Ada. Hello Ada.",
            "session": "fake:1",
        }
        assert await ran(short_home, "people", "greet", "Ada") == 0
        assert capsys.readouterr().out == "Hello Ada. (in cli:direct)\n"
        assert await ran(short_home, "people", "hail", "Bob") == 0
        assert capsys.readouterr().out == "Hello Bob. (in cli:direct)\n"


async def test_what_an_operation_refuses_ends_the_command_with_a_line_and_its_code(
    short_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with gateway() as bot, control_of(bot, short_home).serving():
        assert await ran(short_home, "people", "greet", "nobody") == 1
        assert capsys.readouterr().err == "nanobot: There is nobody.\n"
        assert await ran(short_home, "people", "greet", "Ada", "--times", "9") == 2
        assert "`times`" in capsys.readouterr().err
        assert await ran(short_home, "people", "greet") == 2


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("/people greet", "people greet: `name` is missing"),
        ("/people greet Ada times=9", "`times` must be a whole number from 1 to 3, not '9'"),
        ("/people greet Ada times=9", "Write: `/people greet NAME"),
        ("/people greet Ada times=often", "`times` must be a whole number from 1 to 3"),
        ("/people greet Ada loud=maybe", "`loud` must be yes or no, not 'maybe'"),
        ("/runs list state=odd", "`state` must be one of live, queued, preparing"),
        ("/people greet Ada Grace", "unexpected argument 'Grace'"),
        ("/people greet nobody", "There is nobody."),
    ],
)
async def test_a_chat_is_told_what_was_wrong_with_a_command(text: str, answer: str) -> None:
    async with extended() as bot:
        await bot.channel.push(text)
        assert answer in (await bot.channel.pop()).text


async def test_what_is_for_owners_is_neither_done_nor_shown_to_others() -> None:
    async with extended() as bot:
        await bot.channel.push("/people greet Ada", sender=MEMBER)
        assert (await bot.channel.pop()).text == "/people greet is for owners."
        await bot.channel.push("/help", sender=MEMBER)
        assert "greet" not in (await bot.channel.pop()).text


async def test_members_look_into_their_own_conversation_only() -> None:
    async with extended() as bot:
        await bot.channel.push("/status session=fake:2", sender=MEMBER)
        assert (await bot.channel.pop()).text == "Only owners can see other conversations."
        await bot.channel.push("/status", sender=MEMBER)
        assert "Session: fake:1" in (await bot.channel.pop()).text


async def test_a_call_of_nothing_known_or_with_wrong_arguments_is_refused(short_home: Path) -> None:
    async with gateway() as bot, control_of(bot, short_home).serving():
        path = short_home / "control.sock"
        with pytest.raises(NanobotError, match="there is no operation 'fly'") as unknown:
            await call(path, "fly", {})
        assert unknown.value.exit_code == 2
        with pytest.raises(NanobotError, match="unknown argument `x`; known: name, times, loud"):
            await call(path, "people greet", {"name": "Ada", "x": 1})
        with pytest.raises(NanobotError, match="`times` must be a whole number from 1"):
            await call(path, "people greet", {"name": "Ada", "times": "1"})


async def test_a_call_whose_operation_fails_inside_is_refused_and_the_socket_goes_on(
    short_home: Path,
) -> None:
    async with gateway() as bot, control_of(bot, short_home).serving():
        path = short_home / "control.sock"

        def before(verb: str) -> None:
            raise ZeroDivisionError

        bot.process.before = before
        with pytest.raises(NanobotError, match="approvals list failed inside"):
            await call(path, "approvals list", {})
        bot.process.before = lambda verb: None
        assert await call(path, "approvals list", {}) == b"[]"


def test_every_operation_and_every_argument_says_what_it_is() -> None:
    for each in (*OPERATIONS, *plugin_operations()):
        assert each.help, each.name
        for parameter in each.parameters:
            assert parameter.description, f"{each.name} {parameter.name}"


def test_names_are_used_once() -> None:
    every = (*OPERATIONS, *plugin_operations())
    names = [name for entry in every for name in (entry.name, entry.alias) if name]
    commands = [entry.command for entry in every]
    assert len(set(names)) == len(names)
    assert len(set(commands)) == len(commands)


def test_only_what_talks_about_ones_own_conversation_is_for_members() -> None:
    """Who may decide about an approval is decided by the approval; a member's own conversations,
    runs, jobs, memory and use are theirs, which the operations see to."""
    every = (
        *OPERATIONS,
        *of_approvals(),
        *of_help(),
        *of_models(),
        *of_memory(),
        *of_jobs(),
        *of_erasure(),
        *of_budgets(),
        *of_feedback(),
        *of_top(),
    )
    for_members = {o.name for o in every if o.may(Role.MEMBER)}
    deciding = {"approvals list", "approve", "deny", "show", "answer"}
    words = ("list", "show", "search", "accept", "reject", "correct", "forget")
    own = {"usage", *(f"memory {word}" for word in words)}
    own |= {f"sessions {word}" for word in ("list", "show", "notices", "mark-read", "export")}
    own |= {f"sessions {word}" for word in ("rename", "pin", "unpin", "archive", "unarchive")}
    own |= {"search", "sessions delete", "runs list", "runs show", "runs now", "runs cancel"}
    own |= {f"cron {word}" for word in ("list", "history", "pause", "remove", "preview")}
    looking = {"skills list", "skills show"}
    talking = {"start", "help", "help more", "new", "stop", "status", "model", "runs feedback"}
    assert for_members <= talking | deciding | own | looking
    assert talking | deciding | {"usage"} <= for_members


async def test_an_interrupt_while_commands_are_loaded_is_no_trace() -> None:
    script = (
        "import sys\n"
        "class Interrupted:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'typer': raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupted())\n"
        "sys.argv = ['nanobot', 'status']\n"
        "from nanobot.cli import main; main()"
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", script, stderr=asyncio.subprocess.PIPE
    )
    _, err = await process.communicate()
    assert (process.returncode, err) == (130, b"")


async def test_help_loads_nothing_heavy() -> None:
    script = (
        "import sys; from nanobot.plugins.command_line.commands import app\n"
        "try: app(['--help'])\n"
        "except SystemExit: pass\n"
        "print(*sorted(sys.modules), file=sys.stderr)"
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        script,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    assert b"sessions" in out
    heavy = {"sqlalchemy", "telegram", "httpx", "aiohttp", "loguru", "rich", "tomlkit"}
    heavy |= {
        "prompt_toolkit",
        "nanobot.app.gateway",
        "nanobot.store.journal.log",
    }
    assert heavy & set(err.decode().split()) == set()
