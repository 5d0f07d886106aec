"""The calls of functions that plugins give for runs, messages, results, prompts, requests, and the
start and the stop of a gateway.

One that fails is named, and everything else goes on without it: a message is taken or sent as it
was, so that none is lost. Only a call whose result it should filter fails.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from functools import partial
from inspect import isawaitable
from typing import Any, Literal, TypeVar

import msgspec

from nanobot.agent.active_run import ActiveRun
from nanobot.agent.prompt import PromptAddition, PromptPart
from nanobot.agent.runner import Check, Stage
from nanobot.app.plugged import Plugged
from nanobot.boundary import Caught, boundary, guarded
from nanobot.bus.core import Arriving, Bus
from nanobot.errors import PluginBroken, StoreError, ToolError
from nanobot.seam.given import listed, of_kind
from nanobot.seam.installed import FoundPlugin
from nanobot.session.entries import Entry, ObjectionEntry, ReplyEntry
from nanobot.session.inbox import Admission
from nanobot.text import Sentence, clean
from nanobot.tools.base import CallContext, ResultFilter, ToolOutput
from nanobot.tools.registry import ToolRegistry

T = TypeVar("T")
CHECK_SECONDS = 5.0
"""Time limit for the look of a plugin at an answer."""
CHANGE_SECONDS = 10.0
"""Time limit for a function that changes a message and has no `seconds` of its own; its chat waits
meanwhile."""
RESULT_SECONDS = STAGE_SECONDS = 60.0
"""Time limit for a plugin's filter of results and its stage of a run that have no `seconds` of
their own, and for its parts of a prompt."""
MOMENT_SECONDS = 10.0
"""How long a start waits for a plugin's function that has no `seconds` of its own."""
MORE_SECONDS = 5.0
"""How long a function may take to end after the time of active runs is over."""
_CHARS = 2_000


async def _within_run(
    what: Sentence,
    found: FoundPlugin,
    call: Callable[[], Awaitable[T]],
    instead: Callable[[], T],
    seconds: float,
) -> T:
    """A guarded call that belongs to a run. Raises a StoreError of nanobot's own plugins: a run
    whose log may be in another state must not continue."""

    def failed(caught: Caught) -> T:
        if not found.package and isinstance(caught.error, StoreError):
            raise caught.error
        return instead()

    return await guarded(what, call, failed, seconds)


# Runs: their prompts, their stages, their answers


def additions_to_prompts(plugged: Plugged) -> list[PromptAddition]:
    """What plugins add to prompts. If one fails, its parts are missing."""
    return [
        msgspec.structs.replace(
            addition,
            parts=partial(_parts, found, addition),
            last=partial(_last, found, addition),
            renew=partial(_renew, found, addition),
        )
        for found, addition in plugged.listed("prompt", PromptAddition)
    ]


async def _parts(found: FoundPlugin, addition: PromptAddition, scope: str) -> Sequence[PromptPart]:
    async def given() -> list[PromptPart]:
        return listed(await addition.parts(scope), PromptPart)

    what: Sentence = f"prompt of the plugin {found.name}"
    return await _within_run(what, found, given, list, STAGE_SECONDS)


def _last(
    found: FoundPlugin, addition: PromptAddition, offered: Collection[str]
) -> Sequence[PromptPart]:
    with boundary(f"last parts of prompts of the plugin {found.name}"):
        return listed(addition.last(offered), PromptPart)
    return []


def _renew(found: FoundPlugin, addition: PromptAddition) -> None:
    with boundary(f"reload of the plugin {found.name}"):
        addition.renew()


def stages_of(plugged: Plugged) -> list[Stage]:
    """The stages of plugins, in order. If one fails, the run continues without it."""
    return [partial(_run_stage, *each) for each in plugged.functions("stages")]


async def _run_stage(found: FoundPlugin, stage: Stage, active: ActiveRun) -> None:
    async def act() -> None:
        await stage(active)
        given: object = active.answer
        if given is not None and not isinstance(given, ReplyEntry):
            active.answer = None
            raise PluginBroken(f"it answers with a {type(given).__name__}, not a ReplyEntry")

    what: Sentence = f"a stage of the plugin {found.name}"
    seconds = getattr(stage, "seconds", STAGE_SECONDS)
    await _within_run(what, found, act, lambda: None, seconds)


def check_of(plugged: Plugged) -> Check | None:
    """The checks of answers by the plugins that are on, in their order; None if there are none. The
    first objection counts. If a check fails, the others are made."""
    checks = plugged.functions("answer_checks")
    if not checks:
        return None

    async def check(active: ActiveRun) -> ObjectionEntry | None:
        entries = active.entries
        answer = entries[-1].body
        if not isinstance(answer, ReplyEntry):
            return None
        for found, function in checks:
            what: Sentence = f"the check of an answer by the plugin {found.name}"
            look = partial(_objection, function, entries)
            if text := await guarded(what, look, lambda _: "", CHECK_SECONDS):
                return ObjectionEntry(call=answer.call, text=text, by=found.name)
        return None

    return check


async def _objection(look: Callable[[Sequence[Entry]], Any], entries: Sequence[Entry]) -> str:
    """What is wrong with the answer at the end of these entries, as the model is told; "" or None
    if it is fine."""
    given = look(entries)
    if isawaitable(given):
        given = await given
    text = "" if given is None else of_kind(given, str)
    return clean(text).strip()[:_CHARS]


# Messages, and results of tools


def take_changes(plugged: Plugged, bus: Bus) -> None:
    """Have plugins change messages: before they are admitted, and before they are rendered."""
    arrivals, outgoing = plugged.functions("arrivals"), plugged.functions("outgoing")
    bus.arrivals += [partial(_received, found.name, change) for found, change in arrivals]
    bus.outgoing += [partial(changed, "outgoing", found.name, change) for found, change in outgoing]


async def _received(name: str, change: Arriving, admission: Admission) -> Admission:
    return (
        admission
        if admission.message.deleted
        else await changed("arrivals", name, change, admission)
    )


async def changed(field: str, plugin: str, change: Callable[[T], Awaitable[T]], message: T) -> T:
    """The message as the function in that field of a plugin changes it."""

    async def given() -> T:
        return of_kind(await change(message), type(message))

    what: Sentence = f"{field} of the plugin {plugin}"
    seconds = getattr(change, "seconds", CHANGE_SECONDS)
    return await guarded(what, given, lambda _: message, seconds)


def filter_results(registry: ToolRegistry, plugged: Plugged) -> None:
    """Have plugins change results of calls before they are recorded. If one fails, so do the calls
    that it should filter."""
    registry.results += [partial(_filtered, *each) for each in plugged.functions("results")]
    for name, fields in plugged.failures.items():
        if "results" in fields:
            registry.results.append(partial(_withheld, name))


async def _filtered(
    found: FoundPlugin, change: ResultFilter, tool: str, output: ToolOutput, context: CallContext
) -> ToolOutput:
    async def given() -> ToolOutput:
        filtered: Any = await change(tool, output, context)
        if not isinstance(filtered, ToolOutput) or not isinstance(filtered.text, str):
            raise PluginBroken(f"it gives a {type(filtered).__name__}, not a ToolOutput")
        return filtered

    def failed() -> ToolOutput:
        raise ToolError(
            f"the result of {tool} is not shown: the plugin {found.name} could not filter it"
        )

    what: Sentence = f"results of the plugin {found.name}"
    seconds = getattr(change, "seconds", RESULT_SECONDS)
    return await _within_run(what, found, given, failed, seconds)


async def _withheld(plugin: str, tool: str, output: ToolOutput, _: CallContext) -> ToolOutput:
    if output.tainted:
        raise ToolError(
            f"the result of {tool} may contain content from outside, and the plugin {plugin}, "
            "which filters results, is broken: `nanobot plugins` says why"
        )
    return output


# The start and the stop


class Moments:
    """What plugins do when a gateway starts and stops. None of it keeps the gateway from either."""

    def __init__(self, plugged: Plugged) -> None:
        fields = ("before_channels", "ready", "draining")
        self._functions = {field: plugged.functions(field) for field in fields}

    async def one_by_one(self, field: Literal["before_channels", "ready"]) -> None:
        """Call what channels have to wait for, or what happens when a gateway is ready."""
        for found, function in self._functions[field]:
            seconds = getattr(function, "seconds", MOMENT_SECONDS)
            await _done(field, found.name, function, seconds)

    async def draining(self, seconds: float) -> None:
        """Call what happens at a stop, all at once, while active runs have so many seconds."""
        async with asyncio.TaskGroup() as tasks:
            for found, function in self._functions["draining"]:
                work = partial(function, seconds)
                done = _done("draining", found.name, work, seconds + MORE_SECONDS)
                tasks.create_task(done, name=f"draining of the plugin {found.name}")


async def _done(
    field: str, plugin: str, function: Callable[[], Awaitable[Any]], seconds: float
) -> None:
    await guarded(f"{field} of the plugin {plugin}", function, lambda _: None, seconds)
