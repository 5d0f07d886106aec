"""What clients of OpenAI's API do beside asking plainly: stops, formats, failures, other forms."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import openai
import pytest

from nanobot.errors import ContextOverflow, ModelRateLimited, ModelUnreachable
from nanobot.plugins.openai.answers import Cut
from nanobot.testing.machine import PATIENCE
from nanobot.testing.model import Held, ScriptedProvider, asks_for
from tests.doubles.openai_server import OpenAIServer
from tests.plugins.openai.test_openai_api import client, said
from tests.server.housing import House, house

_TOOL: Any = {"type": "function", "function": {"name": "f", "parameters": {}}}
_FAILURES = [
    (ModelRateLimited("slow down"), openai.RateLimitError, "model_busy"),
    (ContextOverflow("too long"), openai.BadRequestError, "context_length_exceeded"),
    (ModelUnreachable("nobody there"), openai.InternalServerError, "ModelUnreachable"),
]


@pytest.mark.parametrize(
    ("stops", "shown"),
    [
        (["two"], "one "),
        (["three", "two"], "one "),
        (["e t"], "on"),
        (["nothing"], "one two three"),
        (["threefold"], "one two three"),
        (["e", "one"], ""),
        ([], "one two three"),
    ],
)
@pytest.mark.parametrize("size", [1, 2, 5, 100])
def test_a_text_ends_before_the_first_stop_however_it_comes(
    stops: list[str], shown: str, size: int
) -> None:
    text, cut = "one two three", Cut(stops)
    pieces = [cut.of(text[at : at + size]) for at in range(0, len(text), size)]
    assert "".join([*pieces, cut.rest()]) == shown
    assert cut.done is (shown != text)


async def test_an_answer_ends_before_a_stop(served: House) -> None:
    async with client(served) as ai:
        whole = await ai.chat.completions.create(
            model="nanobot", messages=said("one END two"), stop="END"
        )
        assert whole.choices[0].message.content == "echo: one "
        stream = await ai.chat.completions.create(
            model="nanobot", messages=said("one END two"), stop=["x", "END"], stream=True
        )
        chunks = [chunk.choices[0] async for chunk in stream]
    assert "".join(chunk.delta.content or "" for chunk in chunks) == "echo: one "
    assert chunks[-1].finish_reason == "stop"


async def test_what_nobody_could_promise_is_refused_by_its_name(served: House) -> None:
    form: Any = {"type": "json_object"}
    async with client(served) as ai:
        for options in (
            {"response_format": form},
            {"n": 2},
            {"tools": [_TOOL]},
            {"messages": [*said("a"), {"role": "tool", "content": "b", "tool_call_id": "1"}]},
            {"stop": ["x"] * 17},
        ):
            request: Any = {"model": "nanobot", "messages": said("hi"), **options}
            for stream in (False, True):
                with pytest.raises(openai.BadRequestError) as refused:
                    await ai.chat.completions.create(**request, stream=stream)
                assert refused.value.param == next(iter(options)), options
                assert refused.value.type == "invalid_request_error"
        for options in (
            {"text": {"format": {"type": "json_schema", "name": "x", "schema": {}}}},
            {"conversation": "conv_1"},
            {"prompt": {"id": "pmpt_1"}},
            {"input": []},
            {"input": [{"type": "item_reference", "id": "x"}]},
        ):
            request = {"model": "nanobot", "input": "hi", **options}
            with pytest.raises(openai.BadRequestError) as refused:
                await ai.responses.create(**request)
            assert refused.value.param == next(iter(options)), options


async def test_what_changes_nothing_is_taken(served: House) -> None:
    more = {"temperature": 2, "seed": 1, "user": "x", "metadata": {"a": "b"}, "foo": [1]}
    async with client(served) as ai:
        done = await ai.chat.completions.create(
            model="nanobot",
            messages=[{"role": "developer", "content": "Be brief."}, *said("hi")],
            tools=[_TOOL],
            tool_choice="none",
            response_format={"type": "text"},
            max_completion_tokens=5,
            extra_body=more,
        )
        assert done.choices[0].message.content == "echo: hi"
        answer = await ai.responses.create(
            model="nanobot", input="hi", text={"verbosity": "low"}, store=False, extra_body=more
        )
        assert answer.output_text == "echo: hi"


async def test_a_refusal_is_part_of_what_was_said_and_thoughts_are_not(tmp_path: Path) -> None:
    provider = ScriptedProvider("one", "two")
    refused: Any = [{"type": "refusal", "refusal": "I will not."}]
    items: Any = [
        {"type": "message", "role": "user", "content": "Do it."},
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "AAAA"},
        {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed"},
        {"type": "message", "role": "user", "content": "Why?"},
    ]
    items[2]["content"] = refused
    chat: Any = [*said("Do it."), {"role": "assistant", "content": refused}, *said("Why?")]
    async with house(tmp_path / "home", provider) as served, client(served) as ai:
        await ai.responses.create(model="nanobot", input=items)
        await ai.chat.completions.create(model="nanobot", messages=chat)
    for request in provider.requests:
        shown = [(message.role, message.content) for message in request.messages]
        assert ("assistant", "I will not.") in shown


@pytest.mark.parametrize(("failure", "kind", "code"), _FAILURES)
@pytest.mark.parametrize("stream", [False, True])
async def test_a_model_that_fails_is_told_as_that_api_tells_it_and_asked_once(
    tmp_path: Path, failure: Exception, kind: type[openai.APIStatusError], code: str, stream: bool
) -> None:
    provider = ScriptedProvider(*[failure] * 9)
    async with house(tmp_path / "home", provider) as served, client(served) as once:
        ai = once.with_options(max_retries=2)
        with pytest.raises(kind) as refused:
            await ai.chat.completions.create(model="nanobot", messages=said("hi"), stream=stream)
        assert refused.value.code == code
        owner = await served.owner()
        _, runs = await owner.get("/api/runs/list")
    assert len(runs) == 1, "it was tried again here already"


async def test_a_failure_after_some_text_ends_the_stream_with_an_error(tmp_path: Path) -> None:
    script = (asks_for("list_dir", "Let me look.", path="."), ModelUnreachable("gone"))
    async with house(tmp_path / "home", ScriptedProvider(*script)) as served, client(served) as ai:
        stream = await ai.chat.completions.create(
            model="nanobot", messages=said("look"), stream=True
        )
        texts: list[str] = []

        async def read() -> None:
            async for chunk in stream:
                texts.extend(filter(None, [chunk.choices[0].delta.content]))

        with pytest.raises(openai.APIError, match="gone"):
            await read()
    assert "".join(texts) == "Let me look."


async def test_a_response_says_how_it_ended(tmp_path: Path) -> None:
    script = (
        *(ModelUnreachable("gone"), ModelUnreachable("gone")),
        *(asks_for("list_dir", "Let me look.", path="."),) * 9,
    )
    limits = "[agent]\nmax_iterations = 2"
    async with (
        house(tmp_path / "home", ScriptedProvider(*script), limits) as served,
        client(served) as ai,
    ):
        with pytest.raises(openai.InternalServerError):
            await ai.responses.create(model="nanobot", input="hi")
        stream = await ai.responses.create(model="nanobot", input="hi", stream=True)
        last = [event async for event in stream][-1]
        assert last.type == "response.failed"
        assert last.response.status == "failed"
        assert last.response.error is not None
        assert "gone" in last.response.error.message
        stream = await ai.responses.create(model="nanobot", input="hi", stream=True)
        last = [event async for event in stream][-1]
        assert last.type == "response.incomplete"
        assert last.response.incomplete_details is not None
        assert "limit" in last.response.output_text
        again = await ai.responses.retrieve(last.response.id)
        assert again.status == "incomplete"
        assert last.response.output_text.endswith(again.output_text)


async def test_a_response_is_shown_again_also_while_it_is_made(tmp_path: Path) -> None:
    held = Held("so far")
    async with house(tmp_path / "home", ScriptedProvider(held)) as served, client(served) as ai:
        stream = await ai.responses.create(model="nanobot", input="hi", stream=True)
        first = await anext(aiter(stream))
        assert first.type == "response.created"
        assert (await ai.responses.retrieve(first.response.id)).status == "in_progress"
        await held.reached.wait()
        held.answer("so far and done")
        async with asyncio.timeout(PATIENCE):
            events = [event async for event in stream]
        assert events[-1].type == "response.completed"
        again = await ai.responses.retrieve(first.response.id)
        assert (again.status, again.output_text) == ("completed", "so far and done")
        for name in ("resp_none", "none"):
            with pytest.raises(openai.NotFoundError):
                await ai.responses.retrieve(name)
        behind = await ai.responses.create(
            model="nanobot", input="more", previous_response_id=again.id
        )
        assert behind.previous_response_id == again.id


async def test_recordings_as_text_and_vectors_of_a_size(tmp_path: Path) -> None:
    async with OpenAIServer() as model:
        more = (
            f'[providers.test]\napi_base = "{model.base_url}"\n'
            '[memory]\nembedding_model = "test/vectors"\n'
            '[agent]\ntranscription_model = "test/whisper"'
        )
        home = house(tmp_path / "home", web=more, configured_models=True)
        async with home as served, client(served) as ai:
            file = ("a.ogg", b"OggS speech")
            text: Any = await ai.audio.transcriptions.create(
                model="any", file=file, language="en", response_format="text"
            )
            whole = await ai.audio.transcriptions.create(model="any", file=file)
            assert text.strip() == whole.text
            with pytest.raises(openai.BadRequestError) as refused:
                await ai.audio.transcriptions.create(model="any", file=file, response_format="srt")
            assert refused.value.param == "response_format"
            size = len((await ai.embeddings.create(model="any", input="a")).data[0].embedding)
            same = await ai.embeddings.create(model="any", input="a", dimensions=size)
            assert len(same.data[0].embedding) == size
            for options in ({"dimensions": size + 1}, {"input": [[1, 2]]}):
                request: Any = {"model": "any", "input": "a", **options}
                with pytest.raises(openai.BadRequestError) as refused:
                    await ai.embeddings.create(**request)
                assert refused.value.param == next(iter(options))
