"""While the plugin is off, "auto" is refused with the command that switches it on, and a model that
is named answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from nanobot.app.gateway import Gateway
from nanobot.config.loader import load
from nanobot.errors import ConfigError
from tests.doubles.openai_server import OpenAIServer
from tests.plugins.switching import asked
from tests.store.empty import with_empty_store

OFF = """
[plugins]
off = ["auto"]
[providers.own]
api_base = "{base}"
"""


async def test_auto_is_refused_and_a_named_model_answers(tmp_path: Path) -> None:
    async with OpenAIServer() as server:
        server.models = ["qwen3"]
        (tmp_path / "config.toml").write_text(OFF.format(base=server.base_url))
        with_empty_store(tmp_path)
        variables = {"NANOBOT_HOME": str(tmp_path), "HTTPS_PROXY": "http://127.0.0.1:9"}
        gateway = Gateway(load(variables), variables, channels=False)
        async with gateway.serving("a test", lambda _line: None) as parts:
            with pytest.raises(ConfigError, match="nanobot plugins on auto"):
                await parts.models.pick(None)
            assert await asked(parts, "say:hello") == "failed"
            await parts.operations.call("config set", {"key": "agent.model", "text": "own/qwen3"})
            assert await asked(parts, "say:hello") == "completed"
