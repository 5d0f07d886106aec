"""A question that was decided says who decided what, and has no buttons any more."""

from __future__ import annotations

import msgspec
import pytest

from nanobot.channels.repeats import REPEAT_LINE
from nanobot.errors import ChatGone, NotSent, OutcomeUnknown, Refused
from nanobot.plugins.approvals.ask_user import ask_tool
from nanobot.testing import gateway
from nanobot.testing.gateway import FakeGateway
from nanobot.testing.model import ScriptedProvider, asks_for
from nanobot.testing.platform import MEMBER, OWNER, FakePlatform
from nanobot.tools.base import AnyTool
from tests.agent.tooling import Recorder

ASKS = "May I do this? (#1)"


def risky() -> list[AnyTool]:
    return [msgspec.structs.replace(Recorder().tool("act"), risk="high")]


def provider() -> ScriptedProvider:
    return ScriptedProvider("hi", asks_for("act", text="now"), "It is done.", "And on.")


async def ask(bot: FakeGateway) -> None:
    """A member's call waits: their chat and the owner's are asked."""
    await bot.channel.push("hello", chat="9")
    await bot.channel.pop("9")
    await bot.channel.push("act", sender=MEMBER)
    for chat in ("1", "9"):
        assert ASKS in (await bot.channel.pop(chat)).text


def questions(bot: FakeGateway) -> list[str]:
    return [message.text for message in bot.channel.sent if ASKS in message.text]


@pytest.mark.parametrize(
    ("order", "word"), [("/approve 1", "Approved by Own"), ("/deny 1", "Denied by Own")]
)
async def test_wherever_it_was_asked_it_says_so(order: str, word: str) -> None:
    platform = FakePlatform()
    async with gateway(provider(), platform, tools=risky()) as bot:
        await ask(bot)
        await bot.channel.push(order, chat="9", sender=OWNER)
        await bot.settle()
        assert len(platform.edits) == 2
        for text in questions(bot):
            assert text.rpartition("\n\n")[2].startswith(word[:8])
            assert "/approve" not in text.rpartition("\n\n")[2]


async def test_what_may_be_a_repeat_says_so_also_once_it_was_decided() -> None:
    platform = FakePlatform()
    async with gateway(provider(), platform, tools=risky()) as bot:
        platform.fail(OutcomeUnknown("no answer"), applied=True)
        await ask(bot)
        await bot.settle()
        await bot.channel.push("/approve 1", chat="9", sender=OWNER)
        await bot.settle()
        here = [message.text for message in platform.sent if message.address.chat_id == "1"]
        question, decided, _ = here
        assert ASKS in question
        assert decided.endswith(f"\n\nApproved by name of {OWNER}\n\n{REPEAT_LINE}")


async def test_an_answer_to_a_question_is_shown_in_it(platform: FakePlatform) -> None:
    asking = asks_for("ask_user", question="Which colour?", choices=["red", "blue"])
    model = ScriptedProvider(asking, "Blue it is.")
    async with gateway(model, platform, tools=[ask_tool()]) as bot:
        await bot.channel.push("paint it")
        await bot.settle()
        assert platform.sent[0].text.startswith("Which colour?")
        await bot.channel.push("/answer 1 2")
        await bot.settle()
        assert platform.sent[0].text.endswith(": blue")


@pytest.mark.parametrize(
    "error", [NotSent("429", retry_after=3), Refused("too old"), ChatGone("x")]
)
async def test_a_platform_that_refuses_the_change_loses_nothing_else(error: Exception) -> None:
    platform = FakePlatform()
    platform.edit_failures.extend([error] * 4)
    async with gateway(provider(), platform, tools=risky()) as bot:
        await ask(bot)
        await bot.channel.push("/approve 1", chat="9", sender=OWNER)
        await bot.settle()
        assert "It is done." in [message.text for message in bot.channel.sent]
