"""Reports of an evaluation: as text, as JUnit XML, and as changes since the previous evaluation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from xml.sax.saxutils import escape, quoteattr

from nanobot.plugins.common.widths import columns
from nanobot.plugins.evals.results import AttemptView, CaseResult, Evaluation
from nanobot.text import pattern

_HEADS = ("case", "model", "passed", "cost", "time", "variance")
_NOT_XML = pattern(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def as_text(evaluation: Evaluation) -> str:
    """A table, followed by the reasons why cases failed."""
    rows = [_HEADS, *(_row(result) for result in evaluation.results)]
    widths = [max(columns(row[n]) for row in rows) for n in range(len(_HEADS))]
    lines = ["  ".join(_padded(row, widths)).rstrip() for row in rows]
    whys = [f"{r.case}, {r.model}: {r.why}" for r in evaluation.results if r.why]
    unrecorded = sum(result.unrecorded for result in evaluation.results)
    if whys:
        lines += ["", *whys]
    lines += ["", *_totals(evaluation)]
    if unrecorded:
        lines.append(f"{unrecorded} attempt(s) made calls without a recording, which were refused.")
    if evaluation.stopped:
        lines.append(f"Not all attempts were made: {evaluation.stopped}.")
    return "\n".join(lines)


def _padded(row: Sequence[str], widths: Sequence[int]) -> Iterable[str]:
    return (cell + " " * (width - columns(cell)) for cell, width in zip(row, widths, strict=True))


def _totals(evaluation: Evaluation) -> Iterable[str]:
    by_model: dict[str, list[CaseResult]] = {}
    for result in evaluation.results:
        by_model.setdefault(result.model, []).append(result)
    for model, results in by_model.items():
        passed = sum(result.state == "passed" for result in results)
        cases = "1 case" if len(results) == 1 else f"{len(results)} cases"
        yield f"{model}: {passed} of {cases} passed."
    yield f"Spent: ${evaluation.spent:.4f}."


def _row(result: CaseResult) -> tuple[str, ...]:
    passed = f"{result.passed}/{result.runs}"
    word = "" if result.state in ("passed", "failed") else f" ({result.state.replace('_', ' ')})"
    return (
        result.case,
        result.model,
        passed + word,
        _amount(result.cost, result.cost_deviation, "${:.4f}"),
        _amount(result.seconds, result.seconds_deviation, "{:.1f} s"),
        f"{result.variance:.2f}",
    )


def _amount(mean: float | None, deviation: float | None, form: str) -> str:
    if mean is None:
        return "unknown"
    spread = f" ± {form.format(deviation)}" if deviation else ""
    return form.format(mean) + spread


def junit(evaluation: Evaluation) -> str:
    """The same as JUnit XML for a CI service: a suite per model, a test per attempt."""
    by_model: dict[str, list[CaseResult]] = {}
    for result in evaluation.results:
        by_model.setdefault(result.model, []).append(result)
    suites = "".join(_suite(model, results) for model, results in by_model.items())
    head = '<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="nanobot eval">'
    return f"{head}\n{suites}</testsuites>\n"


def _suite(model: str, results: Sequence[CaseResult]) -> str:
    attempts = [attempt for result in results for attempt in result.attempts]
    count = {
        "tests": len(attempts),
        "failures": sum(attempt.state == "failed" for attempt in attempts),
        "errors": sum(attempt.state == "unreachable" for attempt in attempts),
        "skipped": sum(attempt.state == "not_run" for attempt in attempts),
    }
    counted = " ".join(f'{name}="{number}"' for name, number in count.items())
    tests = "".join(
        _test(result, number, attempt)
        for result in results
        for number, attempt in enumerate(result.attempts, 1)
    )
    return f"<testsuite name={_attribute(model)} {counted}>\n{tests}</testsuite>\n"


_ELEMENTS = {"failed": "failure", "unreachable": "error", "not_run": "skipped"}


def _test(result: CaseResult, number: int, attempt: AttemptView) -> str:
    name = result.case if result.runs == 1 else f"{result.case} #{number}"
    head = (
        f"<testcase classname={_attribute(result.model)} name={_attribute(name)} "
        f'time="{attempt.seconds:.3f}"'
    )
    if attempt.state == "passed":
        return f"{head}/>\n"
    failed = [f"{v.check}: {v.reason}" for v in attempt.verdicts if not v.passed]
    why = "\n".join([*failed, *([attempt.error] if attempt.error else [])])
    element = _ELEMENTS[attempt.state]
    detail = escape(_NOT_XML.sub("?", f"{why}\n\n{attempt.answer}"))
    message = _attribute(why.partition("\n")[0])
    return f"{head}><{element} message={message}>{detail}</{element}></testcase>\n"


def _attribute(text: str) -> str:
    return quoteattr(_NOT_XML.sub("?", text))


def changes(before: Evaluation | None, now: Evaluation) -> list[str]:
    """The changes since the previous evaluation, one line each. Cases that could not be run this
    time, and new cases that passed, are not changes.
    """
    known = {} if before is None else {(r.case, r.model): r for r in before.results}
    lines: list[str] = []
    for result in now.results:
        if result.state not in ("passed", "failed"):
            continue
        was = known.get((result.case, result.model))
        if was is None or was.state not in ("passed", "failed"):
            if result.state == "failed":
                lines.append(f"{result.case} fails with {result.model}: {result.why}")
        elif was.state != result.state:
            word = "passes again" if result.state == "passed" else "fails now"
            why = f": {result.why}" if result.why else "."
            lines.append(f"{result.case} {word} with {result.model}{why}")
    return lines
