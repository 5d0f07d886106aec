"""A run with options of its own, watched and approved; asked again by its id, it is known."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Annotated

from nanobot import Agent, Effect, EventKind, RunInput, RunLimits, ToolPolicy, tool
from nanobot.providers.openai_compat import OpenAICompatProvider
from nanobot.system import SystemClock


@tool(effect=Effect.NONE, taints=False)
def stock(article: Annotated[str, "its number"]) -> str:
    """How many of an article are there."""
    return f"12 of {article}"


async def main(question: str, home: str) -> None:
    provider = OpenAICompatProvider(
        "openai", os.environ["OPENAI_BASE_URL"], os.environ["OPENAI_API_KEY"], clock=SystemClock()
    )
    request = RunInput(
        messages=[{"role": "user", "content": question}],
        run_id="stock-1",
        allowed_tools=("stock",),
        tool_policy=ToolPolicy(require_approval_by_default=True),
        limits=RunLimits(max_iterations=5, max_run_ms=60_000),
    )
    async with Agent.open(home, provider=provider, model=os.environ["MODEL"], tools=[stock]) as me:
        async for event in me.run_stream(request):
            print(f"{event.seq} {event.kind}")
            if event.kind is EventKind.APPROVAL:
                await me.decide(event.payload["id"], approve=True)
        result = await me.run(request)  # what is recorded
    print(f"{result.status}: {result.message}")
    await provider.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2]))
