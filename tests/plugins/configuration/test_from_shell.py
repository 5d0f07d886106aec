"""Settings of a gateway that runs, changed from a shell."""

from __future__ import annotations

import asyncio
from pathlib import Path

from nanobot.config.loader import load
from nanobot.plugins.common.http.settings import WebSettings
from nanobot.plugins.configuration.from_shell import set_key
from nanobot.testing.model import ScriptedProvider
from tests.server.housing import house


async def test_config_set_changes_the_gateway_that_runs(tmp_path: Path) -> None:
    home = tmp_path / "home"
    environ = {"NANOBOT_HOME": str(home)}
    async with house(home) as served:
        told = await asyncio.to_thread(set_key, environ, "agent.max_tokens", "77")
        assert told.endswith("config.toml. It is in effect now.")
        assert served.parts.live.config.agent.max_tokens == 77
        told = await asyncio.to_thread(set_key, environ, "web.port", "8999")
        assert told.endswith("Restart the gateway for it to take effect (`restart`).")
        assert served.parts.live.config.of(WebSettings).port == 0
    told = await asyncio.to_thread(set_key, environ, "agent.max_tokens", "78")
    assert told.endswith("It takes effect when nanobot starts.")


def test_without_a_gateway_a_secret_goes_into_a_file_too(tmp_path: Path) -> None:
    environ = {"NANOBOT_HOME": str(tmp_path), "GROQ_API_KEY": "from-outside"}
    set_key(environ, "providers.groq.api_key", "gsk-new")
    assert "gsk-new" not in (tmp_path / "config.toml").read_text()
    secret = tmp_path / "secrets" / "providers.groq.api_key"
    assert (secret.read_text(), secret.stat().st_mode & 0o777) == ("gsk-new\n", 0o600)
    assert load(environ).providers["groq"].api_key == "gsk-new"
    set_key(environ, "providers.groq.api_key", "${GROQ_API_KEY}")
    assert load(environ).providers["groq"].api_key == "from-outside"


async def test_the_next_message_has_the_persona_that_was_just_chosen(tmp_path: Path) -> None:
    provider = ScriptedProvider("one", "two")
    async with house(tmp_path / "home", provider) as served:
        owner = await served.owner()
        chat = "/v1/chat/completions"
        ask = {"model": "nanobot", "messages": [{"role": "user", "content": "hello"}]}
        owner.headers["X-Session-Key"] = "web:desk"
        assert (await owner.post(chat, **ask))[0] == 200
        status, changed = await owner.post("/api/config/set", key="agent.name", text="Marvin")
        assert (status, changed["applied"]) == (200, ["agent.name"])
        assert (await owner.post(chat, **ask))[0] == 200
    prompts = [str(request.messages[0]) for request in provider.requests]
    assert ["Marvin" in prompt for prompt in prompts] == [False, True]
