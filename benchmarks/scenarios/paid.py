"""What a task costs of what is sent, at each provider's own prices for what it has seen before."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from loguru import logger

from benchmarks.figures import Measure, Sample, Scenario
from benchmarks.stage import BenchmarkError, Stage, Subject
from nanobot.api import Agent, RunInput
from tests.agent.prefix import shared
from tests.doubles.anthropic_server import AnthropicServer
from tests.doubles.gemini_server import GeminiServer
from tests.doubles.openai_server import Answer, Body, OpenAIServer

ROUNDS = 10
READ, WRITTEN = 0.1, 1.25
"""The price of a token that the cache gave, and of one that it took, in tokens. Reading costs a
tenth at Anthropic, OpenAI and Google; only Anthropic charges for writing
(https://platform.claude.com/docs/en/build-with-claude/prompt-caching,
https://openai.com/api/pricing, https://ai.google.dev/gemini-api/docs/pricing)."""
_STEP, _LEAST = 128, 1_024
"""Tokens: OpenAI's cache keeps prefixes of 1,024 tokens and more, in steps of 128."""
_BYTES = 4
"""Of a token, about."""


async def paid(stage: Stage, _: Subject) -> Sample:
    """A task of ten rounds through the real clients: the share of the input tokens that a provider
    charges. Reading a token from the cache costs a tenth; writing one to Anthropic's costs a
    quarter more."""
    logger.disable("nanobot")
    try:
        return {
            name: 100 * await _share(stage.folder / f"paid-{name}", server(), *settings)
            for name, (server, *settings) in _PROVIDERS.items()
        }
    finally:
        logger.enable("nanobot")


async def _share(
    folder: Path, server: OpenAIServer, provider: str, model: str, more: str, base: str
) -> float:
    server.script = lambda _: (
        Answer("Done.")
        if len(server.requests) > ROUNDS
        else Answer(tool_calls=[("list_dir", '{"path": "."}')])
    )
    async with server:
        _prepare(
            folder,
            f'[agent]\nmodel = "{provider}/{model}"\nmax_tool_rounds = 50\n'
            f"[memory]\nenabled = false\n[providers.{provider}]\n"
            f'api_key = "k"\napi_base = "{server.root}{base}"\n{more}',
        )
        async with Agent.open(folder) as agent:
            asked = [{"role": "user", "content": "Look ten times, then say that it is done."}]
            answer = await agent.run(RunInput(messages=asked, session_key="api:paid"))
    if answer.message != "Done." or len(server.requests) != ROUNDS + 1:
        raise BenchmarkError(f"{provider} was asked {len(server.requests)} times")
    return _counted(server)


def _prepare(folder: Path, config: str) -> None:
    (folder / "workspace").mkdir(parents=True)
    (folder / "config.toml").write_text(config)
    for number in range(40):
        (folder / "workspace" / f"notes-of-day-{number}.md").write_text("a line\n")


def _counted(server: OpenAIServer) -> float:
    if isinstance(server, AnthropicServer):
        usages = server.usages
        fresh = sum(usage["input_tokens"] for usage in usages)
        read = sum(usage["cache_read_input_tokens"] for usage in usages)
        written = sum(usage["cache_creation_input_tokens"] for usage in usages)
        return (fresh + READ * read + WRITTEN * written) / (fresh + read + written)
    order = _GEMINI if isinstance(server, GeminiServer) else _OPENAI
    return _by_prefix([_cached_as(body, order) for body in server.requests])


def _by_prefix(requests: Sequence[bytes]) -> float:
    total = sum(len(request) // _BYTES for request in requests)
    cached = 0
    for before, after in pairwise(requests):
        same = shared(before, after) // _BYTES
        cached += same // _STEP * _STEP if same >= _LEAST else 0
    return (total - cached + READ * cached) / total


def _cached_as(body: Body, order: Sequence[str]) -> bytes:
    """The parts of a request in the order in which the provider's cache sees them, without the
    brackets that end a list: the next request goes on there."""
    parts: list[Any] = [body.get(name) for name in order]
    return b"".join(json.dumps(part).rstrip("]").encode() for part in parts)


_OPENAI = ("tools", "messages")
_GEMINI = ("systemInstruction", "tools", "contents")
_PROVIDERS: dict[str, tuple[Callable[[], OpenAIServer], str, str, str, str]] = {
    "anthropic": (AnthropicServer, "anthropic", "claude-sonnet-5-5", "", ""),
    "gemini": (GeminiServer, "gemini", "gemini-3.8-flash", "", "/v1beta"),
    "openai": (OpenAIServer, "openai", "gpt-6-luna", "", "/v1"),
    "litellm": (
        AnthropicServer,
        "anthropic",
        "claude-haiku-4-5",
        'client = "litellm"\n',
        "",
    ),
}

PAID = Scenario(
    "paid",
    (
        Measure("anthropic", "input tokens paid in ten rounds, Claude natively", "%"),
        Measure("gemini", "input tokens paid in ten rounds, Gemini natively", "%"),
        Measure("openai", "input tokens paid in ten rounds, OpenAI-compatible", "%"),
        Measure("litellm", "input tokens paid in ten rounds, Claude by litellm", "%"),
    ),
    paid,
    subjects=(Subject.NANOBOT,),
    once=True,
)
