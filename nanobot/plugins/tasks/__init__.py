"""Background runs: tasks that are done in sessions of their own, and subagents."""

from __future__ import annotations

from pathlib import Path

from nanobot.seam.plugin import Plugin

PLUGIN = Plugin(
    name="tasks",
    summary="Background runs and subagents.",
    texts=Path(__file__).parent,
    tables=("nanobot.plugins.common.store.task_tables",),
    reserves=("spawn",),
    store_hooks="nanobot.plugins.tasks.store.ends:SqlTaskEnds",
    objects="nanobot.plugins.tasks.service:objects",
    operations="nanobot.plugins.tasks.operations:operations",
    tools="nanobot.plugins.tasks.service:tools",
    start="nanobot.plugins.tasks.service:start",
    provides={
        "task_store": "nanobot.plugins.tasks.store.tasks:SqlTasks",
        "task_ends": "nanobot.plugins.tasks.store.ends:SqlTaskEnds",
        "unended_tasks": "nanobot.plugins.tasks.store.unended:unended_tasks",
        "background_runs": "nanobot.plugins.tasks.background:with_subagents",
        "run_type_registry": "nanobot.plugins.tasks.registry:RunTypeRegistry",
        "subagents": "nanobot.plugins.tasks.subagents:SubagentManager",
        "spawning": "nanobot.plugins.tasks.spawn:spawn_tool",
    },
)
