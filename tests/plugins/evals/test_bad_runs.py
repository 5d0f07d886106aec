"""Runs that cannot become cases say why, and their logs still replay as far as they can."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from nanobot.errors import NanobotError
from nanobot.plugins.common.runs.run_input import RunInput, RunResult
from nanobot.plugins.common.runs.run_service import RunService
from nanobot.plugins.erasure.store.eraser import SqlEraser
from nanobot.providers.base import ModelProfile
from nanobot.testing.model import Held, ScriptedProvider
from tests.pictures import png
from tests.server.housing import House, house

PICTURE = f"data:image/png;base64,{base64.b64encode(png()).decode()}"
SEES = ModelProfile(name="scripted", provider="test", images=True)
KEY = "api:talk"


async def asked(here: House, content: Any, run_id: str = "r1") -> str:
    """Ask, wait for the end, and return the run's id."""
    question = RunInput(
        session_key=KEY, run_id=run_id, messages=[{"role": "user", "content": content}]
    )
    ends = [each async for each in here.parts.plugged.offers.get(RunService).stream(question)]
    assert isinstance(ends[-1], RunResult)
    runs = await here.parts.operations.call("runs list", {"session": KEY})
    return str(runs[0].id)


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[House]:
    provider = ScriptedProvider("A red square.", model=SEES)
    async with house(tmp_path / "home", provider) as opened:
        yield opened


async def test_a_run_with_a_picture_is_no_case_and_replays_without_the_file(here: House) -> None:
    text = {"type": "text", "text": "What is it?"}
    run = await asked(here, [text, {"type": "image_url", "image_url": {"url": PICTURE}}])
    with pytest.raises(NanobotError, match="shows its model pictures: a case can hold text only"):
        await here.parts.operations.call("evals add", {"run": run})
    gone = remove_blobs(here.home)
    (replayed,) = await here.parts.operations.call("runs replay", {"name": run})
    assert gone
    assert (replayed.requests, replayed.compared, replayed.skipped) == (1, 1, ())


def remove_blobs(home: Path) -> list[Path]:
    files = [each for each in (home / "blobs").rglob("*") if each.is_file()]
    for file in files:
        file.unlink()
    return files


async def test_a_run_with_an_erased_message_is_no_case(here: House) -> None:
    run = await asked(here, "What is it?")
    await here.parts.operations.of(SqlEraser).erase(KEY, 1, "ann")
    for name in ("evals add", "runs export"):
        with pytest.raises(NanobotError, match=f"Parts of run {run} were erased: it cannot be"):
            await here.parts.operations.call(name, {"run": run})
    assert not (here.home / "evals").exists()


async def test_a_run_that_goes_on_is_no_case_yet_and_is_replayed_and_exported(
    tmp_path: Path,
) -> None:
    held = Held()
    async with house(tmp_path / "home", ScriptedProvider(held)) as here:
        owner = await here.owner()
        status, _ = await owner.post("/api/sessions/web:live/messages", text="hello")
        assert status < 300
        await held.reached.wait()
        (run,) = await here.parts.operations.call("runs list", {"session": "web:live"})
        with pytest.raises(NanobotError, match=f"Run {run.id} has not ended yet"):
            await here.parts.operations.call("evals add", {"run": run.id})
        status, replayed = await owner.get("/api/runs/replay", name=run.id)
        file = str(tmp_path / "live.jsonl")
        made = await here.parts.operations.call(
            "audit export", {"session": run.session_key, "file": file}
        )
        proof = await here.parts.operations.call(
            "audit verify-export", {"file": file, "head": made.head}
        )
        held.answer("Done.")
    assert (status, replayed[0]["session_key"], replayed[0]["requests"]) == (200, "web:live", 1)
    assert proof.proven == made.entries > 0


async def test_a_case_is_exported_and_made_over_http_which_says_where_it_is(here: House) -> None:
    run = await asked(here, "What is it?")
    with pytest.raises(NanobotError, match="There is no run nothing; `runs list` lists them"):
        await here.parts.operations.call("runs export", {"run": "nothing"})
    exported = await here.parts.operations.call("runs export", {"run": run})
    assert f'run = "{run}"' in exported.toml
    status, over_http = await (await here.owner()).get("/api/runs/export", run=run)
    assert (status, over_http["toml"]) == (200, exported.toml)
    status, made = await (await here.owner()).post("/api/evals/add", run=run)
    assert (status, Path(made["file"]).parent) == (200, here.home / "evals")
