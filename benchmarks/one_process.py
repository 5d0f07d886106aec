"""`python -m benchmarks.one_process`: whole turns of one gateway on either store, under the flood
of `python -m benchmarks flood`: many people at once, and a model that answers at once."""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from benchmarks.scenarios.talking import PAUSE, WARM
from benchmarks.stage import Effort, Stage, Subject, open_stage
from benchmarks.transactions import cpu_of, new_database, postgres, postmaster


class Flood(NamedTuple):
    """Turns a second, and what one takes in milliseconds of processor: of the gateway, of the
    server of the store, of those who talk and the model."""

    rate: float
    gateway: float
    server: float
    world: float


async def flooded(stage: Stage, given: argparse.Namespace, url: str) -> Flood:
    """One gateway over a new store: at `url`, or in its home."""
    home = stage.home()
    config = home / "config.toml"
    server = postmaster(url) if url else None
    store = f'database_url = "{new_database(url)}"\n' if url else ""
    budgets = f"[budgets]\ntokens_per_day = {given.tokens}\ncost_per_day = 0.0\n"
    config.write_text(store + config.read_text("utf-8") + budgets, "utf-8")
    async with stage.gateway(Subject.NANOBOT, home) as gateway:
        await stage.converse([WARM], 5, pause=PAUSE)
        before, theirs, began = gateway.cpu(), cpu_of(server), time.monotonic()
        talk = await stage.converse(range(100, 100 + given.chats), given.each)
        # What goes on by itself between the last answer and now belongs to nobody's turn.
        share = min(talk.seconds / (time.monotonic() - began), 1.0)
        return Flood(
            talk.turns / talk.seconds,
            gateway.cpu().since(before) / talk.turns,
            (cpu_of(server) - theirs) * share * 1000 / talk.turns,
            talk.doubles_cpu * 1000 / talk.turns,
        )


async def main(given: argparse.Namespace) -> None:
    """Both stores by turns, so that what disturbs one disturbs the other."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=given.folder)))
        url = stack.enter_context(postgres(folder)) if "postgresql" in given.stores else ""
        async with open_stage(folder, Effort(), print) as stage:
            for _ in range(given.runs):
                for name in given.stores:
                    flood = await flooded(stage, given, url if name == "postgresql" else "")
                    print(
                        f"{name:10}: {flood.rate:6.1f} turns/s; a turn takes {flood.gateway:5.2f} "
                        f"ms of the gateway, {flood.server:5.2f} of the server, {flood.world:5.2f} "
                        "of the doubles",
                        flush=True,
                    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stores", nargs="*", default=["sqlite", "postgresql"])
    parser.add_argument("--chats", type=int, default=200)
    parser.add_argument("--each", type=int, default=5)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--tokens", type=int, default=0, help="a budget a day; 0: none")
    parser.add_argument("--folder", type=Path, default=None, help="on a real disk")
    asyncio.run(main(parser.parse_args()))
