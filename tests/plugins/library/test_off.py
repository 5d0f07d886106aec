"""A home whose owner switched the library off is opened by no program; loops of one's own work."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from nanobot import AgentLoop
from nanobot.api import Agent, RunInput
from nanobot.errors import ConfigError
from nanobot.promised import names_of
from nanobot.testing.model import ScriptedProvider
from tests.plugins.switching import asked, serving

HELLO = RunInput(messages=[{"role": "user", "content": "hello"}])
OFF = '[plugins]\noff = ["library"]\n'


async def test_a_program_opens_a_home_only_while_it_is_on(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(OFF)
    with pytest.raises(ConfigError, match=r"programs cannot open .* nanobot plugins on library"):
        async with Agent.open(tmp_path, provider=ScriptedProvider()):
            pass
    (tmp_path / "config.toml").write_text("")
    async with Agent.open(tmp_path, provider=ScriptedProvider()) as agent:
        assert (await agent.run(HELLO)).status == "completed"


async def test_a_gateway_and_a_loop_without_a_home_do_not_need_it(tmp_path: Path) -> None:
    async with serving(tmp_path / "home", OFF) as parts:
        assert await asked(parts, "hello") == "completed"
    loop = AgentLoop(provider=ScriptedProvider(), workspace=tmp_path / "w")
    assert await loop.process_direct("hello")


@pytest.mark.parametrize(
    "path",
    [
        *("nanobot.api", "nanobot.agent.loop"),
        *("nanobot.agent.library.sessions", "nanobot.agent.library.context_builder"),
    ],
)
def test_a_promised_path_says_whose_it_is_where_the_plugin_is_not_there(path: str) -> None:
    code = (
        "import sys; sys.modules['nanobot.plugins.library'] = None\n"
        f"import {path} as there\n"
        "try: there.Agent\n"
        "except ImportError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == f"{path} belongs to the plugin library, which is not there"


def test_a_promised_path_has_the_names_of_its_module_alone() -> None:
    found = names_of("nanobot.plugins.library.sessions", "there")
    assert found("SessionManager").__name__ == "SessionManager"  # type: ignore[attr-defined]
    for name in ("Nothing", "__path__"):
        with pytest.raises(AttributeError, match=f"module 'there' has no attribute '{name}'"):
            found(name)
