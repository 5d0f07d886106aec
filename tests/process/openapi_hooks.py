"""What `schemathesis` is told beside its command line: who asks, and what there is to ask for.

Its process alone imports this. `KNOWN_THINGS` has values of parameters by operations or by tags.
The operations that were asked are written into the file `ASKED`, each with its answer's status.
"""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import requests
import schemathesis

_rng = random.Random(0)
_known: dict[str, dict[str, Any]] = json.loads(os.environ["KNOWN_THINGS"])
_asked = Path(os.environ["ASKED"])
_PATIENCE = 60.0
_RESTART = "POST /api/restart"
_ALWAYS = {"api_base"}
"""Another value would ask a host outside."""


@schemathesis.hook
def before_call(_context: Any, case: Any, kwargs: Any) -> None:
    """Each request is somebody else's: who shows wrong tokens too often has to wait. What is right
    by its form names, now and then, something that is there."""
    kwargs["timeout"] = _PATIENCE
    case.headers["X-Forwarded-For"] = ".".join(str(_rng.randrange(1, 255)) for _ in range(4))
    if case.meta is None or not case.meta.generation.mode.is_positive:
        return
    foreign = _rng.random() < 0.2
    known = _known.get(case.operation.label) or _known.get((case.operation.tags or [""])[0], {})
    for place in (case.path_parameters, case.query, case.body):
        if isinstance(place, dict):
            own = [name for name in known if name in place and (name in _ALWAYS or not foreign)]
            place.update({name: known[name] for name in own})


@schemathesis.hook
def after_call(_context: Any, case: Any, response: Any) -> None:
    """Note what was asked. Where the gateway really starts again, wait until it has."""
    with _asked.open("a") as file:
        file.write(f"{case.operation.label} {response.status_code}\n")
    ready_at = os.environ.get("STARTS_AGAIN", "")
    if ready_at and case.operation.label == _RESTART and response.status_code == 200:
        _until(lambda: not _is_ready(ready_at))
        _until(lambda: _is_ready(ready_at))


def _is_ready(address: str) -> bool:
    try:
        return requests.get(address, timeout=_PATIENCE).status_code == 200
    except requests.ConnectionError:
        return False


def _until(holds: Callable[[], bool]) -> None:
    ends = time.monotonic() + _PATIENCE
    while not holds():
        if time.monotonic() > ends:
            raise TimeoutError("the gateway did not start again")
        time.sleep(0.02)
