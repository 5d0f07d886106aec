"""What `schemathesis` is told beside its command line: who asks, and what there is to ask for.

Its process alone imports this. `KNOWN_THINGS` has values of parameters by operations or by tags.
"""

from __future__ import annotations

import json
import os
import random
from typing import Any

import schemathesis

_rng = random.Random(0)
_known: dict[str, dict[str, Any]] = json.loads(os.environ["KNOWN_THINGS"])


@schemathesis.hook
def before_call(_context: Any, case: Any, _kwargs: Any) -> None:
    """Each request is somebody else's: who shows wrong tokens too often has to wait. What is right
    by its form names, now and then, something that is there."""
    case.headers["X-Forwarded-For"] = ".".join(str(_rng.randrange(1, 255)) for _ in range(4))
    if case.meta is None or not case.meta.generation.mode.is_positive or _rng.random() < 0.2:
        return
    known = _known.get(case.operation.label) or _known.get((case.operation.tags or [""])[0], {})
    for place in (case.path_parameters, case.query, case.body):
        if isinstance(place, dict):
            place.update({name: value for name, value in known.items() if name in place})
