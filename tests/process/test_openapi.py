"""schemathesis makes requests of the description of the API, right and wrong ones, and holds the
answers of a whole gateway against it."""

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
from tests.pictures import png
from tests.server.housing import TOKEN, House, house
from tests.server.test_streams import reading

_PROXY = 'trusted_proxies = ["127.0.0.1"]'
_HERE = Path(__file__).parent

# What ends the gateway, or asks platforms outside; and the two streams that never end:
# test_streams and test_openapi in tests/server hold their events against the same description.
_LEFT_OUT = ("restart", "doctor", "channels_connect", "events", "session_events")

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
        await owner.post("/api/sessions/web:desk/messages", text="hello", attachments=[file])
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


async def run_schemathesis(served: House, folder: Path, seed: int, *options: str) -> str:
    """Run its command; what it said, where nothing was wrong."""
    known = json.dumps(await furnish(served))
    names = ("PATH", "HOME", "LANG", "PYTHONPYCACHEPREFIX")
    process = await asyncio.create_subprocess_exec(
        *(str(Path(sys.executable).parent / "schemathesis"), "run", f"{served.url}/openapi.json"),
        *("--header", f"Authorization: Bearer {TOKEN}", "--seed", str(seed)),
        *(part for name in _LEFT_OUT for part in ("--exclude-operation-id", name)),
        *(
            "--checks",
            "all",
            "--exclude-checks",
            ",".join(_UNFIT),
            "--continue-on-failure",
            "--no-color",
        ),
        *("--generation-database", "none", "--warnings", "off", *options),
        cwd=folder,
        env={name: os.environ[name] for name in names if name in os.environ}
        | {"KNOWN_THINGS": known, "PYTHONPATH": str(_HERE), "SCHEMATHESIS_HOOKS": "openapi_hooks"},
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
    return output.decode()


@pytest.mark.process
@pytest.mark.timeout(400)
async def test_the_api_is_what_its_description_says(tmp_path: Path) -> None:
    async with house(tmp_path / "home", model(), web=_PROXY) as served:
        output = await run_schemathesis(served, tmp_path, 1, "--max-examples=1")
    assert "Coverage" in output


@pytest.mark.slow
@pytest.mark.process
@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("seed", range(3))
async def test_the_api_is_what_its_description_says_for_long(tmp_path: Path, seed: int) -> None:
    async with house(tmp_path / "home", model(), web=_PROXY) as served:
        await run_schemathesis(served, tmp_path, seed, "--max-examples=40")
