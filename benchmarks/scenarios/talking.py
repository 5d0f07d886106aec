"""Conversations over a model that costs nothing: what is left is the gateway's own work."""

from __future__ import annotations

import asyncio
import statistics
import time

import aiohttp

from benchmarks.figures import Measure, Sample, Scenario
from benchmarks.stage import PLAIN, Gateway, Stage, Subject, Talk

WARM, TALKER, WORKER = 1, 2, 3
PAUSE = 0.02
"""People do not write in the instant an answer arrives: the turn before is over by then."""
AT_ONCE = 32


async def turn(stage: Stage, subject: Subject) -> Sample:
    """One person writes one message after another, and the model answers at once: from the moment
    when the gateway can poll an update until its answer arrives at sendMessage.

    This is what a gateway adds to the model's time in every turn. CPU is that of all processes of
    the gateway; calls are all calls of the Bot API, polls too.
    """
    async with stage.gateway(subject) as gateway:
        talk, cpu = await one_person(stage, gateway)
    stage.notes[f"calls of {subject}"] = dict(talk.calls)
    return {
        "p50": talk.median,
        "p95": talk.percentile(0.95),
        "cpu": cpu / talk.turns,
        "calls": sum(talk.calls.values()) / talk.turns,
    }


async def one_person(stage: Stage, gateway: Gateway) -> tuple[Talk, float]:
    """Somebody talks alone; with the CPU milliseconds of it."""
    await stage.converse([WARM], 5, pause=PAUSE)
    before = gateway.cpu()
    talk = await stage.converse([TALKER], stage.effort.turns, pause=PAUSE)
    return talk, gateway.cpu().since(before)


TURN = Scenario(
    "turn",
    (
        Measure("p50", "overhead of a turn, median", "ms"),
        Measure("p95", "overhead of a turn, 95 of 100", "ms"),
        Measure("cpu", "CPU per turn", "ms"),
        Measure("calls", "Bot API calls per turn", ""),
    ),
    turn,
    versions=True,
)


async def tools(stage: Stage, subject: Subject) -> Sample:
    """The model reads ten files before it answers. A turn without tools is subtracted, and
    the rest divided by ten: one round of a model call, a tool call and their log entries.

    Work is made of such rounds, so this is what a gateway adds to every step of it.
    """
    async with stage.gateway(subject) as gateway:
        return await rounds(stage, gateway, subject)


async def rounds(stage: Stage, gateway: Gateway, whose: str) -> Sample:
    """Somebody has work done; a tool round of it."""
    turns, each = stage.effort.tool_turns, stage.effort.rounds
    await stage.converse([WARM], 3, f"rounds:{each} \n{PLAIN}", PAUSE)
    begin = gateway.cpu()
    plain = await stage.converse([TALKER], turns, pause=PAUSE)
    middle = gateway.cpu()
    working = await stage.converse([WORKER], turns, f"rounds:{each} \n{PLAIN}", PAUSE)
    cpu = gateway.cpu().since(middle) - middle.since(begin)
    if len(working.prompts) != turns * (each + 1):
        stage.notes[f"model calls of {whose}, not as asked"] = len(working.prompts)
    return {
        "round": (working.median - plain.median) / each,
        "cpu": cpu / turns / each,
    }


TOOLS = Scenario(
    "tools",
    (
        Measure("round", "overhead of a tool round", "ms"),
        Measure("cpu", "CPU per tool round", "ms"),
    ),
    tools,
    versions=True,
)


async def many(stage: Stage, subject: Subject) -> Sample:
    """Fifty new people write at once, and the model takes two seconds: from the first message to
    the last answer.

    Two seconds and a little means that nobody waits for anybody else.
    """
    effort = stage.effort
    async with stage.gateway(subject, latency=effort.model_seconds) as gateway:
        await stage.converse([WARM], 1)
        before = gateway.cpu()
        talk = await stage.converse(range(100, 100 + effort.newcomers), 1)
        cpu = gateway.cpu().since(before)
    return {"all": talk.seconds, "cpu": cpu / talk.turns}


MANY = Scenario(
    "many",
    (
        Measure("all", "50 new chats at once, model 2 s: all answered", "s"),
        Measure("cpu", "CPU per turn there", "ms"),
    ),
    many,
    versions=True,
)


async def flood(stage: Stage, subject: Subject) -> Sample:
    """Two hundred people write five messages each, the next one after each answer, and the model
    answers at once: turns per second.

    The gateway is never idle here, so this is what one machine can serve. How busy the doubles
    were is shown beside it: at 100 % it would be them who were measured.
    """
    async with stage.gateway(subject) as gateway:
        return await crowd(stage, gateway)


async def crowd(stage: Stage, gateway: Gateway) -> Sample:
    """Many talk at once, none of them ever pausing."""
    effort = stage.effort
    await stage.converse([WARM], 5, pause=PAUSE)
    before = gateway.cpu()
    talk = await stage.converse(range(100, 100 + effort.crowd), effort.crowd_says)
    cpu = gateway.cpu().since(before)
    return {
        "rate": talk.turns / talk.seconds,
        "cpu": cpu / talk.turns,
        "p50": talk.median,
        "doubles": 100 * talk.doubles_cpu / talk.seconds,
    }


FLOOD = Scenario(
    "flood",
    (
        Measure("rate", "200 chats of 5 messages: turns per second", "1/s"),
        Measure("cpu", "CPU per turn there", "ms"),
        Measure("p50", "wait for an answer there, median", "ms"),
        Measure("doubles", "the doubles' process was busy", "%"),
    ),
    flood,
    versions=True,
)


async def doubles(stage: Stage, _: Subject) -> Sample:
    """The doubles alone: pairs of one model call and one sendMessage, one after another and 32 at
    once. Figures near these do not measure the gateway.

    A gateway cannot be faster than this, and figures near it are not the gateway's. The client
    takes as much CPU as the doubles do, so their limit is above the rate shown.
    """
    await stage.order("reset")
    chats = list(range(100, 100 + AT_ONCE))
    await stage.order("meet", chats=chats)
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector) as http:
        alone = [await _pair(stage, http, chats[0]) for _ in range(stage.effort.requests // 4)]
        before, cpu = time.monotonic(), await stage.order("cpu")
        each = max(stage.effort.requests // AT_ONCE, 1)
        async with asyncio.TaskGroup() as tasks:
            for chat in chats:
                tasks.create_task(_pairs(stage, http, chat, each))
        seconds, cpu = time.monotonic() - before, await stage.order("cpu") - cpu
    pairs = each * AT_ONCE
    return {
        "pair": statistics.median(alone) * 1e3,
        "rate": pairs / seconds,
        "cpu": cpu * 1e3 / pairs,
    }


async def _pairs(stage: Stage, http: aiohttp.ClientSession, chat: int, count: int) -> None:
    for _ in range(count):
        await _pair(stage, http, chat)


async def _pair(stage: Stage, http: aiohttp.ClientSession, chat: int) -> float:
    """The seconds that a model call and a send took."""
    bot = f"{stage.places['root']}/bot{stage.places['token']}"
    question = {"messages": [{"role": "user", "content": "say:hello"}], "stream": True}
    begin = time.monotonic()
    async with http.post(f"{stage.places['model']}/chat/completions", json=question) as response:
        await response.read()
    async with http.post(f"{bot}/sendMessage", json={"chat_id": chat, "text": "x"}) as response:
        response.raise_for_status()
        await response.read()
    return time.monotonic() - begin


DOUBLES = Scenario(
    "doubles",
    (
        Measure("pair", "the doubles alone: model call and send", "ms"),
        Measure("rate", "the same, 32 at once", "1/s"),
        Measure("cpu", "the doubles' CPU for the two", "ms"),
    ),
    doubles,
    subjects=(Subject.NANOBOT,),
)
