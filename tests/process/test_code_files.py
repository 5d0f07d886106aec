"""Long code over Telegram: text, then a file, through kill -9 at each step between them."""

from __future__ import annotations

import pytest

from tests.doubles.openai_server import Answer
from tests.process.harness import World

CODE = "".join(f"print({number})  # some words\n" for number in range(400))


@pytest.mark.parametrize("crash_at", ["", "begin_send", "receipt", "receipt:2"])
async def test_the_text_and_the_file_arrive_once_or_say_that_they_may_be_repeats(
    world: World, crash_at: str
) -> None:
    first = await world.launch(crash_at=crash_at) if crash_at else await world.start()
    text = f"Here it is:\n\n```python\n{CODE}```\n\nRun it."
    world.model.script = lambda _: Answer(text=text, chunks=[text])
    world.telegram.say(1, "write it")
    gateway = first
    if crash_at:
        await first.died()
        gateway = await world.start()
    shown = world.telegram.messages
    await world.telegram.until(lambda: bool(shown(1)) and shown(1)[-1].file is not None)
    assert await gateway.stop() == 0
    texts = [message for message in shown(1) if message.file is None and "Run it." in message.text]
    files = [message.file for message in shown(1) if message.file is not None]
    marks = [message for message in shown(1) if "may be a repeat" in message.text]
    assert {(file.name, file.content) for file in files} == {("code.py", CODE.encode())}
    assert len(texts) + len(files) == 2 + len(marks)
    assert CODE not in "".join(message.text for message in shown(1))
    world.verify()
