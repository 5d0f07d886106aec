"""Names models of an endpoint that are similar to one that it does not have."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

import msgspec

from nanobot.errors import ModelRefused
from nanobot.plugins.models.listing import listed_by
from nanobot.plugins.models.port import ListsModels
from nanobot.providers.openai_errors import ProviderFailure

_OFFERED = 3


async def with_similar(
    failure: ProviderFailure, model: str, provider: ListsModels
) -> ProviderFailure:
    """The failure, with the most similar names of the provider's endpoint added to its text."""
    return naming_similar(failure, model, await listed_by(provider) or ())


def naming_similar(
    failure: ProviderFailure, model: str, listed: Sequence[str], *, own: bool = True
) -> ProviderFailure:
    """The failure, with the most similar of these names added to its text. `own`: the endpoint
    itself lists them, so a short list is shown completely."""
    if not own:
        return _naming(failure, "Known there are", nearest(model, listed))
    if len(listed) <= _OFFERED:
        return _naming(failure, "It has", [name for name in listed if name != model])
    return _naming(failure, "It has", nearest(model, listed))


def _naming(failure: ProviderFailure, introduction: str, models: list[str]) -> ProviderFailure:
    if not models:
        return failure
    names = ", ".join(f'"{name}"' for name in models)
    error = ModelRefused(f"{failure.error} {introduction} {names}.")
    return msgspec.structs.replace(failure, error=error)


def nearest(model: str, listed: Sequence[str]) -> list[str]:
    """At most three names, the most similar first."""
    # People often get the case wrong, or leave out the part before the last slash.
    by_shape: dict[str, str] = {}
    for name in listed:
        by_shape.setdefault(name.lower(), name)
        by_shape.setdefault(name.lower().rsplit("/", 1)[-1], name)
    alike = difflib.get_close_matches(model.lower(), by_shape, n=2 * _OFFERED, cutoff=0.5)
    names = dict.fromkeys(by_shape[shape] for shape in alike)
    return [name for name in names if name != model][:_OFFERED]
