"""The picture of a trace in docs/pictures, drawn of what a collector received:

python -m tests.process.trace_picture
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Any

from nanobot.plugins.common.runs.trace_ids import trace_id
from tests.doubles.otlp_collector import Collector, collecting, text_attributes
from tests.process.harness import World, open_world

PICTURE = Path(__file__).resolve().parents[2] / "docs" / "pictures" / "trace.svg"
CHAT = 1
ASKING = f"""
[[policy.rules]]
tool = "exec"
chats = ["{CHAT}"]
verdict = "ask"
"""
COMMAND = json.dumps({"command": "echo x >> effects"})

_WIDTH, _NAMES, _ROW, _TOP, _LEGEND = 1_000, 300, 26, 40, 40
_COLOURS = {
    "invoke_agent": "#4c6ef5",
    "chat": "#12b886",
    "execute_tool": "#f08c00",
    "search_memory": "#15aabf",
    "process": "#868e96",
    "send": "#868e96",
}
_ERROR = "#e03131"


def tracing(world: World, collector: Collector) -> None:
    """Configure a gateway that asks before each command, and sends traces."""
    traces = f'[traces]\nenabled = true\nendpoint = "{collector.url}"\ninterval = 0.2'
    world.configure(more=f"{ASKING}\n{traces}\n")


async def killed_turn(world: World, collector: Collector) -> list[Any]:
    """One turn with two tools, an approval, and a kill -9 while the command runs: its spans."""
    first = await world.launch(crash_at="start_tool:after")
    world.telegram.say(CHAT, f'tool:list_dir:{{"path": "."}}\ntool:exec:{COMMAND}\nsay:done')
    await world.answered(CHAT)
    world.telegram.press(world.telegram.messages(CHAT)[0], "Approve")
    await first.died()
    second = await world.start()
    await world.eventually(lambda: any("done" in text for text in world.texts(CHAT)))
    (*_, last) = await collector.until("invoke_agent nanobot", 2)
    assert await second.stop() == 0
    trace = trace_id(text_attributes(last)["nanobot.run.id"])
    return [span for span in collector.spans if span.trace_id.hex() == trace]


def drawn(spans: Sequence[Any]) -> str:
    """The spans of one trace as a waterfall: SVG."""
    begin = min(span.start_time_unix_nano for span in spans)
    whole = max(max(span.end_time_unix_nano for span in spans) - begin, 1)

    def x(at: int) -> float:
        return _NAMES + float((_WIDTH - _NAMES - 90) * (at - begin) / whole)

    rows = list(_tree(spans, b"", 0))
    height = _TOP + _ROW * len(rows) + _LEGEND
    places = {span.span_id: number for number, (_, span) in enumerate(rows)}
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" '
        'font-family="ui-sans-serif, system-ui, sans-serif" font-size="12">',
        f'<rect width="{_WIDTH}" height="{height}" rx="8" fill="#ffffff"/>',
        *_axis(x, begin, whole, height - _LEGEND),
    ]
    for number, (depth, span) in enumerate(rows):
        parts += _bar(span, depth, _TOP + _ROW * number, x)
    for number, (_, span) in enumerate(rows):
        for link in span.links:
            if link.span_id in places and span.name.startswith("invoke_agent"):
                start = _TOP + _ROW * places[link.span_id] + 18
                end = _TOP + _ROW * number + 8
                at = x(span.start_time_unix_nano)
                parts.append(
                    f'<path d="M{at:.1f} {start} V{end}" stroke="#4c6ef5" fill="none" '
                    'stroke-dasharray="3 3"/>'
                )
    legend = "Dashed: a link to the segment before the wait. Diamonds: events. Red: interrupted"
    parts.append(f'<text x="16" y="{height - 14}" fill="#868e96">{legend} or failed.</text>')
    return "\n".join([*parts, "</svg>", ""])


def _tree(spans: Sequence[Any], parent: bytes, depth: int) -> Iterator[tuple[int, Any]]:
    below = [span for span in spans if span.parent_span_id == parent]
    for span in sorted(below, key=lambda span: (span.start_time_unix_nano, span.span_id)):
        yield depth, span
        yield from _tree(spans, span.span_id, depth + 1)


def _axis(x: Any, begin: int, whole: int, bottom: int) -> Iterator[str]:
    for part in range(5):
        at = begin + whole * part // 4
        seconds = whole * part / 4 / 1e9
        yield f'<path d="M{x(at):.1f} 30 V{bottom}" stroke="#e9ecef"/>'
        yield f'<text x="{x(at):.1f}" y="22" fill="#868e96">{seconds:.1f} s</text>'


def _bar(span: Any, depth: int, top: int, x: Any) -> Iterator[str]:
    failed = span.status.code == 2
    colour = _ERROR if failed else _COLOURS[span.name.split()[0]]
    start, end = x(span.start_time_unix_nano), x(span.end_time_unix_nano)
    lasted = (span.end_time_unix_nano - span.start_time_unix_nano) / 1e6
    said = f"{lasted / 1000:.1f} s" if lasted >= 1_000 else f"{lasted:.0f} ms"
    said += f", {span.status.message}" if failed else ""
    yield f'<text x="{16 + 16 * depth}" y="{top + 17}" fill="#212529">{escape(span.name)}</text>'
    width = max(end - start, 3)
    yield (
        f'<rect x="{start:.1f}" y="{top + 6}" width="{width:.1f}" height="14" rx="3" '
        f'fill="{colour}"/>'
    )
    yield f'<text x="{start + width + 6:.1f}" y="{top + 17}" fill="#495057">{escape(said)}</text>'
    for event in span.events:
        at, middle = x(event.time_unix_nano), top + 13
        yield (
            f'<path d="M{at:.1f} {middle - 5} l5 5 l-5 5 l-5 -5 z" fill="#ffffff" '
            f'stroke="#212529"><title>{escape(event.name)}</title></path>'
        )


async def _draw() -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with open_world(Path(folder)) as world, collecting() as collector:
            tracing(world, collector)
            spans = await killed_turn(world, collector)
    PICTURE.write_text(drawn(spans), "utf-8")


if __name__ == "__main__":
    asyncio.run(_draw())
