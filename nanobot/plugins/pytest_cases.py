"""The pytest plugin that collects cases of evals as tests: docs/evals.md.

pytest imports this at every start, so it imports no plugin before there is a case. The tests of a
case are in the plugin `evals`.
"""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, cast

import pytest

_PATTERNS = ("evals/*.toml", "*.eval.toml")
_NO_CASES = ("pyproject.toml", "pytest.toml", "ruff.toml", "uv.toml", "poetry.toml", "tox.toml")


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options, and the key with the patterns of the files."""
    group = parser.getgroup("nanobot", "nanobot: cases of evals as tests")
    group.addoption(
        "--nanobot-models", default="", metavar="A,B", help="Models to test, each as its own test."
    )
    group.addoption(
        "--nanobot-runs", type=int, default=0, metavar="N", help="Attempts at each case."
    )
    group.addoption("--nanobot-judge", default="", metavar="MODEL", help="Model of the judge.")
    group.addoption(
        "--nanobot-home", default="", metavar="FOLDER", help="Home with the configured models."
    )
    parser.addini(
        "nanobot_cases",
        "Files that are cases of nanobot evals: patterns for the ends of their paths.",
        type="args",
        default=list(_PATTERNS),
    )


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker of these tests."""
    config.addinivalue_line("markers", "nanobot_case: a case of nanobot evals, which asks a model")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """The tests of a file that is a case."""
    if file_path.suffix != ".toml" or not _is_case(file_path, parent.session):
        return None
    from nanobot.promised import names_of  # noqa: PLC0415 - there is a case

    found = names_of("nanobot.plugins.evals.pytest_items", __name__)
    try:
        tests = cast("type[pytest.File]", found("CaseFileTests"))
    except ImportError as error:
        return _NoTests.from_parent(parent, path=file_path, why=str(error))
    return tests.from_parent(parent, path=file_path)


class _NoTests(pytest.File):
    """A case that cannot be tested. That is an error of its file; other tests are collected."""

    def __init__(self, *, why: str, **given: Any) -> None:
        super().__init__(**given)
        self._why = why

    def collect(self) -> Iterator[pytest.Item]:
        """Raises CollectError, whose text pytest shows without a trace."""
        raise self.CollectError(f"this case of nanobot evals cannot be tested: {self._why}")


def _is_case(path: Path, session: pytest.Session) -> bool:
    """Whether a file fits a pattern. One that is named on the command line need not."""
    if session.isinitpath(path):
        return True
    if path.name in _NO_CASES or path.name.startswith("."):
        return False
    patterns: list[str] = session.config.getini("nanobot_cases")
    return any(fnmatch(path.as_posix(), f"*/{pattern}") for pattern in patterns)
