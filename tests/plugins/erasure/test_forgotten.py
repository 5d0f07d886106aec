"""Nothing that the process still refers to has the words of a conversation that was erased."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from nanobot.agent.model_calls import ModelCaller
from nanobot.forgetting import forget
from nanobot.providers.base import ChatMessage, ModelRequest
from nanobot.providers.openai_request import Quirks, Written, encode_request
from nanobot.testing import gateway
from nanobot.testing.model import ScriptedProvider
from tests.plugins.erasure.erasers import ERASING
from tests.plugins.erasure.test_deleting import delete, talk

_WORDS = "marmots polish seven zithers"
_IN_BYTES = _WORDS.encode()


def _holders() -> Iterator[object]:
    """What refers to something with these words, also through what the collector does not track:
    texts, bytes, and structs that have nothing else."""
    gc.collect()
    for holder in gc.get_objects():
        inside = [each for each in gc.get_referents(holder) if not gc.is_tracked(each)]
        while inside:
            each = inside.pop()
            if isinstance(each, str | bytes):
                there = _WORDS in each if isinstance(each, str) else _IN_BYTES in each
                if there and each is not _WORDS and each is not _IN_BYTES:
                    yield holder
            elif not isinstance(each, type):
                inside += [one for one in gc.get_referents(each) if not gc.is_tracked(one)]


@pytest.mark.process
async def test_no_object_has_the_words_of_a_deleted_conversation() -> None:
    model = ScriptedProvider()
    async with gateway(model, options=ERASING) as bot:
        await talk(bot, f"remember: {_WORDS}")
        await talk(bot, "and now?")
        assert [*_holders()]
        await delete(bot, "fake:1")
        await bot.settle()
        bot.channel.sent.clear()
        bot.channel.attempts.clear()
        model.requests.clear()
        left = [(type(each), str(each)[:300]) for each in _holders()]
        assert left == []


@pytest.mark.process
def test_what_was_written_for_a_model_is_forgotten() -> None:
    written = Written()
    said = [ChatMessage(role="user", content=f"{number}: {_WORDS}") for number in range(3)]
    encode_request(ModelRequest(model="m", messages=tuple(said)), Quirks(), written)
    del said
    assert [*_holders()]
    forget()
    assert [*_holders()] == []


async def test_prompts_that_are_kept_for_the_next_calls_are_forgotten() -> None:
    """They contain files of the workspace, memories among them."""
    async with gateway(options=ERASING) as bot:
        await talk(bot, "hello")
        callers = [each for each in gc.get_objects() if isinstance(each, ModelCaller)]
        kept = [caller._snapshots for caller in callers if caller._snapshots]
        assert kept
        forget()
        assert not any(kept)
