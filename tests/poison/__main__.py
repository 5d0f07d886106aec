"""All cases, and the table of them: `python -m tests.poison [--together N] [--only TEXT]`."""

from __future__ import annotations

import argparse
import asyncio
import random
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tests.poison.judging import Verdict, judged
from tests.poison.others import (
    MOST,
    Case,
    answering,
    answers,
    callers,
    clocks,
    entries,
    files,
    grouped,
    in_logs,
    pushed,
    speak,
    updates,
)
from tests.poison.rows import Cell, batches, cells, expand, spoil
from tests.poison.world import filled, quiet


async def together(
    chosen: Sequence[Cell], source: Path, target: Path
) -> list[tuple[Cell, Verdict]]:
    """Those that stop others: several are tried at once, and one by one where that is not well."""

    def poison(home: Path) -> None:
        for cell in chosen:
            spoil(home, cell)

    verdict = await judged(" and ".join(map(str, chosen)), source, target, poison, speak)
    if not verdict.stopped:
        return [(cell, verdict) for cell in chosen]
    if len(chosen) == 1:
        return [(chosen[0], verdict)]
    half = len(chosen) // 2
    first = await together(chosen[:half], source, target)
    return first + await together(chosen[half:], source, target)


def unseen(cell: Cell, verdict: Verdict) -> bool:
    """Whether the row is one that cannot be read, and nobody read it: `doctor --store` names it."""
    return cell.what == "unreadable" and cell.table not in verdict.quarantined


def others(home: Path, only: str) -> list[Case]:
    """All that is bad besides rows."""
    found = [in_logs(group) for group in grouped(entries(), MOST)]
    found += [answering(group) for group in grouped(answers(), MOST)]
    found += [pushed(group) for group in grouped(updates(), 40)]
    found += [*files(home), *clocks(), *callers()]
    return [case for case in found if only in case.name]


async def rest(home: Path, copy: Path, only: str, part: tuple[int, int]) -> int:
    """Judge all that is bad besides rows; how many stop others."""
    chosen, stopping = others(home, only)[part[0] - 1 :: part[1]], 0
    for case in chosen:
        verdict = await judged(case.name, home, copy, *case[1:])
        if verdict.stopped:
            stopping += 1
            print(f"{case.name}: {', '.join(verdict.stopped)}", flush=True)
            print(*(f"    {line}" for line in verdict.said[:2]), sep="\n", flush=True)
    print(f"\nother than rows: {len(chosen)} lives, {stopping} stopped others", flush=True)
    return stopping


async def main(size: int, only: str, part: str, what: str) -> int:
    quiet()
    with tempfile.TemporaryDirectory() as folder:
        home, copy = Path(folder) / "home", Path(folder) / "copy"
        await filled(home)
        expand(home)
        clean = await judged("nothing", home, copy, lambda _home: None, speak)
        print("nothing poisoned:", clean.stopped or "well", *clean.said, sep="\n  ")
        index, _, of = part.partition("/")
        if what == "others":
            return await rest(home, copy, only, (int(index), int(of)))
        chosen = [cell for cell in cells(home) if only in str(cell)]
        random.Random(1).shuffle(chosen)
        chosen = chosen[int(index) - 1 :: int(of)]
        tables, stopping, unnamed = Counter[str](), Counter[str](), Counter[str]()
        for batch in batches(chosen, size):
            for cell, verdict in await together(batch, home, copy):
                tables[cell.table] += 1
                unnamed[cell.table] += unseen(cell, verdict)
                if verdict.stopped:
                    stopping[cell.table] += 1
                    print(f"{cell}: {', '.join(verdict.stopped)}", flush=True)
                    print(*(f"    {line}" for line in verdict.said[:2]), sep="\n", flush=True)
        print(f"\n{'table':24} {'cases':>6} {'stopped others':>15} {'doctor --store':>15}")
        for table in sorted(tables):
            print(f"{table:24} {tables[table]:6} {stopping[table]:15} {unnamed[table]:15}")
        print(f"{'all':24} {tables.total():6} {stopping.total():15} {unnamed.total():15}")
        return stopping.total()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--together", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--part", default="1/1")
    parser.add_argument("--what", choices=("rows", "others"), default="rows")
    given = parser.parse_args()
    raise SystemExit(
        1 if asyncio.run(main(given.together, given.only, given.part, given.what)) else 0
    )
