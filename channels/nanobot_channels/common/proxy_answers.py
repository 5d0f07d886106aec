"""Responses of a proxy instead of the platform."""

from __future__ import annotations

from http import HTTPStatus

from nanobot.errors import DeliveryError, NotSent, OutcomeUnknown, Refused


def answered_by_proxy(status: int, text: str) -> DeliveryError:
    """The error for a status that is not in the platform's own format. A proxy that does not know
    how a request ended cannot rule out that it was applied.
    """
    if status < 300 or status >= 500 or status == HTTPStatus.REQUEST_TIMEOUT:
        return OutcomeUnknown(text)
    if status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
        return Refused(text)
    return NotSent(text)
