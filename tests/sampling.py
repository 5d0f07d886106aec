"""Which of many like cases run with every change. The others run in `make prove`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import settings


def few(cases: Iterable[Any], always: int = 1) -> list[Any]:
    """The cases of a parametrized test: the first so many always run, the others are slow."""
    return [case if number < always else _slow(case) for number, case in enumerate(cases)]


def by_turns(first: Iterable[Any], second: Iterable[Any]) -> list[tuple[Any, Any]]:
    """All pairs, for `few`: before the others, each of the first with one of the second in turn."""
    firsts, seconds = list(first), list(second)
    return [
        (one, seconds[(number + turn) % len(seconds)])
        for turn in range(len(seconds))
        for number, one in enumerate(firsts)
    ]


def _slow(case: Any) -> Any:
    if hasattr(case, "marks"):
        return pytest.param(*case.values, marks=[*case.marks, pytest.mark.slow], id=case.id)
    values = case if isinstance(case, tuple) else (case,)
    return pytest.param(*values, marks=pytest.mark.slow)


def examples(count: int) -> int:
    """How many examples, or steps of one, are tried: all in `make prove`, a quarter otherwise."""
    return count if settings.get_current_profile_name() == "searching" else max(25, count // 4)
