"""What is litellm's alone: when and how it is loaded, how it is addressed, what else it can do."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from nanobot.errors import ModelMissing, ModelRefused
from nanobot.plugins.common.models.known_providers import KNOWN_PROVIDERS
from nanobot.plugins.common.models.litellm_names import NATIVE, REACHED, litellm_name
from nanobot.plugins.litellm.errors import failure_of
from nanobot.plugins.litellm.loading import INSTALL, load_litellm
from nanobot.plugins.litellm.provider import LiteLLMProvider
from nanobot.providers.base import ChatMessage, ModelRequest, ToolSpec
from nanobot.providers.openai_errors import Speaker
from nanobot.testing.machine import ManualClock
from tests.doubles.anthropic_server import AnthropicServer, refusal
from tests.doubles.openai_server import OpenAIServer, error_status

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]

loads_it = pytest.mark.process  # 4 s of a processor


@pytest.fixture
async def provider(server: OpenAIServer) -> AsyncIterator[LiteLLMProvider]:
    opened = LiteLLMProvider(
        name="openai", api_key="k", api_base=server.base_url, clock=ManualClock()
    )
    yield opened
    await opened.close()


def ask(model: str, text: str) -> ModelRequest:
    return ModelRequest(model=model, messages=(ChatMessage(role="user", content=text),))


def python(code: str) -> str:
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return ran.stdout.strip()


def test_one_module_knows_it() -> None:
    code = Path(__file__).parents[3] / "nanobot"
    loads = re.compile(r"import_module\(.litellm|^\s*(?:from|import) litellm\b", re.MULTILINE)
    found = [f for f in code.rglob("*.py") if loads.search(f.read_text("utf-8"))]
    assert found == [code / "plugins" / "litellm" / "loading.py"]


def test_it_is_not_loaded_before_it_is_needed() -> None:
    code = (
        "import sys; from nanobot.plugins.litellm.provider import LiteLLMProvider; "
        'p = LiteLLMProvider(default_model="anthropic/claude-sonnet-4-5"); p.profile(""); '
        'print([m for m in ("litellm", "openai", "pydantic") if m in sys.modules])'
    )
    assert python(code) == "[]"


async def test_without_the_package_a_call_names_the_command() -> None:
    code = (
        "import sys, asyncio; sys.modules['litellm'] = None\n"
        "from nanobot.errors import ModelMissing\n"
        "from nanobot.providers.base import ModelRequest\n"
        "from nanobot.plugins.litellm.provider import LiteLLMProvider\n"
        "ask = ModelRequest(model='m', messages=())\n"
        "try: asyncio.run(LiteLLMProvider(name='cohere').chat(ask))\n"
        "except ModelMissing as error: print(error)"
    )
    output = python(code)
    assert INSTALL in output
    assert "\n" not in output


@loads_it
def test_loading_asks_nothing_of_the_network_and_takes_no_env_file(tmp_path: object) -> None:
    code = (
        "import os, socket, sys\n"
        f"os.chdir({str(tmp_path)!r}); open('.env', 'w').write('FROM_FILE=1')\n"
        "def refuse(*a): raise AssertionError('asked the network')\n"
        "socket.socket.connect = refuse; socket.getaddrinfo = refuse\n"
        "from nanobot.plugins.litellm.loading import load_litellm\n"
        "library = load_litellm()\n"
        "print(library.telemetry, library.num_retries, len(library.model_cost) > 1000,\n"
        "      os.environ.get('FROM_FILE'))"
    )
    assert python(code) == "False 0 True None"


@loads_it
async def test_as_a_library_models_are_written_with_their_provider() -> None:
    async with AnthropicServer() as server:
        provider = LiteLLMProvider(
            api_key="k", default_model="anthropic/claude-sonnet-4-5", api_base=server.root
        )
        assert (await provider.chat(ask("", "say:one"))).text == "one"
        assert (await provider.chat(ask("anthropic/claude-haiku-4-5", "say:two"))).text == "two"
        assert [r["model"] for r in server.requests] == ["claude-sonnet-4-5", "claude-haiku-4-5"]
        assert provider.profile("").label == "anthropic/claude-sonnet-4-5"
        await provider.close()
        assert (await provider.chat(ask("", "say:again"))).text == "again"
        await provider.close()


@loads_it
async def test_an_endpoint_of_ones_own_is_taken_for_openais_kind(server: OpenAIServer) -> None:
    provider = LiteLLMProvider(name="home", api_key="k", api_base=server.base_url)
    assert (await provider.chat(ask("some/model", "say:here"))).text == "here"
    assert server.requests[0]["model"] == "some/model"
    await provider.close()


@loads_it
async def test_a_parameter_that_the_endpoint_refuses_is_left_out_from_then_on(
    provider: LiteLLMProvider, server: OpenAIServer
) -> None:
    server.fail_with(error_status(400, "Unsupported value: 'temperature' does not support 0.7"))
    for _ in range(2):
        assert (await provider.chat(ask("m-1", "say:ok"))).text == "ok"
    assert ["temperature" in body for body in server.requests] == [True, False, False]


@loads_it
async def test_texts_become_vectors(provider: LiteLLMProvider, server: OpenAIServer) -> None:
    assert await provider.embed(["a", "bcd"], "e-1") == [[1.0, 0.0], [3.0, 1.0]]
    server.fail_with(error_status(401, "no such key"))
    with pytest.raises(ModelRefused, match=r"openai answered 401 for e-1: no such key"):
        await provider.embed(["a"], "e-1")


@loads_it
async def test_speech_becomes_text(provider: LiteLLMProvider) -> None:
    assert await provider.transcribe(b"hello", "note.ogg", "w-1") == "note.ogg by w-1: hello"


@loads_it
async def test_for_a_model_that_is_not_there_the_nearest_of_its_listing_are_offered(
    provider: LiteLLMProvider, server: OpenAIServer
) -> None:
    server.models = ["llama-3.3-70b", "qwen3-32b", "gpt-oss-120b", "whisper-large"]
    server.fail_with(error_status(404, "no such model", "model_not_found"))
    with pytest.raises(ModelRefused, match=r'It has "qwen3-32b"\.'):
        await provider.chat(ask("qwen3-32", "hello"))


@loads_it
async def test_without_a_listing_the_nearest_that_litellm_knows_are_offered() -> None:
    async with AnthropicServer() as server:
        server.models = []
        server.fail_with(refusal(404, "not_found_error", "model: claude-sonet-4-5"))
        provider = LiteLLMProvider(name="anthropic", api_key="k", api_base=server.root)
        with pytest.raises(ModelRefused, match=r'Known there are .*"claude-sonnet-4-5'):
            await provider.chat(ask("claude-sonet-4-5", "hello"))
        await provider.close()


def test_a_package_that_an_adapter_misses_is_named() -> None:
    wrapped = RuntimeError("litellm.APIConnectionError: No module named 'google'")
    wrapped.__cause__ = ImportError("No module named 'google'; pip install google-auth")
    failure = failure_of(Speaker("vertex_ai", "gemini", "x"), wrapped, 0.0)
    assert isinstance(failure.error, ModelMissing)
    assert not failure.again
    assert "vertex_ai needs another Python package" in str(failure.error)
    assert "google-auth" in str(failure.error)


def test_our_names_are_litellms_or_are_translated() -> None:
    assert litellm_name("together") == "together_ai"
    assert litellm_name("bedrock") == "bedrock"
    assert litellm_name("home") is None
    assert {name for name in KNOWN_PROVIDERS if litellm_name(name) is None} == {"llamacpp"}
    assert not NATIVE & KNOWN_PROVIDERS.keys()


@loads_it
def test_every_name_in_the_list_is_litellms() -> None:
    known = {str(getattr(name, "value", name)) for name in load_litellm().provider_list}
    assert known >= REACHED


@loads_it
async def test_claude_is_told_what_to_keep_in_its_cache() -> None:
    tools = (ToolSpec("look", "Look.", {"type": "object", "properties": {}}),)
    history = [ChatMessage(role="system", content="Be brief. " * 90)]
    async with AnthropicServer() as server:
        provider = LiteLLMProvider(name="anthropic", api_key="k", api_base=server.root)
        usages = []
        for number in range(3):
            history.append(ChatMessage(role="user", content=f"say:{number} " + "and on " * 90))
            request = ModelRequest(
                model="claude-haiku-4-5", messages=tuple(history), tools=tools, max_tokens=99
            )
            answer = await provider.chat(request)
            usages.append(answer.usage)
            history.append(ChatMessage(role="assistant", content=answer.text))
        await provider.close()
        assert "cache_control" in json.dumps(server.requests[0]["system"])
        assert [usage["cache_read_input_tokens"] > 0 for usage in server.usages] == [
            False,
            True,
            True,
        ]
        counted = [(u.cached_tokens, u.cache_write_tokens) for u in usages if u is not None]
        assert counted == [
            (usage["cache_read_input_tokens"], usage["cache_creation_input_tokens"])
            for usage in server.usages
        ]
