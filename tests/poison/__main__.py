"""All cases, and the table of them: `python -m tests.poison [--what KIND] [--together N]`."""

from __future__ import annotations

import argparse
import asyncio
import random
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path

from tests.poison import peers
from tests.poison.judging import Case, Place, Verdict, judged
from tests.poison.others import KINDS
from tests.poison.rows import Cell, batches, cells, expand, speak, spoiled
from tests.poison.world import filled, quiet

ROWS = {"rows": False, "rows while it serves": True}


async def together(
    chosen: Sequence[Cell], place: Place, *, running: bool
) -> list[tuple[Cell, Verdict]]:
    """Those that stop others: several are tried at once, and one by one where that is not well."""
    verdict = await judged(spoiled(chosen, running=running), place)
    if not verdict.stopped:
        return [(cell, verdict) for cell in chosen]
    if len(chosen) == 1:
        return [(chosen[0], verdict)]
    half = len(chosen) // 2
    first = await together(chosen[:half], place, running=running)
    return first + await together(chosen[half:], place, running=running)


def shown(verdict: Verdict) -> None:
    print(f"{verdict.case}: {', '.join(verdict.stopped)}", flush=True)
    print(*(f"    {line}" for line in verdict.said[:2]), sep="\n", flush=True)


def unseen(cell: Cell, verdict: Verdict) -> bool:
    """Whether the row is one that cannot be read, and nobody read it: `doctor --store` names it."""
    return cell.what == "unreadable" and cell.table not in verdict.quarantined


async def rows(chosen: Sequence[Cell], place: Place, size: int, *, running: bool) -> int:
    """Judge bad values of rows; how many stop others."""
    tables, stopping, unnamed = Counter[str](), Counter[str](), Counter[str]()
    for batch in batches(chosen, size):
        for cell, verdict in await together(batch, place, running=running):
            tables[cell.table] += 1
            unnamed[cell.table] += unseen(cell, verdict)
            if verdict.stopped:
                stopping[cell.table] += 1
                shown(verdict)
    print(f"\n{'table':24} {'cases':>6} {'stopped others':>15} {'doctor --store':>15}")
    for table in sorted(tables):
        print(f"{table:24} {tables[table]:6} {stopping[table]:15} {unnamed[table]:15}")
    print(f"{'all':24} {tables.total():6} {stopping.total():15} {unnamed.total():15}", flush=True)
    return stopping.total()


async def others(name: str, chosen: Iterable[Case], place: Place, given: str) -> int:
    """Judge all that is bad of a kind besides rows; how many lives stop others."""
    stopping, count = 0, 0
    for case in (case for case in chosen if given in case.name):
        count += 1
        verdict = await judged(case, place)
        if verdict.stopped:
            stopping += 1
            shown(verdict)
    print(f"{name}: {count} lives, {stopping} stopped others", flush=True)
    return stopping


async def main(given: argparse.Namespace) -> int:
    quiet()
    began, total = time.monotonic(), 0
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        place = Place(Path(folder) / "home", Path(folder) / "copy")
        await filled(place.source)
        expand(place.source)
        clean = await judged(Case("nothing poisoned", meanwhile=speak), place)
        print("nothing poisoned:", clean.stopped or "well", *clean.said, sep="\n  ", flush=True)
        index, _, of = given.part.partition("/")
        for name in given.what or [*ROWS, *KINDS, "peers"]:
            if name in ROWS:
                chosen = [cell for cell in cells(place.source) if given.only in str(cell)]
                random.Random(1).shuffle(chosen)
                chosen = chosen[int(index) - 1 :: int(of)]
                total += await rows(chosen, place, given.together, running=ROWS[name])
            elif name == "peers":
                server = stack.enter_context(peers.server(Path(folder) / "pg"))
                shared = await peers.shared(server, Path(folder))
                total += await others(name, peers.cases(), shared, given.only)
            else:
                found = list(KINDS[name](place.source))[int(index) - 1 :: int(of)]
                total += await others(name, found, place, given.only)
    print(f"{total} stopped others; {time.monotonic() - began:.0f} s")
    return total


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--together", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--part", default="1/1")
    parser.add_argument("--what", action="append", choices=[*ROWS, *KINDS, "peers"])
    raise SystemExit(1 if asyncio.run(main(parser.parse_args())) else 0)
