"""A line of the log as JSON, whatever is in it."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from loguru import logger

from nanobot.cli.logs import to_stderr
from nanobot.tools.redact import Redactor

SECRET = "sk-canary-1234567890"


@pytest.fixture(autouse=True)
def as_json(capsys: pytest.CaptureFixture[str]) -> Iterator[None]:
    logger.configure(patcher=Redactor([SECRET]).patch)
    to_stderr({"NANOBOT_LOG_FORMAT": "json"}, "INFO")
    yield
    logger.configure(patcher=lambda _record: None)
    logger.remove()


def test_whatever_is_said_stays_on_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    said = 'a\nb\r\u2028\x1b[31m "{extra[x]}" {0} \\ <red>\U0001f600\x00\ud800'
    logger.warning("{}", said)
    written = capsys.readouterr().err
    assert written.count("\n") == 1
    assert written.splitlines() == [written.rstrip("\n")]
    assert json.loads(written)["message"].startswith(
        'a\nb\r\u2028\x1b[31m "{extra[x]}" {0} \\ <red>'
    )
    assert json.loads(written)["level"] == "warning"


def test_secrets_are_neither_in_the_message_nor_in_the_trace(
    capsys: pytest.CaptureFixture[str],
) -> None:
    try:
        int(SECRET)
    except ValueError as error:
        logger.opt(exception=error).error("failed with {}", SECRET)
    logger.bind(run="r", key=SECRET).info("x")
    written = capsys.readouterr().err
    assert SECRET not in written
    assert len(written.splitlines()) == 2
    assert "ValueError" in json.loads(written.splitlines()[0])["message"]


def test_a_failure_has_its_kind_and_its_stack(capsys: pytest.CaptureFixture[str]) -> None:
    try:
        dict[str, int]()["k"]
    except KeyError as error:
        logger.opt(exception=error).error("failed")
    event = json.loads(capsys.readouterr().err)
    assert event["error"] == "KeyError"
    assert "test_json_log.py" in event["stack"]
