"""Checks the result of an attempt against its case: pure functions, except for the verdict of a
judge.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from nanobot.plugins.evals.attempt import Attempt, MadeCall
from nanobot.plugins.evals.cases import Check, is_pattern, table
from nanobot.plugins.evals.results import Verdict
from nanobot.plugins.evals.schema import misfit


def said_of(check: Check) -> str:
    """A short description of a check."""
    kind = check.kinds[0]
    value = getattr(check, kind)
    if kind == "schema":
        return "answer fits the schema"
    if kind == "rubric":
        return f"rubric: {' '.join(value.split())[:80]}"
    words = {
        "called": f"calls {value}",
        "never": f"never calls {value}",
        "contains": f"contains {value!r}",
        "lacks": f"lacks {value!r}",
        "matches": f"matches /{value}/",
        "cost_below": f"costs less than ${value:g}" if kind == "cost_below" else "",
        "seconds_below": f"takes less than {value:g} s" if kind == "seconds_below" else "",
    }[kind]
    like = " with these arguments" if check.arguments else ""
    before = f" before {check.before}" if check.before else ""
    after = f" after {check.after}" if check.after else ""
    return f"{words}{like}{before}{after}"


def checked(check: Check, attempt: Attempt) -> Verdict:
    """Apply a check without a rubric to an attempt that has an answer."""
    reason = _failure(check, attempt)
    return Verdict(check=said_of(check), passed=not reason, reason=reason)


def _failure(check: Check, attempt: Attempt) -> str:  # noqa: PLR0911 - one for each kind
    answer = attempt.answer
    match check.kinds[0]:
        case "called":
            return _not_called(check, attempt.calls)
        case "never":
            made = any(call.name == check.never for call in attempt.calls)
            return f"{check.never} was called" if made else ""
        case "contains":
            found = check.contains.casefold() in answer.casefold()
            return "" if found else f"the answer is {_short(answer)}"
        case "lacks":
            found = check.lacks.casefold() in answer.casefold()
            return f"the answer is {_short(answer)}" if found else ""
        case "matches":
            return "" if re.search(check.matches, answer) else f"the answer is {_short(answer)}"
        case "schema":
            return _no_fit(answer, check.schema or {})
        case "cost_below":
            return _cost(attempt.cost, check.cost_below or 0.0)
        case _:
            fits = attempt.seconds < (check.seconds_below or 0.0)
            return "" if fits else f"it took {attempt.seconds:.1f} s"


def _cost(cost: float | None, most: float) -> str:
    if cost is None:
        return "the price of this model is not known: set it in [providers.NAME.prices]"
    return "" if cost < most else f"it cost ${cost:.4f}"


def _short(text: str) -> str:
    words = " ".join(text.split())
    return repr(words if len(words) <= 200 else f"{words[:200]} ...")


def _no_fit(answer: str, schema: Any) -> str:
    text = re.sub(r"^```\w*\s*|\s*```$", "", answer.strip())
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return f"the answer is no JSON: {_short(answer)}"
    return misfit(value, table(schema))


def _not_called(check: Check, calls: Sequence[MadeCall]) -> str:
    of_tool = [n for n, call in enumerate(calls) if call.name == check.called]
    if not of_tool:
        names = ", ".join(dict.fromkeys(call.name for call in calls)) or "no tool"
        return f"{check.called} was not called; called: {names}"
    fitting = [n for n in of_tool if _like(check.arguments, calls[n].arguments)]
    if not fitting:
        return f"{check.called} was called with {_short(calls[of_tool[0]].arguments)}"
    befores = [n for n, call in enumerate(calls) if call.name == check.before]
    if befores and fitting[0] > befores[0]:
        return f"{check.before} was called first"
    afters = [n for n, call in enumerate(calls) if call.name == check.after]
    if check.after and (not afters or fitting[-1] < afters[0]):
        return f"{check.after} was not called before it"
    return ""


def _like(wanted: dict[str, Any], arguments: str) -> bool:
    if not wanted:
        return True
    try:
        given = msgspec.json.decode(arguments or "{}")
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return False
    return alike(wanted, given)


def alike(wanted: Any, given: Any) -> bool:
    """Whether a value matches the expected one: a table has at least these keys, a text between
    slashes is a regular expression, anything else must be equal.
    """
    if isinstance(wanted, dict):
        return isinstance(given, dict) and all(
            key in given and alike(each, given[key]) for key, each in wanted.items()
        )
    if is_pattern(wanted):
        text = given if isinstance(given, str) else msgspec.json.encode(given).decode()
        return re.search(wanted[1:-1], text) is not None
    return bool(wanted == given) and isinstance(wanted, bool) == isinstance(given, bool)
