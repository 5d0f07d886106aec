"""What it means when something between us and a platform answers in its place."""

from __future__ import annotations

from http import HTTPStatus

from nanobot.errors import DeliveryError, NotSent, OutcomeUnknown, Refused


def answered_by_proxy(status: int, text: str) -> DeliveryError:
    """What an error status means that is not in the platform's own form. A proxy that did not hear
    how a request ended cannot say that nothing was applied."""
    if status < 300 or status >= 500 or status == HTTPStatus.REQUEST_TIMEOUT:
        return OutcomeUnknown(text)
    if status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
        return Refused(text)
    return NotSent(text)
