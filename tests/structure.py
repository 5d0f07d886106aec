"""The rooms of the house, drawn from the imports as they are: `make structure`.

A room is what lies directly below `nanobot/`, a package or a file, and the adapters together. Rooms
stand in an order in which each imports only what stands below it; a circle is named, and fails.
`make structure ROOM=store` opens a room.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Collection, Iterable
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import grimp

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = {"nanobot": ROOT, "nanobot_channels": ROOT / "channels"}


def room_of(module: str, within: str) -> str:
    """The part of `module` directly below `within` (the module itself, where it is outside)."""
    if not module.startswith(f"{within}."):
        return module.partition(".")[0]
    return module.removeprefix(f"{within}.").partition(".")[0]


def lines_of(modules: Collection[str]) -> int:
    """Lines of the files behind these modules."""
    count = 0
    for module in modules:
        stem = FOLDERS[module.partition(".")[0]] / module.replace(".", "/")
        file = stem / "__init__.py" if stem.is_dir() else stem.with_suffix(".py")
        count += len(file.read_text("utf-8").splitlines())
    return count


def arrows(graph: grimp.ImportGraph, within: str) -> Counter[tuple[str, str]]:
    """How many imports go from one room to another."""
    imports: Counter[tuple[str, str]] = Counter()
    for importer in graph.modules:
        for imported in graph.find_modules_directly_imported_by(importer):
            pair = room_of(importer, within), room_of(imported, within)
            inside = importer.startswith(f"{within}.") or within == "nanobot"
            if pair[0] != pair[1] and inside:
                imports[pair] += 1
    return imports


def ordered(rooms: Collection[str], links: Collection[tuple[str, str]]) -> Iterable[str]:
    """Rooms, those that import before those that are imported; raises CycleError."""
    sorter: TopologicalSorter[str] = TopologicalSorter(dict.fromkeys(rooms, ()))
    for importer, imported in links:
        sorter.add(imported, importer)
    return sorter.static_order()


def main() -> None:
    """Print the rooms, and leave with 1 where imports go around in a circle."""
    within = ".".join(["nanobot", *sys.argv[1:]])
    graph = grimp.build_graph("nanobot", "nanobot_channels")
    links = arrows(graph, within)
    modules: dict[str, set[str]] = {}
    for module in graph.modules:
        if within == "nanobot" or module.startswith(f"{within}."):
            modules.setdefault(room_of(module, within), set()).add(module)
    modules.pop("nanobot", None)
    inner = [(a, b) for a, b in links if a in modules and b in modules]
    try:
        order = list(ordered(modules, inner))
    except CycleError as error:
        print("a circle: " + " -> ".join(error.args[1]))
        sys.exit(1)
    print(f"{'room':18} {'files':>5} {'lines':>6}  imports")
    for room in order:
        below = sorted(b for a, b in links if a == room)
        count = len(modules[room])
        print(f"{room:18} {count:5} {lines_of(modules[room]):6}  {' '.join(below)}")
    print(f"{len(order)} rooms, {len(inner)} arrows between them, no circle")


if __name__ == "__main__":
    main()
