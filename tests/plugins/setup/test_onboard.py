"""The first minutes: in a terminal with a person, and without questions."""

from __future__ import annotations

import tomllib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from nanobot.plugins.setup.model_names import completed_address
from tests.cli.running import Ran, environ_of, run
from tests.doubles.openai_server import OpenAIServer, error_status
from tests.doubles.telegram_server import TelegramServer
from tests.doubles.terminal import CTRL_D, ENTER, Terminal, in_terminal


class World:
    """A home that is not there yet, with a key in the environment, a model and a Telegram."""

    def __init__(self, folder: Path, model: OpenAIServer, telegram: TelegramServer) -> None:
        self.home = folder / "home"
        self.model = model
        self.telegram = telegram
        self._folder = folder

    def environ(self, **more: str) -> dict[str, str]:
        reach = {
            "OPENAI_API_KEY": "sk-test",
            "NANOBOT_PROVIDERS__OPENAI__API_BASE": self.model.base_url,
            "NANOBOT_CHANNELS__TELEGRAM__API_ROOT": self.telegram.root_url,
        }
        return environ_of(self.home, HOME=str(self._folder), **reach, **more)

    async def onboard(self, *arguments: str, **environ: str) -> Ran:
        return await run(self.environ(**environ), "onboard", *arguments)

    @asynccontextmanager
    async def conversation(self) -> AsyncIterator[Terminal]:
        environ, folder = self.environ(), self._folder
        async with in_terminal(["onboard"], environ, folder, columns=120, rows=60) as terminal:
            yield terminal

    @property
    def config(self) -> dict[str, Any]:
        return tomllib.loads((self.home / "config.toml").read_text("utf-8"))

    @property
    def untouched(self) -> bool:
        return not (self.home / "config.toml").exists() and not (self.home / "secrets").exists()


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with OpenAIServer() as model, TelegramServer() as telegram:
        yield World(tmp_path, model, telegram)


async def asks(terminal: Terminal, question: str) -> None:
    """Wait for the question: what is typed before a secret is asked for is thrown away."""
    await terminal.until(lambda: question in (terminal.screen.lines or [""])[-1])


async def choosing(terminal: Terminal, title: str) -> None:
    """Choose that channel."""
    await terminal.shows("none for now")
    await asks(terminal, "Number")
    line = next(line for line in terminal.screen.lines if line.endswith(f". {title}"))
    terminal.type(f"{line.strip()[0]}{ENTER}")


async def test_a_person_comes_from_nothing_to_a_bot_that_knows_them(world: World) -> None:
    async with world.conversation() as terminal:
        await terminal.shows("1. openai/gpt-6-luna (OPENAI_API_KEY is set)")
        await asks(terminal, "Number")
        terminal.type(ENTER)
        await terminal.shows("answered after")
        await choosing(terminal, "Telegram")
        await asks(terminal, "Token, or press Enter to skip")
        terminal.type(f"1:wrong{ENTER}")
        await terminal.shows("That did not work: Telegram refuses the token")
        await asks(terminal, "Try again? (Y/n):")
        terminal.type(ENTER)
        await asks(terminal, "Token, or press Enter to keep it")
        terminal.type(f"{world.telegram.token}{ENTER}")
        await terminal.shows("@nano_bot answers.")
        await asks(terminal, "Your numeric id:")
        terminal.type(ENTER)
        await terminal.shows("Waiting two minutes")
        world.telegram.say(7, "hello, it is me")
        await asks(terminal, "Person 7 (id 7) wrote. Is that you?")
        terminal.type(ENTER)
        await asks(terminal, "Your time zone, as in Europe/Berlin [UTC]:")
        terminal.type(f"berlin{ENTER}")
        await terminal.shows("did you mean Europe/Berlin?")
        await asks(terminal, "Your time zone, as in Europe/Berlin [UTC]:")
        terminal.type(f"Europe/Berlin{ENTER}")
        await terminal.shows("nanobot gateway    serve telegram")
        assert await terminal.ended() == 0
        assert world.telegram.token not in terminal.screen.raw
    assert world.config["agent"]["model"] == "openai/gpt-6-luna"
    assert world.config["agent"]["zone"] == "Europe/Berlin"
    channel = world.config["channels"]["telegram"]
    assert (channel["token"], channel["owners"]) == ("file:secrets/telegram.token", ["7"])
    secret = world.home / "secrets" / "telegram.token"
    assert secret.read_text() == f"{world.telegram.token}\n"
    assert (secret.stat().st_mode & 0o777, world.home.stat().st_mode & 0o777) == (0o600, 0o700)
    assert (world.home / "workspace" / "AGENTS.md").exists()
    assert (world.home / "config.toml").read_text().startswith("# The configuration of nanobot.")
    assert len(world.telegram.pending) == 1, "the first message waits for the gateway"
    (greeting,) = [row.text for row in world.telegram.messages(7)]
    assert greeting.startswith("Hello! I am set up")


async def test_whoever_leaves_half_way_has_changed_nothing(world: World) -> None:
    async with world.conversation() as terminal:
        await asks(terminal, "Number [1]:")
        terminal.type(ENTER)
        await choosing(terminal, "Telegram")
        await asks(terminal, "Token, or press Enter to skip")
        terminal.type(CTRL_D)
        assert await terminal.ended() == 130
    assert world.untouched


async def test_a_model_that_does_not_answer_is_said_so_and_another_can_be_chosen(
    world: World,
) -> None:
    world.model.fail_with(error_status(401, "bad key"))
    async with world.conversation() as terminal:
        await asks(terminal, "Number [1]:")
        terminal.type(f"9{ENTER}")
        await terminal.shows("A number from 1 to")
        terminal.type(ENTER)
        await terminal.shows("That did not work:")
        options = [line for line in terminal.screen.lines if "another one" in line]
        number = options[0].strip()[0]
        terminal.type(f"{number}{ENTER}")
        await asks(terminal, "Model or URL:")
        terminal.type(f"mine/big{ENTER}")
        await asks(terminal, "Base URL (https://.../v1)")
        terminal.type(f"{world.model.base_url}{ENTER}")
        await asks(terminal, "Key for mine")
        terminal.type(f"sk-mine{ENTER}")
        await terminal.shows("mine/big answered after")
        await asks(terminal, "Number")
        terminal.type(ENTER)
        await asks(terminal, "Your time zone")
        terminal.type(ENTER)
        assert await terminal.ended() == 0
    assert world.model.headers[-1]["authorization"] == "Bearer sk-mine"
    assert world.config["agent"]["model"] == "mine/big"
    assert world.config["providers"]["mine"]["api_key"] == "file:secrets/mine.key"
    assert "channels" not in world.config
    ran = await run(world.environ(), "agent", "-m", "say:hello")
    assert (ran.code, ran.out) == (0, "hello\n")


async def test_each_answer_about_a_model_that_cannot_be_is_asked_again(world: World) -> None:
    async with world.conversation() as terminal:
        await asks(terminal, "Number [1]:")
        options = [line for line in terminal.screen.lines if "another one" in line]
        number = options[0].strip()[0]
        for wrong in ("x", "999", "-1", "0", "model"):
            terminal.type(f"{wrong}{ENTER}")
            await terminal.shows("A number from 1 to")
            await asks(terminal, "Number [1]:")
        terminal.type(f"{number}{ENTER}")
        for wrong, why in {
            "models.example/v1": "looks like an address",
            "http:": "looks like an address",
            "http://": "must be an http:// or https:// URL",
            "big": "is not PROVIDER/MODEL",
            "my models/big": "is not a name of a provider",
            "mine/": "name of the model is missing",
            "mine/http://127.0.0.1:1/v1": "is an address, not the name of a model",
            "mine/big one": "one word without blanks",
        }.items():
            await asks(terminal, "Model or URL:")
            terminal.type(f"{wrong}{ENTER}")
            await terminal.shows(why)
        await asks(terminal, "Model or URL:")
        terminal.type(f"mine/big{ENTER}")
        for wrong in ("", "127.0.0.1:99999/v1", "ftp://host", "http://", "http://[", "yes"):
            await asks(terminal, "Base URL (https://.../v1):")
            terminal.type(f"{wrong}{ENTER}")
        await asks(terminal, "Base URL (https://.../v1):")
        terminal.type(f"{world.model.base_url}{ENTER}")
        await asks(terminal, "Key for mine")
        terminal.type(f"sk with blanks{ENTER}")
        await terminal.shows("A key has no blanks")
        terminal.type(CTRL_D)
        assert await terminal.ended() == 130
    assert world.untouched


async def test_an_address_in_the_place_of_a_model_is_asked_what_it_has(world: World) -> None:
    world.model.models = ["qwen3", "llama3"]
    async with world.conversation() as terminal:
        await asks(terminal, "Number [1]:")
        options = [line for line in terminal.screen.lines if "another one" in line]
        terminal.type(f"{options[0].strip()[0]}{ENTER}")
        await asks(terminal, "Model or URL:")
        terminal.type(f"{world.model.base_url.removeprefix('http://')}/{ENTER}")
        await asks(terminal, "Its key, or press Enter if it needs none (not shown):")
        terminal.type(ENTER)
        await terminal.shows("2. llama3")
        await asks(terminal, "Number [1]:")
        terminal.type(f"2{ENTER}")
        await asks(terminal, "A name for the provider [custom]:")
        terminal.type(f"http://x{ENTER}")
        await terminal.shows("is an address. Give the provider a name")
        await asks(terminal, "A name for the provider [custom]:")
        terminal.type(ENTER)
        await terminal.shows("custom/llama3 answered after")
        await asks(terminal, "Number")
        terminal.type(ENTER)
        await asks(terminal, "Your time zone")
        terminal.type(ENTER)
        assert await terminal.ended() == 0
    assert world.config["agent"]["model"] == "custom/llama3"
    assert world.config["providers"] == {"custom": {"api_base": world.model.base_url}}


async def test_a_well_known_provider_is_chosen_from_a_menu_and_needs_only_its_key(
    world: World,
) -> None:
    async with world.conversation() as terminal:
        await asks(terminal, "Number [1]:")
        assert any(
            "Not running: Ollama (http://127.0.0.1:11434)" in x for x in terminal.screen.lines
        )
        line = next(line for line in terminal.screen.lines if "a well-known provider" in line)
        terminal.type(f"{line.strip()[0]}{ENTER}")
        await terminal.shows("Anthropic (Claude)")
        await asks(terminal, "Number [1]:")
        terminal.type(f"1{ENTER}")
        await asks(terminal, "Your OpenAI key, or press Enter to use OPENAI_API_KEY (not shown):")
        terminal.type(f"sk-typed{ENTER}")
        await asks(terminal, "Model [gpt-6-luna]:")
        terminal.type(f"gpt-4o{ENTER}")
        await terminal.shows("openai/gpt-4o answered after")
        assert any("128,000 tokens, tools, images" in line for line in terminal.screen.lines)
        await asks(terminal, "Number")
        terminal.type(ENTER)
        await asks(terminal, "Your time zone")
        terminal.type(ENTER)
        assert await terminal.ended() == 0
    assert world.model.headers[-1]["authorization"] == "Bearer sk-typed"
    assert world.config["agent"]["model"] == "openai/gpt-4o"
    assert world.config["providers"]["openai"]["api_key"] == "file:secrets/openai.key"


async def test_what_is_typed_and_is_not_utf8_is_asked_again(world: World) -> None:
    async with world.conversation() as terminal:
        await asks(terminal, "Number [1]:")
        terminal.type(f"\xff{ENTER}", "latin-1")
        await terminal.shows("That is not UTF-8. Type it again, please.")
        line = next(line for line in terminal.screen.lines if "a well-known provider" in line)
        terminal.type(f"{line.strip()[0]}{ENTER}")
        await terminal.shows("Anthropic (Claude)")
        await asks(terminal, "Number [1]:")
        terminal.type(f"1{ENTER}")
        await asks(terminal, "Your OpenAI key, or press Enter to use OPENAI_API_KEY (not shown):")
        terminal.type(f"sk-\xff{ENTER}", "latin-1")
        await terminal.until(lambda: terminal.screen.text.count("That is not UTF-8") == 2)
        await asks(terminal, "Your OpenAI key, or press Enter to use OPENAI_API_KEY (not shown):")
        terminal.type(CTRL_D)
        assert await terminal.ended() == 130
    assert world.untouched


async def test_whoever_comes_again_is_offered_changes_and_keeps_what_they_wrote(
    world: World,
) -> None:
    assert (await world.onboard("--yes")).code == 0
    file = world.home / "config.toml"
    file.write_text(file.read_text() + "\n# A note of mine.\n")
    before = file.read_text()
    async with world.conversation() as terminal:
        await terminal.shows("There is a configuration already")
        await asks(terminal, "Number")
        terminal.type(ENTER)
        await terminal.shows("Nothing was changed.")
        assert await terminal.ended() == 0
    assert file.read_text() == before
    async with world.conversation() as terminal:
        await asks(terminal, "Number")
        terminal.type(f"3{ENTER}")
        await choosing(terminal, "Telegram")
        await asks(terminal, "Token, or press Enter to skip")
        terminal.type(f"{world.telegram.token}{ENTER}")
        await asks(terminal, "Your numeric id:")
        terminal.type(f"@me{ENTER}")
        await terminal.shows("That is not a valid id here. Expected: Your numeric id")
        await asks(terminal, "Your numeric id:")
        terminal.type(f"42{ENTER}")
        assert await terminal.ended() == 0
    assert "# A note of mine." in file.read_text()
    assert world.config["channels"]["telegram"]["owners"] == ["42"]


# Without questions


async def test_without_questions_everything_comes_from_the_command_line(world: World) -> None:
    world.telegram.say(1001, "/start")
    ran = await world.onboard(
        "--yes",
        "--model",
        "openai/gpt-4.1-mini",
        "--api-key-env",
        "MY_KEY",
        "--telegram-token-env",
        "MY_TOKEN",
        "--owner",
        "1001",
        MY_KEY="sk-mine",
        MY_TOKEN=world.telegram.token,
    )
    assert ran.code == 0, ran.err
    assert world.model.headers[0]["authorization"] == "Bearer sk-mine"
    assert world.config["agent"]["model"] == "openai/gpt-4.1-mini"
    assert world.config["providers"]["openai"]["api_key"] == "${MY_KEY}"
    assert world.config["channels"]["telegram"]["token"] == "${MY_TOKEN}"
    assert world.config["channels"]["telegram"]["owners"] == ["1001"]
    assert len(world.telegram.messages(1001)) == 1
    assert "sk-mine" not in (world.home / "config.toml").read_text()


async def test_without_any_word_what_is_there_is_taken(world: World) -> None:
    ran = await world.onboard("--yes")
    assert ran.code == 0, ran.err
    assert "openai/gpt-6-luna answered" in ran.out
    assert world.config["agent"]["model"] == "auto"
    check = await run(environ_of(world.home), "config", "check")
    assert check.code == 0, check.out


async def test_an_address_and_nothing_else_is_enough(world: World) -> None:
    world.model.models = ["nomic-embed-text", "qwen3-8b"]
    environ = environ_of(world.home)
    ran = await run(environ, "onboard", "--yes", "--api-base", world.model.base_url)
    assert ran.code == 0, ran.err
    assert "custom/qwen3-8b answered" in ran.out
    assert world.config["agent"]["model"] == "custom/qwen3-8b"
    assert world.config["providers"]["custom"] == {"api_base": world.model.base_url}
    assert (await run(environ, "agent", "-m", "say:hello")).out == "hello\n"


async def test_a_server_with_a_name_and_a_key_is_set_up_without_questions(world: World) -> None:
    ran = await run(
        environ_of(world.home, GPU_KEY="sk-gpu"),
        *("onboard", "--yes", "--model", "gpu/big", "--api-base", world.model.base_url),
        *("--api-key-env", "GPU_KEY"),
    )
    assert ran.code == 0, ran.err
    assert world.model.headers[-1]["authorization"] == "Bearer sk-gpu"
    assert world.config["providers"]["gpu"]["api_key"] == "${GPU_KEY}"
    assert world.config["providers"]["gpu"]["api_base"] == world.model.base_url


async def test_the_address_of_the_environment_is_heeded(world: World) -> None:
    world.model.models = ["qwen3-8b"]
    environ = environ_of(world.home, OPENAI_BASE_URL=world.model.base_url, OPENAI_API_KEY="sk-env")
    ran = await run(environ, "agent", "-m", "say:hello")
    assert (ran.code, ran.out) == (0, "hello\n"), ran.err
    assert world.model.requests[-1]["model"] == "qwen3-8b"
    assert world.model.headers[-1]["authorization"] == "Bearer sk-env"


async def test_again_without_questions_only_what_was_named_changes(world: World) -> None:
    await world.onboard("--yes")
    before = (world.home / "config.toml").read_text()
    assert "Nothing was changed." in (await world.onboard("--yes")).out
    assert (world.home / "config.toml").read_text() == before
    assert (await world.onboard("--yes", "--model", "openai/gpt-4.1-mini")).code == 0
    assert (world.home / "config.toml").read_text() == before.replace(
        'model = "auto"', 'model = "openai/gpt-4.1-mini"'
    )


@pytest.mark.parametrize(
    ("arguments", "code", "reason"),
    [
        (("--model", "openai/gpt-6-luna"), 5, "bad key"),
        (("--telegram-token-env", "NOT_THERE"), 2, "NOT_THERE is not set"),
        (("--model", "nowhere/x"), 3, "nowhere"),
        (("--api-key-env", "OPENAI_API_KEY"), 2, "whose key"),
        (("--api-base", "http://127.0.0.1:9/v1"), 2, "does not list its models"),
        (("--model", "x/y", "--api-base", "127.0.0.1:9"), 5, "nothing listens there"),
    ],
)
async def test_what_does_not_work_is_not_written(
    world: World, arguments: tuple[str, ...], code: int, reason: str
) -> None:
    if code == 5:
        world.model.fail_with(error_status(401, "bad key"))
    ran = await world.onboard("--yes", *arguments)
    assert ran.code == code
    assert reason in ran.err
    assert world.untouched


async def test_a_token_that_is_refused_is_not_written(world: World) -> None:
    ran = await world.onboard("--yes", "--telegram-token-env", "BAD", BAD="1:wrong")
    assert ran.code == 1
    assert "refuses the token" in ran.err
    assert world.untouched


async def test_a_configuration_that_cannot_be_read_is_left_alone(world: World) -> None:
    world.home.mkdir()
    (world.home / "config.toml").write_text("this is [no toml")
    ran = await world.onboard("--yes")
    assert ran.code == 3
    assert (world.home / "config.toml").read_text() == "this is [no toml"


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("127.0.0.1:8000/v1", "http://127.0.0.1:8000/v1"),
        ("localhost/v1", "http://localhost/v1"),
        ("[::1]:8000", "http://[::1]:8000"),
        ("192.168.1.7:1234", "http://192.168.1.7:1234"),
        ("box:1234/v1", "http://box:1234/v1"),
        ("box.local:1234", "http://box.local:1234"),
        ("models.example:8443/v1", "https://models.example:8443/v1"),
        ("8.8.8.8:443", "https://8.8.8.8:443"),
        *((text, text) for text in ("", "openai/gpt-6-luna", "http://x/v1", "x.ai/grok", "a:b/c")),
    ],
)
def test_an_address_without_its_scheme_is_completed(typed: str, meant: str) -> None:
    assert completed_address(typed) == meant
