"""Known secrets reach neither the model nor the log."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from loguru import logger

from nanobot.boundary import boundary
from nanobot.config import loader as config
from nanobot.errors import ToolError
from nanobot.messages import Address, Role
from nanobot.tools.base import CallContext, Effect, Tool
from nanobot.tools.redact import Redactor, secrets_of
from nanobot.tools.registry import ToolRegistry

SECRET = "sk-abcdef123456"


class Nothing(msgspec.Struct):
    """No arguments."""

    text: str = ""


async def leaking(args: Nothing, context: CallContext) -> str:
    if args.text:
        raise ToolError(f"refused: {SECRET}")
    return f"the key is {SECRET}!"


LEAKING = Tool(name="leak", description="Leaks.", args=Nothing, run=leaking, effect=Effect.NONE)


CONTEXT = CallContext(
    run_id="r",
    session_key="s",
    address=Address("cli", "direct"),
    sender_id="1",
    role=Role.OWNER,
    key="r:1:0",
)


@pytest.fixture
def lines() -> Iterator[list[str]]:
    """What is logged, as a sink gets it."""
    written: list[str] = []
    number = logger.add(written.append, format="{message}\n{exception}")
    logger.configure(patcher=Redactor([SECRET]).patch)
    yield written
    logger.configure(patcher=lambda _: None)
    logger.remove(number)


async def test_a_result_holds_no_secret() -> None:
    tools = ToolRegistry(redact=Redactor([SECRET, "short"]))
    tools.register(LEAKING)
    assert await tools.execute("leak", "{}", CONTEXT) == "the key is [secret]!"


async def test_every_call_is_logged_without_secrets(lines: list[str]) -> None:
    tools = ToolRegistry(redact=Redactor([SECRET]), log_calls=True)
    tools.register(LEAKING)
    with pytest.raises(ToolError):
        await tools.execute("leak", f'{{"text": "{SECRET}"}}', CONTEXT)
    (line,) = lines
    assert line.startswith('call r:1:0 of s for 1 (owner): "leak" "{"text": "[secret]"}" took')
    assert "refused: refused: [secret]" in line


def test_traces_hold_no_secret(lines: list[str]) -> None:
    with boundary(f"a thing with {SECRET}"):
        int(SECRET)
    assert SECRET not in lines[0]
    assert "a thing with [secret] failed" in lines[0]
    assert "invalid literal for int() with base 10: '[secret]'" in lines[0]


def test_the_secrets_are_those_of_the_configuration_and_the_environment(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(
        """
        database_url = "postgresql://me:pass%2Fword1@host/db"
        [providers.x]
        api_key = "${X_KEY}"
        api_base = "https://x.example"
        [channels.telegram]
        token = "telegram-token"
        api_root = "https://t.example"
        [tools.web]
        brave_api_key = "brave-brave"
        """
    )
    environ = {"NANOBOT_HOME": str(tmp_path), "X_KEY": "x-x-x-x-x", "PATH": "/usr/bin/secretly"}
    secrets = secrets_of(config.load(environ), environ)
    assert secrets == {"pass/word1", "x-x-x-x-x", "telegram-token", "brave-brave"}


def test_passwords_and_keys_within_addresses_and_arguments_are_secrets(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(
        """
        [providers.own]
        api_base = "https://user:pass%2Fword1@models.example/v1?api_key=querykey1&version=2024-10-01"
        [tools.web]
        searxng_url = "http://finder:search-word@localhost:8080"
        [mcp.there]
        url = "https://mcp.example/s/0a1b2c3d4e5f6a7b/mcp"
        [mcp.here]
        command = "server"
        args = ["--api-key", "argument1", "--port", "8123", "TOKEN=argument2", "https://x:word-three@y"]
        """
    )
    environ = {"NANOBOT_HOME": str(tmp_path)}
    assert secrets_of(config.load(environ), environ) == {
        *("pass%2Fword1", "pass/word1", "querykey1", "search-word", "0a1b2c3d4e5f6a7b"),
        *("argument1", "argument2", "word-three"),
    }
