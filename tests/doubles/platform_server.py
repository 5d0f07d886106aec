"""What the doubles of platforms have in common: an HTTP server on loopback, and what goes wrong."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from email.utils import formatdate
from typing import Any, ClassVar, Generic, Self, TypeVar

from aiohttp import web


@dataclass(kw_only=True)
class Fault:
    """What goes wrong with the calls of one kind (None: with all), `times` times (None: always),
    until `until`, after the first `skip` of them.

    `status` refuses as the platform does. `drop` cuts the connection "before" or "after" the
    effect, or "never" answers; with a `status` and "after" a proxy answers so once the call was
    applied. `delay` seconds come first; `body` is answered in the place of the true one.
    """

    what: str | None = None
    times: int | None = None
    until: float | None = None
    skip: int = 0
    status: int = 0
    retry_after: float | None = None
    drop: str = ""
    delay: float = 0.0
    body: bytes | None = None
    hits: int = 0

    @property
    def refuses(self) -> bool:
        return bool(self.status)

    @property
    def spent(self) -> bool:
        too_often = self.times is not None and self.hits >= self.times
        return too_often or (self.until is not None and time.monotonic() >= self.until)

    def fits(self, what: str) -> bool:
        """Whether a call of this kind is to fail."""
        return self.what in {None, what}


F = TypeVar("F", bound=Fault)


class PlatformServer(Generic[F]):
    """Serves `routes` while it is entered, on a port of its own or the given one."""

    fault_type: ClassVar[Callable[..., Any]] = Fault

    def __init__(self, port: int = 0) -> None:
        self.root_url = ""
        self._port = port
        self._runner: web.AppRunner | None = None
        self._changed = asyncio.Event()
        self._faults: list[F] = []

    def routes(self, app: web.Application) -> None:
        """Add what the platform serves."""
        raise NotImplementedError

    def clock(self) -> float | None:
        """The platform's time in Unix seconds, None for the machine's."""
        return None

    def failure(self, fault: F) -> web.Response:
        """How the platform refuses."""
        raise NotImplementedError

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=64 << 20)
        app.on_response_prepare.append(self._date)
        self.routes(app)
        self._runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self._port).start()
        self._port = self._runner.addresses[0][1]
        self.root_url = f"http://127.0.0.1:{self._port}"
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._runner:
            await self._runner.cleanup()

    async def _date(self, _request: web.Request, response: web.StreamResponse) -> None:
        now = self.clock()
        if now is not None:
            response.headers["Date"] = formatdate(now, usegmt=True)

    # What goes wrong.

    def fail(self, what: str | None = None, **how: Any) -> F:
        """Let calls go wrong: of one kind or all, see Fault; returns it, with `hits`."""
        fault: F = self.fault_type(what=what, **how)
        self._faults.append(fault)
        return fault

    def faulted(self, what: str) -> bool:
        """Whether a call of this kind went wrong as `fail` said."""
        return any(fault.hits for fault in self._faults if fault.what == what)

    def heal(self) -> None:
        """End every fault."""
        self._faults.clear()

    def fault(self, fits: Callable[[F], bool]) -> F | None:
        """What goes wrong with the call at hand."""
        for fault in self._faults:
            if not fault.spent and fits(fault):
                if not fault.skip:
                    return fault
                fault.skip -= 1
        return None

    async def spoiled(
        self,
        request: web.Request,
        fault: F | None,
        perform: Callable[[], Awaitable[web.StreamResponse]],
    ) -> web.StreamResponse:
        """The answer to a call, as far as the fault lets it come about."""
        if fault is None:
            return await perform()
        fault.hits += 1
        self.wake()
        if fault.delay:
            await asyncio.sleep(fault.delay)
        if fault.drop == "before":
            return cut(request)
        if fault.drop == "never":
            await asyncio.Event().wait()
        if fault.refuses and not fault.drop:
            return self.failure(fault)
        answer = await perform()
        if fault.drop == "after":
            return self.failure(fault) if fault.refuses else cut(request)
        if fault.body is not None:
            return web.Response(body=fault.body, content_type="application/json")
        return answer

    # What happens.

    def wake(self) -> None:
        """Something happened."""
        self._changed.set()
        self._changed = asyncio.Event()

    async def news(self) -> None:
        """Wait until something happens."""
        await self._changed.wait()

    async def until(self, holds: Callable[[], bool], timeout: float = 45.0) -> None:
        """Wait until something holds; it is asked again whenever something happens."""
        async with asyncio.timeout(timeout):
            while not holds():
                await self.news()


def cut(request: web.Request) -> web.Response:
    """Break the connection without an answer."""
    if request.transport is not None:
        request.transport.abort()
    return web.Response()
