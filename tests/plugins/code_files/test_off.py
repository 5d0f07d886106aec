"""While the plugin is off, long code is text, and no line of it is lost."""

from __future__ import annotations

from tests.doubles.openai_server import Answer
from tests.process.harness import World

CHAT = 1
CODE = "".join(f"print({number})  # some words\n" for number in range(400))


async def test_long_code_is_text(world: World) -> None:
    world.configure(top='plugins.off = ["code_files"]')
    gateway = await world.start()
    text = f"Here it is:\n\n```python\n{CODE}```\n\nRun it."
    world.model.script = lambda _: Answer(text=text, chunks=[text])
    world.telegram.say(CHAT, "write it")
    await world.telegram.until(lambda: "Run it." in "".join(world.texts(CHAT)))
    assert await gateway.stop() == 0
    shown = "\n".join(world.texts(CHAT)).splitlines()
    assert [line for line in shown if line.startswith("print")] == CODE.splitlines()
    assert world.telegram.calls_of("sendDocument") == []
