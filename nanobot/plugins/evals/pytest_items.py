"""Cases of evals as tests of pytest: one for each case and model; see plugins/pytest_cases.py."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from nanobot.api import Agent
from nanobot.boundary import boundary
from nanobot.errors import Disconnected, NanobotError, NotServed, StoreLocked

_AGENT = pytest.StashKey["AgentThread"]()


class CaseFailed(Exception):
    """A case that a model does not pass; the text is for people."""


class CaseFileTests(pytest.File):
    """The tests of one file."""

    def collect(self) -> Iterator[pytest.Item]:
        """A test for each model; without any that are named, one for the configured ones."""
        named = str(self.config.getoption("--nanobot-models")).split(",")
        models = list(dict.fromkeys(name.strip() for name in named if name.strip()))
        name = self.path.name.removesuffix(".toml").removesuffix(".eval")
        for model in models or [""]:
            title = f"{name}[{model}]" if model else name
            yield CaseTest.from_parent(self, name=title, model=model)


class CaseTest(pytest.Item):
    """One case, put to one model."""

    def __init__(self, *, model: str, **given: Any) -> None:
        super().__init__(**given)
        self._model = model
        self.add_marker("nanobot_case")

    def runtest(self) -> None:
        """Ask the model. Raises CaseFailed, and NanobotError for an invalid case."""
        thread = _thread_of(self.config)
        models = [self._model] if self._model else []
        runs, judge = (self.config.getoption(f"--nanobot-{name}") for name in ("runs", "judge"))
        evaluation = thread.evaluated(self.path, models, runs, judge)
        self.user_properties.append(("nanobot_spent", round(evaluation["spent"], 6)))
        wrong = [each for each in evaluation["results"] if each["state"] != "passed"]
        if wrong:
            raise CaseFailed("\n\n".join(_described(each) for each in wrong))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """What a person reads of a failure: no trace where it is the model's or the file's."""
        if isinstance(excinfo.value, CaseFailed | NanobotError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        """The name of the test."""
        return self.path, 0, f"case: {self.name}"


def _described(result: dict[str, Any]) -> str:
    state = result["state"].replace("_", " ")
    lines = [f"{result['case']} {state} with {result['model']}: {result['why']}"]
    attempts = "1 attempt" if result["runs"] == 1 else f"{result['runs']} attempts"
    lines[0] += f" ({result['passed']} of {attempts} passed)"
    for attempt in result["attempts"]:
        if attempt["state"] == "passed":
            continue
        lines += [f"  called: {call}" for call in attempt.get("calls", ())]
        if attempt.get("answer"):
            lines.append(f"  answer: {attempt['answer']}")
        break
    return "\n".join(lines)


def _thread_of(config: pytest.Config) -> AgentThread:
    """The agent of this run of pytest, made for its first case."""
    if _AGENT not in config.stash:
        config.stash[_AGENT] = AgentThread(str(config.getoption("--nanobot-home")))
        config.add_cleanup(config.stash[_AGENT].end)
    return config.stash[_AGENT]


class AgentThread:
    """An agent over a home, in a separate thread, because it lives longer than one test. If another
    process serves the home, it is that process's agent.
    """

    def __init__(self, home: str) -> None:
        self._home = home or None
        self._agent: Agent | None = None
        self._loop = asyncio.new_event_loop()
        self._calls: asyncio.Queue[tuple[dict[str, Any], Future[dict[str, Any]]] | None] = (
            asyncio.Queue()
        )
        self._thread = threading.Thread(target=self._run, name="nanobot cases", daemon=True)
        self._thread.start()

    def evaluated(self, case: Path, models: list[str], runs: int, judge: str) -> dict[str, Any]:
        """Evaluate one case. Raises what Agent.eval raises."""
        future: Future[dict[str, Any]] = Future()
        arguments = {"cases": case, "models": models, "runs": runs, "judge": judge}
        self._loop.call_soon_threadsafe(self._calls.put_nowait, (arguments, future))
        return future.result()

    def end(self) -> None:
        """Close the agent."""
        self._loop.call_soon_threadsafe(self._calls.put_nowait, None)
        self._thread.join()

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        async with AsyncExitStack() as stack:
            while (call := await self._calls.get()) is not None:
                arguments, future = call
                with boundary("a case of evals") as caught:
                    try:
                        future.set_result(await self._answer(stack, arguments))
                    except NanobotError as error:
                        future.set_exception(error)
                if caught.error is not None:
                    future.set_exception(caught.error)

    async def _answer(self, stack: AsyncExitStack, arguments: dict[str, Any]) -> dict[str, Any]:
        if self._agent is None:
            self._agent = await self._opened(stack)
        try:
            return await self._agent.eval(**arguments)
        except (Disconnected, NotServed):  # the process that served the home has ended
            self._agent = await self._opened(stack)
            return await self._agent.eval(**arguments)

    async def _opened(self, stack: AsyncExitStack) -> Agent:
        try:
            return await stack.enter_async_context(Agent.open(self._home))
        except StoreLocked:
            return await stack.enter_async_context(Agent.connect(self._home))
