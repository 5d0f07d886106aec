"""A gateway that is ready says how to open the page: with a link at a terminal alone."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest
from loguru import logger

from nanobot.messages import Role
from nanobot.plugins.common.http.access import Access, Credentials
from nanobot.plugins.common.page_link import PageLink
from nanobot.plugins.page.inviting import ready
from nanobot.seam.http import Http


class Served(Http):
    """A page that is served."""

    @property
    def api_url(self) -> str:
        return "http://127.0.0.1:8765"


@pytest.fixture
def logged() -> Iterator[list[str]]:
    lines: list[str] = []
    number = logger.add(lines.append, level="INFO", format="{message}")
    yield lines
    logger.remove(number)


class Links:
    """Credentials that give links alone."""

    def link(self, url: str, _name: str, role: Role) -> PageLink:
        assert role is Role.OWNER
        return PageLink(url=f"{url}/#login=secret", seconds=600)


@pytest.fixture
def access(tmp_path: Path) -> Access:
    """Who may ask, at that address."""
    made = Access(tmp_path, cast("Credentials", Links()))
    made.url = Served().api_url
    return made


@pytest.mark.parametrize("terminal", [True, False])
async def test_a_link_is_for_a_terminal_and_never_in_the_log(
    terminal: bool,
    access: Access,
    logged: list[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    await ready(Served(), access)()
    shown = capsys.readouterr().err
    assert ("The page: http://127.0.0.1:8765/#login=" in shown) == terminal
    assert ("the page is at http://127.0.0.1:8765;" in "".join(logged)) != terminal
    assert "#login" not in "".join(logged)


async def test_nothing_is_said_of_a_page_that_is_not_served(
    access: Access, logged: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    await ready(Http(), access)()
    assert (capsys.readouterr().err, logged) == ("", [])
