"""nanobot: a self-hosted assistant that lives where its people already talk."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from warnings import warn

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
    "RunInput": "nanobot.agent.service.run_input",
    "RunLimits": "nanobot.agent.service.run_input",
    "RunResult": "nanobot.agent.service.run_input",
    "Sender": "nanobot.messages",
    "SessionManager": "nanobot.plugins.library.sessions",
    "SubagentManager": "nanobot.agent.library.subagents",
    "Tool": "nanobot.tools.base",
    "ToolError": "nanobot.errors",
    "ToolPolicy": "nanobot.agent.service.run_input",
    "ToolRegistry": "nanobot.tools.registry",
    "tool": "nanobot.tools.function",
}
__all__ = ["__version__", *_PUBLIC]  # noqa: PLE0604 - names, taken from the table

# Documented import paths of the first builds. They go with version 0.2.
_MOVED_PACKAGES = {"nanobot.cron": "nanobot.triggers.cron", "nanobot.tasks": "nanobot.agent.tasks"}
_MOVED = _MOVED_PACKAGES | {
    "nanobot.cron.service": "nanobot.triggers.cron.service",
    "nanobot.session.manager": "nanobot.plugins.library.sessions",
    "nanobot.tasks.port": "nanobot.session.tasks",
    "nanobot.tasks.types": "nanobot.agent.tasks.types",
}


def __getattr__(name: str) -> object:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'nanobot' has no attribute {name!r}")
    return getattr(import_module(_PUBLIC[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_PUBLIC])


class _Moved:
    """Finds a module under the path that it had, and says where it is now."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Find only the modules in `_MOVED`; other finders find the rest."""
        return ModuleSpec(name, self) if name in _MOVED else None  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Create a placeholder, because the import system marks the returned module as made from
        this spec."""
        return None

    def exec_module(self, module: ModuleType) -> None:
        """Replace the placeholder with the module itself, so that a class has one identity under
        both paths."""
        old, new = module.__name__, _MOVED[module.__name__]
        if old not in _MOVED_PACKAGES:
            warn(f"{old} is now {new}; the old path goes with 0.2", DeprecationWarning, 2)
        sys.modules[old] = import_module(new)


# Before the others: beneath a package that moved, they would load a second copy of its modules.
sys.meta_path.insert(0, _Moved())
