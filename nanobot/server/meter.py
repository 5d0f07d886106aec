"""What runs of this process have done, counted."""

from __future__ import annotations

from collections import Counter

from nanobot.bus.core import Subscription
from nanobot.messages import EventKind, RunEvent

_KINDS = frozenset({EventKind.END, EventKind.TOOL_RESULT, EventKind.ASSISTANT_MESSAGE})
_MOST_TOOLS = 200
_TOKENS = ("prompt_tokens", "completion_tokens", "cached_tokens")


class Meter(Subscription):
    """Counts what runs of this process do, from the moment at which it is watched."""

    def __init__(self) -> None:
        super().__init__(None, _KINDS)
        self.runs: Counter[str] = Counter()
        self.tools: Counter[tuple[str, str]] = Counter()
        self.tokens: Counter[str] = Counter()
        self.model_calls = 0
        self.cost = 0.0

    def offer(self, event: RunEvent) -> None:
        payload = event.payload
        match event.kind:
            case EventKind.ASSISTANT_MESSAGE:
                self.model_calls += 1
            case EventKind.TOOL_RESULT:
                self._count_tool(payload.get("name", ""), ok=bool(payload.get("ok")))
            case EventKind.END:
                self.runs[payload.get("state", "")] += 1
                usage = payload.get("usage", {})
                for name in _TOKENS:
                    self.tokens[name.removesuffix("_tokens")] += usage.get(name, 0)
                self.cost += payload.get("cost") or 0.0
            case _:
                pass

    def _count_tool(self, name: str, *, ok: bool) -> None:
        """Models make names up: each would be a time series of its own for good."""
        key = (name, "ok" if ok else "failed")
        if key not in self.tools and len(self.tools) >= _MOST_TOOLS:
            key = ("other", key[1])
        self.tools[key] += 1
