"""A gateway whose plugin for models is off asks models as before. It checks no names, and knows
prices and limits from the configuration and nanobot's own table of families."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from nanobot.app.gateway import Gateway
from nanobot.app.gateway_parts import Parts
from nanobot.config.loader import load
from nanobot.errors import UsageError
from nanobot.plugins.configuration.from_shell import set_key
from nanobot.plugins.models.checking import check_label
from nanobot.providers.base import Price
from tests.doubles.openai_server import OpenAIServer
from tests.plugins.switching import KEY, asked
from tests.store.empty import with_empty_store

OFF = '[plugins]\noff = ["models"]\n'
KEYS = """
[agent]
model = "own/qwen3"
[providers.own]
api_base = "{base}"
api_key = "k"
[providers.own.prices]
"qwen3" = {{ prompt = 1.0, completion = 2.0 }}
[providers.openai]
api_key = "k"
"""


def environ(home: Path, base: str, plugins: str) -> dict[str, str]:
    home.mkdir(exist_ok=True)
    (home / "config.toml").write_text(plugins + KEYS.format(base=base))
    with_empty_store(home)
    return {"NANOBOT_HOME": str(home), "HTTPS_PROXY": "http://127.0.0.1:9"}


@asynccontextmanager
async def serving(home: Path, base: str, plugins: str = "") -> AsyncIterator[Parts]:
    variables = environ(home, base, plugins)
    gateway = Gateway(load(variables), variables, channels=False)
    async with gateway.serving("a test", lambda _line: None) as parts:
        yield parts


async def price_of(parts: Parts) -> Price | None:
    return (await parts.models.pick("openai/gpt-5-mini"))[1].price


async def test_while_it_is_off_models_answer_unchecked_and_prices_are_those_of_the_configuration(
    tmp_path: Path,
) -> None:
    async with OpenAIServer() as server:
        server.models = ["qwen3"]
        async with serving(tmp_path / "home", server.base_url, OFF) as parts:
            assert await asked(parts, "say:hello") == "completed"
            profile = await parts.engine.describe_model(None)
            assert profile.price is not None
            assert profile.price.completion == 2e-06
            assert await price_of(parts) is None
            known = await parts.models.choice("ollama/llama3.2")
            assert known.api_base == "http://127.0.0.1:11434/v1"
            await parts.operations.call("config set", {"key": "agent.model", "text": "own/nope"})
        async with serving(tmp_path / "home", server.base_url) as parts:
            assert await asked(parts, "say:hello") == "completed"
            assert await price_of(parts) is not None
            with pytest.raises(UsageError, match='lists no model "nope": did you mean "own/qwen3"'):
                await check_label("own/nope", parts.models)
            with pytest.raises(UsageError, match='lists no model "nope"'):
                await parts.operations.call(
                    "config set", {"key": "agent.model", "text": "own/nope"}
                )


@pytest.mark.parametrize(("plugins", "taken"), [("", False), (OFF, True)])
def test_without_a_gateway_the_file_says_whether_names_are_checked(
    tmp_path: Path, plugins: str, taken: bool
) -> None:
    variables = environ(tmp_path / "home", "http://127.0.0.1:9/v1", plugins)
    if taken:
        assert "written into" in set_key(variables, "agent.model", "own/nope")
    else:
        with pytest.raises(UsageError, match="gives no list of its models now"):
            set_key(variables, "agent.model", "own/nope")


async def test_a_conversation_keeps_the_model_that_was_chosen_for_it(tmp_path: Path) -> None:
    async with OpenAIServer() as server:
        server.models = ["qwen3", "other"]
        async with serving(tmp_path / "home", server.base_url) as parts:
            await parts.operations.call("model", {"name": "own/other", "session": KEY})
        async with serving(tmp_path / "home", server.base_url, OFF) as parts:
            assert await asked(parts, "say:hello") == "completed"
            assert server.requests[-1]["model"] == "other"
            said = parts.operations.unknown("/model own/qwen3")
            assert "belongs to the plugin models, which is off here" in said
            assert (await parts.operations.call("status", {"session": KEY})).model == "own/other"
