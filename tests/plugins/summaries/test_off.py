"""A gateway whose summaries are off: long conversations continue without what left the window,
/compact names the plugin, and earlier summaries stay in use."""

from __future__ import annotations

from pathlib import Path

from nanobot.app.gateway_parts import Parts
from nanobot.messages import EventKind
from tests.plugins.summaries.test_compaction import SUMMARY, is_summing, model, shown
from tests.plugins.switching import KEY, asked, serving
from tests.stored import log_of

SHORT = "[agent]\nmax_history = 4\n"
OFF = '[plugins]\noff = ["summaries"]\n'


async def compacted(parts: Parts, *, undo: bool = False) -> str:
    """The answer to /compact."""
    bus = parts.engine.bus
    watching = bus.subscribe(KEY)
    try:
        await parts.operations.call("compact", {"session": KEY, "undo": undo})
        async for event in watching:
            if event.kind is EventKind.END:
                return str(event.payload["text"])
    finally:
        bus.unsubscribe(watching)
    return ""


async def test_a_conversation_outgrows_its_window_without_a_summary(tmp_path: Path) -> None:
    provider = model()
    async with serving(tmp_path / "home", SHORT + OFF, provider) as parts:
        for text in ("one", "two", "three", "four", "five"):
            assert await asked(parts, text) == "completed"
        assert not any(is_summing(request) for request in provider.requests)
        last = [shown(message) for message in provider.requests[-1].messages[1:]]
        assert last[-1] == "five"
        assert "one" not in last
        entries = await log_of(parts.engine.records).entries(KEY, after=0, limit=1000)
        assert next(e.body["text"] for e in entries if e.kind == "user" and e.body) == "one"


async def test_compact_names_the_plugin_and_summaries_from_before_stay(tmp_path: Path) -> None:
    provider = model()
    async with serving(tmp_path / "home", "", provider) as parts:
        assert await asked(parts, "one") == "completed"
        assert SUMMARY in await compacted(parts)
    async with serving(tmp_path / "home", OFF, provider) as parts:
        assert await compacted(parts) == (
            "Summaries belong to the plugin summaries, which is off here: `plugins list` says why, "
            "`plugins on summaries` switches it on."
        )
        assert await asked(parts, "two") == "completed"
        assert SUMMARY in str(provider.requests[-1].messages[1].content)
        assert "everything again" in await compacted(parts, undo=True)
        assert await asked(parts, "three") == "completed"
        assert "one" in [shown(message) for message in provider.requests[-1].messages]
