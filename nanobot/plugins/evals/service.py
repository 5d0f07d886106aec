"""Evals of one home: the folder of cases, evaluations, and their results."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import msgspec

from nanobot.config.loader import Config
from nanobot.errors import NanobotError, UsageError
from nanobot.operations.operation import OperationContext
from nanobot.plugins.common.store.runs import StoredRuns
from nanobot.plugins.common.views.views import RunView
from nanobot.plugins.evals.cases import Case, CaseFile, parsed, read, read_all
from nanobot.plugins.evals.evaluation import Evaluator, Plan, models_of
from nanobot.plugins.evals.freezing import as_toml, frozen, place_of
from nanobot.plugins.evals.results import Evaluation
from nanobot.plugins.evals.settings import EvalsSettings
from nanobot.plugins.evals.store import EvalAccount, SqlEvals, account
from nanobot.ports import Clock, Ids
from nanobot.providers.base import Models
from nanobot.seam.tables import PluginTables
from nanobot.session.journal import Journal
from nanobot.store.opening import Store

_KEPT = 200
_MOST_ATTEMPTS = 10_000


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """A requested evaluation; empty values are taken from the configuration."""

    folder: str = ""
    models: str = ""
    runs: int = 0
    judge: str = ""
    by: str = ""
    nightly: bool = False


class Evals:
    """The service shared by the operations and the nightly job."""

    def __init__(  # noqa: PLR0913 - each is asked for by its type
        self,
        config: Config,
        store: Store,
        tables: PluginTables,
        models: Models,
        journal: Journal,
        clock: Clock,
        ids: Ids,
    ) -> None:
        settings = config.tables["evals"]
        if not isinstance(settings, EvalsSettings):
            raise NanobotError("[evals] of the configuration was not read")
        self.settings = settings
        self.folder = config.home / "evals"
        self._store = SqlEvals(store.database, store.writer)
        self._tables = tables
        self._models = models
        self._journal = journal
        self._runs = StoredRuns(store.database, store.writer)
        self._clock = clock
        self._ids = ids

    @classmethod
    def of(cls, context: OperationContext) -> Evals:
        """The evals of the gateway in which an operation runs."""
        engine = context.engine
        return cls(
            context.of(Config),
            context.of(Store),
            context.of(PluginTables),  # type: ignore[type-abstract]
            engine.models,
            engine.journal,
            engine.clock,
            context.of(Ids),  # type: ignore[type-abstract]
        )

    async def cases(self, folder: str = "") -> list[CaseFile]:
        """The cases of a folder or file. Raises CaseBroken."""
        return await asyncio.to_thread(read_all, Path(folder) if folder else self.folder)

    async def evaluate(self, wanted: Wanted) -> Evaluation:
        """Evaluate, and store the results. Raises CaseBroken, UsageError, ConfigError."""
        cases = await self.cases(wanted.folder)
        settings, now = self.settings, self._clock.now()
        models, runs = models_of(wanted.models, settings.models), wanted.runs or settings.runs
        if len(cases) * len(models) * runs > _MOST_ATTEMPTS:
            raise UsageError(f"more than {_MOST_ATTEMPTS:,} attempts: use fewer cases or runs")
        identity = self._ids.run_id()
        plan = Plan(
            id=identity,
            at=now,
            folder=wanted.folder or str(self.folder),
            cases=cases,
            models=models,
            runs=runs,
            judge=wanted.judge or settings.judge,
            max_cost=settings.max_cost,
            models_from="models" if wanted.models else "evals.models",
            judge_from="judge" if wanted.judge else "evals.judge",
        )

        def of_attempt(number: int) -> EvalAccount:
            run = account(f"{identity}-{number}", wanted.by, now, nightly=wanted.nightly)
            return EvalAccount(self._store, run)

        made = await Evaluator(plan, self._models, of_attempt, self._clock.monotonic).evaluated()
        await self._keep(made)
        return made

    async def _keep(self, made: Evaluation) -> None:
        await self._tables.change(
            "INSERT INTO evals_results (id, at, folder, body) VALUES (:id, :at, :folder, :body)",
            id=made.id,
            at=made.at,
            folder=made.folder,
            body=msgspec.json.encode(made).decode(),
        )
        await self._tables.change(
            "DELETE FROM evals_results WHERE id NOT IN "
            "(SELECT id FROM evals_results ORDER BY at DESC, id DESC LIMIT :kept)",
            kept=_KEPT,
        )

    async def last(self, folder: str = "") -> Evaluation | None:
        """The last results of a folder ("": the folder of the home)."""
        rows = await self._tables.rows(
            "SELECT body FROM evals_results WHERE folder = :folder "
            "ORDER BY at DESC, id DESC LIMIT 1",
            folder=folder or str(self.folder),
        )
        return msgspec.json.decode(rows[0]["body"], type=Evaluation) if rows else None

    async def first_tonight(self, day: str) -> bool:
        """Whether this process is the first to claim this night's evaluation."""
        taken = await self._tables.change(
            "INSERT INTO evals_nights (day) VALUES (:day) ON CONFLICT (day) DO NOTHING", day=day
        )
        return taken == 1

    async def add(self, run: RunView) -> CaseFile:
        """Make a case from a run and store it in the folder. Raises NanobotError."""
        case = await self.frozen(run)
        return await asyncio.to_thread(_written, case, self.folder)

    async def frozen(self, run: RunView) -> Case:
        """The case that a run makes. Raises NanobotError."""
        numbers = [entry.seq for entry in await self._runs.entries(run.id)]
        return await frozen(run, numbers, self._store, self._journal)


def _written(case: Case, folder: Path) -> CaseFile:
    place = place_of(case, folder)
    text = as_toml(case)
    parsed(text, str(place))  # check that the written file can be read
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if place.exists():
            return read(place)
        file = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(file, "w", encoding="utf-8") as stream:
            stream.write(text)
    except OSError as error:
        raise NanobotError(f"{place} cannot be written: {error.strerror or error}") from None
    return CaseFile(path=str(place), case=case)


def write_report(path: str, text: str) -> None:
    """Write a JUnit report. Raises UsageError if it would overwrite another kind of file."""
    place = Path(path)
    try:
        if place.exists() and not place.read_bytes()[:5].startswith(b"<?xml"):
            raise UsageError(f"junit: {path} exists and is not XML; choose another name")
        place.write_text(text, "utf-8")
    except OSError as error:
        raise UsageError(f"junit: {path} cannot be written: {error.strerror or error}") from None
