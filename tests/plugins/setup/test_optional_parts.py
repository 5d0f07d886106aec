"""Where an optional part is not installed, every command says so in one sentence, with the command
that installs it."""

from __future__ import annotations

import asyncio
import os
import re
import sys
import tomllib
from pathlib import Path

import pytest

from nanobot.plugins.common.optional import PARTS, absent, command

ROOT = Path(__file__).resolve().parents[3]
# As in an environment that has none of them: they are not found.
WITHOUT = """
import os, sys
from importlib.machinery import PathFinder

HIDDEN = set(os.environ["WITHOUT"].split())

class Without(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        hidden = name.partition(".")[0] in HIDDEN
        return None if hidden else super().find_spec(name, path, target)

sys.meta_path[sys.meta_path.index(PathFinder)] = Without
"""
# What switches each part on, and whether nothing can start without it.
SWITCHED_ON = {
    "postgres": ('database_url = "postgresql://x:y@127.0.0.1:1/z"', True),
    "s3": ('blobs = "s3://bucket/prefix"', True),
    "embedded": ('[agent]\nmodel = "embedded/smollm2"', False),
    "documents": ("", False),
    "memory": ('[memory]\nembedding_model = "local"', False),
    "mcp": ('[mcp.it]\ncommand = "true"', False),
    "email": (
        '[channels.email]\nimap_host = "127.0.0.1"\nsmtp_host = "127.0.0.1"\nuser = "a@b.c"\n'
        'password = "x"\ntrusted_authserv = ["b.c"]',
        False,
    ),
    "events": ('[events]\nenabled = true\n[events.files.inbox]\npaths = ["/tmp"]', False),
    "sandbox": ("", False),
    "traces": ("", False),
}
COMMANDS = {
    "config check": ("config", "check"),
    "doctor": ("doctor",),
    "status": ("status",),
    "agent": ("agent", "-m", "hello"),
    "gateway": ("gateway",),
}
SECONDS = 60.0


def cases() -> list[object]:
    """Every part with every command; the quick tests have each of both once, and those that ended
    in a traceback."""
    quick = {(extra, "config check") for extra in SWITCHED_ON if SWITCHED_ON[extra][0]}
    quick |= {("postgres", name) for name in COMMANDS} | {("s3", "status")}
    return [
        pytest.param(extra, name, marks=[] if (extra, name) in quick else [pytest.mark.slow])
        for extra in SWITCHED_ON
        for name in COMMANDS
    ]


async def ran(tmp_path: Path, toml: str, arguments: tuple[str, ...]) -> tuple[int, str]:
    """The exit code of a command without any optional part, and all that it said; a gateway is
    told to stop once it serves."""
    (tmp_path / "sitecustomize.py").write_text(WITHOUT)
    home = tmp_path / "home"
    home.mkdir()
    (home / "config.toml").write_text(toml)
    hidden = {module for part in PARTS.values() for module in part.modules}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "nanobot", *arguments),
        cwd=ROOT,
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path),
            "NANOBOT_HOME": str(home),
            "NANOBOT_WEB__PORT": "0",
            "PYTHONPATH": f"{tmp_path}:{ROOT}:{ROOT / 'channels'}",
            "WITHOUT": " ".join(hidden),
        },
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    assert process.stdout is not None
    said = b""
    try:
        async with asyncio.timeout(SECONDS):
            while line := await process.stdout.readline():
                said += line
                if arguments == ("gateway",) and b"ready" in line:
                    process.terminate()
            code = await process.wait()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return code, said.decode()


@pytest.mark.parametrize(("extra", "name"), cases())
async def test_a_part_that_is_not_installed_is_said_in_one_sentence(
    tmp_path: Path, extra: str, name: str
) -> None:
    toml, vital = SWITCHED_ON[extra]
    code, said = await ran(tmp_path, toml, COMMANDS[name])
    assert "Traceback" not in said
    assert "ModuleNotFoundError" not in said
    if vital:
        assert code in {1, 3}
    if vital or (toml and name == "config check"):
        assert command(extra) in re.sub(r"\s+", " ", said)


def test_every_optional_part_is_in_the_table() -> None:
    """What pyproject.toml offers, but for names that install nothing, and the sets."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    offered = {name for name, needs in extras["optional-dependencies"].items() if needs}
    assert set(PARTS) == offered - {"full", "test", "dev"}
    assert set(SWITCHED_ON) == set(PARTS)


@pytest.mark.parametrize("extra", PARTS)
def test_nothing_is_said_of_what_is_installed(extra: str) -> None:
    """The modules are those of the distributions: all are in the environment of the tests."""
    assert absent(extra) == []
