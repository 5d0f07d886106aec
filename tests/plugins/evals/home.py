"""A home whose models are scripted ones over the wire, and a case that they are asked."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from nanobot.app.gateway import Gateway
from nanobot.app.gateway_parts import Parts
from nanobot.config.loader import load
from nanobot.ports import Clock
from tests.doubles.openai_server import Answer, Body, OpenAIServer

WEATHER = """
name = "weather"

[[messages]]
role = "user"
content = "Will it rain in Oslo?"

[[tools]]
name = "web_search"
parameters = { type = "object", properties = { query = { type = "string" } } }

[[tools]]
name = "message"

[[recorded]]
tool = "web_search"
arguments = { query = "Oslo weather" }
result = "Heavy rain all day."

[[checks]]
called = "web_search"
arguments = { query = "/oslo|Oslo/" }
before = "message"

[[checks]]
never = "exec"

[[checks]]
contains = "rain"
"""

CONFIG = """
[web]
enabled = false

[agent]
zone = "UTC"
model = "fake/good"
remember = "off"

[providers.fake]
api_key = "sk-test"
api_base = "{url}"
client = "lean"

[providers.fake.prices]
good = {{ prompt = 10.0, completion = 10.0 }}
bad = {{ prompt = 10.0, completion = 10.0 }}
"""


def text_of(body: Body) -> str:
    """All that a model is shown."""
    return "\n".join(str(message.get("content")) for message in body["messages"])


def told(body: Body) -> list[str]:
    """What tools answered it."""
    return [each["content"] for each in body["messages"] if each["role"] == "tool"]


def asks_search(query: str = "Oslo weather") -> Answer:
    return Answer(tool_calls=[("web_search", f'{{"query": "{query}"}}')])


def forecast(body: Body) -> Answer:
    """`good` looks it up; `bad` guesses."""
    if body["model"].endswith("bad"):
        return Answer("It will be sunny.")
    results = told(body)
    return Answer(f"Yes: {results[0]}") if results else asks_search()


class EvalHome:
    """One home."""

    def __init__(self, folder: Path, server: OpenAIServer) -> None:
        self.folder = folder
        self.server = server
        self.environ: dict[str, str] = {"NANOBOT_HOME": str(folder)}
        (folder / "evals").mkdir(parents=True)
        self.configure()

    def configure(self, more: str = "") -> None:
        config = CONFIG.format(url=self.server.base_url) + more
        (self.folder / "config.toml").write_text(config)

    def case(self, text: str, name: str = "weather") -> Path:
        place = self.folder / "evals" / f"{name}.toml"
        place.write_text(text)
        return place

    @asynccontextmanager
    async def serving(self, clock: Clock | None = None) -> AsyncIterator[Parts]:
        gateway = Gateway(load(self.environ), self.environ, channels=False, clock=clock)
        async with gateway.serving("a test", lambda _line: None) as parts:
            yield parts

    async def call(self, name: str, **arguments: Any) -> Any:
        async with self.serving() as parts:
            return await parts.operations.call(name, arguments)
