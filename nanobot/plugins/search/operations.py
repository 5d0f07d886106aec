"""Searching everything that was said in conversations."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from nanobot.messages import Role
from nanobot.operations.operation import Caller, Operation, OperationContext, operation
from nanobot.operations.parameters import Rest
from nanobot.operations.rendering import Now, cell
from nanobot.plugins.common.views.visibility import visible_sessions
from nanobot.plugins.search.hits import Search, SearchHit
from nanobot.text import Sentence


def _hits_text(hits: list[SearchHit], now: Now) -> Sentence:
    """A paragraph for each hit: where and when, and the sentence with the words marked."""
    if not hits:
        return "No message contains these words."
    paragraphs = []
    for hit in hits:
        name = f"{hit.title} (`{hit.session_key}`)" if hit.title else f"`{hit.session_key}`"
        marked = f"**{hit.match}**" if hit.match else ""
        head = f"- {name}, {cell('at', hit.at, now)}"
        paragraphs.append(f"{head}\n  {hit.by or 'nanobot'}: {hit.before}{marked}{hit.after}")
    return "\n".join(paragraphs)


@operation(
    "search",
    role=Role.GUEST,
    command="sessions search",
    reads=True,
    text=_hits_text,
    example="lighthouse",
)
async def search(
    context: OperationContext,
    caller: Caller,
    find: Annotated[
        Rest,
        Meta(
            min_length=1,
            max_length=200,
            description='All of these words; "in quotes": a phrase.',
        ),
    ],
    *,
    session: Annotated[str, Meta(description="Only in this session.")] = "",
    before: Annotated[
        int,
        Meta(ge=0, description="Continue after the hit with this id; 0: start with the newest."),
    ] = 0,
    limit: Annotated[int, Meta(ge=1, le=100, description="Maximum number of results.")] = 10,
) -> list[SearchHit]:
    """Search all conversations, newest first.

    A result contains all words, in any order, regardless of case and accents. A word of three or
    more letters also matches the beginning of a word. Chinese, Japanese, Korean and Thai need no
    spaces. Owners search all conversations; other people, and everybody in a group, their own.
    Known secrets, archived entries, and what follows the first 200,000 characters of a message are
    not found.
    """
    keys = await visible_sessions(context, caller)
    if session:
        keys = (session,) if keys is None or session in keys else ()
    found = context.of(Search)  # type: ignore[type-abstract]
    return await found.search(find, keys=keys, before=before, limit=limit)


def operations() -> list[Operation]:
    """What people can do with it."""
    return [search]
