"""The command line tells errors and findings in the language of the terminal."""

from __future__ import annotations

import json
import re

from tests.cli.running import run_in
from tests.process.harness import World

CHINESE = {"LANG": "zh_CN.UTF-8"}
_ENGLISH = re.compile(r"\b[a-z]{3,}(?: [a-z']{2,}){2,}\b")
"""Three words in a row."""


async def test_errors_and_findings_are_in_the_language_of_the_terminal(world: World) -> None:
    ran = await run_in(world, "runs", "show", "none", **CHINESE)
    assert (ran.code, ran.err.strip()) == (1, "nanobot: 没有运行 none；可用 `runs list` 列出。")
    world.telegram.token = "0:changed"
    ran = await run_in(world, "doctor", **CHINESE)
    assert ran.code == 1
    assert "Telegram 拒绝了 channels.telegram 的令牌" in ran.out
    said = re.sub(r"`[^`]+`|/\S+", "", ran.out)  # but for commands and paths
    assert not _ENGLISH.findall(said), ran.out


async def test_programs_and_those_who_ask_for_english_get_english(world: World) -> None:
    ran = await run_in(world, "runs", "show", "none", LC_ALL="C", **CHINESE)
    assert ran.err.strip() == "nanobot: There is no run none; `runs list` lists them."
    rows = json.loads((await run_in(world, "doctor", "--json", **CHINESE)).out)
    assert all(row["text"].isascii() for row in rows)
