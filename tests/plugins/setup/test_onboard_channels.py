"""Every channel that is installed can be connected, tried with a real call before it is kept."""

from __future__ import annotations

import ast
import asyncio
import time
import tomllib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest

from nanobot.channels.loading import open_channel
from nanobot.config.loader import ChannelSettings, load
from nanobot.errors import NanobotError
from nanobot.plugins.setup.new_channel import NewChannel, setup_of
from nanobot.plugins.setup.onboard import run as run_module
from nanobot.plugins.setup.probes import first_message, tell, try_channel
from nanobot.seam.entry_points import CHANNELS, Plugins
from tests.cli.running import Ran, environ_of, run
from tests.doubles.discord_server import DiscordServer
from tests.doubles.mail_server import OWNER, MailServer, letter
from tests.doubles.matrix_rooms import ANN, ME
from tests.doubles.matrix_server import MatrixServer
from tests.doubles.mattermost_server import ANN as MATTERMOST_ANN
from tests.doubles.mattermost_server import MattermostServer
from tests.doubles.openai_server import OpenAIServer
from tests.doubles.slack_server import SlackServer
from tests.doubles.telegram_server import TelegramServer
from tests.doubles.terminal import ENTER, Terminal, in_terminal
from tests.doubles.whatsapp_server import ANN as WHATSAPP_ANN
from tests.doubles.whatsapp_server import WhatsAppServer

Say = Callable[[], Awaitable[None]]


class Platform(msgspec.Struct, frozen=True):
    """A channel's side of it: what its table holds, a secret of it, and somebody who writes."""

    kind: str
    settings: Mapping[str, object]
    secret: str
    person: str
    say: Say


@asynccontextmanager
async def platform_of(kind: str) -> AsyncIterator[Platform]:
    async with AsyncExitStack() as stack:
        yield await _PLATFORMS[kind](stack)


async def _telegram(stack: AsyncExitStack) -> Platform:
    server = await stack.enter_async_context(TelegramServer())

    async def say() -> None:
        server.say(7, "hello")

    settings = {"token": server.token, "api_root": server.root_url}
    return Platform("telegram", settings, "token", "7", say)


async def _discord(stack: AsyncExitStack) -> Platform:
    server = await stack.enter_async_context(DiscordServer())

    async def say() -> None:
        await server.until(lambda: bool(server.sessions))
        await server.say("50", "hello", sender="77")

    settings = {
        "token": server.token,
        "api_root": server.api_root,
        "gateway_url": server.gateway_url,
    }
    return Platform("discord", settings, "token", "77", say)


async def _slack(stack: AsyncExitStack) -> Platform:
    server = await stack.enter_async_context(SlackServer())

    async def say() -> None:
        await server.connected()
        server.say("D1", "hello", user="U7")

    settings = {
        "bot_token": server.bot_token,
        "app_token": server.app_token,
        "api_root": server.api_root,
    }
    return Platform("slack", settings, "app_token", "U7", say)


async def _matrix(stack: AsyncExitStack) -> Platform:
    server = await stack.enter_async_context(MatrixServer())

    async def say() -> None:
        await server.until(lambda: bool(server.since))
        server.rooms.now = int(time.time() * 1000)  # what is older than the bot it does not hear
        server.say(server.dm, "hello")

    settings = {"homeserver": server.root_url, "user": ME, "password": server.password}
    return Platform("matrix", settings, "password", ANN, say)


async def _email(stack: AsyncExitStack) -> Platform:
    server = await stack.enter_async_context(MailServer())

    async def say() -> None:
        await server.until(lambda: bool(server.idling))
        server.deliver(letter("hello"))

    return Platform("email", server.settings, "password", OWNER, say)


async def _udp(_: AsyncExitStack) -> Platform:
    async def say() -> None:
        raise AssertionError("nobody waits for UDP")

    return Platform("udp", {"token": "long enough", "port": 0}, "token", "udp", say)


async def _whatsapp(stack: AsyncExitStack) -> Platform:
    server = await stack.enter_async_context(WhatsAppServer())

    async def say() -> None:
        raise AssertionError("nobody waits for WhatsApp, which delivers to a gateway that runs")

    return Platform("whatsapp", server.settings, "access_token", WHATSAPP_ANN, say)


async def _mattermost(stack: AsyncExitStack) -> Platform:
    server = await stack.enter_async_context(MattermostServer())

    async def say() -> None:
        await server.until(lambda: server.connections > 0)
        await server.say(server.dm, "hello")

    return Platform("mattermost", server.settings, "token", MATTERMOST_ANN, say)


_PLATFORMS = {
    "telegram": _telegram,
    "discord": _discord,
    "slack": _slack,
    "matrix": _matrix,
    "email": _email,
    "udp": _udp,
    "whatsapp": _whatsapp,
    "mattermost": _mattermost,
}
_UNAWAITED = {"udp", "whatsapp"}
"""Nobody can be waited for there before the channel is connected."""


def test_every_channel_here_says_what_it_needs_and_where_that_is_told() -> None:
    root = Path(__file__).parents[3]
    own = [
        plugin.name for plugin in Plugins().each(CHANNELS, lambda loaded: loaded) if plugin.package
    ]
    assert set(_PLATFORMS) <= set(own)
    for kind in _PLATFORMS:
        setup = setup_of(kind)
        assert (root / setup.docs).is_file()
        assert setup.fields
        assert any(field.secret for field in setup.fields)
        assert setup.knock or setup.only or setup.id_is_chat


@pytest.mark.parametrize("kind", _PLATFORMS)
async def test_what_a_channel_asks_for_is_all_that_it_needs(kind: str) -> None:
    async with platform_of(kind) as there:
        fields = {field.key for field in setup_of(kind).fields}
        needed = {key: value for key, value in there.settings.items() if key in fields}
        channel = open_channel(kind, ChannelSettings(type=kind, settings=needed))
        await channel.close()


@pytest.mark.parametrize("kind", sorted(_PLATFORMS.keys() - _UNAWAITED))
async def test_who_writes_first_is_known_by_the_id_that_owners_have(kind: str) -> None:
    async with platform_of(kind) as there:
        settings = ChannelSettings(type=kind, settings=there.settings)
        async with asyncio.TaskGroup() as tasks:
            waiting = tasks.create_task(first_message(kind, settings, 20.0))
            await there.say()
        message = waiting.result()
        assert message is not None
        assert message.sender.id == there.person
        # Where they wrote, they can be told that all is set up, though nothing runs yet.
        if kind != "discord":  # its double pushes messages of chats that it does not have
            await tell(kind, settings, message.address, "Hello!")


async def test_somebody_who_is_known_already_is_not_waited_for() -> None:
    async with TelegramServer() as telegram:
        telegram.say(5, "a stranger")
        telegram.say(7, "me")
        here = {"token": telegram.token, "api_root": telegram.root_url}
        settings = ChannelSettings(type="telegram", settings=here)
        message = await first_message("telegram", settings, 20.0, {"5"})
        assert message is not None
        assert message.sender.id == "7"


BAD = [
    " ",
    "http:",
    "http://",
    "a b",
    "x" * 5_000,
    "\x00",
    "\ud800",
    "[",
    "-1",
    "99999999",
    "${",
    "é",
]


@pytest.mark.parametrize("kind", _PLATFORMS)
async def test_whatever_is_typed_for_a_field_ends_in_words(kind: str, tmp_path: Path) -> None:
    """Generated over all fields of all channels: the wizard shows an error of ours and asks again,
    or the platform takes it; nothing else is ever raised."""
    config = load({"NANOBOT_HOME": str(tmp_path)})
    async with platform_of(kind) as there:
        for field in setup_of(kind).fields:
            for bad in BAD:
                channel = NewChannel(kind, kind, setup_of(kind), config)
                channel.keys.update(there.settings)
                with suppress(NanobotError):
                    channel.put(field.key, bad)
                    async with asyncio.timeout(20):
                        await try_channel(kind, channel.settings(config, {}))


def test_every_question_of_the_wizard_checks_its_answer() -> None:
    """A new question either has a `check` or is in a loop that was tried with bad answers."""
    folder = Path(run_module.__file__).parent
    loops = {"_new_name", "_asked_one", "_asked_freely", "_owner", "_choose_zone"}
    for file in sorted(folder.glob("*.py")):
        tree = ast.parse(file.read_text("utf-8"))
        functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
        for function in functions:
            for call in ast.walk(function):
                if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name)):
                    continue
                if call.func.id not in ("ask", "ask_secret") or function.name in loops:
                    continue
                given = len(call.args) + len(call.keywords)
                needed = 2 if call.func.id == "ask_secret" else 3
                named = any(keyword.arg == "check" for keyword in call.keywords)
                assert named or given >= needed, f"{file.name}: {function.name}"


# Without questions


@pytest.fixture
async def model() -> AsyncIterator[OpenAIServer]:
    async with OpenAIServer() as server:
        yield server


class Home:
    """A home with a model."""

    def __init__(self, folder: Path, model: OpenAIServer) -> None:
        self.folder = folder
        self.path = folder / "home"
        self._model = model

    def environ(self, **more: str) -> dict[str, str]:
        base = {"NANOBOT_PROVIDERS__OPENAI__API_BASE": self._model.base_url}
        key = {"OPENAI_API_KEY": "sk-test"}
        return environ_of(self.path, HOME=str(self.folder), **base, **key, **more)

    async def onboard(self, *arguments: str, **environ: str) -> Ran:
        return await run(self.environ(**environ), "onboard", "--yes", *arguments)

    @property
    def text(self) -> str:
        return (self.path / "config.toml").read_text("utf-8")

    @property
    def channels(self) -> dict[str, Any]:
        tables: dict[str, Any] = tomllib.loads(self.text).get("channels", {})
        return tables


@pytest.fixture
def home(tmp_path: Path, model: OpenAIServer) -> Home:
    return Home(tmp_path, model)


def given(settings: Mapping[str, object]) -> list[str]:
    """As flags."""
    flags = []
    for key, value in settings.items():
        text = ",".join(value) if isinstance(value, list) else str(value)
        flags += ["--set", f"{key}={text.lower() if isinstance(value, bool) else text}"]
    return flags


@pytest.mark.parametrize("kind", _PLATFORMS)
async def test_every_channel_is_connected_by_flags_and_its_secret_kept_apart(
    home: Home, kind: str
) -> None:
    async with platform_of(kind) as there:
        flags = given({**there.settings, there.secret: "${A_SECRET}"})
        owner = () if kind == "udp" else ("--owner", there.person)
        secret = str(there.settings[there.secret])
        ran = await home.onboard("--channel", kind, *flags, *owner, A_SECRET=secret)
        assert ran.code == 0, ran.err
        assert "is ready" in ran.out
        assert home.channels[kind][there.secret] == "${A_SECRET}"
        assert home.channels[kind]["owners"] == [there.person]
        known = load(home.environ(A_SECRET=secret)).channels[kind]
        assert known.settings == there.settings
        heads = home.text.split(f"[channels.{kind}]")[0].rsplit("\n", 2)
        assert heads[1].startswith(f"# {setup_of(kind).title}")
        table = home.text.split(f"[channels.{kind}]")[1]
        assert all(
            f"# {field.asks}." in table for field in setup_of(kind).fields if not field.optional
        )


async def test_a_channel_with_webhooks_names_their_address_and_what_is_left_to_do(
    home: Home,
) -> None:
    async with WhatsAppServer() as meta:
        flags = ("--channel", "whatsapp", *given(meta.settings), "--owner", WHATSAPP_ANN)
        ran = await home.onboard(*flags)
        assert (ran.code, "set web.public_url" in ran.out) == (0, True)
        text = home.text + '\n[web]\npublic_url = "https://bot.example.org/a"\n'
        (home.path / "config.toml").write_text(text)
        ran = await home.onboard("--channel", "whatsapp")
        assert ran.code == 0, ran.err
        assert "https://bot.example.org/a/channels/whatsapp" in ran.out
        assert "Left to do" in ran.out


async def test_a_second_channel_leaves_every_byte_that_was_there(home: Home) -> None:
    async with TelegramServer() as first, TelegramServer("5:other") as second:
        here = {"token": first.token, "api_root": first.root_url}
        assert (await home.onboard("--channel", "telegram", *given(here))).code == 0
        file = home.path / "config.toml"
        file.write_text(home.text + "# A note of mine, without an end of line")
        before = home.text
        there = {"token": second.token, "api_root": second.root_url}
        named = ("--channel", "telegram", "--name", "work")
        ran = await home.onboard(*named, *given(there), "--owner", "3,4")
        assert ran.code == 0, ran.err
        assert home.text.startswith(before)
        assert home.channels["work"]["type"] == "telegram"
        assert home.channels["work"]["owners"] == ["3", "4"]
        assert (home.path / "secrets" / "work.token").read_text() == "5:other\n"
        before = home.text
        ran = await home.onboard("--channel", "work", "--owner", "8")
        assert ran.code == 0, ran.err
        assert home.text == before.replace('["3", "4"]', '["8"]')


async def test_a_file_written_in_another_way_gets_the_channel_all_the_same(home: Home) -> None:
    home.path.mkdir()
    (home.path / "config.toml").write_text("channels = {work = {type = 'udp', token = '12345678'}}")
    ran = await home.onboard("--channel", "udp", "--set", "token=something long")
    assert ran.code == 0, ran.err
    assert home.channels["work"] == {"type": "udp", "token": "12345678"}
    assert home.channels["udp"] == {"token": "file:secrets/udp.token", "owners": ["udp"]}


@pytest.mark.parametrize(
    ("flags", "code", "reason"),
    [
        (("--channel", "pigeon"), 2, "installed are discord"),
        (("--channel", "telegram"), 2, "needs --set token=VALUE"),
        (("--channel", "udp", "--set", "token"), 2, "KEY=VALUE"),
        (("--channel", "udp", "--set", "token=short"), 3, "channels.udp"),
        (("--channel", "udp", "--set", "token=${NOT_THERE}"), 3, "NOT_THERE"),
        (("--channel", "udp", "--name", "a.b", "--set", "token=12345678"), 2, "not a name"),
        (("--channel", "telegram", "--set", "token=1:a", "--owner", "me"), 2, "numeric id"),
        (("--owner", "7"), 2, "need --channel"),
        (("--channel", "udp", "--set", "token=12345678", "--set", "port=nine"), 3, "port"),
    ],
)
async def test_what_cannot_be_connected_is_said_and_nothing_is_written(
    home: Home, flags: tuple[str, ...], code: int, reason: str
) -> None:
    ran = await home.onboard(*flags)
    assert (ran.code, reason in ran.err) == (code, True), ran.err
    assert not (home.path / "config.toml").exists()
    assert not (home.path / "secrets").exists()


# With a person


async def asks(terminal: Terminal, question: str) -> None:
    await terminal.until(lambda: question in (terminal.screen.lines or [""])[-1])


async def answer(terminal: Terminal, question: str, text: str = "") -> None:
    await asks(terminal, question)
    terminal.type(f"{text}{ENTER}")


async def test_a_mailbox_is_asked_for_tried_and_mended_until_it_will_be_heard(home: Home) -> None:
    async with MailServer() as mail:
        mail.deliver(letter(server="mx.other.net"))
        ports = {
            f"NANOBOT_CHANNELS__EMAIL__{key.upper()}": str(mail.settings[key]).lower()
            for key in ("imap_port", "smtp_port", "tls")
        }
        environ = home.environ(**ports, MY_PASSWORD=mail.password)
        command = ("onboard", "--channel", "email")
        async with in_terminal(command, environ, home.folder, columns=100, rows=70) as terminal:
            await answer(terminal, "Number")
            await answer(terminal, "login too", "bot@example.org")
            await answer(terminal, "Its password", "wrong")
            await answer(terminal, "(IMAP) [imap.example.org]:", "127.0.0.1")
            await answer(terminal, "(SMTP) [smtp.example.org]:", "127.0.0.1")
            await answer(terminal, "count [mx.example.org]:")
            await answer(terminal, "press Enter for none:")
            await terminal.shows("refuses the login")
            await answer(terminal, "Try again?")
            await answer(terminal, "login too [bot@example.org]:")
            await answer(terminal, "to keep it", "${MY_PASSWORD}")
            await answer(terminal, "(IMAP) [127.0.0.1]:")
            await answer(terminal, "(SMTP) [127.0.0.1]:")
            await answer(terminal, "count [mx.example.org]:")
            await answer(terminal, "press Enter for none:")
            await terminal.shows("mx.other.net")
            await answer(terminal, "Save it anyway?")
            await answer(terminal, "Try again?")
            for question in ("login too", "to keep it", "(IMAP)", "(SMTP)"):
                await answer(terminal, question)
            await answer(terminal, "count [mx.example.org]:", "mx.other.net, mx.example.org")
            await answer(terminal, "press Enter for none:")
            await answer(terminal, "Your own address:", "nobody")
            await terminal.shows("not a valid id")
            await answer(terminal, "Your own address:", OWNER)
            await answer(terminal, "Your time zone")
            assert await terminal.ended() == 0
    table = home.channels["email"]
    assert table["password"] == "${MY_PASSWORD}"
    assert table["trusted_authserv"] == ["mx.other.net", "mx.example.org"]
    assert table["owners"] == [OWNER]
    assert "sent_folder" not in table
    assert not (home.path / "secrets" / "email.password").exists()
