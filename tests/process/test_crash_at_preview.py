"""kill -9 around a preview: the chat shows the answer once."""

from __future__ import annotations

import pytest

from nanobot.channels.repeats import REPEAT_LINE
from nanobot.plugins.progress.previews import CURSOR
from nanobot.store.journal.outbox import STOPPED_LINE
from tests.process.harness import PATIENCE, World

CHAT = 1
ANSWER = "one two three four five six seven eight"
SLOWLY = f"pace:0.25\nsay:{ANSWER}"
UNKNOWN = {"preview:after", "receipt:before"}
"""Crashes after which nobody can tell whether the preview has arrived."""


@pytest.fixture(autouse=True)
def _without_drafts(world: World) -> None:
    """A server of before there were drafts."""
    world.telegram.native.off = True


def answers(world: World) -> list[str]:
    return [text for text in world.texts(CHAT) if text.startswith(ANSWER)]


@pytest.mark.parametrize(
    "point",
    [
        "preview:after",
        "receipt:before",
        "finish:after",
        pytest.param("preview:before", marks=pytest.mark.slow),
        pytest.param("receipt:after", marks=pytest.mark.slow),
        pytest.param("finish:before", marks=pytest.mark.slow),
        pytest.param("begin_send:before", marks=pytest.mark.slow),
        pytest.param("begin_send:after", marks=pytest.mark.slow),
    ],
)
async def test_the_answer_is_shown_once(world: World, point: str) -> None:
    """The other points are among those of `make prove`."""
    world.telegram.say(CHAT, SLOWLY)
    crashing = await world.launch(crash_at=point)
    await crashing.died()
    gateway = await world.start()
    await world.telegram.until(lambda: bool(answers(world)), PATIENCE)
    await world.telegram.until(lambda: not world.telegram.pending)
    assert await gateway.stop() == 0

    (answer,) = answers(world)
    assert answer == (f"{ANSWER}\n\n{REPEAT_LINE}" if point in UNKNOWN else ANSWER)
    others = [text for text in world.texts(CHAT) if text != answer]
    assert all(text.endswith(CURSOR) for text in others)
    assert len(others) == (point == "receipt:before")
    world.verify()
    assert world.rows("SELECT key FROM outbound WHERE state != 'sent'") == []


async def test_an_answer_grows_in_one_message_and_a_stop_closes_it(world: World) -> None:
    gateway = await world.start()
    world.telegram.say(CHAT, SLOWLY)
    await world.said(CHAT, ANSWER)
    (message,) = world.telegram.messages(CHAT)
    assert message.history
    assert all(ANSWER.startswith(text.removesuffix(CURSOR).strip()) for text in message.history)

    world.telegram.say(2, f"pace:0.5\nsay:{ANSWER}")
    await world.telegram.until(lambda: bool(world.texts(2)), PATIENCE)
    world.telegram.say(2, "/stop")
    await world.telegram.until(lambda: len(world.texts(2)) == 2 and "[" in world.texts(2)[0])
    answer, notice = world.texts(2)
    assert notice == "Stopped."
    assert answer.endswith(STOPPED_LINE)
    await world.rests(gateway)
