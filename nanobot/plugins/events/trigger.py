"""The trigger that runs the sensors and reports their events exactly once."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any

import msgspec
from loguru import logger

from nanobot.boundary import boundary
from nanobot.plugins.common.jobs.triggers import Publisher
from nanobot.plugins.common.times.zones import zone_of
from nanobot.plugins.common.trigger_state import TriggerState
from nanobot.plugins.events.event_queue import (
    EventOptions,
    EventQueue,
    begun,
    due_in,
    ended,
    noted,
)
from nanobot.plugins.events.sensor import Sensor, SensorOff, SensorUnreadable
from nanobot.ports import Clock
from nanobot.supervision import Work, side_by_side

_LAZY_SECONDS = 30.0
"""State changes without an event are stored at most this much later."""
_FULL_SECONDS = 30.0
_LONGEST_PAUSE = 300.0


class Events:
    """Runs the sensors. Events are stored with the sensors' states before they are published, and
    published with one key until they are accepted. So no crash loses an event or reports it twice.

    Events with untrusted text go to `outside`, all others to the publisher of `run`.
    """

    def __init__(
        self,
        sensors: Sequence[Sensor[Any, Any]],
        options: EventOptions,
        storage: TriggerState,
        clock: Clock,
        outside: Publisher,
    ) -> None:
        self._sensors = sensors
        self._options = options
        self._storage = storage
        self._clock = clock
        self._outside = outside
        self._queue = EventQueue()
        self._saved_queue: EventQueue | None = None
        self._news = asyncio.Event()
        self._writing = asyncio.Lock()
        self._seen: dict[str, str] = {sensor.name: "not looked at yet" for sensor in sensors}

    def seen(self) -> Mapping[str, str]:
        """The latest reading of each watch, in a few words."""
        return self._seen

    async def run(self, publisher: Publisher) -> None:
        await self._recall()
        try:
            works: dict[str, Work] = {
                f"events: {sensor.name}": partial(self._watch, sensor) for sensor in self._sensors
            }
            works["events: telling"] = partial(self._tell, publisher)
            await side_by_side(works, self._clock)
        finally:
            for sensor in self._sensors:
                await sensor.close()

    async def _recall(self) -> None:
        if self._saved_queue is not None:
            return  # restarted: the state in memory is newer
        body = await self._storage.kept(self._options.host)
        if body is not None:
            try:
                self._queue = msgspec.json.decode(body, type=EventQueue)
            except msgspec.DecodeError as error:
                logger.warning(
                    "the stored events cannot be read; the watcher starts without them: {}", error
                )
        self._saved_queue = self._queue

    # Noticing

    async def _watch(self, sensor: Sensor[Any, Any]) -> None:
        pause, trouble = sensor.every, ""
        while True:
            why = ""
            with boundary(f"the watch events.{sensor.name}") as caught:
                try:
                    await self._look(sensor)
                except SensorOff as error:
                    self._seen[sensor.name] = f"off: {error}"
                    logger.info("events.{} is off: {}", sensor.name, error)
                    return
                except SensorUnreadable as error:
                    why = str(error)
                    self._seen[sensor.name] = why
                    if why != trouble:
                        logger.warning("events.{}: {}", sensor.name, why)
            trouble = why
            if caught.error is not None:
                self._seen[sensor.name] = f"failed: {caught.error}"
                pause = min(pause * 2, max(_LONGEST_PAUSE, sensor.every))
            else:
                pause = sensor.every
            await self._clock.sleep(pause)

    async def _look(self, sensor: Sensor[Any, Any]) -> None:
        state = self._state(sensor)
        reading = await sensor.read(state)
        now = self._clock.now()
        event, after = sensor.judge(reading, state, now)
        at = datetime.fromtimestamp(now, zone_of(self._options.zone)).strftime("%H:%M:%S")
        self._seen[sensor.name] = f"{sensor.seen(reading)} ({at})"
        kept = msgspec.Raw(msgspec.json.encode(after))
        queue = self._queue
        if event is None and queue.states.get(sensor.name) == kept:
            return
        if event is not None:
            logger.info("events.{}: {}", sensor.name, event.text)
            queue = noted(queue, sensor.name, event)
        states = {**queue.states, sensor.name: kept}
        self._queue = msgspec.structs.replace(queue, states=states)
        if event is not None or state is None:
            # The first state too: without it, the next start would begin again and miss events.
            await self._keep()
        if event is not None:
            self._news.set()

    def _state(self, sensor: Sensor[Any, Any]) -> Any:
        kept = self._queue.states.get(sensor.name)
        if kept is None:
            return None
        try:
            return msgspec.json.decode(kept, type=sensor.kind)
        except msgspec.DecodeError:
            return None  # written by another version

    # Reporting

    async def _tell(self, publisher: Publisher) -> None:
        while True:
            self._news.clear()
            wait = due_in(self._queue, self._options, self._clock.now())
            if wait == 0.0:
                await self._tell_now(publisher)
                continue
            await self._wait(min(_LAZY_SECONDS, wait or _LAZY_SECONDS))
            await self._keep()

    async def _tell_now(self, publisher: Publisher) -> None:
        self._queue = begun(self._queue, self._options, self._clock.now())
        prompt = self._queue.telling
        if prompt is None:
            return
        await self._keep()
        to = self._outside if prompt.outside else publisher
        while await to.publish(prompt.text, key=prompt.key) == "full":
            await self._clock.sleep(_FULL_SECONDS)
        self._queue = ended(self._queue)
        await self._keep()

    async def _keep(self) -> None:
        # One write at a time, or an older state could overwrite a newer one.
        async with self._writing:
            queue = self._queue
            if queue is not self._saved_queue:
                await self._storage.keep(self._options.host, msgspec.json.encode(queue))
                self._saved_queue = queue

    async def _wait(self, seconds: float) -> None:
        """Wait this long, or until there is something new."""
        async with asyncio.TaskGroup() as tasks:
            timer = tasks.create_task(self._clock.sleep(seconds), name="events: wait")
            news = tasks.create_task(self._news.wait(), name="events: news")
            await asyncio.wait((timer, news), return_when=asyncio.FIRST_COMPLETED)
            timer.cancel()
            news.cancel()
