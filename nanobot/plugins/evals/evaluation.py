"""An evaluation: runs each case with each model as often as requested, and collects the results."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from statistics import fmean, pvariance, stdev

import msgspec

from nanobot.errors import ConfigError, ModelError, OverBudget
from nanobot.plugins.evals.attempt import Attempt, Settling, Trial
from nanobot.plugins.evals.cases import CaseFile, Check
from nanobot.plugins.evals.checks import checked, said_of
from nanobot.plugins.evals.judge import Judge
from nanobot.plugins.evals.results import AttemptView, CaseResult, Evaluation, State, Verdict
from nanobot.providers.base import LLMProvider, ModelProfile, Models

AT_ONCE = 4
_MOST_SHOWN = 4_000


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """The plan of an evaluation. `models_from` and `judge_from`: what errors call the places that
    name them."""

    id: str
    at: float
    folder: str
    cases: Sequence[CaseFile]
    models: Sequence[str]
    runs: int
    judge: str = ""
    """Empty: the configured model."""
    max_cost: float = 0.0
    """0 for no limit beyond the budgets."""
    models_from: str = "models"
    judge_from: str = "judge"


class Evaluator:
    """Evaluates one plan. `account` returns an account for each attempt."""

    def __init__(
        self,
        plan: Plan,
        models: Models,
        account: Callable[[int], Settling],
        monotonic: Callable[[], float],
    ) -> None:
        self._plan = plan
        self._models = models
        self._account = account
        self._monotonic = monotonic
        self._turns = asyncio.Semaphore(AT_ONCE)
        self._picked: dict[str, tuple[LLMProvider, ModelProfile]] = {}
        self._away: dict[str, ModelError] = {}
        self._spent = 0.0
        self._stopped = ""
        self._count = 0

    async def evaluated(self) -> Evaluation:
        """Make all attempts. Raises ConfigError for a model that is not configured; StoreError."""
        plan = self._plan
        for label in plan.models:
            await self._pick(label, plan.models_from)
        if any(check.rubric for each in plan.cases for check in each.case.checks):
            await self._pick(plan.judge, plan.judge_from)
        pairs = [(case, label) for case in plan.cases for label in plan.models]
        jobs = [self._attempt(case, label) for case, label in pairs for _ in range(plan.runs)]
        tasks: list[asyncio.Task[AttemptView]] = []
        try:
            async with asyncio.TaskGroup() as group:
                tasks += [group.create_task(job, name="evals: attempt") for job in jobs]
        except BaseExceptionGroup as several:
            raise _first(several) from None
        made = [task.result() for task in tasks]
        results = [
            result_of(case, self._label(label), made[n * plan.runs : (n + 1) * plan.runs])
            for n, (case, label) in enumerate(pairs)
        ]
        return Evaluation(
            id=plan.id,
            at=plan.at,
            folder=plan.folder,
            results=tuple(results),
            spent=self._spent,
            stopped=self._stopped,
        )

    def _label(self, label: str) -> str:
        return self._picked[label][1].label if label in self._picked else label

    async def _pick(self, label: str, named_by: str) -> None:
        """Raises ConfigError that names the option or the key with that model."""
        if label in self._picked:
            return
        try:
            self._picked[label] = await self._models.pick(label or None)
        except ModelError as error:
            # One unavailable model does not keep the others from being tested.
            self._away[label] = error
        except ConfigError as error:
            raise ConfigError(f"{named_by}: {error}" if label else str(error)) from None

    async def _attempt(self, case: CaseFile, label: str) -> AttemptView:
        async with self._turns:
            if self._stopped:
                return AttemptView(state="not_run", error=self._stopped)
            if label in self._away:
                return AttemptView(state="unreachable", error=str(self._away[label]))
            self._count += 1
            account = self._account(self._count)
            attempt = await Trial(case.case, self._picked[label], account, self._monotonic).made()
            self._spend(attempt.cost)
            if isinstance(attempt.error, OverBudget):
                self._stopped = str(attempt.error)
                return _view(attempt, "not_run", ())
            if attempt.unreachable:
                return _view(attempt, "unreachable", ())
            if attempt.error is not None:
                return _view(attempt, "failed", ())
            return await self._judged(case, attempt, account)

    def _spend(self, cost: float | None) -> None:
        self._spent += cost or 0.0
        most = self._plan.max_cost
        if most and self._spent >= most:
            self._stopped = self._stopped or f"the limit of ${most:g} (evals.max_cost) is reached"

    async def _judged(self, case: CaseFile, attempt: Attempt, account: Settling) -> AttemptView:
        verdicts: list[Verdict] = []
        for check in case.case.checks:
            if not check.rubric:
                verdicts.append(checked(check, attempt))
                continue
            try:
                verdicts.append(await self._verdict(case, check, attempt, account))
            except OverBudget as error:
                self._stopped = self._stopped or str(error)
                return _view(attempt, "not_run", verdicts, str(error))
            except ModelError as error:
                said = f"the judge did not answer: {error}"
                return _view(attempt, "unreachable", verdicts, said)
        passed = all(verdict.passed for verdict in verdicts)
        return _view(attempt, "passed" if passed else "failed", verdicts)

    async def _verdict(
        self, case: CaseFile, check: Check, attempt: Attempt, account: Settling
    ) -> Verdict:
        if not attempt.answer.strip():
            return Verdict(check=said_of(check), passed=False, reason="the answer is empty")
        if self._plan.judge in self._away:
            raise self._away[self._plan.judge]
        judged = await Judge(self._picked[self._plan.judge], account).judge(
            case.case, check, attempt
        )
        self._spend(judged.cost)
        return judged.verdict


def _first(several: BaseExceptionGroup[BaseException]) -> BaseException:
    """The first error of a group."""
    error = several.exceptions[0]
    return _first(error) if isinstance(error, BaseExceptionGroup) else error


def _view(
    attempt: Attempt, state: State, verdicts: Iterable[Verdict], error: str = ""
) -> AttemptView:
    return AttemptView(
        state=state,
        answer=attempt.answer[:_MOST_SHOWN],
        cost=attempt.cost,
        seconds=round(attempt.seconds, 3),
        calls=tuple(f"{call.name} {call.arguments}"[:300] for call in attempt.calls),
        unrecorded=tuple(
            f"{call.name} {call.arguments}"[:300] for call in attempt.calls if not call.recorded
        ),
        verdicts=tuple(verdicts),
        error=error or ("" if attempt.error is None else str(attempt.error)),
    )


def result_of(case: CaseFile, model: str, attempts: Sequence[AttemptView]) -> CaseResult:
    """The combined result of several attempts: passed only if all of them passed."""
    made = [attempt for attempt in attempts if attempt.state in ("passed", "failed")]
    passed = sum(attempt.state == "passed" for attempt in made)
    costs = [attempt.cost for attempt in made if attempt.cost is not None]
    known = bool(costs) and len(costs) == len(made)
    seconds = [attempt.seconds for attempt in made]
    return CaseResult(
        case=case.name,
        model=model,
        state=_state(attempts),
        passed=passed,
        runs=len(attempts),
        variance=pvariance([attempt.state == "passed" for attempt in made]) if made else 0.0,
        cost=fmean(costs) if known else None,
        cost_deviation=stdev(costs) if known and len(costs) > 1 else 0.0 if known else None,
        seconds=round(fmean(seconds), 3) if seconds else 0.0,
        seconds_deviation=round(stdev(seconds), 3) if len(seconds) > 1 else 0.0,
        unrecorded=sum(bool(attempt.unrecorded) for attempt in attempts),
        why=_why(attempts),
        attempts=tuple(attempts),
    )


def _state(attempts: Sequence[AttemptView]) -> State:
    """The worst of several states; states that say something about the model take precedence."""
    states = {attempt.state for attempt in attempts}
    order: tuple[State, ...] = ("failed", "unreachable", "not_run")
    return next((state for state in order if state in states), "passed")


def _why(attempts: Sequence[AttemptView]) -> str:
    """Why the first failed attempt failed."""
    for attempt in attempts:
        if attempt.state == "passed":
            continue
        failed = [f"{v.check}: {v.reason}" for v in attempt.verdicts if not v.passed]
        refused = [f"no recording of {attempt.unrecorded[0]}"] if attempt.unrecorded else []
        return "; ".join([*failed, *([attempt.error] if attempt.error else []), *refused])
    return ""


def models_of(text: str, configured: Sequence[str]) -> list[str]:
    """The given models, otherwise the configured ones, otherwise the agent's ("")."""
    named = list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    return named or list(configured) or [""]
