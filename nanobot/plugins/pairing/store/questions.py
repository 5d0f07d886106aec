"""Questions to owners about strangers who ask for access."""

from __future__ import annotations

import sqlalchemy as sa

from nanobot.addresses import session_at
from nanobot.labels import Privacy, Speaker, of
from nanobot.messages import Address, Choice, OutboundKind, OutboundMessage
from nanobot.plugins.common.store import access_tables
from nanobot.plugins.common.store.owners import chats_of_approvers
from nanobot.plugins.pairing.pairing import VALID_SECONDS, PairingRequest, PairingView
from nanobot.store.journal import outbox
from nanobot.store.unit import Unit
from nanobot.text import quoted

MAX_TOLD = 3
"""Owners are told individually about this many requests within VALID_SECONDS; then once that there
are more.
"""

_STRANGER = of(Speaker.OUTSIDE, privacy=Privacy.CONVERSATION)
_p = access_tables.pairings


def tell_owners(unit: Unit, request: PairingRequest, view: PairingView) -> tuple[Address, ...]:
    """Ask the owners in their own chats whether to admit a stranger; returns these chats. A flood
    of requests gets one notice.
    """
    others = sa.tuple_(_p.c.channel, _p.c.sender_id) != sa.tuple_(*view.who.split(":", 1))
    recent = _p.c.asked_at > request.asked_at - VALID_SECONDS
    before = unit.scalar(sa.select(sa.func.count()).where(recent, others)) or 0
    if before > MAX_TOLD:
        return ()
    chats = tuple(chats_of_approvers(unit))
    for to in chats:
        message = _more_ask(request, to) if before == MAX_TOLD else _question(request, view, to)
        outbox.owe(unit, session_at(to), "", [message])
    return chats


def _question(request: PairingRequest, view: PairingView, to: Address) -> OutboundMessage:
    """The question to an owner about a stranger, who chose their own name."""
    name = f"`{quoted(view.name).replace('`', chr(39))}`" if view.name else "Somebody"
    return OutboundMessage(
        address=to,
        text=f"{name} ({view.who}) requests access, with the code {request.code}.",
        kind=OutboundKind.NOTICE,
        key=f"pairing:{request.code}:{to}",
        choices=(
            Choice("Let in", f"/pair approve {request.code}"),
            Choice("As guest", f"/pair approve {request.code} role=guest"),
            Choice("Refuse", f"/pair revoke {view.who}"),
        ),
        tainted=True,
        label=_STRANGER.encoded(),
    )


def _more_ask(request: PairingRequest, to: Address) -> OutboundMessage:
    """The single notice to an owner when there are many requests."""
    return OutboundMessage(
        address=to,
        text="More strangers ask to be let in: `/pair list` shows them.",
        kind=OutboundKind.NOTICE,
        key=f"pairing:{request.code}:{to}",
    )
