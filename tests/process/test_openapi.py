"""schemathesis makes requests of the description of the API, right and wrong ones, and holds the
answers of a whole gateway against it. No operation is left out: those that were asked are compared
with those of the description."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from nanobot.testing.model import ScriptedProvider, asks_for
from tests.doubles.openai_server import OpenAIServer
from tests.pictures import png
from tests.plugins.http_api.test_streams import reading
from tests.process.harness import COMMAND, PATIENCE, World
from tests.process.sharing import free_port
from tests.server.housing import TOKEN, House, house

_PROXY = 'trusted_proxies = ["127.0.0.1"]'
_MODEL = """
[agent]
model = "test/scripted"
[providers.test]
api_base = "{}"
"""
"""What `models try` and the doctor ask: the embedded one would start anew with each request."""
_SECONDS = 60
_HERE = Path(__file__).parent

_SCHEMATHESIS = str(Path(sys.executable).parent / "schemathesis")
# Streams that never end are closed after their first event. A body that does not fit its schema may
# be too large to be read.
_OPTIONS = """max-stream-events = 1
[checks.negative_data_rejection]
expected-statuses = ["400", "401", "403", "404", "405", "409", "413", "415", "422", "429"]
"""

# That what fits the schema is done: a schedule, the name of a zone, a key of the configuration and
# the like are texts that their own parsers judge. And objects of others: everything is an owner's.
_UNFIT = ("positive_data_acceptance", "object_level_authorization")


def model() -> ScriptedProvider:
    """It remembers something, and repeats what is said from then on."""
    return ScriptedProvider(asks_for("memory_save", text="Likes tea"), "Noted.")


async def furnish(served: House) -> dict[str, dict[str, Any]]:
    """Something of each kind, so that there is more to ask for than what is not there."""
    owner = await served.owner()
    _, file = await owner.ask("POST", "/api/uploads", params={"name": "a.png"}, data=png())
    async with reading(owner, "/api/sessions/web:desk/events") as reader:
        await reader.item()
        await owner.post("/api/sessions/web:desk/messages", text="hello")
        await reader.until("end")
        # Only now: beside a file, which is not the words of an owner, a memory needs approval.
        await owner.post("/api/sessions/web:desk/messages", text="Look!", attachments=[file])
        await reader.until("end")
    _, job = await owner.post("/api/cron/add", text="every 2 hours Look at the builds")
    _, runs = await owner.get("/api/runs/list")
    _, skills = await owner.get("/api/skills/list")
    await owner.post("/api/web/tokens/add", name="laptop", role="member")
    _, (memory, *_) = await owner.get("/api/memory/list")
    session = {"session": "web:desk"}
    return {
        "approvals": session,
        "audit": session,
        "blobs": {"digest": file["blob"]},
        "context": session,
        "cron": {"job": job["id"]},
        "prompts": {"name": "SOUL.md"},
        "runs": {"id": runs[0]["id"], "run": runs[0]["id"]},
        "security": {"path": file["path"]},
        "sessions": session | {"key": "web:desk"},
        "skills": {"name": skills[0]["name"]},
        "status": session,
        "tools": session,
        "usage": session,
        "v1": {
            "id": "nanobot",
            "messages": [{"role": "user", "content": "hello"}],
            "input": "hello",
            "previous_response_id": None,
            "tools": None,
            "functions": None,
            "n": 1,
            "response_format": None,
            "text": None,
            "conversation": None,
        },
        "web": {"name": "laptop"},
        "GET /api/cron/preview": {"text": "every 2 hours", "zone": "", "from": ""},
        "GET /api/memory/show": {"id": memory["id"]},
        "GET /api/policy/explain": {"tool": "exec", "channel": "", "chat": ""},
        "POST /api/config/set": {"key": "agent.persona", "text": ""},
        "POST /api/config/unset": {"key": "agent.persona"},
        "POST /api/cron/add": {"text": "every 2 hours Look at the builds"},
        "POST /api/send": {"session": "web:desk", "text": "hello"},
        "POST /api/sessions/delete": {"session": "web:nothing"},
        "POST /api/skills/add": {"path": str(served.home / "nothing")},
    }


async def run_schemathesis(
    url: str, folder: Path, *options: str, **environ: str
) -> dict[str, set[int]]:
    """Run its command, where nothing was wrong; the statuses of the answers by operation."""
    asked = folder / "asked.txt"
    asked.touch()
    (folder / "schemathesis.toml").write_text(_OPTIONS)
    names = ("PATH", "HOME", "LANG", "PYTHONPYCACHEPREFIX")
    process = await asyncio.create_subprocess_exec(
        *(_SCHEMATHESIS, "run", f"{url}/openapi.json"),
        *("--header", f"Authorization: Bearer {TOKEN}", "--checks", "all"),
        *("--exclude-checks", ",".join(_UNFIT), "--continue-on-failure", "--no-color"),
        *("--generation-database", "none", "--warnings", "off", *options),
        f"--max-response-time={_SECONDS}",
        cwd=folder,
        env={name: os.environ[name] for name in names if name in os.environ}
        | {"PYTHONPATH": str(_HERE), "SCHEMATHESIS_HOOKS": "openapi_hooks", "ASKED": str(asked)}
        | {"KNOWN_THINGS": "{}"}
        | environ,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        output, _ = await process.communicate()
    except asyncio.CancelledError:
        os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
        raise
    assert process.returncode == 0, output.decode(errors="replace")[-20_000:]
    # It reads the description before it asks for anything, and leaves that out of what it asks.
    answered = {"GET /openapi.json": {200}}
    for line in asked.read_text().splitlines():
        label, _, status = line.rpartition(" ")
        answered.setdefault(label, set()).add(int(status))
    return answered


async def the_description_holds(tmp_path: Path, *options: str) -> None:
    """Ask everything that the description has, of a gateway that has something of each kind."""
    async with (
        OpenAIServer() as server,
        house(tmp_path / "home", model(), _PROXY + _MODEL.format(server.base_url)) as served,
    ):
        own = {"POST /api/models/try": {"api_base": server.base_url}}
        known = json.dumps(await furnish(served) | own)
        answered = await run_schemathesis(served.url, tmp_path, *options, KNOWN_THINGS=known)
        _, description = await (await served.owner()).get("/openapi.json")
    described = {
        f"{method.upper()} {path}" for path, item in description["paths"].items() for method in item
    }
    assert described - answered.keys() == set()
    assert len(served.restarts) > 0


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Owners may name files of the machine to write: those without a folder are not for ours."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.process
@pytest.mark.timeout(400)
async def test_the_api_is_what_its_description_says(tmp_path: Path) -> None:
    await the_description_holds(tmp_path, "--seed=1", "--max-examples=1")


@pytest.mark.slow
@pytest.mark.process
@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("seed", range(3))
async def test_the_api_is_what_its_description_says_for_long(tmp_path: Path, seed: int) -> None:
    await the_description_holds(tmp_path, f"--seed={seed}", "--max-examples=40")


@pytest.mark.process
@pytest.mark.timeout(300)
async def test_a_gateway_that_is_told_to_starts_again_whatever_else_it_is_told(
    world: World,
) -> None:
    port = free_port()
    world.configure(more=f'[web]\nport = {port}\ntoken = "{TOKEN}"\n{_PROXY}')
    url = f"http://127.0.0.1:{port}"
    # Not from the nest: what is forked there would start the nest again.
    process = await asyncio.create_subprocess_exec(
        *COMMAND, "gateway", env=world.environ(), stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(PATIENCE):
            assert (await process.stdout.readline()).startswith(b"ready ")
        answered = await run_schemathesis(
            *(url, world.home.parent, "--seed=1", "--max-examples=1", "--phases=fuzzing"),
            "--include-operation-id=restart",
            STARTS_AGAIN=f"{url}/readyz",
        )
    finally:
        process.send_signal(signal.SIGTERM)
        lines = (await process.stdout.read()).decode().splitlines()
        assert await process.wait() == 0
    assert 200 in answered["POST /api/restart"]
    assert [line.split()[1] for line in lines if line.startswith("ready ")] == [
        f"pid={process.pid}"
    ]
