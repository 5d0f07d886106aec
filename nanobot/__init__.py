"""nanobot: a self-hosted assistant that lives where its people already talk."""

from __future__ import annotations

import sys
from importlib import import_module

from nanobot.promised import Promised

__version__ = "0.1.0"

# What programs use. Loaded when it is named; __init__.pyi says the same to type checkers.
_PUBLIC = {
    "Address": "nanobot.messages",
    "Agent": "nanobot.api",
    "AgentLoop": "nanobot.plugins.library.agent_loop",
    "CancelToken": "nanobot.plugins.library.agent_loop",
    "ContextBuilder": "nanobot.plugins.library.context_builder",
    "Effect": "nanobot.tools.base",
    "EventKind": "nanobot.messages",
    "InboundMessage": "nanobot.messages",
    "LLMProvider": "nanobot.providers.base",
    "LiteLLMProvider": "nanobot.providers.litellm_provider",
    "MemoryStore": "nanobot.plugins.library.persona",
    "MessageBus": "nanobot.bus.queue",
    "OutboundMessage": "nanobot.messages",
    "PersonaConfig": "nanobot.plugins.library.persona",
    "RunEvent": "nanobot.messages",
    "RunFailed": "nanobot.errors",
    "RunInput": "nanobot.plugins.common.runs.run_input",
    "RunLimits": "nanobot.plugins.common.runs.run_input",
    "RunResult": "nanobot.plugins.common.runs.run_input",
    "Sender": "nanobot.messages",
    "SessionManager": "nanobot.plugins.library.sessions",
    "SubagentManager": "nanobot.agent.library.subagents",
    "Tool": "nanobot.tools.base",
    "ToolError": "nanobot.errors",
    "ToolPolicy": "nanobot.plugins.common.runs.run_input",
    "ToolRegistry": "nanobot.tools.registry",
    "tool": "nanobot.plugins.library.function",
}
__all__ = ["__version__", *_PUBLIC]  # noqa: PLE0604 - names, taken from the table

sys.meta_path.append(Promised())


def __getattr__(name: str) -> object:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'nanobot' has no attribute {name!r}")
    return getattr(import_module(_PUBLIC[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_PUBLIC])
