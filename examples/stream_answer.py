"""Ask an agent of one's own, without a bus, and show its answer while it is written."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from nanobot import AgentLoop, ContextBuilder, PersonaConfig, RunFailed
from nanobot.providers.openai_compat import OpenAICompatProvider
from nanobot.system import SystemClock


async def main(question: str) -> int:
    workspace = Path(os.environ.get("WORKSPACE", "."))
    provider = OpenAICompatProvider(
        "openai", os.environ["OPENAI_BASE_URL"], os.environ["OPENAI_API_KEY"], clock=SystemClock()
    )
    agent = AgentLoop(
        provider=provider,
        workspace=workspace,
        model=os.environ["MODEL"],
        context_builder=ContextBuilder(workspace, persona_config=PersonaConfig(ai_name="Tess")),
        max_iterations=25,  # also the most tool calls of one answer
        restrict_to_workspace=True,
    )
    try:
        async for piece in agent.process_message(question, "cli:example", raise_errors=True):
            print(piece, end="", flush=True)
        print()
    except RunFailed as error:
        print(f"\n{error.reason}: {error}", file=sys.stderr)
        return 1
    finally:
        await agent.close()
        await provider.close()
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(" ".join(sys.argv[1:]))))
