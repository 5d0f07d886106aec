"""What plugins do before a run acts: parts of its prompt, and stages."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from functools import partial

import msgspec

from nanobot.agent.active_run import ActiveRun
from nanobot.agent.prompt import PromptAddition, PromptPart
from nanobot.agent.runner import Before
from nanobot.agent.stages import Stages
from nanobot.app.plugged import Plugged
from nanobot.boundary import Caught, boundary
from nanobot.errors import PluginBroken, StoreError
from nanobot.seam.given import listed
from nanobot.seam.installed import FoundPlugin
from nanobot.session.entries import ReplyEntry

STAGE_SECONDS = 60.0
"""Time limit for a plugin's stage of a run that has no `seconds` of its own, and for its parts of a
prompt."""


def additions_to_prompts(plugged: Plugged) -> list[PromptAddition]:
    """What plugins add to prompts. If one fails, its parts are missing."""
    return [_contained(*each) for each in plugged.listed("prompt", PromptAddition)]


def _contained(found: FoundPlugin, addition: PromptAddition) -> PromptAddition:
    parts = partial(_parts, found, addition)
    last = partial(_last, found, addition)
    renew = partial(_renew, found, addition)
    return msgspec.structs.replace(addition, parts=parts, last=last, renew=renew)


async def _parts(found: FoundPlugin, addition: PromptAddition, scope: str) -> Sequence[PromptPart]:
    parts: list[PromptPart] = []
    with boundary(f"prompt of the plugin {found.name}") as caught:
        async with asyncio.timeout(STAGE_SECONDS):
            parts += listed(await addition.parts(scope), PromptPart)
    _pass_on(found, caught)
    return parts


def _last(
    found: FoundPlugin, addition: PromptAddition, offered: Collection[str]
) -> Sequence[PromptPart]:
    parts: list[PromptPart] = []
    with boundary(f"last parts of prompts of the plugin {found.name}"):
        parts += listed(addition.last(offered), PromptPart)
    return parts


def _renew(found: FoundPlugin, addition: PromptAddition) -> None:
    with boundary(f"reload of the plugin {found.name}"):
        addition.renew()


def _pass_on(found: FoundPlugin, caught: Caught) -> None:
    """Raise what ends a run: one whose log may be in another state must not continue."""
    if not found.package and isinstance(caught.error, StoreError):
        raise caught.error


def stages_of(plugged: Plugged) -> Stages:
    """The stages of plugins, in order. If one fails, this is reported and the run continues without
    it."""
    return Stages(*(partial(_run_stage, *each) for each in plugged.functions("stages")))


async def _run_stage(found: FoundPlugin, stage: Before, active: ActiveRun) -> None:
    with boundary(f"a stage of the plugin {found.name}") as caught:
        async with asyncio.timeout(getattr(stage, "seconds", STAGE_SECONDS)):
            await stage(active)
        given: object = active.answer
        if given is not None and not isinstance(given, ReplyEntry):
            active.answer = None
            raise PluginBroken(f"it answers with a {type(given).__name__}, not a ReplyEntry")
    _pass_on(found, caught)
