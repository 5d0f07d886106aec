"""An answer at once, and work that goes on in the background until its report is told."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from nanobot import AgentLoop, InboundMessage, MessageBus, SubagentManager
from nanobot.providers.openai_compat import OpenAICompatProvider
from nanobot.system import SystemClock


async def main(question: str, task: str) -> None:
    provider = OpenAICompatProvider(
        "openai", os.environ["OPENAI_BASE_URL"], os.environ["OPENAI_API_KEY"], clock=SystemClock()
    )
    bus = MessageBus()
    agent = AgentLoop(bus, provider, Path(os.environ.get("WORKSPACE", ".")), os.environ["MODEL"])
    subagents = SubagentManager(bus, bus.tasks)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(agent.run())
        run_id = await subagents.spawn(
            task, label=task, session_key="app:7", channel="app", chat_id="7"
        )
        print(f"started {run_id}")
        await bus.publish_inbound(InboundMessage("app", "7", question))
        for _ in range(2):  # the answer, and what the model says to the report
            message = await bus.consume_outbound()
            print(message.text)
        agent.stop()
    await bus.close()
    await provider.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2]))
