"""Makes embeddings with an OpenAI-compatible endpoint: POST /embeddings.

https://platform.openai.com/docs/api-reference/embeddings/create
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from nanobot.ports import Clock
from nanobot.providers.openai_errors import Speaker, failure_of_protocol
from nanobot.providers.openai_once import SingleRequest, ask_once
from nanobot.providers.retrying import CallPolicy

_MAX_BYTES = 64_000_000


class _Vector(msgspec.Struct):
    embedding: list[float]
    index: int = 0


class _Vectors(msgspec.Struct):
    data: list[_Vector]


async def embed(
    texts: Sequence[str],
    speaker: Speaker,
    headers: dict[str, str],
    policy: CallPolicy,
    clock: Clock,
) -> list[list[float]]:
    """A vector for each text. Makes up to three attempts if a retry may help; raises the ModelError
    of the last.
    """
    request = {"model": speaker.model, "input": list(texts), "encoding_format": "float"}
    call = SingleRequest(
        path="embeddings",
        headers=headers,
        body=msgspec.json.encode(request),
        answer=_Vectors,
        max_bytes=_MAX_BYTES,
    )
    rows = (await ask_once(call, speaker, policy, clock)).data
    if len(rows) != len(texts):
        problem = f"{len(rows)} vectors for {len(texts)} texts"
        raise failure_of_protocol(speaker, problem).error
    return [row.embedding for row in sorted(rows, key=lambda row: row.index)]
