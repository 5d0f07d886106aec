"""What the command line prints: nothing in it is obeyed by a terminal, JSON keeps its values."""

from __future__ import annotations

import re
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from loguru import logger

from nanobot.cli.logs import to_stderr
from nanobot.cli.output import harmless
from nanobot.plugins.common.commands.output import document, say
from tests.cli.running import run
from tests.cli.talking import Home
from tests.doubles.openai_server import Answer, Body, OpenAIServer

OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
HOSTILE = "\x1b[2J\x1b]0;title\x07\x9b31mshown\x1b[8m\u202e"


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[Home]:
    async with OpenAIServer() as model:
        yield Home(tmp_path, model)


def hostile(body: Body) -> Answer:
    if body["messages"][-1]["role"] == "tool":
        return Answer(HOSTILE)
    return Answer(tool_calls=[("read_file", '{"path": "\\u001b[2J\\u009b1mshown"}')])


async def test_no_text_of_a_model_is_obeyed_by_the_terminal_that_shows_it(home: Home) -> None:
    home.model.script = hostile
    environ = home.environ()
    ended = await run(environ, "agent", "-m", "hello", "--session", "cli:direct")
    (shown,) = (await run(environ, "runs", "list", "--json")).json
    for command in (
        ("tools", "history"),
        ("sessions", "show"),
        ("sessions", "export"),
        ("outbox", "list"),
        ("runs", "show", shown["id"]),
        ("context", "show"),
    ):
        ran = await run(environ, *command)
        assert ran.code == 0
        assert "shown" in ran.out or command[0] == "context"
        assert not OBEYED.search(ran.out), command
    assert not OBEYED.search(ended.out + ended.err)
    (call,) = (await run(environ, "tools", "history", "--json")).json
    assert call["arguments"] == '{"path": "\\u001b[2J\\u009b1mshown"}'


def test_the_log_is_harmless_too_with_its_traces(capsys: pytest.CaptureFixture[str]) -> None:
    to_stderr({}, "INFO")
    logger.warning("it said {}", HOSTILE)
    try:
        "".encode(HOSTILE)
    except LookupError:
        logger.exception("it failed")
    logged = capsys.readouterr().err
    assert "it said 31mshown" in logged
    assert "LookupError: unknown encoding: 31mshown" in logged
    assert not OBEYED.search(logged)


@given(st.text(st.characters(codec="utf-8")))
def test_whatever_is_said_is_harmless_and_what_is_harmless_stays(text: str) -> None:
    assert not OBEYED.search(harmless(text))
    assert harmless(harmless(text)) == harmless(text)


def test_a_sequence_without_end_hides_nothing_that_stands_behind_it() -> None:
    assert harmless("a\x1b]0;rm -rf /\nb") == "a]0;rm -rf /\nb"


def test_json_keeps_its_values(capsys: pytest.CaptureFixture[str]) -> None:
    document({"text": "\x9b31m\x1b[2J日本語"})
    shown = capsys.readouterr().out
    assert not OBEYED.search(shown)
    assert "日本語" in shown
    say("a\x1b[2Jb")
    assert capsys.readouterr().out == "ab\n"
    assert not sys.stdout.isatty()
