"""The operations of evals."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta

from nanobot.errors import ModelUnreachable, UsageError
from nanobot.operations.operation import Caller, Operation, OperationContext, operation
from nanobot.operations.parameters import Limit, MachinePath
from nanobot.operations.rendering import Now
from nanobot.plugins.common.runs.ratings import LATEST_RATINGS
from nanobot.plugins.common.runs.run_ids import RunId, run_of
from nanobot.plugins.evals.results import Evaluation
from nanobot.seam.installed import provided
from nanobot.text import Sentence

if TYPE_CHECKING:
    from nanobot.plugins.evals.cases import CaseFile
    from nanobot.plugins.evals.service import Evals

MachineOption = Annotated[str, Meta(extra={"machine": True})]


def _evals(context: OperationContext) -> Evals:
    """The service, imported late: every command imports this module, and few need the store."""
    from nanobot.plugins.evals.service import Evals  # noqa: PLC0415 - loads the store

    return Evals.of(context)


class CaseView(msgspec.Struct, frozen=True, kw_only=True):
    """A case in the folder. `last`: the state of each model in the last evaluation."""

    name: str
    checks: tuple[str, ...]
    last: dict[str, str]
    run: str
    file: str


class RejectedView(msgspec.Struct, frozen=True, kw_only=True):
    """An answer that was rated thumbs down. `case`: the case made from it, if any."""

    run_id: str
    by: str
    at: float
    text: str
    case: str


def _view(case: CaseFile, last: Evaluation | None) -> CaseView:
    from nanobot.plugins.evals.checks import said_of  # noqa: PLC0415 - as above

    results = () if last is None else last.results
    return CaseView(
        name=case.name,
        checks=tuple(said_of(check) for check in case.case.checks),
        last={result.model: result.state for result in results if result.case == case.name},
        run=case.case.run,
        file=case.path,
    )


def _text(evaluation: Evaluation, _: Now) -> Sentence:
    from nanobot.plugins.evals.report import as_text  # noqa: PLC0415 - as above

    return as_text(evaluation)


def _failed(evaluation: Evaluation) -> bool:
    return not evaluation.passed


@operation(
    "evals run",
    command="eval",
    text=_text,
    failed=_failed,
    slow=True,
    example="models=openai/gpt-4.1-mini,ollama/qwen3 runs=5",
)
async def run_evals(  # noqa: PLR0913 - each is one argument of people
    context: OperationContext,
    caller: Caller,
    folder: Annotated[
        MachinePath, Meta(description="Folder or file of cases; default: evals in the home.")
    ] = "",
    *,
    models: Annotated[str, Meta(description="Models to test, with commas between them.")] = "",
    runs: Annotated[int, Meta(ge=0, le=100, description="Attempts at each case.")] = 0,
    judge: Annotated[str, Meta(description="Model that judges by rubric.")] = "",
    junit: Annotated[MachineOption, Meta(description="Also write JUnit XML to this file.")] = "",
) -> Evaluation:
    """Test models with the cases of a folder."""
    if folder or junit:
        caller.at_this_machine("evals run with a folder or a file")
    if junit and not junit.endswith(".xml"):
        raise UsageError(f"junit: {junit!r} must end with .xml")
    from nanobot.plugins.evals.report import junit as as_junit  # noqa: PLC0415 - as above
    from nanobot.plugins.evals.service import Wanted, write_report  # noqa: PLC0415 - as above

    by = caller.by
    wanted = Wanted(folder=folder, models=models, runs=runs, judge=judge, by=by)
    made = await _evals(context).evaluate(wanted)
    if junit:
        await asyncio.to_thread(write_report, junit, as_junit(made))
    if made.unreachable:
        first = made.unreachable[0]
        raise ModelUnreachable(f"{first.model} could not be tested: {first.why}")
    return made


@operation("evals list", reads=True, empty="`nanobot evals add RUN` makes a case of a run.")
async def list_evals(context: OperationContext, _: Caller) -> list[CaseView]:
    """List the cases with their last results."""
    evals = _evals(context)
    if not evals.folder.is_dir() or not any(evals.folder.iterdir()):
        return []
    last = await evals.last()
    return [_view(case, last) for case in await evals.cases()]


@operation("evals add", example="01m80aj3rq")
async def add_eval(context: OperationContext, caller: Caller, run: RunId) -> CaseView:
    """Make a case of a run.

    Its file is written into the folder `evals` of the home.
    """
    evals = _evals(context)
    case = await evals.add(await run_of(context, caller, run))
    return _view(case, await evals.last())


class CaseText(msgspec.Struct, frozen=True, kw_only=True):
    """A case that is not stored yet. `toml`: the text of its file."""

    name: str
    run: str
    toml: str


def _toml(case: CaseText, _: Now) -> str:
    return case.toml


@operation("runs export", reads=True, text=_toml, example="01m80aj3rq")
async def export_run(context: OperationContext, caller: Caller, run: RunId) -> CaseText:
    """Export a run as a test case, without storing it."""
    from nanobot.plugins.evals.freezing import as_toml  # noqa: PLC0415 - loads the agent

    case = await _evals(context).frozen(await run_of(context, caller, run))
    toml = await asyncio.to_thread(as_toml, case)
    return CaseText(name=case.name, run=case.run, toml=toml)


def _last_text(evaluations: list[Evaluation], now: Now) -> Sentence:
    return _text(evaluations[0], now) if evaluations else "No evaluation yet: run `nanobot eval`."


@operation("evals show", reads=True, text=_last_text)
async def show_evals(context: OperationContext, _: Caller) -> list[Evaluation]:
    """Show the last results."""
    last = await _evals(context).last()
    return [] if last is None else [last]


@operation("evals rejected", reads=True, empty="No answer has a thumb down.")
async def rejected(context: OperationContext, _: Caller, limit: Limit = 20) -> list[RejectedView]:
    """List the answers that somebody rejected, to make cases of."""
    evals, latest = _evals(context), provided(LATEST_RATINGS)
    ratings = [] if latest is None else await latest(context, limit)
    known: dict[str, str] = {}
    if evals.folder.is_dir() and any(evals.folder.iterdir()):
        known = {case.case.run: case.name for case in await evals.cases()}
    return [
        RejectedView(
            run_id=each.run_id,
            by=each.by,
            at=each.at,
            text=each.text,
            case=known.get(each.run_id, ""),
        )
        for each in ratings
        if each.verdict == "down"
    ]


def operations() -> list[Operation]:
    """All operations."""
    return [run_evals, list_evals, add_eval, export_run, show_evals, rejected]
