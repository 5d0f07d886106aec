"""What the lean client does when calls go wrong: waits, asks again, gives up, says why."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import format_datetime

import msgspec
import pytest

from nanobot.errors import (
    ContextOverflow,
    ModelProtocolError,
    ModelRateLimited,
    ModelRefused,
    ModelUnreachable,
)
from nanobot.providers.base import Completion, Retrying
from nanobot.providers.openai_compat import OpenAICompatProvider
from nanobot.providers.retrying import CallPolicy
from nanobot.testing.machine import ManualClock
from tests.doubles.openai_server import (
    Answer,
    Fault,
    OpenAIServer,
    error_in_stream,
    error_status,
    events,
    sse,
)
from tests.providers.asking import KEY, ask, everything


async def test_two_failures_are_followed_by_an_answer_within_three_seconds(
    provider: OpenAICompatProvider, server: OpenAIServer, clock: ManualClock
) -> None:
    server.fail_with(error_status(500), error_status(500))
    deltas = await everything(provider, ask("say:fine"))
    assert [d.delay for d in deltas if isinstance(d, Retrying)] == clock.sleeps == [0.5, 1.0]
    assert isinstance(deltas[-1], Completion)


async def test_backoff_doubles_to_its_limit_and_then_gives_up(
    server: OpenAIServer, clock: ManualClock
) -> None:
    server.fail_with(*[error_status(503, "overloaded")] * 8)
    policy = CallPolicy(attempts=8)
    provider = OpenAICompatProvider("acme", server.base_url, clock=clock, policy=policy)
    with pytest.raises(ModelUnreachable, match="acme answered 503 for m-1: overloaded"):
        await everything(provider, ask("hello"))
    # Drawn from 80 to 120 %, so that calls that failed together are not repeated together.
    shares = [s / whole for s, whole in zip(clock.sleeps, (0.5, 1, 2, 4, 8, 16, 16), strict=True)]
    assert all(0.8 <= share <= 1.2 for share in shares)
    assert len(set(shares)) > 1
    await provider.close()


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 529])
async def test_a_passing_failure_is_asked_again(
    provider: OpenAICompatProvider, server: OpenAIServer, status: int
) -> None:
    server.fail_with(error_status(status))
    assert (await provider.chat(ask("say:ok"))).text == "ok"
    assert len(server.requests) == 2


async def test_a_stream_cut_half_way_is_asked_again(
    provider: OpenAICompatProvider, server: OpenAIServer
) -> None:
    server.fail_with(Fault(cut_after=2))
    deltas = await everything(provider, ask("say:one two"))
    kinds = [type(delta) for delta in deltas]
    assert kinds.index(Retrying) < kinds.index(Completion)
    assert deltas[-1] == Completion(text="one two", usage=deltas[-1].usage)  # type: ignore[union-attr]


async def test_a_finish_reason_is_an_end_even_without_done(
    provider: OpenAICompatProvider, server: OpenAIServer
) -> None:
    server.fail_with(Fault(raw=sse(events(Answer("whole")), done=False)))
    assert (await provider.chat(ask("hello"))).text == "whole"
    assert len(server.requests) == 1


async def test_a_server_that_lingers_after_its_end_is_not_waited_for(
    provider: OpenAICompatProvider, server: OpenAIServer
) -> None:
    whole = len(events(Answer("a b"), usage={}))
    server.fail_with(Fault(answer=Answer("a b"), hang_after=whole - 1))
    policy = CallPolicy(stall_seconds=0.05)
    impatient = OpenAICompatProvider("acme", server.base_url, clock=ManualClock(), policy=policy)
    assert (await impatient.chat(ask("hello"))).text == "a b"
    assert len(server.requests) == 1
    await impatient.close()


async def test_silence_is_asked_again_and_then_unreachable(server: OpenAIServer) -> None:
    server.fail_with(Fault(hang=True), Fault(hang_after=2), Fault(hang_after=1))
    policy = CallPolicy(attempts=3, first_token_seconds=0.05, stall_seconds=0.05)
    provider = OpenAICompatProvider("acme", server.base_url, clock=ManualClock(), policy=policy)
    with pytest.raises(ModelUnreachable, match="no answer in time"):
        await provider.chat(ask("hello"))
    assert len(server.requests) == 3
    await provider.close()


async def test_where_nothing_listens_it_is_given_up_soon_and_names_the_setting(
    unused_tcp_port: int, clock: ManualClock
) -> None:
    base = f"http://127.0.0.1:{unused_tcp_port}/v1"
    provider = OpenAICompatProvider("acme", base, clock=clock)
    with pytest.raises(ModelUnreachable, match=r"providers\.acme\.api_base"):
        await provider.chat(ask("hello"))
    assert len(clock.sleeps) == 2
    await provider.close()


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ({"retry_after": "7"}, 7.0),
        ({"retry_after": "7.5"}, 7.5),
        ({"retry_after_ms": "2500"}, 2.5),
        (
            {
                "retry_after": format_datetime(
                    datetime.fromtimestamp(1_800_000_009, UTC), usegmt=True
                )
            },
            9.0,
        ),
        ({"retry_after": "0"}, 0.5),
        ({"retry_after": "-3"}, 0.5),
        ({"retry_after": "soon"}, 0.5),
        ({"retry_after": "nan"}, 0.5),
    ],
)
async def test_retry_after_is_obeyed(
    provider: OpenAICompatProvider,
    server: OpenAIServer,
    clock: ManualClock,
    header: dict[str, str],
    seconds: float,
) -> None:
    server.fail_with(error_status(429, "slow down", None, **header))
    await provider.chat(ask("hello"))
    assert clock.sleeps == [seconds]


async def test_a_wish_to_wait_longer_than_a_minute_is_handed_on(
    provider: OpenAICompatProvider, server: OpenAIServer, clock: ManualClock
) -> None:
    server.fail_with(error_status(429, "slow down", None, retry_after="3600"))
    with pytest.raises(ModelRateLimited) as caught:
        await provider.chat(ask("hello"))
    assert caught.value.retry_after == 3600.0
    assert clock.sleeps == []


async def test_rate_limits_to_the_end_say_so(
    provider: OpenAICompatProvider, server: OpenAIServer
) -> None:
    server.fail_with(*[error_status(429, "slow down", None, retry_after="2")] * 6)
    with pytest.raises(ModelRateLimited, match="slow down") as caught:
        await provider.chat(ask("hello"))
    assert caught.value.retry_after == 2.0


@pytest.mark.parametrize(
    ("status", "code", "words"),
    [
        (400, None, "report this"),
        (401, "invalid_api_key", r"providers\.acme\.api_key"),
        (403, None, r"providers\.acme\.api_key"),
        (402, None, "Add credit"),
        (404, "model_not_found", r"agent\.model"),
        (429, "insufficient_quota", "Add credit"),
        (308, None, "has moved"),
    ],
)
async def test_a_refusal_is_final_and_says_who_why_and_what_to_do(
    provider: OpenAICompatProvider, server: OpenAIServer, status: int, code: str | None, words: str
) -> None:
    server.fail_with(error_status(status, f"I dislike {KEY} very much. " + "x" * 900, code))
    with pytest.raises(ModelRefused, match=words) as caught:
        await provider.chat(ask("hello"))
    message = str(caught.value)
    assert f"acme answered {status}" in message
    assert "I dislike [key] very much." in message
    assert KEY not in message
    assert len(message) < 600
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("status", "text"),
    [
        (400, "This model's maximum context length is 8192 tokens. However, you requested 9000"),
        (400, "prompt is too long: 210000 tokens > 200000 maximum"),
        (400, "request (4031 tokens) exceeds the available context size (2048 tokens)"),
        (400, "The input token count (1200000) exceeds the maximum number of tokens allowed"),
        (400, "Please reduce the length of the messages or completion."),
        (413, "Request too large for model `x` on tokens per minute (TPM): Limit 6000"),
        (413, "payload too large"),
        (500, "the prompt is larger than the context window"),
        # xAI, Moonshot, DashScope, Z.ai (in two languages), vLLM, Poolside, Vertex, TGI, Baidu, Ark
        (
            400,
            "This model's maximum prompt length is 131072 but the request contains 136973 tokens.",
        ),
        (
            400,
            "Invalid request: Your request exceeded model token limit: 262144 (requested: 300000)",
        ),
        (400, "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 9]"),
        (400, "Prompt exceeds max length"),
        (400, "Prompt 超长"),
        (400, "The decoder prompt (length 10127) is longer than the maximum model length of 8192."),
        (400, "Input length 131393 exceeds the maximum allowed input length of 131040 tokens."),
        (400, "the input token count is 1200000 but the model only supports up to 1048576"),
        (422, "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096."),
        (422, "Input validation error: `inputs` must have less than 1024 tokens. Given: 1500"),
        (400, "prompt tokens too long"),
        (400, "Total tokens of image and text exceed max message tokens"),
        (400, "Too many tokens: the prompt has 9000"),
    ],
)
async def test_a_prompt_that_does_not_fit_is_an_overflow(
    provider: OpenAICompatProvider, server: OpenAIServer, status: int, text: str
) -> None:
    server.fail_with(error_status(status, text))
    with pytest.raises(ContextOverflow):
        await provider.chat(ask("hello"))
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "text",
    ["Too many tokens, please wait before trying again.", "Too many tokens per day"],
)
async def test_too_many_tokens_in_a_time_are_a_rate(
    provider: OpenAICompatProvider, server: OpenAIServer, text: str
) -> None:
    server.fail_with(error_status(429, text))
    assert (await provider.chat(ask("say:ok"))).text == "ok"
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    "body",
    [
        '{"error": "bare words"}',
        '[{"error": {"message": "bare words"}}]',
        "<p>bare words</p>",
        '{"object": "error", "message": "bare words"}',
        '{"detail": "bare words"}',
        "bare words",
    ],
)
async def test_errors_of_every_shape_are_quoted(
    provider: OpenAICompatProvider, server: OpenAIServer, body: str
) -> None:
    server.fail_with(Fault(status=400, body=body))
    with pytest.raises(ModelRefused, match=r"for m-1: bare words Asking"):
        await provider.chat(ask("hello"))


async def test_an_error_object_in_the_stream_is_asked_again(
    provider: OpenAICompatProvider, server: OpenAIServer
) -> None:
    server.fail_with(error_in_stream("upstream died", 502), error_in_stream("odd"))
    assert (await provider.chat(ask("say:ok"))).text == "ok"
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("message", "code", "error"),
    [
        ("no such key", 401, ModelRefused),
        ("no such key", "invalid_api_key", ModelRefused),
        ("too long", "context_length_exceeded", ContextOverflow),
        ("pay", "insufficient_quota", ModelRefused),
    ],
)
async def test_a_final_error_object_in_the_stream_is_final(
    provider: OpenAICompatProvider,
    server: OpenAIServer,
    message: str,
    code: int | str,
    error: type[Exception],
) -> None:
    server.fail_with(error_in_stream(message, code))
    with pytest.raises(error):
        await provider.chat(ask("hello"))
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "raw",
    [
        b"<html>hello</html>",
        b"data: {broken\n\n",
        b'{"choices": [',
        b'{"id": "x"}',
        b'data: {"choices": 7}\n\ndata: [DONE]\n\n',
        b'data: {"choices": [{"delta": {"content": 7.5, "tool_calls": "x"}}]}\n\n',
        b"data: " + b"[" * 5_000 + b"\n\n",
    ],
)
async def test_what_is_no_answer_is_asked_again_and_then_a_protocol_error(
    provider: OpenAICompatProvider, server: OpenAIServer, raw: bytes
) -> None:
    server.fail_with(*[Fault(raw=raw)] * 3)
    with pytest.raises(ModelProtocolError, match=r"providers\.acme\.api_base"):
        await provider.chat(ask("hello"))
    assert len(server.requests) == 3


async def test_an_endless_stream_is_stopped(server: OpenAIServer, clock: ManualClock) -> None:
    server.fail_with(Fault(endless=True))
    policy = CallPolicy(max_bytes=1_000_000)
    provider = OpenAICompatProvider("acme", server.base_url, clock=clock, policy=policy)
    with pytest.raises(ModelProtocolError, match="1000000 bytes"):
        await provider.chat(ask("hello"))
    assert len(server.requests) == 1
    await provider.close()


@pytest.mark.parametrize(
    ("name", "offered"),
    [
        ("llama3", "llama-3.3-70b"),
        ("llama-3.3-70", "llama-3.3-70b"),
        ("qwen/qwen3-32", "qwen/qwen3-32b"),
        ("GPT-OSS-120b", "openai/gpt-oss-120b"),
    ],
)
async def test_for_a_model_that_is_not_there_the_nearest_are_offered(
    provider: OpenAICompatProvider, server: OpenAIServer, name: str, offered: str
) -> None:
    server.models = ["llama-3.3-70b", "qwen/qwen3-32b", "openai/gpt-oss-120b", "whisper-large"]
    server.fail_with(error_status(404, "no such model", "model_not_found"))
    request = msgspec.structs.replace(ask("hello"), model=name)
    with pytest.raises(ModelRefused, match=f'It has "{offered}"'):
        await provider.chat(request)


async def test_an_unknown_address_is_not_taken_for_an_unknown_model(server: OpenAIServer) -> None:
    base = server.base_url.replace("/v1", "/v2")
    provider = OpenAICompatProvider("acme", base, clock=ManualClock())
    with pytest.raises(ModelRefused, match=r"404.*Check the model's name.*api_base\.$"):
        await provider.chat(ask("hello"))
    await provider.close()
