"""The official client of OpenAI's API talks to a gateway."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import httpx
import openai
import pytest

from nanobot.providers.base import Completion, Usage
from nanobot.testing.machine import PATIENCE
from nanobot.testing.model import Held, ScriptedProvider, asks_for
from tests.doubles.openai_server import OpenAIServer
from tests.server.housing import TOKEN, House, house


@asynccontextmanager
async def client(served: House, key: str = TOKEN) -> AsyncIterator[openai.AsyncOpenAI]:
    async with (
        httpx.AsyncClient(trust_env=False) as http,
        openai.AsyncOpenAI(
            base_url=f"{served.url}/v1", api_key=key, http_client=http, max_retries=0
        ) as opened,
    ):
        yield opened


def said(*texts: str) -> list[Any]:
    roles = ("user", "assistant")
    return [{"role": roles[n % 2], "content": text} for n, text in enumerate(texts)]


async def test_a_chat_is_answered(served: House) -> None:
    async with client(served) as ai:
        models = [model.id async for model in ai.models.list()]
        assert models == ["nanobot"]
        assert (await ai.models.retrieve("nanobot")).id == "nanobot"
        done = await ai.chat.completions.create(model="nanobot", messages=said("hello"))
    assert done.choices[0].message.content == "echo: hello"
    assert done.choices[0].finish_reason == "stop"
    assert done.usage is not None


async def test_a_chat_is_streamed(tmp_path: Path) -> None:
    answer = Completion(text="one two three", usage=Usage(11, 3))
    async with house(tmp_path / "home", ScriptedProvider(answer)) as served, client(served) as ai:
        stream = await ai.chat.completions.create(
            model="nanobot",
            messages=said("count"),
            stream=True,
            stream_options={"include_usage": True},
        )
        chunks = [chunk async for chunk in stream]
    text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
    assert text == "one two three"
    assert chunks[-1].usage is not None
    assert (chunks[-1].usage.prompt_tokens, chunks[-1].usage.completion_tokens) == (11, 3)
    assert [c.choices[0].finish_reason for c in chunks if c.choices][-1] == "stop"


async def test_what_is_said_around_a_tool_comes_once_and_in_order(tmp_path: Path) -> None:
    script = (asks_for("list_dir", "Let me look.", path="."), "Nothing found.")
    async with house(tmp_path / "home", ScriptedProvider(*script)) as served, client(served) as ai:
        stream = await ai.chat.completions.create(
            model="nanobot", messages=said("look"), stream=True
        )
        text = "".join([c.choices[0].delta.content or "" async for c in stream])
    assert text == "Let me look.\n\nNothing found."


async def test_without_a_session_the_messages_are_all_there_is(served: House) -> None:
    messages = [{"role": "system", "content": "Speak like a pirate."}, *said("a", "b", "c")]
    async with client(served) as ai:
        await ai.chat.completions.create(model="nanobot", messages=messages)
        await ai.chat.completions.create(model="nanobot", messages=said("d"))
    first, second = served.provider.requests
    contents = [str(message.content) for message in first.messages]
    assert "Speak like a pirate." in contents[0]
    assert [text.splitlines()[-1] for text in contents[1:]] == ["a", "b", "c"]
    assert [str(m.content).splitlines()[-1] for m in second.messages[1:]] == ["d"]


async def test_with_a_session_only_the_last_message_is_added(served: House) -> None:
    headers = {"X-Session-Key": "web:desk"}
    async with client(served) as ai:
        for messages in (said("one"), said("one", "whatever", "two")):
            await ai.chat.completions.create(
                model="nanobot", messages=messages, extra_headers=headers
            )
    owner = await served.owner()
    _, page = await owner.get("/api/sessions/web:desk/entries")
    texts = [e["body"]["text"] for e in page["entries"] if e["kind"] == "user"]
    assert texts == ["one", "two"]
    assert "echo: one" in [str(m.content) for m in served.provider.requests[1].messages]


async def test_a_response_and_the_one_behind_it(served: House) -> None:
    async with client(served) as ai:
        first = await ai.responses.create(
            model="nanobot", input="hello", instructions="Be brief.", store=False
        )
        assert first.to_dict()["store"] is True  # every answer is in the log
        assert first.output_text == "echo: hello"
        again = await ai.responses.create(
            model="nanobot", input="and again", previous_response_id=first.id
        )
        assert again.output_text == "echo: and again"
    contents = [str(m.content) for m in served.provider.requests[1].messages]
    assert "echo: hello" in contents


async def test_a_response_is_streamed(served: House) -> None:
    async with client(served) as ai:
        items: list[Any] = [{"role": "user", "content": [{"type": "input_text", "text": "hi"}]}]
        stream = await ai.responses.create(model="nanobot", input=items, stream=True)
        events = [event async for event in stream]
    kinds = [event.type for event in events]
    assert kinds[0] == "response.created"
    assert kinds[-1] == "response.completed"
    text = "".join(event.delta for event in events if event.type == "response.output_text.delta")
    assert text == "echo: hi"
    assert [event.sequence_number for event in events] == list(range(len(events)))


async def test_what_cannot_be_is_refused_as_that_api_refuses(served: House) -> None:
    tool: Any = {"type": "function", "function": {"name": "f", "parameters": {}}}
    async with client(served) as ai:
        with pytest.raises(openai.BadRequestError, match="tools"):
            await ai.chat.completions.create(model="nanobot", messages=said("x"), tools=[tool])
        with pytest.raises(openai.NotFoundError):
            await ai.chat.completions.create(model="gpt-9", messages=said("x"))
        with pytest.raises(openai.BadRequestError):
            await ai.chat.completions.create(model="nanobot", messages=[])
        for n in (-1, 0, 2):
            with pytest.raises(openai.BadRequestError, match="n: there is one answer"):
                await ai.chat.completions.create(model="nanobot", messages=said("x"), n=n)
        with pytest.raises(openai.NotFoundError):
            await ai.responses.create(model="nanobot", input="x", previous_response_id="resp_none")
        with pytest.raises(openai.BadRequestError, match="embedding_model"):
            await ai.embeddings.create(model="any", input="x")
        with pytest.raises(openai.BadRequestError, match="transcription_model"):
            await ai.audio.transcriptions.create(model="any", file=("a.ogg", b"OggS"))
    async with client(served, "wrong") as ai:
        with pytest.raises(openai.AuthenticationError):
            await ai.models.list()
    member = await served.program("anna", "member")
    async with client(served, member.headers["Authorization"].partition(" ")[2]) as ai:
        with pytest.raises(openai.PermissionDeniedError):
            await ai.chat.completions.create(model="nanobot", messages=said("x"))


async def test_the_same_request_twice_is_one_run(served: House) -> None:
    headers = {"Idempotency-Key": "once"}
    async with client(served) as ai:
        for _ in range(2):
            done = await ai.chat.completions.create(
                model="nanobot", messages=said("hello"), extra_headers=headers
            )
            assert done.choices[0].message.content == "echo: hello"
        with pytest.raises(openai.ConflictError):
            await ai.chat.completions.create(
                model="nanobot", messages=said("other"), extra_headers=headers
            )
    assert len(served.provider.requests) == 1


async def test_the_same_request_many_times_at_once_is_one_run(served: House) -> None:
    headers = {"Idempotency-Key": "once"}
    async with client(served) as ai:
        calls = [
            ai.chat.completions.create(
                model="nanobot", messages=said("hello"), extra_headers=headers
            )
            for _ in range(10)
        ]
        answers = await asyncio.gather(*calls)
    assert {done.choices[0].message.content for done in answers} == {"echo: hello"}
    assert len({done.id for done in answers}) == 1
    assert len(served.provider.requests) == 1


async def test_whoever_leaves_a_stream_ends_its_run(tmp_path: Path) -> None:
    held = Held("so far")
    async with house(tmp_path / "home", ScriptedProvider(held)) as served:
        async with aiohttp.ClientSession(headers={"Authorization": f"Bearer {TOKEN}"}) as session:
            body = {"model": "nanobot", "messages": said("go"), "stream": True}
            async with session.post(f"{served.url}/v1/chat/completions", json=body) as response:
                await response.content.readline()
                await held.reached.wait()
        async with asyncio.timeout(PATIENCE):
            while served.parts.engine.running():
                held.say(" more")
                await asyncio.sleep(0.01)


async def test_vectors_and_recordings_where_a_model_is_configured(tmp_path: Path) -> None:
    async with OpenAIServer() as model:
        more = (
            f'[providers.test]\napi_base = "{model.base_url}"\n'
            '[memory]\nembedding_model = "test/vectors"\n'
            '[agent]\ntranscription_model = "test/whisper"'
        )
        home = house(tmp_path / "home", web=more, configured_models=True)
        async with home as served, client(served) as ai:
            vectors = await ai.embeddings.create(model="any", input=["a", "b"])
            assert [row.index for row in vectors.data] == [0, 1]
            assert len(vectors.data[0].embedding) == len(vectors.data[1].embedding) > 0
            words = await ai.audio.transcriptions.create(
                model="any", file=("a.ogg", b"OggS speech")
            )
            assert words.text
