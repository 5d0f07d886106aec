"""Memory: facts about a person or a group that outlive one conversation."""

from __future__ import annotations

from pathlib import Path

from nanobot.plugins.memory.settings import MemorySettings, RecallKeys
from nanobot.seam.plugin import Guidance, Plugin

_GUIDANCE = """\
Memory:
- Save what will still matter in a month: how people want things done, names and relations,
  decisions and their reasons, standing facts. One fact at a time, in a full sentence.
- Do not save what is only of this task, what a file says already, secrets, or guesses about people.
- Search before you say that you do not know something about the people here, or ask them again.
- When a fact turns out to be wrong, forget it and save the right one."""

PLUGIN = Plugin(
    name="memory",
    summary="Memory beyond a conversation.",
    after=("triage", "erasure"),
    texts=Path(__file__).parent,
    settings=MemorySettings,
    shares=(RecallKeys,),
    fits="nanobot.plugins.memory.service:fits",
    tables=("nanobot.plugins.memory.tables",),
    objects="nanobot.plugins.memory.service:objects",
    operations="nanobot.plugins.memory.operations:operations",
    groups={"memory": "Memories of people and groups."},
    reserves=("memory_search", "memory_save", "memory_forget", "need_information"),
    tools="nanobot.plugins.memory.service:tools",
    guidance=(Guidance(tools="memory_", text=_GUIDANCE),),
    prompt="nanobot.plugins.memory.service:prompt",
    stages="nanobot.plugins.memory.service:stages",
    page="nanobot.plugins.memory.view:views",
    around_runs="nanobot.plugins.memory.service:around_runs",
    start="nanobot.plugins.memory.service:start",
)
