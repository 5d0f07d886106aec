"""The attacks, by kind: each `test_KIND.py` here is a kind, each of its cases one attack.

`pytest tests/security` ends with a table of how many there were and how many were repelled.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.doubles.web_server import WebServer
from tests.process.conftest import gateway, world
from tests.server.conftest import owner, served

__all__ = ["gateway", "owner", "served", "world"]

KIND = re.compile(r"tests/security/test_(\w+)\.py::")


@pytest.fixture
async def site() -> AsyncIterator[WebServer]:
    """A site of strangers; nothing may have reached the private machine beside it."""
    async with WebServer() as site:
        yield site
        assert site.private_hits == [], "the private machine was reached"


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """The table."""
    repelled, all_of_them = Counter[str](), Counter[str]()
    for outcome in ("passed", "failed"):
        for report in terminalreporter.stats.get(outcome, []):
            match = KIND.search(report.nodeid)
            if match and report.when == "call":
                all_of_them[match[1]] += 1
                repelled[match[1]] += outcome == "passed"
    if not all_of_them:
        return
    terminalreporter.section("attacks repelled")
    for kind in sorted(all_of_them):
        terminalreporter.write_line(f"{kind:<12} {repelled[kind]:>4} of {all_of_them[kind]:>4}")
    total = f"{repelled.total():>4} of {all_of_them.total():>4}"
    terminalreporter.write_line(f"{'all':<12} {total}")
