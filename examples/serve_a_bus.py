"""A MessageBus with an AgentLoop behind it: its arguments are asked one by one."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

from nanobot import AgentLoop, InboundMessage, MessageBus
from nanobot.providers.litellm_provider import LiteLLMProvider


async def answer(bus: MessageBus, lines: list[str]) -> None:
    for line in lines:
        await bus.publish_inbound(InboundMessage(channel="app", chat_id="7", content=line))
        print((await bus.consume_outbound()).text)


async def main(lines: list[str]) -> None:
    bus = MessageBus()
    provider = LiteLLMProvider(
        api_key=os.environ["OPENAI_API_KEY"],
        default_model=f"openai/{os.environ['MODEL']}",
        api_base=os.environ["OPENAI_BASE_URL"],
    )
    workspace = Path(os.environ.get("WORKSPACE", "."))
    agent = AgentLoop(bus=bus, provider=provider, workspace=workspace, max_iterations=20)
    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, agent.stop)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(agent.run())
        await answer(bus, lines)
        agent.stop()
    await provider.close()
    await bus.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
