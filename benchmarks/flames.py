"""A flame graph as SVG: each box is a function, as wide as the CPU time that was spent in it and in
what it called; what is below a box called it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from html import escape

WIDTH, ROW, TOP = 1_200, 16, 40
_LEAST = 0.6
"""Narrower boxes are left out, in pixels."""
_LETTER = 6.2
_COLOURS = {
    "nanobot": "#4c78a8",
    "nanobot_channels": "#72b7b2",
    "store": "#e0a33e",
    "aiohttp": "#b279a2",
    "telegram": "#59a14f",
    "asyncio": "#bab0ac",
    "sqlalchemy": "#d67195",
    "": "#d8d4cf",
}


@dataclass
class Flame:
    """A function where it was called from, with the milliseconds spent in it and below."""

    name: str
    spent: float = 0.0
    above: dict[str, Flame] = field(default_factory=dict)

    def add(self, stack: Iterable[str], spent: float) -> None:
        """Count a stack, outermost function first."""
        here = self
        here.spent += spent
        for name in stack:
            here = here.above.setdefault(name, Flame(name))
            here.spent += spent

    @property
    def height(self) -> int:
        return 1 + max((flame.height for flame in self.above.values()), default=0)


def drawn(root: Flame, title: str, turns: int) -> str:
    """The picture. `turns`: how many turns were sampled."""
    boxes: list[str] = []
    high = TOP + (root.height + 1) * ROW
    scale = WIDTH / max(root.spent, 1e-9)
    _draw(root, 0.0, 0, (scale, high, turns), boxes)
    head = f'<text x="6" y="20" font-size="14">{escape(title)}</text>'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {high}" '
        f'font-family="sans-serif" font-size="10">\n<rect width="100%" height="100%" '
        f'fill="#ffffff"/>\n{head}\n' + "\n".join(boxes) + "\n</svg>\n"
    )


def _draw(
    flame: Flame, x: float, depth: int, drawing: tuple[float, int, int], boxes: list[str]
) -> None:
    scale, high, turns = drawing
    wide = flame.spent * scale
    if wide < _LEAST:
        return
    y = high - (depth + 1) * ROW
    each = flame.spent / turns
    label = _label(flame.name)
    shown = label[: max(int((wide - 6) / _LETTER), 0)]
    text = f'<text x="{x + 3:.1f}" y="{y + 11}">{escape(shown)}</text>' if len(shown) > 2 else ""
    boxes.append(
        f'<g><title>{escape(flame.name)}: {each:.3f} ms a turn</title><rect x="{x:.1f}" y="{y}" '
        f'width="{wide:.1f}" height="{ROW - 1}" fill="{_colour(flame.name)}"/>{text}</g>'
    )
    for above in sorted(flame.above.values(), key=lambda one: -one.spent):
        _draw(above, x, depth + 1, drawing, boxes)
        x += above.spent * scale


def _label(name: str) -> str:
    place, _, function = name.rpartition(":")
    return f"{function} ({place.rpartition('/')[2].removesuffix('.py')})" if place else name


def _colour(name: str) -> str:
    """One colour for each package, a little different for each function."""
    if "/store/" in name or name.startswith("store/") or "/journal/" in name:
        colour = _COLOURS["store"]
    else:
        package = next((one for one in _COLOURS if one and f"{one}/" in f"{name}/"), "")
        colour = _COLOURS[package]
    shade = hashlib.sha256(name.encode()).digest()[0] % 24 - 12
    parts = [int(colour[n : n + 2], 16) for n in (1, 3, 5)]
    return "#" + "".join(f"{min(max(part + shade, 0), 255):02x}" for part in parts)
